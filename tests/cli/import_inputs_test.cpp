// SPDX-License-Identifier: Apache-2.0
// `echosim import` over every real file at hand: read, or refused with the place of the defect.
#include "simulator/cli/cli.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace echosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kInputs = "../shared/data/inputs";

struct Answer {
    int code = -1;
    std::string out;
    std::string err;
};

Answer import_json(const fs::path& path) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = run_cli({"import", path.string(), "--json"}, out, err);
    return {code, out.str(), err.str()};
}

// "FILE:OFFSET", "FILE:LINE:COLUMN", "table T, row N", or "FILE: table T" of a table that is missing.
bool names_a_place(const std::string& message) {
    return std::regex_search(message, std::regex(R"((:\d+)|(, row \d+)|(: table ))"));
}

TEST(ImportInputs, EveryFileIsReadOrRefusedWithAPlace) {
    if (!fs::exists(kInputs)) {
        GTEST_SKIP() << kInputs << " is absent";
    }
    std::size_t read = 0;
    std::size_t refused = 0;
    for (const char* folder : {"kineto", "nsys", "chakra", "astra-sim", "simai"}) {
        for (const auto& entry : fs::recursive_directory_iterator(kInputs / folder)) {
            if (!entry.is_regular_file()) {
                continue;
            }
            const Answer answer = import_json(entry.path());
            if (answer.code == 0) {
                EXPECT_FALSE(Json::parse(answer.out, nullptr, false).is_discarded()) << entry.path();
                ++read;
            } else {
                EXPECT_EQ(answer.code, 2) << entry.path() << ": " << answer.err;
                EXPECT_TRUE(names_a_place(answer.err)) << answer.err;
                ++refused;
            }
        }
    }
    EXPECT_GT(read, 100U); // 84 of ASTRA-sim's workloads alone
    RecordProperty("read", static_cast<int>(read));
    RecordProperty("refused", static_cast<int>(refused));
}

TEST(ImportInputs, OddFilesBehaveAsExpected) {
    const fs::path folder = kInputs / "kineto/odd_own";
    if (!fs::exists(folder)) {
        GTEST_SKIP() << folder << " is absent";
    }
    std::ifstream file(folder / "expected.json");
    const Json expected = Json::parse(file).at("files");
    for (const auto& [name, what] : expected.items()) {
        const Answer answer = import_json(folder / name);
        if (what.at("outcome") == "refuse") {
            EXPECT_EQ(answer.code, 2) << name;
            EXPECT_TRUE(names_a_place(answer.err)) << answer.err;
            continue;
        }
        ASSERT_EQ(answer.code, 0) << name << ": " << answer.err;
        const Json document = Json::parse(answer.out);
        for (const char* key : {"events", "complete_events", "kernels", "warnings"}) {
            const std::string name_there = what.contains(key) ? key : std::string(key) + "_in_file";
            EXPECT_EQ(document.at(key), what.at(name_there)) << name << " " << key;
        }
    }
}

TEST(ImportInputs, RanksOfOneNodeAreOnOneClock) {
    const fs::path folder = kInputs / "kineto/dlrm_8rank";
    if (!fs::exists(folder)) {
        GTEST_SKIP() << folder << " is absent";
    }
    const Answer answer = import_json(folder);
    ASSERT_EQ(answer.code, 0) << answer.err;
    const Json alignment = Json::parse(answer.out).at("alignment");
    EXPECT_EQ(alignment.at("trusted"), true);
    EXPECT_EQ(alignment.at("applied"), false);
    for (const Json& rank : alignment.at("ranks")) {
        EXPECT_EQ(rank.at("offset_ns"), 0);
        EXPECT_EQ(rank.at("collectives"), 8);
        EXPECT_LE(rank.at("residual_ns").get<std::int64_t>(), 3'000) << "the ends are within microseconds";
    }
}

TEST(ImportInputs, SampledRecordingsCannotBePutOnOneClock) {
    const fs::path folder = kInputs / "kineto/hta";
    if (!fs::exists(folder)) {
        GTEST_SKIP() << folder << " is absent";
    }
    std::ostringstream out;
    std::ostringstream err;
    const int code = run_cli({"import", (folder / "trace_filter__sampled_rank-0.json.gz").string(),
                              (folder / "trace_filter__sampled_rank-1.json.gz").string()},
                             out, err);
    EXPECT_EQ(code, 2);
    EXPECT_NE(err.str().find("cannot be put on one clock"), std::string::npos) << err.str();
    EXPECT_NE(err.str().find("rank 0 and rank 1"), std::string::npos) << err.str();
}

} // namespace
} // namespace echosim
