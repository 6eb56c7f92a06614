// SPDX-License-Identifier: Apache-2.0
// From an operation list to the graph of the ranks that run it: each operation waits for the one in front of
// it, as AICB runs them (async_op=False). The part in front of the first epoch_end is set-up, what follows
// are iterations from 0 on.
#include "traces/json_text.h"
#include "traces/workloads/aicb_list.h"
#include "traces/workloads/graph.h"
#include "traces/workloads/lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

namespace echosim {
namespace {

struct TypeWord {
    std::string_view word;
    CollectiveKind kind;
    Direction direction;
};

constexpr std::array<TypeWord, 11> kCollectives{
    {{"all_reduce", CollectiveKind::all_reduce, Direction::none},
     {"all_gather", CollectiveKind::all_gather, Direction::none},
     {"all_gather_into_tensor", CollectiveKind::all_gather, Direction::none},
     {"reduce_scatter", CollectiveKind::reduce_scatter, Direction::none},
     {"reduce_scatter_tensor", CollectiveKind::reduce_scatter, Direction::none},
     {"all_to_all", CollectiveKind::all_to_all, Direction::none},
     {"broadcast", CollectiveKind::broadcast, Direction::none},
     {"reduce", CollectiveKind::reduce, Direction::none},
     {"barrier", CollectiveKind::all_reduce, Direction::none}, // as PyTorch's backend for NCCL runs it
     {"isend", CollectiveKind::send_recv, Direction::send},
     {"irecv", CollectiveKind::send_recv, Direction::receive}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kGroupNames{
    {{"tp_group", "tp"},
     {"dp_group", "dp"},
     {"pp_group", "pp"},
     {"ep_group", "ep"},
     {"ep_tp_group", "tp_ep"},
     {"ep_dp_group", "edp"},
     {"cp_group", "cp"},
     {"embedding_group", "embd"},
     {"all", "world"}}};

std::string_view group_name(std::string_view group) {
    for (const auto& [word, name] : kGroupNames)
        if (group == word)
            return name;
    return "world";
}

bool over_data(std::string_view group) {
    return group == "dp_group" || group == "ep_dp_group";
}

Phase phase_of(const AicbOp& op) {
    if (op.stage.starts_with("forward"))
        return Phase::forward;
    const bool backward = op.stage.starts_with("backward");
    if ((backward || op.stage.starts_with("step")) && over_data(op.group))
        return op.type.starts_with("all_gather") ? Phase::param_gather : Phase::gradient_sync;
    if (backward)
        return Phase::backward;
    return op.stage.starts_with("step") ? Phase::optimizer : Phase::other;
}

class OpGraph {
  public:
    OpGraph(const AicbSection& section, const std::string& file, TraceBuilder& builder, double computation_ns)
        : section_(section), builder_(builder),
          graph_(builder, std::filesystem::path(file).stem().string(), section.stage, section.ranks),
          computation_ns_(computation_ns) {}
    void run() {
        std::int32_t iteration = -1;
        for (const AicbOp& op : section_.ops) {
            add(op, iteration);
            if (op.type == "epoch_end")
                ++iteration;
        }
    }
    std::uint64_t kernels() const { return graph_.kernels(); }

  private:
    void add(const AicbOp& op, std::int32_t iteration);
    void communicate(const AicbOp& op);
    std::string args_of(const AicbOp& op) const;

    const AicbSection& section_;
    TraceBuilder& builder_;
    WorkloadGraph graph_;
    double computation_ns_; // unit of the elapsed times of computations
};

std::string OpGraph::args_of(const AicbOp& op) const {
    std::string args;
    const auto add = [&](std::string_view key, const std::string& value) {
        args += fmt::format("{}\"{}\":{}", args.empty() ? "" : ",", key, value);
    };
    if (!op.shapes.empty())
        add("shapes", json_string(op.shapes));
    if (!op.additional.empty())
        add("additional", json_string(op.additional));
    if (op.repeats != 1)
        add("count", fmt::format("{}", op.repeats));
    if (op.type == "epoch_end" && op.elapsed >= 0)
        add("elapsed_ms", fmt::format("{}", op.elapsed));
    return args.empty() ? "" : "{" + args + "}";
}

TimeNs in_ns(double elapsed, double unit_ns) {
    return static_cast<TimeNs>(std::llround(std::min(std::max(0.0, elapsed) * unit_ns, 1e18)));
}

void OpGraph::communicate(const AicbOp& op) {
    const auto word = std::find_if(kCollectives.begin(), kCollectives.end(),
                                   [&](const TypeWord& known) { return known.word == op.type; });
    const std::int32_t peer = op.destination >= 0 ? op.destination : op.source;
    const std::uint32_t world = static_cast<std::uint32_t>(section_.ranks.size());
    const std::uint32_t size = op.group_size > 0 ? op.group_size : op.group == "all" ? world : 0;
    graph_.communicate({.name = op.type,
                        .op = {.kind = word->kind,
                               .bytes = op.bytes,
                               .group_size = size,
                               .peer = peer,
                               .direction = word->direction},
                        .group = group_name(op.group),
                        .duration = in_ns(op.elapsed, 1e6)},
                       true);
}

void OpGraph::add(const AicbOp& op, std::int32_t iteration) {
    graph_.set_label({.iteration = iteration,
                      .phase = phase_of(op),
                      .module = op.stage.empty() ? kNoName : builder_.name(op.stage)});
    graph_.set_args(args_of(op));
    graph_.set_provenance(op.elapsed >= 0 ? Provenance::measured : Provenance::assumed);
    if (op.type == "epoch_end")
        graph_.mark("epoch_end", "AICB");
    else if (op.type == "computation")
        graph_.compute(op.stage.empty() ? "computation" : op.stage, in_ns(op.elapsed, computation_ns_));
    else
        communicate(op);
}

} // namespace

Imported graph_of_aicb(const std::vector<AicbSection>& sections, const std::string& file) {
    bool measured = false; // a run's log: communication has times, all in milliseconds
    bool sized = true;
    std::uint64_t barriers = 0;
    for (const AicbSection& section : sections)
        for (const AicbOp& op : section.ops) {
            const bool communication = op.type != "computation" && op.type != "epoch_end";
            measured = measured || (communication && op.elapsed >= 0);
            sized = sized && (!communication || op.group_size > 0);
            barriers += op.type == "barrier" ? 1 : 0;
        }
    TraceBuilder builder;
    builder.set_timed(false);
    builder.set_meta("{\"source\":\"AICB operation list\"}");
    Imported result;
    result.report.format = "AICB operation list";
    result.report.files = {file};
    bool ranks = true;
    for (const AicbSection& section : sections) {
        OpGraph graph(section, file, builder, measured ? 1e6 : 1.0);
        graph.run();
        result.report.events += section.ops.size();
        result.report.kernels += graph.kernels();
        ranks = ranks && !section.ranks.empty();
    }
    if (!measured)
        result.report.note(
            "times of communication are not in the file; those of computation are nanoseconds, "
            "where there are any");
    if (!ranks)
        result.report.note("no line of ranks (\"[rank0 ~ rank127]\"): which ranks do this is not known");
    if (!sized)
        result.report.note("sizes of groups are not in the file (column comm_group_size)");
    if (barriers > 0)
        result.report.note_counts("barriers are all-reduces, as PyTorch runs them on NCCL ({} here)",
                                  {barriers});
    result.trace = builder.finish();
    return result;
}

} // namespace echosim
