// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "simulator/core/footprint.h"
#include "simulator/graph/execution_graph.h"
#include "simulator/graph/rank_class.h"
#include "simulator/kernels/host_cost.h"
#include "simulator/kernels/kernel_time.h"

#include <span>
#include <vector>

namespace echosim {

// Cost of one op alone. Parallel to Block::ops.
struct OpCost {
    TimeNs alone_ns = 0;       // on the device (transfers: the longest part); host ops: CPU time
    std::uint32_t host_ns = 0; // CPU time of the launch
    float hbm_share = 0;       // share of the HBM bandwidth while it runs; likewise the two below
    float nvlink_share = 0;    // of the GPU's NVLink
    float nic_share = 0;       // of the GPU's share of the NICs
    float pcie_share = 0;      // of the GPU's PCIe link
    std::uint16_t ctas = 0;    // SMs held by a collective
    Provenance provenance = Provenance::assumed;
    std::int32_t gap_ns =
        0; // to the op before it on its stream, besides kernel_gap_ns; negative: they overlap
};
static_assert(sizeof(OpCost) <= 40);

// The graph of a cost class with times: what the engine runs.
struct AnnotatedGraph {
    const RankGraph* graph = nullptr;
    std::vector<std::vector<OpCost>> costs;       // [block][op]
    std::vector<CommCost> communication;          // by row of RankGraph::works; empty cost for kernels
    std::vector<std::vector<TimeNs>> transfer_ns; // by row of works: time of each part
    // What they occupy, by row of works; empty (recorded graphs): not known.
    std::vector<KernelFootprint> kernels;
    std::vector<CommFootprint> communications;
    TimeNs kernel_gap_ns = 0;     // between ops of one stream
    TimeNs event_wait_ns = 0;     // dependency across streams
    TimeNs launch_latency_ns = 0; // end of launch to earliest start
};

struct CostModels {
    const KernelTimes& kernels;
    const CollectiveModel& collectives;
    const HostCosts& host;
    const Cluster& cluster;
    std::span<const GroupKind> high_priority = {}; // groups whose streams go first
    // TP communication goes through Transformer Engine's user buffers, split beside the GEMMs that it belongs
    // to. The graph has it whole, in the open or beside another GEMM: its time alone is all that it costs.
    bool tp_user_buffers = false;
};

// Per block, so that the cost is that of the blocks, not of the step. The graph must outlive the result.
AnnotatedGraph annotate(const RankGraph& graph, const CostClass& placement, const CostModels& models);

} // namespace echosim
