// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/features.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace echosim {
namespace {

double at(const FeatureVector& x, Feature feature) {
    return x[static_cast<std::size_t>(feature)];
}

// The example of the header: 132 blocks of 256 threads, q = 1, M = 132, beside 24 CTAs.
TEST(Features, OfAKernelWithOneFullWave) {
    KernelFootprint kernel;
    kernel.kernel_class = KernelClass::gemm;
    kernel.time = 100e-6;
    kernel.blocks = 132;
    kernel.blocks_per_sm = 1;
    kernel.threads_per_block = 256;
    kernel.shared_bytes = 48 * 1024;
    kernel.hbm_share = 0.3;
    kernel.compute_share = 0.8;
    kernel.tensor_cores = true;
    const CommLoad load{
        .ctas = 24, .hbm_share = 0.1, .nvlink_share = 0.5, .ctas_fitting = 6, .kernel_first = true};
    const FeatureVector x = features_of(kernel, load, 132, 1.7);
    EXPECT_DOUBLE_EQ(at(x, Feature::log_time), std::log(100.0)); // 100 us
    EXPECT_EQ(at(x, Feature::gemm), 1);
    EXPECT_EQ(at(x, Feature::elementwise), 0);
    EXPECT_EQ(at(x, Feature::grid_known), 1);
    EXPECT_DOUBLE_EQ(at(x, Feature::waves), std::log(2.0)); // 132 / (1 x 132) = 1
    EXPECT_EQ(at(x, Feature::tail), 0);
    EXPECT_EQ(at(x, Feature::occupancy_ratio), 1); // not measured: min(1, 1)
    EXPECT_DOUBLE_EQ(at(x, Feature::threads_per_block), 0.256);
    EXPECT_EQ(at(x, Feature::shared_kib), 48);
    EXPECT_EQ(at(x, Feature::hbm_share), 0.3);
    EXPECT_EQ(at(x, Feature::compute_share), 0.8);
    EXPECT_EQ(at(x, Feature::tensor_cores), 1);
    EXPECT_DOUBLE_EQ(at(x, Feature::comm_ctas), 24.0 / 132);
    EXPECT_EQ(at(x, Feature::comm_hbm_share), 0.1);
    EXPECT_EQ(at(x, Feature::comm_nvlink_share), 0.5);
    EXPECT_EQ(at(x, Feature::comm_fits), 0.25); // 6 of 24
    EXPECT_EQ(at(x, Feature::kernel_first), 1);
    EXPECT_DOUBLE_EQ(at(x, Feature::log_prior), std::log(1.7));
}

// 300 blocks, two on each of 100 SMs: 1.5 waves.
TEST(Features, OfAPartialWave) {
    KernelFootprint kernel;
    kernel.blocks = 300;
    kernel.blocks_per_sm = 2;
    const FeatureVector x = features_of(kernel, {}, 100, 1);
    EXPECT_DOUBLE_EQ(at(x, Feature::waves), std::log(2.5));
    EXPECT_DOUBLE_EQ(at(x, Feature::tail), 0.5);
    kernel.occupancy_ratio = 0.4; // measured
    EXPECT_EQ(at(features_of(kernel, {}, 100, 1), Feature::occupancy_ratio), 0.4);
}

TEST(Features, OfWhatIsNotKnownAreFinite) {
    for (const double value : features_of({}, {}, 108, 1))
        EXPECT_TRUE(std::isfinite(value));
}

TEST(Features, OneColumnOfTheClassAtMost) {
    for (int i = 0; i <= static_cast<int>(KernelClass::norm_wgrad); ++i) {
        KernelFootprint kernel;
        kernel.kernel_class = static_cast<KernelClass>(i);
        const FeatureVector x = features_of(kernel, {}, 108, 1);
        double sum = 0;
        for (int j = static_cast<int>(Feature::gemm); j <= static_cast<int>(Feature::copy); ++j)
            sum += x[static_cast<std::size_t>(j)];
        const bool without =
            kernel.kernel_class == KernelClass::other || kernel.kernel_class == KernelClass::embedding;
        EXPECT_EQ(sum, without ? 0 : 1) << to_string(kernel.kernel_class);
    }
}

TEST(Features, NamesAreDistinctAndInTheSchema) {
    std::set<std::string> names(feature_names().begin(), feature_names().end());
    EXPECT_EQ(names.size(), kFeatures);
    for (const std::string& name : names)
        EXPECT_NE(feature_schema().find("; " + name + " ["), std::string::npos) << name;
    EXPECT_EQ(to_string(Feature::kernel_first), "kernel_first");
    EXPECT_EQ(to_string(Feature::log_prior), "log_prior");
}

// Model files carry it: whoever changes a feature changes this figure and the files.
TEST(Features, HashOfTheSchema) {
    EXPECT_EQ(feature_schema_hash(), 0xd8e146f20d32b392ULL);
}

} // namespace
} // namespace echosim
