// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_tests_log.h"
#include "simulator/cli/cli.h"
#include "simulator/cli/commands/collective_input.h"
#include "simulator/cli/commands/collective_rows.h"
#include "simulator/core/error.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace echosim {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Ran {
    int code;
    std::string out, err;
};

Ran run(std::vector<std::string> words) {
    words.insert(words.begin(), "collective");
    std::ostringstream out;
    std::ostringstream err;
    const int code = run_cli(words, out, err);
    return {code, out.str(), err.str()};
}

nlohmann::json document(std::vector<std::string> words) {
    words.push_back("--json");
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out);
}

std::string refusal(const std::vector<std::string>& words) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_EQ(ran.out, "");
    return ran.err;
}

TEST(Collective, KindsAreSpelledInManyWays) {
    for (const char* text : {"all_reduce", "all-reduce", "AllReduce", "allreduce", "all_reduce_perf"})
        EXPECT_EQ(parse_collective_kind("", text), CollectiveKind::all_reduce) << text;
    EXPECT_EQ(parse_collective_kind("", "alltoall_perf"), CollectiveKind::all_to_all);
    EXPECT_EQ(parse_collective_kind("", "sendrecv"), CollectiveKind::send_recv);
    EXPECT_THAT(refusal({"all_redcue"}), HasSubstr("did you mean \"all_reduce\"?"));
}

TEST(Collective, CountsAsNcclTestsDoes) {
    // 1 MiB of float: 262,144 elements
    EXPECT_EQ(nccl_tests_count(CollectiveKind::all_reduce, DType::fp32, 8, 1_MiB), 262144U);
    // all_gather on 6 ranks: 262144 / 6 = 43690, down to a multiple of 16 bytes = 4 floats: 43688
    EXPECT_EQ(nccl_tests_count(CollectiveKind::all_gather, DType::fp32, 6, 1_MiB), 43688U);
    EXPECT_EQ(nccl_tests_bytes(CollectiveKind::all_gather, DType::fp32, 6, 43688), 1048512U);
    // 64 bytes among 8 ranks are 8 bytes each: less than 16
    EXPECT_EQ(nccl_tests_count(CollectiveKind::reduce_scatter, DType::bf16, 8, 64), 0U);
}

