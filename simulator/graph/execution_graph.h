// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/ids.h"
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"
#include "simulator/kernels/kernel_time.h"
#include "traces/string_pool.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

// The execution graph of one training step, one graph a rank class: what every rank of the class launches, in
// the order in which its host thread launches it, and what each op waits for. No times: annotate() adds them.
//
// The graph is a set of blocks (forward of a layer, backward of a layer, optimizer, ...) and a program, the
// list of block instances (micro-batch, chunk, layer). A step of GPT-3 175B has 10^5 ops a rank but only some
// 20 blocks of 5-60 ops; nobody ever holds the flat list, the engine expands an instance when it gets there.
//
// Order within a rank follows CUDA:
//   - a host thread launches ops in program order, each after its launch cost (a recorded rank has several
//     threads, which run side by side; every op names its own);
//   - a stream runs its ops in launch order, one at a time;
//   - further dependencies are explicit (Dep): an earlier op of the same block instance, a port (the op that
//   last
//     recorded it: a CUDA event), or the tail of another stream at the moment of the launch;
//   - a host op makes the host thread wait for its dependencies (cudaEventSynchronize, .item()).
namespace echosim {

struct Dep {
    enum class Kind : std::uint8_t { op, port, tail };
    Kind kind = Kind::op;
    std::uint32_t index = 0;
    static constexpr Dep op(std::uint32_t i) { return {Kind::op, i}; }
    static constexpr Dep port(std::uint32_t p) { return {Kind::port, p}; }
    static constexpr Dep tail(std::uint32_t stream) { return {Kind::tail, stream}; }
};

// How the host launches an op; annotate() turns it into CPU time.
// (`step`: what Python does once a step: data loader, learning rate, logging).
enum class Launch : std::uint8_t { none, kernel, gemm, attention, collective, p2p, sync, step };

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;
inline constexpr std::uint32_t kNoPort = kNone;
inline constexpr std::uint32_t kLaunchQueue = 1024; // depth of CUDA's launch queue

// One node of a block. 32 bytes: blocks are read over and over, they should stay in the first-level cache.
struct Op {
    NameId name;
    std::uint32_t work = kNone;   // row of RankGraph::works
    std::uint32_t first_dep = 0;  // deps of the block, [first_dep, first_dep + dep_count)
    std::uint32_t memory = kNone; // row of RankGraph::memory_changes, applied when the host launches the op
    std::uint32_t record_port = kNoPort;
    std::uint16_t dep_count = 0;
    std::uint16_t stream = 0;
    std::uint16_t thread = 0; // of the host
    OpKind kind = OpKind::compute;
    KernelClass kernel_class = KernelClass::other;
    Phase phase = Phase::other;
    Launch launch = Launch::kernel;
    bool in_graph = false; // a CUDA graph starts it: it passes by the hardware queue (RankGraph::one_queue)
};
static_assert(sizeof(Op) <= 32);

struct Block {
    std::string name;
    std::vector<Op> ops;
    std::vector<Dep> deps;
};

// One use of a block. -1 = does not apply.
struct Instance {
    BlockId block;
    std::int32_t microbatch = -1;
    std::int32_t chunk = -1;
    std::int32_t layer = -1; // global index of the decoder layer
};

struct CollectiveWork {
    std::uint32_t slot = 0; // row of RankGraph::communicators
    CollectiveKind kind = CollectiveKind::all_reduce;
    Bytes bytes = 0; // as nccl-tests counts
    DType dtype = DType::bf16;
};
struct TransferPart {
    std::uint32_t channel = 0; // row of RankGraph::channels
    bool send = false;
    Bytes bytes = 0;
};
struct TransferWork {
    std::vector<TransferPart> parts; // one NCCL group: done when all parts are
};
struct HostWork {
    Seconds time = 0; // CPU time besides the launch cost
};
using Work = std::variant<GemmShape, AttentionShape, MemoryShape, CollectiveWork, TransferWork, HostWork>;

// What the caching allocator gives out or takes back when the op is launched.
enum class MemoryKind : std::uint8_t { activations, buffers };
struct MemoryChange {
    MemoryKind kind = MemoryKind::activations;
    std::int64_t bytes = 0; // positive: allocated
};

struct StreamInfo {
    std::string name; // "compute", "tp", "dp", "pp"
    GroupKind group = GroupKind::world;
    bool communication = false;
};

// Transfers between pipeline stages: a FIFO from one rank to another. forward: activations, else gradients.
struct Channel {
    int peer_stage = 0;
    bool forward = true;
    bool send = false; // this rank sends on it
    bool operator==(const Channel&) const = default;
};

// The graph of one rank class.
struct RankGraph {
    int stage = 0; // pipeline stage
    StringPool names;
    std::vector<Block> blocks;
    std::vector<Instance> program;
    std::vector<Work> works;
    std::vector<MemoryChange> memory_changes;
    std::vector<StreamInfo> streams;
    std::vector<GroupKind> communicators; // slot -> group
    std::vector<Channel> channels;
    std::uint32_t ports = 0;
    std::uint32_t threads = 1;
    // How many ops the host may be ahead of the device, a power of two: then it waits.
    std::uint32_t launch_queue = kLaunchQueue;
    // CUDA_DEVICE_MAX_CONNECTIONS=1: all launches of the host, whatever their stream, go through one hardware
    // queue in launch order, event waits too; what waits for another stream holds those behind it (engine.h).
    // Copies (OpKind::memory) and the kernels inside a CUDA graph do not go through it.
    bool one_queue = false;
};

// Ops of the whole program (host ops included).
std::int64_t count_ops(const RankGraph& graph);

} // namespace echosim
