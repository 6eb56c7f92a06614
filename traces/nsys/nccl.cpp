// SPDX-License-Identifier: Apache-2.0
#include "traces/nccl_names.h"
#include "traces/nsys/import.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>

// NCCL tells NVTX each call with its communicator and message size. The kernel of a call is launched inside
// the call, or at the end of the group of calls that it belongs to, on the same thread: the calls of a thread
// since the last NCCL kernel are those of the next one. Several of them in one kernel are a fused group.
namespace echosim {
namespace {

struct Launched {
    const NsysNcclKernel* kernel = nullptr;
    TimeNs start = 0; // of the CUDA call that launched it
};

struct Calls {
    std::vector<const NsysNcclCall*> calls; // of one thread, those that have a kernel
    std::vector<Launched> kernels;
};

std::optional<CollectiveName> call_kind(const std::string& name) {
    return name == "ncclBcast" ? CollectiveName{CollectiveKind::broadcast, Direction::none, false}
                               : collective_named(std::string_view(name).substr(4));
}

class Describer {
  public:
    Describer(NsysImport& import, Trace& trace);
    void run();

  private:
    void match(Calls& thread);
    void describe_fused(const NsysNcclKernel& kernel, const std::vector<const NsysNcclCall*>& calls);
    bool describe(const NsysNcclKernel& kernel, const NsysNcclCall& call);
    std::uint32_t communicator_row(std::uint64_t id);

