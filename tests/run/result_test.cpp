// SPDX-License-Identifier: Apache-2.0
#include "simulator/run/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

std::vector<std::string> keys_of(const Json& object) {
    std::vector<std::string> keys;
    for (const auto& item : object.items())
        keys.push_back(item.key());
    return keys;
}

Result small_result() {
    Result result;
    result.job.name = "job.sh";
    result.job.parallel.world_size = 16;
    result.cluster = find_cluster("dgx-h100");
    result.step.time = 2.0;
    result.throughput.model_flops_per_gpu = 412e12;
    result.memory.peak = 60_GiB;
    result.memory.capacity = 79_GiB;
    result.memory.stages = {{.stage = 0, .peak = 60_GiB}};
    result.communication = {{.group = "tp", .kind = CollectiveKind::all_gather, .count = 4, .busbw = 360e9}};
    result.simulation = {.ops = 100, .ranks_represented = 16, .ranks_simulated = 2, .wall = 0.25};
    return result;
}

TEST(ResultJson, HasEverySectionInTheOrderOfTheContract) {
    const Json json = result_to_json(small_result(), true);
    EXPECT_THAT(keys_of(json),
                ElementsAre("schema", "version", "job", "cluster", "step", "throughput", "breakdown_s",
                            "memory", "communication", "provenance", "simulation", "warnings"));
    EXPECT_EQ(json["schema"], "echosim.simulate/1");
    EXPECT_THAT(keys_of(json["step"]), ElementsAre("time_s", "time_p05_s", "time_p95_s"));
    EXPECT_THAT(keys_of(json["throughput"]),
                ElementsAre("tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu",
                            "hardware_tflops_per_gpu", "mfu", "hfu", "flops_formula"));
    EXPECT_THAT(keys_of(json["breakdown_s"]),
                ElementsAre("compute", "recompute", "interference", "tp_comm", "pp_comm", "dp_comm",
                            "cp_comm", "ep_comm", "bubble", "optimizer", "host", "data", "other"));
    EXPECT_THAT(keys_of(json["memory"]["stages"][0]),
                ElementsAre("stage", "peak_bytes", "weights_bytes", "gradients_bytes", "optimizer_bytes",
                            "activations_bytes", "buffers_bytes", "overhead_bytes"));
    EXPECT_THAT(keys_of(json["communication"][0]),
                ElementsAre("group", "kind", "algorithm", "protocol", "channels", "count", "bytes_per_call",
                            "time_s", "exposed_s", "busbw_gbytes_per_s"));
    EXPECT_THAT(keys_of(json["provenance"]), ElementsAre("measured", "fitted", "catalogue", "assumed"));
    EXPECT_THAT(keys_of(json["simulation"]), ElementsAre("ops", "ranks_represented", "ranks_simulated",
                                                         "wall_s", "interference", "interference_model"));
}

TEST(ResultJson, ConvertsToTheUnitsOfTheKeys) {
    const Json json = result_to_json(small_result(), true);
    // 412e12 FLOP/s = 412 TFLOP/s; 360e9 B/s = 360 GB/s; 60 GiB = 64,424,509,440 bytes.
    EXPECT_DOUBLE_EQ(json["throughput"]["model_tflops_per_gpu"].get<double>(), 412.0);
    EXPECT_DOUBLE_EQ(json["communication"][0]["busbw_gbytes_per_s"].get<double>(), 360.0);
    EXPECT_EQ(json["memory"]["peak_bytes"].get<std::uint64_t>(), 64424509440U);
    EXPECT_EQ(json["cluster"]["gpus_used"], 16);
}

TEST(ResultJson, LeavesOutTheWallClockInFiles) {
    const Json json = result_to_json(small_result(), false);
    EXPECT_THAT(keys_of(json["simulation"]), ElementsAre("ops", "ranks_represented", "ranks_simulated",
                                                         "interference", "interference_model"));
    Result slower = small_result();
    slower.simulation.wall = 9.0;
    EXPECT_EQ(json.dump(), result_to_json(slower, false).dump());
}

TEST(ResultJson, WritesNullForAnIntervalThatIsNotKnown) {
    Result result = small_result();
    EXPECT_TRUE(result_to_json(result, false)["step"]["time_p05_s"].is_null());
    result.step.p05 = 1.9;
    EXPECT_DOUBLE_EQ(result_to_json(result, false)["step"]["time_p05_s"].get<double>(), 1.9);
}

TEST(ResultJson, NamesTheNearestFitOnlyWhenMemoryDoesNotFit) {
    Result result = small_result();
    EXPECT_TRUE(result_to_json(result, false)["memory"]["nearest_fit"].is_null());
    result.memory.fits = false;
    result.memory.nearest_fit = "--recompute-granularity full";
    EXPECT_EQ(result_to_json(result, false)["memory"]["nearest_fit"], "--recompute-granularity full");
}

TEST(ResultJson, RefusesNumbersThatAreNotFinite) {
    Result result = small_result();
    result.breakdown.tp_comm = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(result_to_json(result, false), std::logic_error);
    result = small_result();
    result.communication[0].busbw = std::numeric_limits<double>::infinity();
    EXPECT_THROW(result_to_json(result, false), std::logic_error);
}

} // namespace
} // namespace echosim
