// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/graph/execution_graph.h"

#include <initializer_list>
#include <string_view>

namespace echosim {

// Streams of every rank, in this order. Each NCCL communicator has a stream of its own; unbatched pipeline
// transfers have one stream a direction, batched ones share `pp`.
enum class Stream : std::uint8_t {
    compute,
    tp,
    dp,
    pp,
    pp_send_forward,
    pp_recv_forward,
    pp_send_backward,
    pp_recv_backward,
    embd,
    world
};
inline constexpr std::uint32_t tail_of(Stream s) {
    return static_cast<std::uint32_t>(s);
}

// Communicator slots of every rank, in this order.
enum class Slot : std::uint8_t { tp, dp, embd, mp, world };

// Appends ops to one block, in launch order. Every call returns the op's index for later dependencies.
class BlockBuilder {
  public:
    BlockBuilder(RankGraph& graph, std::string name, Phase phase);

    std::uint32_t gemm(std::string_view name, const GemmShape& shape, std::initializer_list<Dep> deps = {});
    std::uint32_t attention(std::string_view name, const AttentionShape& shape);
    // A kernel bound by memory traffic of `bytes`.
    std::uint32_t memory(std::string_view name, KernelClass kernel_class, double bytes,
                         std::initializer_list<Dep> deps = {});
    // On the communicator's own stream, after what is on the compute stream by now.
    std::uint32_t collective(std::string_view name, const CollectiveWork& work, Stream stream);
    std::uint32_t transfer(std::string_view name, const TransferWork& work, Stream stream,
                           std::initializer_list<Dep> deps);
    // The host thread works for `time` after its dependencies are done.
    std::uint32_t host(std::string_view name, Seconds time, std::initializer_list<Dep> deps = {});
    // What the process does once a step outside of the model.
    std::uint32_t host_step(std::string_view name);
    // A marker on the compute stream that waits (no time of its own).
    std::uint32_t wait(std::string_view name, std::initializer_list<Dep> deps);
    // A marker behind what is on the stream by now: records one more port of the op before it.
    std::uint32_t mark(std::string_view name, Stream stream);

    void record(std::uint32_t op, std::uint32_t port);
    // Added to the last op; several changes of one op add up if they are of one kind.
    void allocate(MemoryKind kind, std::int64_t bytes);
    void release(MemoryKind kind, std::int64_t bytes) { allocate(kind, -bytes); }
    void set_phase(Phase phase) { phase_ = phase; }

    // Moves the block into the graph.
    BlockId finish();

  private:
    std::uint32_t append(std::string_view name, Op op, std::initializer_list<Dep> deps);
    std::uint32_t add_work(Work work);

    RankGraph& graph_;
    Block block_;
    Phase phase_;
};

} // namespace echosim
