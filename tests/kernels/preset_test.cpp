// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/gpu.h"
#include "simulator/core/error.h"
#include "simulator/kernels/kernel_preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using testing::HasSubstr;

std::string error_of(const nlohmann::ordered_json& json) {
    try {
        kernel_preset_from_json(json, "test.json");
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

TEST(KernelPreset, SurvivesWritingAndReading) {
    for (const std::string& name : kernel_preset_names()) {
        const nlohmann::ordered_json json = kernel_preset_to_json(load_kernel_preset(name));
        EXPECT_EQ(kernel_preset_to_json(kernel_preset_from_json(json, name)).dump(), json.dump()) << name;
        EXPECT_EQ(json.at("name"), name);
    }
}

TEST(KernelPreset, ErrorsNameTheKey) {
    const nlohmann::ordered_json good = kernel_preset_to_json(load_kernel_preset("a100"));
    EXPECT_EQ(error_of(good), "");
    auto json = good;
    json["gemm"].erase("ceiling");
    EXPECT_THAT(error_of(json), AllOf(HasSubstr("test.json"), HasSubstr("gemm"), HasSubstr("ceiling")));
    json = good;
    json["gemm"]["ceilling"] = 1;
    EXPECT_THAT(error_of(json), HasSubstr("ceilling"));
    json = good;
    json["memory"]["norm"] = 7;
    EXPECT_THAT(error_of(json), AllOf(HasSubstr("norm"), HasSubstr("7")));
    json = good;
    json["gemm"]["dtype"]["fp99"] = 1;
    EXPECT_THAT(error_of(json), HasSubstr("fp99"));
    json = good;
    json["provenance"] = "guess";
    EXPECT_THAT(error_of(json), AllOf(HasSubstr("provenance"), HasSubstr("guess")));
}

TEST(KernelPreset, UnknownNameListsTheKnownOnes) {
    Gpu gpu = find_gpu("h100-sxm");
    gpu.kernel_preset = "z80";
    try {
        KernelTimes::for_gpu(gpu, "");
        FAIL() << "no error";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("z80"), HasSubstr("h100")));
    }
}

TEST(KernelTimes, ProvenanceSaysHowFarTheGpuIsFromTheMeasurement) {
    const auto provenance = [](const char* gpu) {
        return KernelTimes::for_gpu(find_gpu(gpu), "").gemm({.m = 1024, .n = 1024, .k = 1024}).provenance;
    };
    EXPECT_EQ(provenance("h100-sxm"), Provenance::fitted);
    EXPECT_EQ(provenance("h200-sxm"), Provenance::catalogue); // H100 efficiencies
    EXPECT_EQ(provenance("v100-sxm2-32gb"), Provenance::catalogue);
    EXPECT_EQ(provenance("mi300x"), Provenance::assumed);
}

TEST(KernelTimes, RelativesScaleWithTheirOwnSpecification) {
    // H200 = H100 with 4.8 instead of 3.35 TB/s: the same products, memory-bound kernels 1.43 times as fast
    const KernelTimes h100 = KernelTimes::for_gpu(find_gpu("h100-sxm"), "");
    const KernelTimes h200 = KernelTimes::for_gpu(find_gpu("h200-sxm"), "");
    const GemmShape square{.m = 8192, .n = 8192, .k = 8192};
    EXPECT_NEAR(h200.gemm(square).time / h100.gemm(square).time, 1, 0.01);
    const MemoryShape large{.bytes = 1e9};
    EXPECT_NEAR(h100.memory_bound(large).time / h200.memory_bound(large).time, 4.8 / 3.35, 0.01);
}

TEST(KernelTimes, OlderSoftwareIsSlower) {
    const Gpu& gpu = find_gpu("a100-sxm-80gb");
    const GemmShape square{.m = 8192, .n = 8192, .k = 8192};
    EXPECT_NEAR(KernelTimes::for_gpu(gpu, "megatron-2020").gemm(square).time /
                    KernelTimes::for_gpu(gpu, "mcore-2024").gemm(square).time,
                load_kernel_preset("a100").generations.at("megatron-2020").gemm, 1e-9);
}

} // namespace
} // namespace echosim
