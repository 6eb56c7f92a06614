// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/graph.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <limits>

namespace echosim {
namespace {

// Lanes of nodes that name neither a stream nor a thread: one for each resource that a rank has.
enum LaneKey : int {
    thread_lane,
    stream_lane,
    compute_lane,
    communication_lane,
    memory_lane,
    collective_lane
};

std::string stem_of(const std::string& path) {
    std::filesystem::path name = std::filesystem::path(path).filename();
    if (name.extension() == ".gz") {
        name = name.stem();
    }
    return name.stem().string();
}

} // namespace

GraphBuilder::GraphBuilder(const std::string& path, std::string format)
    : path_(path), rank_(rank_of_name(path)) {
    report.format = std::move(format);
    report.files.push_back(path);
}

std::uint32_t GraphBuilder::lane(std::pair<int, std::int64_t> key, std::string_view name, bool on_device) {
    const auto [entry, added] = lane_of_.try_emplace(key, static_cast<std::uint32_t>(lanes_.size()));
    if (added) {
        lanes_.push_back({std::string(name), on_device, key.second});
    }
    return entry->second;
}

std::uint32_t GraphBuilder::lane(const GraphNode& node) {
    if (!node.on_device) {
        return node.lane < 0 ? lane({thread_lane, -1}, "host", false)
                             : lane({thread_lane, node.lane}, fmt::format("thread {}", node.lane), false);
    }
    if (node.lane >= 0) {
        return lane({stream_lane, node.lane}, fmt::format("stream {}", node.lane), true);
    }
    switch (node.kind) {
    case EventKind::comm:
        return lane({communication_lane, -1}, "communication", true);
    case EventKind::memcpy:
    case EventKind::memset:
        return lane({memory_lane, -1}, "memory", true);
    default:
        return lane({compute_lane, -1}, "compute", true);
    }
}

void GraphBuilder::add(const GraphNode& node) {
    Row row;
    row.id = node.id;
    row.has_start = node.start.has_value();
    row.on_device = node.on_device;
    row.lane = lane(node);
    row.event.start = node.start.value_or(0);
    row.event.duration = node.duration.value_or(0);
    row.event.name = builder_.name(node.name);
    row.event.kind = node.kind;
    row.event.provenance = node.duration ? Provenance::measured : Provenance::assumed;
    if (!node.args.empty()) {
        row.event.args = builder_.name(node.args);
    }
    if (node.kind == EventKind::memcpy || node.kind == EventKind::memset) {
        row.event.ext = builder_.add_copy(node.copy);
    } else if (node.kind == EventKind::other) {
        row.event.ext = builder_.name(node.category).value;
    }
    if (node.comm) {
        row.comm = static_cast<std::uint32_t>(comms_.size());
        comms_.push_back(*node.comm);
    }
    ++report.events;
    report.complete_events += node.start && node.duration ? 1 : 0;
    add_dependencies(node, row);
    rows_.push_back(row);
}

void GraphBuilder::add_dependencies(const GraphNode& node, Row& row) {
    row.first_dependency = dependencies_.size();
    for (const std::uint64_t id : node.control) {
        dependencies_.push_back({id, FlowKind::control});
    }
    for (const std::uint64_t id : node.data) {
        dependencies_.push_back({id, FlowKind::data});
    }
    if (node.forward != 0) {
        dependencies_.push_back({node.forward, FlowKind::forward_backward});
    }
    row.dependencies = dependencies_.size() - row.first_dependency;
}

void GraphBuilder::add_group(TraceCommunicator group, std::string_view name, std::string_view description) {
    group.name = builder_.name(name);
    if (!description.empty()) {
        group.description = builder_.name(description);
    }
    const auto found = groups_.find(name);
    if (found == groups_.end()) {
        groups_.emplace(name, builder_.add_communicator(group));
    }
}

void GraphBuilder::suggest_rank(int rank) {
    if (std::find(suggested_.begin(), suggested_.end(), rank) == suggested_.end() && suggested_.size() < 2) {
        suggested_.push_back(rank);
    }
}

void GraphBuilder::order_by_id() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.id < b.id; });
}

