// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_graph.h"

#include "clusters.h"

#include <gtest/gtest.h>

namespace echosim::nccl {
namespace {

using test::cluster_of;
using test::group_on;

GroupSystem system_on(const Cluster& cluster, int nodes, int per_node, const std::string& version = "2.30",
                      const std::map<std::string, std::string>& environment = {}) {
    return group_system(cluster, group_on(cluster, nodes, per_node), read_settings(version, environment),
                        preset_constants());
}

GroupSystem system_of(const std::string& gpu, int nodes, int per_node, double gbits = 400) {
    return system_on(cluster_of(gpu, 8, 8, gbits), nodes, per_node);
}

// The table of docs/models.md: channels x speed and CTAs that NCCL finds.
TEST(NcclGraph, SearchInClosedForm) {
    struct Row {
        const char* gpu;
        int nodes, per_node;
        double gbits;
        int channels;
        double speed;
        int ctas;
    };
    const Row rows[] = {
        {"a100-sxm-80gb", 1, 8, 200, 12, 20, 24}, {"h100-sxm", 1, 8, 400, 12, 30, 24},
        {"h100-sxm", 1, 2, 400, 12, 30, 24},      {"b200-sxm", 1, 8, 400, 16, 45, 32},
        {"a100-sxm-80gb", 4, 8, 200, 8, 24, 16},  {"h100-sxm", 4, 8, 400, 8, 48, 16},
        {"h100-sxm", 4, 1, 400, 2, 24, 4},        {"a100-sxm-80gb", 4, 1, 200, 1, 24, 2},
        {"b200-sxm", 4, 8, 400, 8, 48, 16},
    };
    for (const Row& row : rows) {
        const GroupSystem s = system_of(row.gpu, row.nodes, row.per_node, row.gbits);
        EXPECT_EQ(s.ring.channels, row.channels) << row.gpu << " " << row.nodes << "x" << row.per_node;
        EXPECT_DOUBLE_EQ(s.ring.intra, row.speed) << row.gpu << " " << row.nodes << "x" << row.per_node;
        EXPECT_EQ(s.ring_ctas, row.ctas) << row.gpu << " " << row.nodes << "x" << row.per_node;
    }
}

// H800: 8 NVLinks, 8 x 20.6 = 164.8: 4 x 40 = 160, made 8 x 20.
TEST(NcclGraph, EightLinks) {
    Cluster cluster = cluster_of("h800-sxm");
    cluster.node.nvlink = {200e9, 8, true};
    const GroupSystem s = system_on(cluster, 1, 8);
    EXPECT_EQ(s.ring.channels, 8);
    EXPECT_DOUBLE_EQ(s.ring.intra, 20);
}

// Heads put w <= total / (heads + 1) on each link: 370.8 / 9 = 41.2 -> 40; 370.8 / 5 = 74 -> 60; 721.8 / 9
// = 80.2 -> 80.
TEST(NcclGraph, NvlsHeads) {
    EXPECT_DOUBLE_EQ(system_of("h100-sxm", 1, 8).nvls.intra, 40);
    EXPECT_DOUBLE_EQ(system_of("h100-sxm", 1, 4).nvls.intra, 60);
    EXPECT_DOUBLE_EQ(system_of("b200-sxm", 1, 8).nvls.intra, 80);
    EXPECT_EQ(system_of("a100-sxm-80gb", 1, 8).nvls.channels, 0);
}

} // namespace
} // namespace echosim::nccl
