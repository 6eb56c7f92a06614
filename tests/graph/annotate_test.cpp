// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/built_step.h"

#include <gtest/gtest.h>
#include <set>

namespace echosim {
namespace {

// The work of the op with this name in the graph of the first stage.
std::uint32_t work_of(const RankGraph& graph, std::string_view name) {
    for (const Block& block : graph.blocks)
        for (const Op& op : block.ops)
            if (graph.names[op.name] == name)
                return op.work;
    return kNone;
}

TEST(Annotate, EveryOpKnowsWhatItOccupies) {
    const Cluster cluster = find_cluster("dgx-h100");
    const test::BuiltStep step = test::build_step(test::gpt3_job(), cluster);
    const AnnotatedGraph& stage = step.annotated.front();
    ASSERT_EQ(stage.kernels.size(), stage.graph->works.size());
    ASSERT_EQ(stage.communications.size(), stage.graph->works.size());
    for (const Block& block : stage.graph->blocks)
        for (const Op& op : block.ops) {
            if (op.work == kNone)
                continue;
            const KernelFootprint& kernel = stage.kernels[op.work];
            const CommFootprint& comm = stage.communications[op.work];
            if (op.kind == OpKind::compute) {
                EXPECT_EQ(kernel.kernel_class, op.kernel_class) << stage.graph->names[op.name];
                EXPECT_GE(kernel.blocks, 1) << stage.graph->names[op.name];
                EXPECT_GT(kernel.hbm_share, 0) << stage.graph->names[op.name];
            }
            if (op.kind == OpKind::collective || op.kind == OpKind::p2p) {
                EXPECT_GE(comm.ctas, 1) << stage.graph->names[op.name];
                EXPECT_GT(comm.hbm_share, 0) << stage.graph->names[op.name];
                EXPECT_FALSE(comm.high_priority);
            }
        }
}

TEST(Annotate, FootprintsOfALayer) {
    const Cluster cluster = find_cluster("dgx-h100");
    const test::BuiltStep step = test::build_step(test::gpt3_job(), cluster);
    const AnnotatedGraph& stage = step.annotated.front();
    // fc1: 2048 tokens x 49152 / 8 outputs: 16 x 24 tiles of 128 x 256, looped over by 132 blocks
    const KernelFootprint& fc1 = stage.kernels[work_of(*stage.graph, "fc1")];
    EXPECT_EQ(fc1.tiles, 16 * 24);
    EXPECT_EQ(fc1.blocks, 132);
    // attention: 2048 / 128 x 96 / 8 heads
    EXPECT_EQ(stage.kernels[work_of(*stage.graph, "attention")].tiles, 16 * 12);
    // tensor-parallel gather inside a node: no network
    const CommFootprint& gather = stage.communications[work_of(*stage.graph, "all-gather (tp)")];
    EXPECT_EQ(gather.kind, CollectiveKind::all_gather);
    EXPECT_GT(gather.nvlink_share, 0);
    EXPECT_EQ(gather.nic_share, 0);
    // gradients: 16 replicas, one a node: over the network alone, all of the GPU's NIC or nearly
    const CommFootprint& reduce =
        stage.communications[work_of(*stage.graph, "reduce-scatter gradients (dp)")];
    EXPECT_EQ(reduce.kind, CollectiveKind::reduce_scatter);
    EXPECT_GT(reduce.nic_share, 0.5);
    EXPECT_LT(reduce.hbm_share, 0.1);
}

TEST(Annotate, PriorityAndUserBuffersByGroup) {
    const Cluster cluster = find_cluster("dgx-h100");
    const test::BuiltStep step = test::build_step(test::gpt3_job(), cluster);
    const KernelTimes kernels = KernelTimes::for_gpu(cluster.gpu, "mcore-2025");
    const NcclModel collectives(cluster);
    const HostCosts host = host_costs("mcore-2025");
    const std::vector<GroupKind> groups{GroupKind::tp};
    const auto footprint = [&](std::string_view op, bool user_buffers) {
        const AnnotatedGraph stage = annotate(step.graphs.front(), step.placement.cost_classes.front(),
                                              {kernels, collectives, host, cluster, groups, user_buffers});
        return stage.communications[work_of(*stage.graph, op)];
    };
    EXPECT_TRUE(footprint("all-gather (tp)", false).high_priority);
    EXPECT_FALSE(footprint("reduce-scatter gradients (dp)", false).high_priority);
    // user buffers are of tensor parallelism only: it then slows nothing
    EXPECT_GT(footprint("all-gather (tp)", false).ctas, 0);
    EXPECT_EQ(footprint("all-gather (tp)", true).ctas, 0);
    EXPECT_EQ(footprint("all-gather (tp)", true).hbm_share, 0);
    EXPECT_GT(footprint("reduce-scatter gradients (dp)", true).ctas, 0);
}

} // namespace
} // namespace echosim