// A file of host operators alone: the records of collectives are all that is known of the communication.
void GraphBuilder::collectives_of_host() {
    const auto on_device = [](const Row& row) { return row.on_device; };
    if (std::any_of(rows_.begin(), rows_.end(), on_device)) {
        return;
    }
    bool any = false;
    for (Row& row : rows_) {
        if (row.comm != kNoRow && row.event.kind == EventKind::host) {
            row.event.kind = EventKind::comm;
            row.lane = lane({collective_lane, -1}, "collectives", true);
            any = true;
        }
    }
    if (any) {
        report.note("no device work in the file: its records of collectives (record_param_comms) stand for "
                    "the communication");
    }
}

// The record in whose call a kernel was launched.
std::uint32_t GraphBuilder::comm_of_caller(const Row& row) const {
    constexpr int kCalls = 4;
    const Row* caller = &row;
    for (int i = 0; i < kCalls && caller != nullptr; ++i) {
        const Dependency* up = caller->dependencies > 0 ? &dependencies_[caller->first_dependency] : nullptr;
        const auto found =
            up != nullptr && up->kind == FlowKind::control ? row_of_.find(up->on) : row_of_.end();
        caller = found == row_of_.end() ? nullptr : &rows_[found->second];
        if (caller != nullptr && caller->comm != kNoRow && comms_[caller->comm].op.kind != kNoCollective) {
            return caller->comm;
        }
    }
    return kNoRow;
}

// A kernel of NCCL that does not say what it does: the record in whose call it was launched does, or its
// name.
void GraphBuilder::inherit_comms() {
    for (Row& row : rows_) {
        if (row.event.kind != EventKind::comm ||
            (row.comm != kNoRow && comms_[row.comm].op.kind != kNoCollective)) {
            continue;
        }
        const std::uint32_t called = comm_of_caller(row);
        if (called != kNoRow) {
            row.comm = called;
            continue;
        }
        if (row.comm == kNoRow) {
            const NcclKernelName name = parse_nccl_kernel(builder_.so_far().text(row.event.name));
            row.comm = static_cast<std::uint32_t>(comms_.size());
            comms_.push_back({.op = {.kind = name.kind, .dtype = name.dtype}, .group = {}});
        }
        report.warn("unknown_collective", comms_[row.comm].op.kind == kNoCollective ? 1 : 0);
    }
}

void GraphBuilder::place_in_time() {
    bool timed = false;
    TimeNs first = 0;
    for (const Row& row : rows_) {
        if (row.has_start && (!timed || row.event.start < first)) {
            first = row.event.start;
            timed = true;
        }
    }
    builder_.set_timed(timed);
    if (!timed) {
        report.note("the file has no start times: a graph in the order of the program");
        return;
    }
    builder_.set_t0(first);
    for (Row& row : rows_) {
        if (!row.has_start) {
            report.warn("missing_time");
        }
        row.event.start = row.has_start ? row.event.start - first : 0;
    }
}

void GraphBuilder::join_group(CommOp& op, const std::string& name) {
    if (groups_.find(name) == groups_.end()) {
        add_group({}, name, {});
    }
    op.communicator = groups_.find(name)->second;
    const TraceCommunicator& group = builder_.so_far().communicators[op.communicator];
    op.group = group.name;
    std::uint64_t ranks = 0;
    for (const RankRange& range : group.ranks) {
        ranks += range.count;
    }
    if (op.group_size == 0) {
        op.group_size = static_cast<std::uint32_t>(ranks);
    }
}

// What goes into an all-gather is one rank's share of its size as nccl-tests counts it.
std::uint32_t GraphBuilder::comm_op(const GraphComm& comm) {
    CommOp op = comm.op;
    if (!comm.group.empty()) {
        join_group(op, comm.group);
    }
    if (comm.input_bytes && op.kind == CollectiveKind::all_gather && op.bytes > 0) {
        if (op.group_size == 0) {
            report.note("group sizes are not in the file: the size of an all-gather is that of one rank's "
                        "share");
        } else if (op.bytes <= std::numeric_limits<Bytes>::max() / op.group_size) {
            op.bytes *= op.group_size;
        } else {
            report.warn("size_out_of_range");
        }
    }
    return builder_.add_comm_op(op);
}

