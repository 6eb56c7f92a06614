// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/transfer_blocks.h"

#include "simulator/graph/block_builder.h"
#include "simulator/graph/layer_shapes.h"

#include <utility>

namespace echosim {
namespace {

Stream direction_of(Transfer what) {
    switch (what) {
    case Transfer::send_forward:
        return Stream::pp_send_forward;
    case Transfer::recv_forward:
        return Stream::pp_recv_forward;
    case Transfer::send_backward:
        return Stream::pp_send_backward;
    case Transfer::recv_backward:
        return Stream::pp_recv_backward;
    }
    return Stream::pp;
}

bool is_send(Transfer what) {
    return what == Transfer::send_forward || what == Transfer::send_backward;
}
bool is_forward(Transfer what) {
    return what == Transfer::send_forward || what == Transfer::recv_forward;
}

Bytes tensor_bytes(const Job& job) {
    const LayerShapes s = layer_shapes(job);
    return static_cast<Bytes>(s.hidden_bytes / (job.parallel.sequence_parallel ? s.t : 1));
}

} // namespace

TransferBlocks::TransferBlocks(RankGraph& graph, const Job& job)
    : graph_(graph), chunks_(job.parallel.vpp), bytes_(tensor_bytes(job)) {}

BlockId TransferBlocks::wait_for_input(bool forward, int microbatch, int chunk) {
    const std::uint32_t input = port(forward, microbatch, chunk);
    const auto [it, added] = waits_.try_emplace(input);
    if (added) {
        BlockBuilder b(graph_, "wait input", Phase::pipeline);
        b.wait(forward ? "wait activations" : "wait gradients", {Dep::port(input)});
        it->second = b.finish();
    }
    return it->second;
}

std::uint32_t TransferBlocks::channel(const TransferCall& call) {
    const Channel wanted{call.peer, is_forward(call.what), is_send(call.what)};
    for (std::size_t i = 0; i < graph_.channels.size(); ++i)
        if (graph_.channels[i] == wanted)
            return static_cast<std::uint32_t>(i);
    graph_.channels.push_back(wanted);
    return static_cast<std::uint32_t>(graph_.channels.size() - 1);
}

TransferPart TransferBlocks::part(const TransferCall& call) {
    return {channel(call), is_send(call.what), bytes_};
}

BlockId TransferBlocks::make_batched(const ScheduleStep& step) {
    BlockBuilder b(graph_, "pipeline transfer", Phase::pipeline);
    TransferWork group;
    for (const TransferCall& call : step.transfers)
        group.parts.push_back(part(call));
    const auto op = b.transfer("send/recv (pp)", group, Stream::pp, {Dep::tail(tail_of(Stream::compute))});
    bool received = false; // an interleaved group may bring activations and gradients
    for (const TransferCall& call : step.transfers)
        if (!is_send(call.what))
            b.record(std::exchange(received, true) ? b.mark("received (pp)", Stream::pp) : op,
                     port(is_forward(call.what), call.microbatch, call.chunk));
    if (step.host_sync)
        b.host("synchronize", 5_us, {Dep::op(op), Dep::tail(tail_of(Stream::compute))});
    return b.finish();
}

BlockId TransferBlocks::make_unbatched(const ScheduleStep& step) {
    BlockBuilder b(graph_, "pipeline transfer", Phase::pipeline);
    for (const TransferCall& call : step.transfers) {
        const bool send = is_send(call.what);
        const auto op = b.transfer(send ? "send (pp)" : "recv (pp)", {{part(call)}}, direction_of(call.what),
                                   {Dep::tail(tail_of(Stream::compute))});
        if (!send)
            b.record(op, port(is_forward(call.what), call.microbatch, call.chunk));
    }
    return b.finish();
}

BlockId TransferBlocks::exchange(const ScheduleStep& step) {
    std::vector<std::tuple<int, int, bool>> key;
    for (const TransferCall& call : step.transfers) {
        const bool send = is_send(call.what);
        const int input =
            send ? -1 : static_cast<int>(port(is_forward(call.what), call.microbatch, call.chunk));
        key.emplace_back(static_cast<int>(call.what), input, step.batched);
    }
    const auto [it, added] = exchanges_.try_emplace(key);
    if (added)
        it->second = step.batched ? make_batched(step) : make_unbatched(step);
    return it->second;
}

} // namespace echosim
