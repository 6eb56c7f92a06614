// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/gpu.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "tests/support/refusal.h"

#include <cmath>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

namespace echosim {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

TEST(Gpu, DataSheetFigures) {
    const Gpu& a100 = find_gpu("a100-sxm-80gb");
    EXPECT_EQ(a100.sms, 108);
    EXPECT_DOUBLE_EQ(peak_flops(a100, DType::bf16),
                     312e12); // 108 SMs x 2048 FLOP/cycle x 1.41 GHz = 311.9e12
    EXPECT_DOUBLE_EQ(peak_flops(a100, DType::tf32), 156e12);
    EXPECT_DOUBLE_EQ(a100.memory_bandwidth, 2039e9);
    EXPECT_DOUBLE_EQ(a100.nvlink_links * a100.nvlink_link_bandwidth, 300e9);
    const Gpu& h100 = find_gpu("h100-sxm");
    EXPECT_DOUBLE_EQ(peak_flops(h100, DType::bf16), 989e12);
    EXPECT_DOUBLE_EQ(peak_flops(h100, DType::fp8), 1979e12);
    EXPECT_EQ(h100.memory, 81559_MiB);
    EXPECT_DOUBLE_EQ(peak_flops(find_gpu("v100-sxm2-32gb"), DType::fp16), 125e12);
    EXPECT_DOUBLE_EQ(peak_flops(find_gpu("b200-sxm"), DType::fp4), 9e15);
    EXPECT_DOUBLE_EQ(peak_flops(find_gpu("mi300x"), DType::bf16), 1307.4e12);
    EXPECT_DOUBLE_EQ(find_gpu("h800-sxm").nvlink_links * find_gpu("h800-sxm").nvlink_link_bandwidth, 200e9);
}

TEST(Gpu, ATypeThatThePartLacksRunsInTheNextWiderOne) {
    const Gpu& v100 = find_gpu("v100-sxm2-32gb");
    EXPECT_DOUBLE_EQ(peak_flops(v100, DType::bf16), 15.7e12); // no tensor cores for it
    EXPECT_DOUBLE_EQ(peak_flops(v100, DType::tf32), 15.7e12);
    EXPECT_DOUBLE_EQ(peak_flops(v100, DType::fp8), 125e12);
    const Gpu& a100 = find_gpu("a100-sxm-80gb");
    EXPECT_DOUBLE_EQ(peak_flops(a100, DType::fp8), 312e12);
    EXPECT_DOUBLE_EQ(peak_flops(a100, DType::fp4), 312e12);
}

TEST(Gpu, EveryEntryIsSane) {
    std::set<std::string> names;
    for (const Gpu& gpu : all_gpus()) {
        SCOPED_TRACE(gpu.name);
        EXPECT_TRUE(names.insert(gpu.name).second);
        EXPECT_GT(gpu.sms, 50);
        EXPECT_GT(gpu.fp32_flops, 10e12);
        // Each narrower type is about twice as fast as the wider one, where the part has it.
        EXPECT_GT(gpu.fp16_flops, gpu.fp32_flops);
        EXPECT_TRUE(gpu.tf32_flops == 0 || gpu.tf32_flops >= gpu.fp32_flops);
        EXPECT_TRUE(gpu.tf32_flops == 0 || gpu.fp16_flops >= 1.9 * gpu.tf32_flops);
        EXPECT_TRUE(gpu.bf16_flops == 0 || gpu.bf16_flops == gpu.fp16_flops);
        EXPECT_TRUE(gpu.fp8_flops == 0 || std::abs(gpu.fp8_flops / gpu.fp16_flops - 2) < 0.05);
        EXPECT_TRUE(gpu.fp4_flops == 0 || gpu.fp4_flops >= 1.99 * gpu.fp8_flops);
        EXPECT_GT(gpu.memory, 20_GiB);
        EXPECT_GT(gpu.memory_bandwidth, 800e9);
        // A part is worth 50-500 operations of fp16 a byte of memory traffic; a wrong prefix would be far
        // outside.
        EXPECT_GT(gpu.fp16_flops / gpu.memory_bandwidth, 30);
        EXPECT_LT(gpu.fp16_flops / gpu.memory_bandwidth, 500);
        EXPECT_GE(gpu.l2, 6_MiB);
        EXPECT_GE(gpu.tdp_watts, 250);
        EXPECT_EQ(gpu.nvlink_links > 0, gpu.nvlink_link_bandwidth > 0);
        EXPECT_FALSE(gpu.description.empty());
        EXPECT_FALSE(gpu.source.empty());
        const bool amd = gpu.arch == Arch::cdna2 || gpu.arch == Arch::cdna3 || gpu.arch == Arch::cdna4;
        EXPECT_EQ(gpu.kernel_preset.empty(), amd || gpu.arch == Arch::ada);
    }
    EXPECT_EQ(names.size(), 22U);
}

TEST(Gpu, EveryGpuOfTheMeasurementsIsThere) {
    std::set<std::string> used;
    for (const char* name : {"steps_calibration", "steps_other_frameworks", "steps_vtrain_single"}) {
        const std::string path = std::string("../shared/data/") + name + ".json";
        if (!std::filesystem::exists(path))
            GTEST_SKIP() << path << " is not there";
        for (const Json& row : read_json_file(path))
            used.insert(row.at("gpu").get<std::string>());
    }
    EXPECT_GE(used.size(), 9U);
    for (const std::string& name : used)
        EXPECT_NO_THROW(find_gpu(name)) << name;
}

TEST(Gpu, JsonRoundTripIsExact) {
    for (const Gpu& gpu : all_gpus()) {
        const Gpu again = gpu_from_json(gpu_to_json(gpu), "again");
        EXPECT_EQ(gpu_to_json(again), gpu_to_json(gpu));
        EXPECT_EQ(again.fp8_flops, gpu.fp8_flops);
        EXPECT_EQ(again.memory, gpu.memory);
        EXPECT_EQ(again.memory_bandwidth, gpu.memory_bandwidth);
        EXPECT_EQ(again.arch, gpu.arch);
    }
}

TEST(Gpu, UnknownNamesAndKeysComeWithSuggestions) {
    EXPECT_THAT(refusal([] { find_gpu("h100"); }), HasSubstr("did you mean \"h100-sxm\" or \"h100-pcie\"?"));
    EXPECT_THAT(refusal([] { find_gpu("a100-smx-80gb"); }), HasSubstr("did you mean \"a100-sxm-80gb\""));
    Json json = gpu_to_json(find_gpu("h100-sxm"));
    json["hbm_bandwith"] = "1TB/s";
    json["arch"] = "hoper";
    json["sms"] = 0;
    const std::string message = refusal([&] { gpu_from_json(json, "my.json"); });
    EXPECT_THAT(message, HasSubstr("my.json: unknown key \"hbm_bandwith\"; did you mean \"hbm_bandwidth\"?"));
    EXPECT_THAT(message,
                HasSubstr("my.json: arch: unknown architecture \"hoper\"; did you mean \"hopper\"?"));
    EXPECT_THAT(message, HasSubstr("my.json: sms: 0 is out of range: 1 to 4096"));
}

} // namespace
} // namespace echosim