void GraphBuilder::add_events() {
    if (rank_ < 0 && suggested_.size() == 1) {
        rank_ = suggested_[0];
    }
    const std::vector<int> ranks = rank_ >= 0 ? std::vector<int>{rank_} : std::vector<int>{};
    const std::uint32_t rank_class =
        builder_.add_class(rank_ >= 0 ? fmt::format("rank {}", rank_) : stem_of(path_), -1, ranks);
    events_.clear();
    events_.reserve(rows_.size());
    for (Row& row : rows_) {
        Lane& lane = lanes_[row.lane];
        if (lane.stream == kNoRow) {
            lane.stream = builder_.add_stream(
                rank_class, lane.on_device ? StreamKind::compute : StreamKind::host, lane.name);
            builder_.set_origin(lane.stream, -1, lane.number);
        }
        ++lane.events;
        lane.comms += row.event.kind == EventKind::comm ? 1 : 0;
        lane.copies += row.event.kind == EventKind::memcpy || row.event.kind == EventKind::memset ? 1 : 0;
        report.kernels += row.event.kind == EventKind::comm || row.event.kind == EventKind::kernel ? 1 : 0;
        if (row.event.kind == EventKind::comm) {
            row.event.ext = comm_op(comms_[row.comm]);
        }
        events_.push_back(builder_.add_event(lane.stream, row.event));
    }
}

// Nodes from which one comes back to them, or which lie between such: what is left when nodes without
// predecessors, then nodes without successors are taken away.
std::uint64_t
GraphBuilder::nodes_in_cycles(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) const {
    std::vector<char> gone(rows_.size(), 0);
    for (const bool forward : {true, false}) {
        std::vector<std::uint32_t> open(rows_.size() + 1, 0);
        std::vector<std::uint32_t> first(rows_.size() + 2, 0);
        const auto source = [&](const auto& edge) { return forward ? edge.first : edge.second; };
        const auto target = [&](const auto& edge) { return forward ? edge.second : edge.first; };
        for (const auto& edge : edges) {
            ++first[source(edge) + 1U];
            open[target(edge)] += gone[source(edge)] == 0 ? 1U : 0U;
        }
        for (std::size_t i = 1; i < first.size(); ++i) {
            first[i] += first[i - 1];
        }
        std::vector<std::uint32_t> next(first.begin(), first.end());
        std::vector<std::uint32_t> targets(edges.size());
        for (const auto& edge : edges) {
            targets[next[source(edge)]++] = target(edge);
        }
        std::vector<std::uint32_t> ready;
        for (std::uint32_t i = 0; i < rows_.size(); ++i) {
            if (open[i] == 0 && gone[i] == 0) {
                ready.push_back(i);
            }
        }
        while (!ready.empty()) {
            const std::uint32_t node = ready.back();
            ready.pop_back();
            gone[node] = 1;
            for (std::uint32_t i = first[node]; i < first[node + 1U]; ++i) {
                if (--open[targets[i]] == 0 && gone[targets[i]] == 0) {
                    ready.push_back(targets[i]);
                }
            }
        }
    }
    return static_cast<std::uint64_t>(std::count(gone.begin(), gone.end(), 0));
}

void GraphBuilder::add_flows() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    edges.reserve(dependencies_.size());
    for (std::uint32_t to = 0; to < rows_.size(); ++to) {
        const Row& row = rows_[to];
        for (std::size_t i = 0; i < row.dependencies; ++i) {
            const Dependency& dependency = dependencies_[row.first_dependency + i];
            const auto found = row_of_.find(dependency.on);
            if (found == row_of_.end()) {
                report.warn("missing_dependency");
            } else if (found->second == to) {
                report.warn("self_dependency");
            } else {
                builder_.add_flow(events_[found->second], events_[to], dependency.kind);
                edges.emplace_back(found->second, to);
            }
        }
    }
    report.warn("dependency_cycle", nodes_in_cycles(edges));
}

void GraphBuilder::set_stream_kinds() {
    for (const Lane& lane : lanes_) {
        if (lane.stream == kNoRow || !lane.on_device) {
            continue;
        }
        if (2 * lane.comms > lane.events) {
            builder_.set_stream_kind(lane.stream, StreamKind::comm);
        } else if (lane.copies == lane.events) {
            builder_.set_stream_kind(lane.stream, StreamKind::copy);
        }
    }
}

Imported GraphBuilder::finish() {
    collectives_of_host();
    row_of_.reserve(rows_.size());
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
        if (!row_of_.try_emplace(rows_[i].id, i).second) {
            report.warn("duplicate_id");
        }
    }
    inherit_comms();
    place_in_time();
    add_events();
    add_flows();
    set_stream_kinds();
    return {builder_.finish(), std::move(report)};
}

} // namespace echosim
