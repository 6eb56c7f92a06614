// SPDX-License-Identifier: Apache-2.0
#include "traces/workloads/graph.h"

#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::string_view kCompute = "compute";

StreamKind kind_of_group(std::string_view group) {
    if (group == "tp" || group == "tp_ep")
        return StreamKind::tp_comm;
    if (group == "dp" || group == "edp" || group == "dp_cp")
        return StreamKind::dp_comm;
    if (group == "ep")
        return StreamKind::ep_comm;
    if (group == "cp")
        return StreamKind::cp_comm;
    return group == "pp" ? StreamKind::p2p : StreamKind::comm;
}

} // namespace

WorkloadGraph::WorkloadGraph(TraceBuilder& builder, std::string_view name, int stage,
                             const std::vector<int>& ranks)
    : builder_(builder),
      rank_class_(builder.add_class(ranks.empty() ? std::string(name) : fmt::format("rank {}", ranks.front()),
                                    stage, ranks)) {}

std::uint32_t WorkloadGraph::stream_for(std::string_view work) {
    const auto found = streams_.find(work);
    if (found != streams_.end())
        return found->second;
    const std::uint32_t stream =
        work == kCompute
            ? builder_.add_stream(rank_class_, StreamKind::compute, kCompute)
            : builder_.add_stream(rank_class_, kind_of_group(work), fmt::format("{} communication", work));
    streams_.emplace(work, stream);
    return stream;
}

std::uint64_t WorkloadGraph::add(std::uint32_t stream, Event event, FlowKind flow) {
    event.label = label_;
    event.args = args_;
    event.provenance = provenance_;
    const std::uint64_t ref = builder_.add_event(stream, event);
    for (const std::uint64_t before : after_)
        builder_.add_flow(before, ref, flow);
    return ref;
}

std::uint64_t WorkloadGraph::compute(std::string_view name, TimeNs duration) {
    ++kernels_;
    const std::uint64_t ref = add(
        stream_for(kCompute), {.duration = duration, .name = builder_.name(name), .kind = EventKind::kernel},
        FlowKind::control);
    after_ = {ref};
    return ref;
}

std::uint64_t WorkloadGraph::communicate(const DescribedComm& comm, bool blocking) {
    ++kernels_;
    CommOp op = comm.op;
    op.group = builder_.name(comm.group);
    op.sequence = sequences_[std::string(comm.group)]++;
    const std::uint64_t ref = add(stream_for(comm.group),
                                  {.duration = comm.duration,
                                   .name = builder_.name(comm.name),
                                   .kind = EventKind::comm,
                                   .ext = builder_.add_comm_op(op)},
                                  FlowKind::data);
    if (blocking)
        after_ = {ref};
    return ref;
}

std::uint64_t WorkloadGraph::mark(std::string_view name, std::string_view category) {
    const std::uint64_t ref =
        add(stream_for(kCompute),
            {.name = builder_.name(name), .kind = EventKind::instant, .ext = builder_.name(category).value},
            FlowKind::control);
    after_ = {ref};
    return ref;
}

} // namespace echosim
