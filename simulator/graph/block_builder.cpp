// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/block_builder.h"

#include "simulator/core/error.h"

#include <utility>

namespace echosim {

BlockBuilder::BlockBuilder(RankGraph& graph, std::string name, Phase phase) : graph_(graph), phase_(phase) {
    block_.name = std::move(name);
}

std::uint32_t BlockBuilder::append(std::string_view name, Op op, std::initializer_list<Dep> deps) {
    op.name = graph_.names.intern(name);
    op.phase = phase_;
    op.first_dep = static_cast<std::uint32_t>(block_.deps.size());
    op.dep_count = static_cast<std::uint16_t>(deps.size());
    block_.deps.insert(block_.deps.end(), deps);
    block_.ops.push_back(op);
    return static_cast<std::uint32_t>(block_.ops.size() - 1);
}

std::uint32_t BlockBuilder::add_work(Work work) {
    graph_.works.push_back(std::move(work));
    return static_cast<std::uint32_t>(graph_.works.size() - 1);
}

std::uint32_t BlockBuilder::gemm(std::string_view name, const GemmShape& shape,
                                 std::initializer_list<Dep> deps) {
    Op op;
    op.work = add_work(shape);
    op.kernel_class = KernelClass::gemm;
    op.launch = Launch::gemm;
    return append(name, op, deps);
}

std::uint32_t BlockBuilder::attention(std::string_view name, const AttentionShape& shape) {
    Op op;
    op.work = add_work(shape);
    op.kernel_class = KernelClass::attention;
    op.launch = Launch::attention;
    return append(name, op, {});
}

std::uint32_t BlockBuilder::memory(std::string_view name, KernelClass kernel_class, double bytes,
                                   std::initializer_list<Dep> deps) {
    Op op;
    op.work = add_work(MemoryShape{kernel_class, bytes});
    op.kernel_class = kernel_class;
    if (kernel_class == KernelClass::copy || kernel_class == KernelClass::memset)
        op.kind = OpKind::memory;
    return append(name, op, deps);
}

std::uint32_t BlockBuilder::collective(std::string_view name, const CollectiveWork& work, Stream stream) {
    Op op;
    op.kind = OpKind::collective;
    op.work = add_work(work);
    op.stream = static_cast<std::uint16_t>(stream);
    op.launch = Launch::collective;
    return append(name, op, {Dep::tail(tail_of(Stream::compute))});
}

std::uint32_t BlockBuilder::transfer(std::string_view name, const TransferWork& work, Stream stream,
                                     std::initializer_list<Dep> deps) {
    Op op;
    op.kind = OpKind::p2p;
    op.work = add_work(work);
    op.stream = static_cast<std::uint16_t>(stream);
    op.launch = Launch::p2p;
    return append(name, op, deps);
}

std::uint32_t BlockBuilder::host(std::string_view name, Seconds time, std::initializer_list<Dep> deps) {
    Op op;
    op.kind = OpKind::host;
    op.work = add_work(HostWork{time});
    op.launch = deps.size() > 0 ? Launch::sync : Launch::none;
    return append(name, op, deps);
}

std::uint32_t BlockBuilder::host_step(std::string_view name) {
    Op op;
    op.kind = OpKind::host;
    op.launch = Launch::step;
    return append(name, op, {});
}

std::uint32_t BlockBuilder::wait(std::string_view name, std::initializer_list<Dep> deps) {
    Op op;
    op.kind = OpKind::sync;
    op.launch = Launch::none;
    return append(name, op, deps);
}

std::uint32_t BlockBuilder::mark(std::string_view name, Stream stream) {
    Op op;
    op.kind = OpKind::sync;
    op.stream = static_cast<std::uint16_t>(stream);
    op.launch = Launch::none;
    return append(name, op, {});
}

void BlockBuilder::record(std::uint32_t op, std::uint32_t port) {
    ECHOSIM_CHECK(block_.ops[op].record_port == kNoPort, "an op records one port; mark() makes more");
    block_.ops[op].record_port = port;
    if (port >= graph_.ports)
        graph_.ports = port + 1;
}

void BlockBuilder::allocate(MemoryKind kind, std::int64_t bytes) {
    if (bytes == 0)
        return;
    ECHOSIM_CHECK(!block_.ops.empty(), "memory changes belong to an op");
    Op& op = block_.ops.back();
    if (op.memory == kNone) {
        op.memory = static_cast<std::uint32_t>(graph_.memory_changes.size());
        graph_.memory_changes.push_back({kind, bytes});
        return;
    }
    MemoryChange& change = graph_.memory_changes[op.memory];
    ECHOSIM_CHECK(change.kind == kind, "one kind of memory change an op");
    change.bytes += bytes;
}

BlockId BlockBuilder::finish() {
    graph_.blocks.push_back(std::move(block_));
    return BlockId{static_cast<std::uint32_t>(graph_.blocks.size() - 1)};
}

} // namespace echosim
