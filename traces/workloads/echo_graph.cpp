// SPDX-License-Identifier: Apache-2.0
// Operators of autograd (their names end in a number behind "Backward", or are AccumulateGrad), of the
// optimizer and of torch.fx with a tensor as result are kernels; those of torch.fx without one (size,
// getitem, arithmetic on shapes) are work of the host. ddp_Allreduce is an all-reduce of bucket_size
// elements.
#include "traces/workloads/echo_graph.h"

#include "simulator/core/error.h"

#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace echosim {
namespace {

enum class Kind : std::uint8_t { host, kernel, collective };

bool is_backward(const std::string& op) {
    return op.find("Backward") != std::string::npos || op.starts_with("AccumulateGrad");
}

Kind kind_of(const EchoNode& node) {
    if (node.op == "ddp_Allreduce")
        return Kind::collective;
    const bool device = node.makes_tensor || is_backward(node.op) || node.op.starts_with("optimizer_") ||
                        node.op.starts_with("ddp_");
    return device ? Kind::kernel : Kind::host;
}

Phase phase_of(const EchoNode& node) {
    if (node.op.starts_with("optimizer_"))
        return Phase::optimizer;
    if (node.op.starts_with("ddp_"))
        return Phase::gradient_sync;
    return is_backward(node.op) ? Phase::backward : Phase::forward;
}

DType dtype_of(std::string_view torch) {
    if (torch == "torch.float16")
        return DType::fp16;
    return torch == "torch.bfloat16" ? DType::bf16 : DType::fp32;
}

class EchoGraph {
  public:
    explicit EchoGraph(const std::string& file)
        : rank_(builder_.add_class(std::filesystem::path(file).stem().string(), -1, {})) {
        builder_.set_timed(false);
        builder_.set_meta("{\"source\":\"Echo workload tracer\"}");
    }
    std::uint64_t add(const EchoNode& node, TimeNs duration);
    void connect(std::uint64_t from, std::uint64_t to) { builder_.add_flow(from, to, FlowKind::data); }
    std::uint64_t kernels() const { return kernels_; }
    Trace finish() { return builder_.finish(); }

  private:
    std::uint32_t stream(Kind kind);

    TraceBuilder builder_;
    std::uint32_t rank_;
    std::unordered_map<int, std::uint32_t> streams_;
    std::uint64_t kernels_ = 0;
    std::uint64_t collectives_ = 0;
};

std::uint32_t EchoGraph::stream(Kind kind) {
    const auto found = streams_.find(static_cast<int>(kind));
    if (found != streams_.end())
        return found->second;
    std::uint32_t added = 0;
    switch (kind) {
    case Kind::host:
        added = builder_.add_stream(rank_, StreamKind::host, "host");
        break;
    case Kind::kernel:
        added = builder_.add_stream(rank_, StreamKind::compute, "compute");
        break;
    case Kind::collective:
        added = builder_.add_stream(rank_, StreamKind::dp_comm, "dp communication");
        break;
    }
    streams_.emplace(static_cast<int>(kind), added);
    return added;
}

std::uint64_t EchoGraph::add(const EchoNode& node, TimeNs duration) {
    const Kind kind = kind_of(node);
    Event event{.duration = duration,
                .name = builder_.name(node.name),
                .kind = kind == Kind::host     ? EventKind::host
                        : kind == Kind::kernel ? EventKind::kernel
                                               : EventKind::comm,
                .label = builder_.add_label({.iteration = 0, .phase = phase_of(node)}),
                .provenance = duration > 0 ? Provenance::measured : Provenance::assumed};
    if (!node.args.empty())
        event.args = builder_.name(node.args);
    if (kind != Kind::host)
        ++kernels_;
    if (kind == Kind::collective) {
        const DType dtype = dtype_of(node.input_type);
        const auto bytes = static_cast<Bytes>(static_cast<double>(node.bucket_elements) * size_of(dtype));
        event.ext = builder_.add_comm_op({.kind = CollectiveKind::all_reduce,
                                          .dtype = dtype,
                                          .bytes = bytes,
                                          .group = builder_.name("dp"),
                                          .sequence = collectives_++});
    }
    return builder_.add_event(stream(kind), event);
}

// The type of a bucket's gradients: that of the operators in front of its ddp_pre.
void set_bucket_types(std::vector<EchoNode>& nodes,
                      const std::unordered_map<std::string_view, std::size_t>& index) {
    for (int step = 0; step < 2; ++step) // ddp_pre first, then ddp_Allreduce behind it
        for (EchoNode& node : nodes) {
            if (!node.op.starts_with("ddp_") || !node.input_type.empty())
                continue;
            for (const std::string& input : node.inputs) {
                const auto found = index.find(input);
                if (found != index.end() && node.input_type.empty())
                    node.input_type = nodes[found->second].input_type;
            }
        }
}

using NodeIndex = std::unordered_map<std::string_view, std::size_t>;

NodeIndex index_of(const std::vector<EchoNode>& nodes, const std::string& file) {
    NodeIndex index;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (!index.emplace(nodes[i].name, i).second)
            throw InputError(fmt::format("{}: node {}", file, i),
                             fmt::format("the name \"{}\" is there twice", nodes[i].name));
    return index;
}

// A dependency stands at both of its ends. Returns how many name an operator that the file lacks.
std::uint64_t connect_nodes(const std::vector<EchoNode>& nodes, const NodeIndex& index,
                            const std::vector<std::uint64_t>& refs, EchoGraph& graph) {
    std::unordered_set<std::uint64_t> joined;
    const auto connect = [&](std::size_t from, std::size_t to) {
        if (joined.insert((std::uint64_t{from} << 32U) | to).second)
            graph.connect(refs[from], refs[to]);
    };
    std::uint64_t unmatched = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const std::string& input : nodes[i].inputs) {
            const auto other = index.find(input);
            unmatched += other == index.end() ? 1 : 0;
            if (other != index.end())
                connect(other->second, i);
        }
        for (const std::string& output : nodes[i].outputs) {
            const auto other = index.find(output);
            unmatched += other == index.end() ? 1 : 0;
            if (other != index.end())
                connect(i, other->second);
        }
    }
    return unmatched;
}

} // namespace