TEST(Collective, PrintsATableThatReadersOfNcclTestsTake) {
    const Ran ran = run({"all_reduce", "--cluster", "dgx-h100", "--gpus", "16", "--bytes", "1KiB:1GiB:x2"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto tables = read_nccl_tests(ran.out, "table");
    ASSERT_EQ(tables.size(), 1U);
    EXPECT_EQ(tables[0].kind, CollectiveKind::all_reduce);
    EXPECT_EQ(tables[0].ranks, 16); // from busbw / algbw = 2 x 15 / 16
    ASSERT_EQ(tables[0].rows.size(), 21U);
    EXPECT_EQ(tables[0].rows.back().bytes, 1_GiB);
    EXPECT_TRUE(tables[0].rows.back().in_place_us.has_value());
    EXPECT_THAT(ran.out, HasSubstr("# Avg bus bandwidth"));
}

TEST(Collective, BusBandwidthFollowsFromTheTime) {
    const nlohmann::json row =
        document({"all_reduce", "--cluster", "dgx-h100", "--bytes", "1GiB"})["rows"][0];
    const double us = row["out_of_place"]["time_us"];
    EXPECT_GT(us, 0);
    EXPECT_NEAR(row["out_of_place"]["algbw_gbytes_per_s"].get<double>(), 1073741824.0 / us / 1e3, 1e-6);
    // 8 ranks: 2 x 7 / 8
    EXPECT_NEAR(row["out_of_place"]["busbw_gbytes_per_s"].get<double>(), 1.75 * 1073741824.0 / us / 1e3,
                1e-6);
    double sum = 0;
    for (const auto& term : row["out_of_place"]["terms_us"].items())
        sum += term.value().get<double>();
    EXPECT_NEAR(sum, us, 1e-6 * us);
}

TEST(Collective, AStrideIsTheGroupAcrossNodes) {
    const nlohmann::json json = document(
        {"reduce_scatter", "--cluster", "dgx-h100", "--gpus", "64", "--stride", "8", "--bytes", "1MiB"});
    EXPECT_EQ(json["group"]["ranks"], 8);
    EXPECT_EQ(json["group"]["nodes"], 8);
    EXPECT_EQ(json["group"]["max_ranks_per_node"], 1);
    const nlohmann::json listed = document({"reduce_scatter", "--cluster", "dgx-h100", "--gpus", "64",
                                            "--ranks", "0,8,16,24,32,40,48,56", "--bytes", "1MiB"});
    EXPECT_EQ(json["rows"], listed["rows"]);
}

TEST(Collective, AlgoAndProtoAreTheVariables) {
    const std::vector<std::string> base = {"all_reduce", "--cluster", "dgx-h100", "--bytes", "64MiB"};
    std::vector<std::string> options = base;
    options.insert(options.end(), {"--algo", "ring", "--proto", "simple"});
    std::vector<std::string> variables = base;
    variables.insert(variables.end(), {"--env", "NCCL_ALGO=Ring", "--env", "NCCL_PROTO=Simple"});
    const nlohmann::json a = document(options);
    EXPECT_EQ(a["rows"], document(variables)["rows"]);
    EXPECT_EQ(a["rows"][0]["algorithm"], "ring");
    EXPECT_EQ(a["rows"][0]["protocol"], "Simple");
}

TEST(Collective, RefusesAnAlgorithmThatTheGroupDoesNotHave) {
    const std::string text =
        refusal({"all_reduce", "--cluster", "dgx-a100-80g", "--algo", "nvls", "--bytes", "1MiB"});
    EXPECT_THAT(text, HasSubstr("leaves nothing to run for all_reduce of 8 ranks on 1 node"));
    EXPECT_THAT(text, HasSubstr("this group has: "));
    EXPECT_THAT(text, HasSubstr("ring"));
    EXPECT_THAT(refusal({"all_to_all", "--cluster", "dgx-h100", "--algo", "ring"}),
                HasSubstr("sends and receives"));
    EXPECT_THAT(refusal({"all_reduce", "--cluster", "dgx-h100", "--transport", "deepep"}),
                HasSubstr("does not carry all_reduce of 8 ranks on 1 node"));
    EXPECT_THAT(refusal({"all_reduce", "--cluster", "dgx-h100", "--algo", "rnig"}),
                HasSubstr("did you mean \"Ring\"?"));
}

TEST(Collective, EveryWrongOptionIsRefusedByName) {
    const auto with = [](std::vector<std::string> words) {
        words.insert(words.begin(), {"all_reduce", "--cluster", "dgx-h100"});
        return refusal(words);
    };
    EXPECT_THAT(refusal({}), HasSubstr("the kind of collective is missing"));
    EXPECT_THAT(refusal({"all_reduce"}), HasSubstr("--cluster: is missing"));
    EXPECT_THAT(with({"--gpus", "0"}), HasSubstr("--gpus: must be a whole number from 1"));
    EXPECT_THAT(with({"--gpus", "64", "--stride", "7"}), HasSubstr("not a multiple of 7"));
    EXPECT_THAT(with({"--gpus", "64", "--stride", "65"}), HasSubstr("--stride: must be a whole number"));
    EXPECT_THAT(with({"--ranks", "0,1,1"}), HasSubstr("--ranks: rank 1 is listed twice"));
    EXPECT_THAT(with({"--ranks", "0-x"}), HasSubstr("--ranks: \"0-x\" is not a rank"));
    EXPECT_THAT(with({"--ranks", "0,64", "--gpus", "64"}), HasSubstr("rank 64 is not one of the job's"));
    EXPECT_THAT(with({"--ranks", "0,8", "--stride", "8"}), HasSubstr("cannot be combined"));
    EXPECT_THAT(with({"--nccl", "new"}), HasSubstr("--nccl: \"new\" is not a release"));
    EXPECT_THAT(with({"--dtype", "flaot"}), HasSubstr("did you mean \"float\"?"));
    EXPECT_THAT(with({"--calls", "0"}), HasSubstr("--calls: must be a whole number"));
    EXPECT_THAT(with({"--imbalance", "2"}), HasSubstr("is for all_to_all"));
    EXPECT_THAT(with({"--env", "NCCL_ALGO"}), HasSubstr("is not NAME=VALUE"));
    EXPECT_THAT(with({"--algo", "ring", "--env", "NCCL_ALGO=Tree"}), HasSubstr("is set twice"));
    EXPECT_THAT(with({"--plot", "chart.png"}), HasSubstr("must end in .svg"));
    EXPECT_THAT(with({"--csv", "--json"}), HasSubstr("cannot be combined"));
    EXPECT_THAT(with({"--set", "job.batch.micro=2"}), HasSubstr("keys of cluster.* and gpu.* only"));
    EXPECT_THAT(with({"--measured", "no-such.log"}), HasSubstr("no-such.log"));
    EXPECT_THAT(with({"--concurrent", "x.json"}), HasSubstr("the file lists the kinds"));
    EXPECT_THAT(refusal({"all_to_all", "--cluster", "dgx-h100", "--imbalance", "0.5"}),
                HasSubstr("must be a factor from 1 to the number of ranks (8)"));
}

TEST(Collective, OneRankAndNoBytesAreFinite) {
    for (const char* gpus : {"1", "2", "13"})
        for (const char* kind : {"all_reduce", "all_gather", "all_to_all", "send_recv", "broadcast"}) {
            const nlohmann::json json =
                document({kind, "--cluster", "dgx-h100", "--gpus", gpus, "--bytes", "0,8,1MiB"});
            for (const nlohmann::json& row : json["rows"]) {
                // JSON has no infinity: it would be null
                EXPECT_TRUE(row["out_of_place"]["time_us"].is_number()) << kind << gpus;
                EXPECT_TRUE(row["out_of_place"]["busbw_gbytes_per_s"].is_number()) << kind << gpus;
            }
        }
}

TEST(Collective, ExplainsTermsCandidatesAndSwitches) {
    const Ran ran =
        run({"all_reduce", "--cluster", "dgx-h100", "--gpus", "64", "--bytes", "1MiB", "--explain"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    for (const char* text :
         {"Terms of the time (us), out of place", "What NCCL weighs at 1 MiB", "chosen: the tuner's smallest",
          "Sizes at which the choice changes", "What one GPU spends on it"})
        EXPECT_THAT(ran.out, HasSubstr(text));
}

TEST(Collective, SwitchesAreExact) {
    const nlohmann::json json =
        document({"all_reduce", "--cluster", "dgx-h100", "--gpus", "64", "--bytes", "1MiB", "--explain"});
    ASSERT_FALSE(json["switches"].empty());
    for (const nlohmann::json& s : json["switches"]) {
        const auto at = s["bytes"].get<Bytes>();
        EXPECT_EQ(at - s["bytes_below"].get<Bytes>(), 4U); // one float apart
        const nlohmann::json rows =
            document({"all_reduce", "--cluster", "dgx-h100", "--gpus", "64", "--bytes",
                      std::to_string(at - 4) + "," + std::to_string(at)})["rows"];
        EXPECT_EQ(rows[0]["algorithm"], s["before"]["algorithm"]);
        EXPECT_EQ(rows[0]["protocol"], s["before"]["protocol"]);
        EXPECT_EQ(rows[1]["algorithm"], s["after"]["algorithm"]);
        EXPECT_EQ(rows[1]["protocol"], s["after"]["protocol"]);
    }
}

TEST(Collective, ComparesWithAMeasuredLog) {
    const char* log = "../shared/data/inputs/nccl_logs/nccl_16.log";
    if (!std::filesystem::exists(log))
        GTEST_SKIP() << log << " is not there";
    const nlohmann::json json =
        document({"all_reduce", "--cluster", "ndv4-a100-40g", "--gpus", "16", "--measured", log});
    ASSERT_EQ(json["rows"].size(), 25U); // 1 KiB to 16 GiB
    EXPECT_EQ(json["rows"][10]["bytes"], 1048576);
    EXPECT_EQ(json["rows"][10]["measured"]["out_of_place_us"], 100.1);
    EXPECT_EQ(json["rows"][10]["measured"]["in_place_us"], 99.93);
    EXPECT_THAT(refusal({"all_reduce", "--cluster", "ndv4-a100-40g", "--gpus", "24", "--measured", log}),
                HasSubstr("it holds: all_reduce of 16 ranks"));
}

} // namespace
} // namespace echosim
