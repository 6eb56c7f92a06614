// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/network_settings.h"

#include "simulator/catalogue/topology_source.h"
#include "tests/support/refusal.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace echosim {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::string answer(const std::string& text) {
    const auto problem = foreign_setting(text, "file");
    return problem ? problem->where + ": " + problem->message + " | " + problem->hint : "none of them";
}

TEST(NetworkSettings, SaysWhatTheFileIsAndWhatToGive) {
    EXPECT_THAT(answer("\nENABLE_QCN 1\n"),
                HasSubstr("file:2: ENABLE_QCN is a setting of SimAI's packet simulator"));
    EXPECT_THAT(answer("test\nTP:\nallreduce,: 300\n"),
                HasSubstr("file:3: allreduce, is a measured bus bandwidth"));
    EXPECT_THAT(answer("{\n  \"logical-dims\": [\"8\"]\n}"),
                HasSubstr("file:2: \"logical-dims\" is only the shape"));
    EXPECT_THAT(answer("{\"memory-type\": \"NO_MEMORY_EXPANSION\"}"), HasSubstr("file:1: \"memory-type\""));
    EXPECT_THAT(answer("id\tName\tParameter_size\tHidden_size\tNum_of_layers\n"),
                HasSubstr("file:1: the header is"));
    EXPECT_THAT(answer("train_iter:10\nEmb:\n"), HasSubstr("file:1: train_iter is the head of AIOB's"));
    EXPECT_THAT(answer("{\"topology-name\": \"Hierarchical\"}"), HasSubstr("ASTRA-sim 1's network"));
    EXPECT_EQ(answer("{\"a\": 1}"), "none of them");
    EXPECT_EQ(answer("ENABLE_QCNX 1\n"), "none of them");
    EXPECT_EQ(answer(""), "none of them");
}

TEST(NetworkSettings, SystemFilesKeepWhatTheySayOfTheGpu) {
    EXPECT_THAT(
        answer("{\n\"scheduling-policy\": \"LIFO\",\n\"local-mem-bw\": 3350,\n\"peak-perf\": 900\n}"),
        HasSubstr("--set gpu.hbm_bandwidth=3350GB/s (its local-mem-bw) --set gpu.bf16_flops=900TFLOPS"));
}

// Each published file of SimAI's and ASTRA-sim's configuration that is no workload and no trace.
TEST(NetworkSettings, PublishedFilesLoadOrAreRefusedAtALine) {
    const std::string root = "../shared/data/inputs/";
    if (!std::filesystem::exists(root + "simai") || !std::filesystem::exists(root + "astra-sim/config"))
        GTEST_SKIP() << root << "simai and astra-sim/config are not there";
    std::map<std::string, int> outcomes;
    for (const char* folder : {"simai", "astra-sim/config"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root + folder)) {
            const std::string path = entry.path().string();
            const bool elsewhere = path.ends_with(".et") || path.find("_workload.csv") != std::string::npos ||
                                   path.find("/model_workload/") != std::string::npos ||
                                   path.find("/simAI/micro_test/") != std::string::npos ||
                                   path.find("microAllReduce") != std::string::npos ||
                                   path.find("workload_analytical") != std::string::npos;
            if (!entry.is_regular_file() || elsewhere)
                continue;
            const std::string message = refusal([&] { read_topology_file(path); });
            const std::string first = message.substr(0, message.find('\n'));
            EXPECT_THAT(first, AnyOf("accepted", MatchesRegex(".*:[0-9]+: .*"))) << path;
            ++outcomes[message == "accepted" ? "read" : "refused"];
        }
    EXPECT_EQ(outcomes["read"],
              4 + 9 + 2); // examples' and inputs' networks but for dgx_v100_8gpu (tbd), topologies
    EXPECT_EQ(outcomes["refused"],
              1 + 4 + 1 + 13 + 4); // tbd, shapes, memory, system files, SimAI's and AICB's
}

} // namespace
} // namespace echosim
