// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_model.h"

#include "clusters.h"
#include "simulator/core/error.h"

#include <cmath>
#include <gtest/gtest.h>
#include <thread>

// What the model is asked beside the time of one call: from several threads, under a job's environment, for
// an explanation.
namespace echosim {
namespace {

using test::cluster_of;
using test::group_on;
constexpr Bytes kMiB = 1024 * 1024;

TEST(NcclModel, ThreadsAgree) {
    const Cluster cluster = cluster_of("h100-sxm");
    const auto model = std::make_unique<NcclModel>(cluster);
    const auto total = [&] {
        double sum = 0;
        for (int nodes = 1; nodes <= 32; ++nodes)
            sum += model->estimate({.bytes = 64 * kMiB}, group_on(cluster, nodes, 8)).time;
        return sum;
    };
    double results[4] = {};
    std::vector<std::thread> threads;
    for (double& result : results)
        threads.emplace_back([&total, &result] { result = total(); });
    for (std::thread& thread : threads)
        thread.join();
    for (const double result : results)
        EXPECT_EQ(result, total());
}

TEST(NcclModel, FollowsTheEnvironment) {
    const Cluster cluster = cluster_of("h100-sxm");
    const auto algorithm = [&](const char* name, const char* value) {
        NcclOptions options;
        options.environment = {{name, value}};
        return std::make_unique<NcclModel>(cluster, options)
            ->estimate({.bytes = 256 * kMiB}, group_on(cluster, 1, 8))
            .algorithm;
    };
    EXPECT_EQ(algorithm("NCCL_DEBUG", "INFO"), Algorithm::nvls);
    EXPECT_EQ(algorithm("NCCL_NVLS_ENABLE", "0"), Algorithm::ring);
    EXPECT_EQ(algorithm("NCCL_ALGO", "allreduce:tree"), Algorithm::tree);
    NcclOptions misspelt;
    misspelt.environment = {{"NCCL_NVLS_ENABEL", "0"}};
    EXPECT_EQ(std::make_unique<NcclModel>(cluster, misspelt)->warnings().size(), 1U);
}

// Without peer-to-peer the GPUs of a node have PCIe alone.
TEST(NcclModel, WithoutPeerToPeer) {
    const Cluster cluster = cluster_of("h100-sxm");
    NcclOptions options;
    options.environment = {{"NCCL_P2P_DISABLE", "1"}};
    const auto model = std::make_unique<NcclModel>(cluster, options);
    const CommCost cost = model->estimate({.bytes = 256 * kMiB}, group_on(cluster, 1, 8));
    EXPECT_LT(cost.bus_bandwidth, 40e9);
    EXPECT_GT(cost.pcie_bytes, 0);
}

TEST(NcclModel, SaysWhatIsOddAboutAGroup) {
    const Cluster cluster = cluster_of("h100-sxm");
    const auto model = std::make_unique<NcclModel>(cluster);
    const std::vector<int> uneven = {0, 1, 2, 3, 4, 8, 9};
    const CollectiveExplanation e = model->explain({.bytes = 64 * kMiB}, geometry_of(uneven, cluster));
    ASSERT_EQ(e.notes.size(), 1U);
    EXPECT_NE(e.notes[0].find("2 to 5 ranks"), std::string::npos);
    EXPECT_TRUE(model->explain({.bytes = 64 * kMiB}, group_on(cluster, 2, 8)).notes.empty());
}

// The chosen one first, then by the tuner's estimate; the parts of the time are the time.
TEST(NcclModel, Explains) {
    const Cluster cluster = cluster_of("h100-sxm");
    const auto model = std::make_unique<NcclModel>(cluster);
    const CollectiveExplanation e = model->explain({.bytes = 64 * kMiB}, group_on(cluster, 1, 8));
    ASSERT_GE(e.candidates.size(), 7U);
    EXPECT_EQ(e.candidates[0].algorithm, Algorithm::nvls);
    EXPECT_NEAR(e.candidates[0].time_us, e.cost.time * 1e6, 1e-9);
    EXPECT_NEAR(e.terms.total(), e.cost.time * 1e6, 1e-9);
    for (std::size_t i = 2; i < e.candidates.size(); ++i)
        EXPECT_GE(e.candidates[i].tuner_us, e.candidates[i - 1].tuner_us);
}

TEST(NcclModel, RefusesAWrongVersion) {
    Cluster cluster = cluster_of("h100-sxm");
    cluster.nccl = "latest";
    EXPECT_THROW(std::make_unique<NcclModel>(cluster), InputError);
}

} // namespace
} // namespace echosim
