// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/annotate.h"

#include "simulator/kernels/launch_shape.h"

#include <algorithm>

namespace echosim {
namespace {

struct WorkCost {
    OpCost op;
    KernelFootprint kernel;
    CommFootprint traffic;
    CommCost communication;
    std::vector<TimeNs> parts;
};

class Annotator {
  public:
    Annotator(const RankGraph& graph, const CostClass& placement, const CostModels& models)
        : graph_(graph), placement_(placement), models_(models) {}

    WorkCost operator()(const GemmShape& shape) const { return kernel(shape, models_.kernels.gemm(shape)); }
    WorkCost operator()(const AttentionShape& shape) const {
        return kernel(shape, models_.kernels.attention(shape));
    }
    WorkCost operator()(const MemoryShape& shape) const {
        return kernel(shape, models_.kernels.memory_bound(shape));
    }
    WorkCost operator()(const CollectiveWork& work) const {
        const Collective collective{work.kind, work.bytes, work.dtype, true};
        WorkCost cost;
        cost.communication = models_.collectives.estimate(collective, placement_.communicators[work.slot]);
        fill(cost, work.kind, graph_.communicators[work.slot]);
        return cost;
    }
    WorkCost operator()(const TransferWork& work) const {
        WorkCost cost;
        for (const TransferPart& part : work.parts) {
            const Collective message{CollectiveKind::send_recv, part.bytes, DType::bf16, true};
            const CommCost c = models_.collectives.estimate(message, placement_.channels[part.channel]);
            cost.parts.push_back(to_ns(c.time));
            if (c.time >= cost.communication.time)
                cost.communication = c;
        }
        fill(cost, CollectiveKind::send_recv, GroupKind::pp);
        return cost;
    }
    WorkCost operator()(const HostWork& work) const {
        WorkCost cost;
        cost.op.alone_ns = to_ns(work.time);
        return cost;
    }

    std::uint32_t launch_ns(Launch launch) const {
        const HostCosts& h = models_.host;
        switch (launch) {
        case Launch::none:
            return 0;
        case Launch::kernel:
            return static_cast<std::uint32_t>(to_ns(h.kernel_launch));
        case Launch::gemm:
            return static_cast<std::uint32_t>(to_ns(h.gemm_launch));
        case Launch::attention:
            return static_cast<std::uint32_t>(to_ns(h.attention_launch));
        case Launch::collective:
            return static_cast<std::uint32_t>(to_ns(h.collective_launch));
        case Launch::p2p:
            return static_cast<std::uint32_t>(to_ns(h.p2p_launch));
        case Launch::sync:
            return static_cast<std::uint32_t>(to_ns(h.sync));
        case Launch::step:
            return static_cast<std::uint32_t>(to_ns(h.step_host));
        }
        return 0;
    }

  private:
    template <class Shape> WorkCost kernel(const Shape& shape, const KernelTime& k) const {
        WorkCost cost;
        cost.kernel = footprint_of(shape, k, models_.cluster.gpu);
        cost.op.alone_ns = to_ns(k.time);
        cost.op.provenance = k.provenance;
        cost.op.hbm_share = static_cast<float>(cost.kernel.hbm_share);
        cost.traffic = {.ctas = 0, .hbm_share = cost.kernel.hbm_share}; // as a copy: memory traffic alone
        return cost;
    }
    void fill(WorkCost& cost, CollectiveKind kind, GroupKind group) const {
        const CommCost& c = cost.communication;
        OpCost& op = cost.op;
        op.alone_ns = to_ns(c.time);
        op.ctas = static_cast<std::uint16_t>(c.channels);
        op.provenance = c.provenance;
        const Node& node = models_.cluster.node;
        op.hbm_share = share(c.hbm_bytes, c.time, models_.cluster.gpu.memory_bandwidth);
        op.nvlink_share = share(c.nvlink_bytes, c.time, node.nvlink.bandwidth);
        op.nic_share = share(c.nic_bytes, c.time, node.nics.bandwidth * node.nics.count / node.gpus);
        op.pcie_share = share(c.pcie_bytes, c.time, pcie_bandwidth(node.pcie));
        if (models_.tp_user_buffers && group == GroupKind::tp)
            return; // slows nothing
        cost.traffic = {.ctas = static_cast<double>(c.channels),
                        .hbm_share = op.hbm_share,
                        .nvlink_share = op.nvlink_share,
                        .nic_share = op.nic_share,
                        .threads_per_cta = threads_of(c),
                        .kind = kind,
                        .algorithm = c.algorithm,
                        .protocol = c.protocol,
                        .high_priority = std::ranges::count(models_.high_priority, group) > 0};
    }
    // NCCL's largest CTAs (src/enqueue.cc): 640 threads, but a ring of LL 512, and of Simple one more warp
    // that keeps time.
    static int threads_of(const CommCost& c) {
        if (c.algorithm != Algorithm::ring || c.protocol == Protocol::ll128)
            return 640;
        return c.protocol == Protocol::simple ? 544 : 512;
    }
    // Part of a bandwidth that `bytes` in `time` take.
    static float share(double bytes, Seconds time, BytesPerSecond bandwidth) {
        if (time <= 0 || bandwidth <= 0)
            return 0;
        return static_cast<float>(std::min(1.0, bytes / time / bandwidth));
    }

    const RankGraph& graph_;
    const CostClass& placement_;
    const CostModels& models_;
};

} // namespace

AnnotatedGraph annotate(const RankGraph& graph, const CostClass& placement, const CostModels& models) {
    const Annotator annotator(graph, placement, models);
    AnnotatedGraph out;
    out.graph = &graph;
    out.kernel_gap_ns = to_ns(models.host.kernel_gap);
    out.event_wait_ns = to_ns(models.host.event_wait);
    out.launch_latency_ns = to_ns(models.host.launch_latency);
    std::vector<OpCost> by_work;
    for (const Work& work : graph.works) {
        WorkCost cost = std::visit(annotator, work);
        by_work.push_back(cost.op);
        out.communication.push_back(cost.communication);
        out.transfer_ns.push_back(std::move(cost.parts));
        out.kernels.push_back(cost.kernel);
        out.communications.push_back(cost.traffic);
    }
    for (const Block& block : graph.blocks) {
        std::vector<OpCost>& costs = out.costs.emplace_back();
        for (const Op& op : block.ops) {
            OpCost cost = op.work == kNone ? OpCost{} : by_work[op.work];
            cost.host_ns = annotator.launch_ns(op.launch);
            costs.push_back(cost);
        }
    }
    return out;
}

} // namespace echosim