Imported echo_graph(std::vector<EchoNode> nodes, const EchoTimes& times,
                    const std::vector<std::string>& files) {
    const NodeIndex index = index_of(nodes, files.front());
    set_bucket_types(nodes, index);
    std::unordered_map<std::string_view, TimeNs> time_of;
    for (const auto& [name, time] : times)
        time_of.emplace(name, time);
    EchoGraph graph(files.front());
    Imported result;
    std::vector<std::uint64_t> refs;
    std::uint64_t timed = 0;
    for (const EchoNode& node : nodes) {
        const auto time = time_of.find(node.name);
        timed += time != time_of.end() ? 1 : 0;
        refs.push_back(graph.add(node, time != time_of.end() ? time->second : 0));
    }
    result.report.format = "Echo operator graph";
    result.report.files = files;
    result.report.events = nodes.size();
    result.report.kernels = graph.kernels();
    result.report.warn("unmatched_dependency", connect_nodes(nodes, index, refs, graph));
    if (times.empty())
        result.report.note(
            "no times beside the graph (graph_profiling -> ops_profiling in its path): durations "
            "are 0");
    else
        result.report.warn("missing_duration", nodes.size() - timed);
    result.report.note(
        "operators were timed one by one, the mean of repeated launches; which ranks do this and "
        "how large the group of ddp_Allreduce is, the file does not say");
    result.trace = graph.finish();
    return result;
}

Imported echo_chain(const EchoTimes& times, const std::string& file) {
    EchoGraph graph(file);
    std::uint64_t last = kNoEvent;
    for (const auto& [name, time] : times) {
        EchoNode node;
        node.name = name;
        node.op = name;
        node.makes_tensor = true; // nothing else is known of it
        const std::uint64_t ref = graph.add(node, time);
        if (last != kNoEvent)
            graph.connect(last, ref);
        last = ref;
    }
    Imported result;
    result.report.format = "Echo operator times";
    result.report.files = {file};
    result.report.events = times.size();
    result.report.kernels = graph.kernels();
    result.report.note(
        "times without the graph: one operator after the other, in the order of the file; give the "
        "graph (ops_profiling -> graph_profiling in the path) for its dependencies");
    result.trace = graph.finish();
    return result;
}

} // namespace echosim