    NsysImport& import_;
    Trace& trace_;
    std::map<std::uint64_t, std::uint32_t> sizes_; // ranks of a communicator
    std::map<std::uint64_t, std::uint32_t> rows_;
};

Describer::Describer(NsysImport& import, Trace& trace) : import_(import), trace_(trace) {
    for (const NsysNcclCall& call : import.nccl_calls) {
        if (call.ranks > 0 && call.communicator != 0) {
            sizes_[call.communicator] = static_cast<std::uint32_t>(call.ranks);
        }
    }
}

std::uint32_t Describer::communicator_row(std::uint64_t id) {
    if (id == 0) {
        return kNoRow;
    }
    const auto [entry, added] =
        rows_.try_emplace(id, static_cast<std::uint32_t>(trace_.communicators.size()));
    if (added) {
        trace_.communicators.push_back({trace_.strings.intern(fmt::format("{:#018x}", id)), kNoName, {}});
    }
    return entry->second;
}

bool Describer::describe(const NsysNcclKernel& kernel, const NsysNcclCall& call) {
    const CollectiveName named = *call_kind(call.name);
    const CollectiveKind by_kernel = parse_nccl_kernel(trace_.text(kernel.name)).kind;
    // Some collectives are made of sends and receives.
    if (by_kernel != kNoCollective && by_kernel != named.kind && by_kernel != CollectiveKind::send_recv) {
        return false;
    }
    CommOp& op = trace_.comm_ops[kernel.comm_op];
    op.kind = named.kind;
    op.direction = named.direction;
    op.peer = call.peer;
    op.communicator = communicator_row(call.communicator);
    const auto size = sizes_.find(call.communicator);
    op.group_size = size == sizes_.end() ? 0 : size->second;
    const bool of_one_rank = op.kind == CollectiveKind::all_gather || op.kind == CollectiveKind::gather ||
                             op.kind == CollectiveKind::reduce_scatter ||
                             op.kind == CollectiveKind::scatter || op.kind == CollectiveKind::all_to_all;
    const std::uint64_t bytes = call.bytes.value_or(0);
    const std::uint64_t times = of_one_rank ? op.group_size : 1;
    op.bytes = times > 0 && bytes > std::numeric_limits<Bytes>::max() / times ? 0 : bytes * times;
    return true;
}

// What the calls of a fused group have in common.
void Describer::describe_fused(const NsysNcclKernel& kernel, const std::vector<const NsysNcclCall*>& calls) {
    std::set<std::uint64_t> communicators;
    std::set<CollectiveKind> kinds;
    std::set<std::int32_t> peers;
    std::set<Direction> directions;
    Bytes bytes = 0;
    for (const NsysNcclCall* call : calls) {
        if (!describe(kernel, *call)) {
            import_.report.warn("ambiguous_collective");
            trace_.comm_ops[kernel.comm_op].communicator = kNoRow;
            return;
        }
        const CommOp& op = trace_.comm_ops[kernel.comm_op];
        communicators.insert(call->communicator);
        kinds.insert(op.kind);
        peers.insert(op.peer);
        directions.insert(op.direction);
        bytes += op.direction == Direction::receive ? 0 : op.bytes;
    }
    CommOp& op = trace_.comm_ops[kernel.comm_op];
    op.bytes =
        kinds.size() == 1 ? std::max(bytes, directions.count(Direction::send) > 0 ? bytes : op.bytes) : 0;
    op.peer = peers.size() == 1 ? op.peer : -1;
    op.direction = directions.size() == 1 ? op.direction : Direction::both;
    if (kinds.size() > 1) {
        op.kind = parse_nccl_kernel(trace_.text(kernel.name)).kind;
    }
    if (communicators.size() > 1 || kinds.size() > 1) {
        op.communicator = kNoRow;
        import_.report.warn("ambiguous_collective");
    }
}

void Describer::match(Calls& thread) {
    const auto by_start = [](const NsysNcclCall* a, const NsysNcclCall* b) { return a->start < b->start; };
    std::stable_sort(thread.calls.begin(), thread.calls.end(), by_start);
    std::stable_sort(thread.kernels.begin(), thread.kernels.end(),
                     [](const Launched& a, const Launched& b) { return a.start < b.start; });
    std::size_t call = 0;
    for (std::size_t kernel = 0; kernel < thread.kernels.size();) {
        std::vector<const NsysNcclCall*> pending;
        while (call < thread.calls.size() && thread.calls[call]->start <= thread.kernels[kernel].start) {
            pending.push_back(thread.calls[call++]);
        }
        const TimeNs next =
            call < thread.calls.size() ? thread.calls[call]->start : std::numeric_limits<TimeNs>::max();
        std::size_t last = kernel + 1;
        while (last < thread.kernels.size() && thread.kernels[last].start < next) {
            ++last;
        }
        if (pending.size() == last - kernel) {
            for (std::size_t i = 0; i < pending.size(); ++i) {
                const bool fits = describe(*thread.kernels[kernel + i].kernel, *pending[i]);
                import_.report.warn("ambiguous_collective", fits ? 0 : 1);
            }
        } else if (last - kernel == 1 && !pending.empty()) {
            describe_fused(*thread.kernels[kernel].kernel, pending);
        } else {
            import_.report.warn("ambiguous_collective", last - kernel);
        }
        kernel = last;
    }
}

void Describer::run() {
    std::map<std::uint32_t, Calls> threads;
    for (const NsysNcclCall& call : import_.nccl_calls) {
        if (call_kind(call.name)) {
            threads[call.thread].calls.push_back(&call);
        }
    }
    for (const NsysNcclKernel& kernel : import_.nccl_kernels) {
        const NsysCall* launch = import_.find_call(kernel.process, kernel.correlation);
        if (launch == nullptr) {
            import_.report.warn("ambiguous_collective");
        } else {
            threads[launch->thread].kernels.push_back({&kernel, launch->start});
        }
    }
    for (auto& [thread, calls] : threads) {
        match(calls);
    }
}

} // namespace

void describe_nsys_collectives(NsysImport& import, Trace& trace) {
    if (import.nccl_kernels.empty()) {
        return;
    }
    if (import.nccl_calls.empty()) {
        import.report.note("sizes and groups of the collectives are not in the file (nsys profile "
                           "--trace=nvtx and NCCL_NVTX_DISABLE unset, exported with --include-json=true or "
                           "--include-blobs=true)");
        return;
    }
    Describer(import, trace).run();
}

} // namespace echosim
