// SPDX-License-Identifier: Apache-2.0
// A recording that is imported, exported in a lossless format and imported again is the same timeline.
#include "tests/traces/sample_trace.h"
#include "traces/chakra.h"
#include "traces/chrome_json.h"
#include "traces/etr.h"
#include "traces/import.h"
#include "traces/merge.h"
#include "traces/sqlite_file.h"

#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace echosim {
namespace {

namespace fs = std::filesystem;

using Writer = std::function<void(const Trace&, const std::string&)>;
struct Lossless {
    const char* name;
    const char* ending;
    bool one_rank;
    Writer write;
};

std::vector<Lossless> lossless_formats() {
    return {{"etr", "job.etr", false, [](const Trace& t, const std::string& p) { write_etr(t, p); }},
            {"etr zstd", "z.etr", false,
             [](const Trace& t, const std::string& p) { write_etr(t, p, EtrCodec::zstd); }},
            {"perfetto", "job.json.gz", false,
             [](const Trace& t, const std::string& p) { write_perfetto(t, p); }},
            {"chrome", "rank.json", true, [](const Trace& t, const std::string& p) { write_chrome(t, p); }},
            {"sqlite", "job.sqlite", false, [](const Trace& t, const std::string& p) { write_sqlite(t, p); }},
            {"chakra", "job.et", true, [](const Trace& t, const std::string& p) { write_chakra(t, p); }}};
}

// The first line that differs says more than two long lists.
void expect_same(const Trace& before, const Trace& after, const std::string& what) {
    const std::vector<std::string> a = test::spelled_out(before);
    const std::vector<std::string> b = test::spelled_out(after);
    EXPECT_EQ(a.size(), b.size()) << what;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (a[i] != b[i]) {
            ADD_FAILURE() << what << ", line " << i << ":\n" << a[i] << "\n" << b[i];
            return;
        }
    }
}

void check_round_trips(const Trace& trace, const std::string& what) {
    for (const Lossless& format : lossless_formats()) {
        if (format.one_rank && trace.classes.size() != 1) {
            continue;
        }
        const std::string path = test::temporary_path(format.ending);
        format.write(trace, path);
        expect_same(trace, import_trace({path}).trace, what + " as " + format.name);
        fs::remove(path);
    }
}

TEST(ImportRoundTrip, OwnSamples) {
    check_round_trips(import_trace({"traces/samples/two_ranks/rank_0.json"}).trace, "rank_0");
    check_round_trips(import_trace({"traces/samples/two_ranks"}).trace, "two_ranks");
}

TEST(ImportRoundTrip, AFolderOfRanksStaysOnItsClock) {
    const Imported job = import_trace({"traces/samples/two_ranks"});
    ASSERT_TRUE(job.report.alignment && job.report.alignment->applied);
    const fs::path folder = test::temporary_path("ranks");
    fs::create_directories(folder);
    for (const int rank : {0, 1}) {
        write_chrome(select_ranks(job.trace, {rank}),
                     (folder / ("rank_" + std::to_string(rank) + ".json")).string());
    }
    const Imported again = import_trace({folder.string()});
    ASSERT_TRUE(again.report.alignment);
    EXPECT_TRUE(again.report.alignment->trusted);
    EXPECT_FALSE(again.report.alignment->applied) << "the files are on one clock already";
    EXPECT_EQ(again.report.kernels, job.report.kernels);
    EXPECT_EQ(again.trace.flows.size(), job.trace.flows.size());
    fs::remove_all(folder);
}

TEST(ImportRoundTrip, RealFiles) {
    const fs::path inputs = "../shared/data/inputs";
    if (!fs::exists(inputs)) {
        GTEST_SKIP() << inputs << " is absent";
    }
    for (const char* file :
         {"kineto/dlrm_8rank/worker3_step_12.1694128201557.pt.trace.json",
          "kineto/hta/critical_path__cuda_event_sync_multi_stream__event_sync_trace.json.gz",
          "kineto/hta/amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz",
          "kineto/tracelens/h100__gaunernst_bert-small-uncased__1016001.json.gz",
          "kineto/tracelens/inference__vllm_decode_full__graph_execution.json.gz",
          "kineto/odd_own/negative_dup_missing_dur_unclosed_B.json", "nsys/healthy_1pct.sqlite",
          "nsys/mock.sqlite", "chakra/small_chakra.0.json", "chakra/linear_et.json.gz"}) {
        check_round_trips(import_trace({(inputs / file).string()}).trace, file);
    }
}

} // namespace
} // namespace echosim
