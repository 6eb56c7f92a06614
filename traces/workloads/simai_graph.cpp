// SPDX-License-Identifier: Apache-2.0
// From a layer table to the graph of one rank. Order of one pass, as the simulators run it:
//
// - Forward: layer by layer, compute, then its collective, which blocks.
// - Backward: from the last layer, input gradient, its collective, weight gradient, its collective. The next
//   layer waits for the first collective (transformers: the weight gradient too), never for the second.
// - DATA, HYBRID_DLRM: weight gradient before input gradient. DLRM: the all-to-all of layer 0 forward blocks
//   only after the last bottom layer, its backward starts with the first top layer.
// - MICRO: the collectives alone, one after the other. DISTRIBUTED_INFERENCE: forward alone.
// - Layers that start recomputation run the forward of the layers from the last checkpoint on once more.
#include "traces/workloads/graph.h"
#include "traces/workloads/simai_table.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

constexpr std::uint64_t kMostRecomputed = 1U << 24U; // layers run once more, all together

enum class Part : std::uint8_t { forward, input_gradient, weight_gradient };

struct GroupName {
    std::string_view name;
    std::uint32_t size = 0; // 0: not known
};

std::vector<int> ranks_of(std::uint32_t count) {
    std::vector<int> ranks(count);
    for (std::uint32_t i = 0; i < count; ++i)
        ranks[i] = static_cast<int>(i);
    return ranks;
}

class LayerGraph {
  public:
    LayerGraph(const LayerTable& table, const std::string& file, TraceBuilder& builder)
        : table_(table), file_(file),
          graph_(builder, std::filesystem::path(file).stem().string(), -1, ranks_of(table.gpus)),
          builder_(builder), starts_(table.rows.size(), false) {
        for (const std::uint32_t layer : table.recompute_starters)
            starts_[layer] = true;
        checkpoints_ = table.checkpoints;
        std::sort(checkpoints_.begin(), checkpoints_.end());
        number_micro_batches();
    }
    void run();
    std::uint64_t kernels() const { return graph_.kernels(); }
    std::uint64_t empty_collectives() const { return empty_; }

  private:
    GroupName group(const LayerRow& row, Part part, const LayerPass& pass) const;
    void label(std::size_t layer, Phase phase);
    std::uint64_t communicate(std::size_t layer, Part part, bool blocking);
    void compute(std::size_t layer, Part part, Phase phase);
    void forward(std::size_t layer, Phase phase);
    void backward(std::size_t layer);
    void recompute(std::size_t layer);
    void number_micro_batches();
    const LayerPass& pass(std::size_t layer, Part part) const {
        const LayerRow& row = table_.rows[layer];
        return part == Part::forward          ? row.forward
               : part == Part::input_gradient ? row.input_gradient
                                              : row.weight_gradient;
    }

    const LayerTable& table_;
    const std::string& file_;
    WorkloadGraph graph_;
    TraceBuilder& builder_;
    std::vector<bool> starts_;                // layer -> its backward starts recomputation
    std::vector<std::uint32_t> checkpoints_;  // sorted
    std::vector<std::int32_t> micro_batches_; // of each layer; -1: of none
    std::uint64_t dlrm_exchange_ = kNoEvent;  // the all-to-all of layer 0 forward
    std::uint64_t recomputed_ = 0;
    std::uint64_t empty_ = 0;
};

// AICB repeats the layers of a stage for each micro-batch, each time from its embedding layer on.
void LayerGraph::number_micro_batches() {
    micro_batches_.assign(table_.rows.size(), -1);
    const auto begins = [](const LayerRow& row) { return row.name == "embedding_layer"; };
    const auto found = std::count_if(table_.rows.begin(), table_.rows.end(), begins);
    if (table_.micro_batches < 2 || found != static_cast<std::ptrdiff_t>(table_.micro_batches))
        return;
    std::int32_t current = -1;
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
        if (begins(table_.rows[i]))
            ++current;
        micro_batches_[i] = current;
    }
}

// Sizes as SimAI computes them: dp = GPUs / (tp pp), edp = dp / ep.
GroupName LayerGraph::group(const LayerRow& row, Part part, const LayerPass& pass) const {
    const std::uint32_t model = std::max(1U, table_.tensor) * std::max(1U, table_.pipeline);
    const std::uint32_t data = table_.gpus % model == 0 ? table_.gpus / model : 0;
    if (pass.group_suffix == "EP")
        return {"ep", table_.expert};
    if (pass.group_suffix == "DP_EP") {
        const std::uint32_t expert = std::max(1U, table_.expert);
        return {"edp", data % expert == 0 ? data / expert : 0};
    }
    const bool over_all =
        row.policy == LayerPolicy::micro || (row.policy == LayerPolicy::dlrm && &row == table_.rows.data());
    if (over_all)
        return {"world", table_.gpus};
    if (part == Part::weight_gradient)
        return {"dp", row.policy == LayerPolicy::data ? table_.gpus : data};
    return {"tp", row.policy == LayerPolicy::model || row.policy == LayerPolicy::inference ? table_.gpus
                                                                                           : table_.tensor};
}

void LayerGraph::label(std::size_t layer, Phase phase) {
    graph_.set_label({.iteration = 0,
                      .phase = phase,
                      .micro_batch = micro_batches_[layer],
                      .layer = static_cast<std::int32_t>(layer),
                      .module = builder_.name(table_.rows[layer].name)});
}

// The collective of this part of the layer; kNoEvent where it has none.
std::uint64_t LayerGraph::communicate(std::size_t layer, Part part, bool blocking) {
    const LayerPass& here = pass(layer, part);
    if (here.comm.empty())
        return kNoEvent;
    const GroupName name = group(table_.rows[layer], part, here);
    empty_ += here.bytes == 0 ? 1 : 0;
    return graph_.communicate({.name = here.comm,
                               .op = {.kind = here.kind, .bytes = here.bytes, .group_size = name.size},
                               .group = name.name},
                              blocking);
}

void LayerGraph::compute(std::size_t layer, Part part, Phase phase) {
    const LayerRow& row = table_.rows[layer];
    label(layer, phase);
    std::string args;
    if (part == Part::weight_gradient && row.update > 0)
        args = fmt::format("\"update_ns\":{}", row.update);
    if (row.dependency >= 0)
        args += fmt::format("{}\"dependency\":{}", args.empty() ? "" : ",", row.dependency);
    graph_.set_args(args.empty() ? "" : "{" + args + "}");
    graph_.compute(row.name, pass(layer, part).compute);
    graph_.set_args("");
}

void LayerGraph::forward(std::size_t layer, Phase phase) {
    compute(layer, Part::forward, phase);
    const bool dlrm = table_.policy == LayerPolicy::dlrm;
    if (dlrm && layer == table_.last_bottom_layer && dlrm_exchange_ != kNoEvent)
        graph_.wait_for(dlrm_exchange_);
    const std::uint64_t comm = communicate(layer, Part::forward, !dlrm);
    if (dlrm && layer == 0)
        dlrm_exchange_ = comm;
}

void LayerGraph::recompute(std::size_t layer) {
    const auto after = std::upper_bound(checkpoints_.begin(), checkpoints_.end(), layer);
    const std::size_t first = after == checkpoints_.begin() ? 0 : *(after - 1);
    recomputed_ += layer - first;
    if (recomputed_ > kMostRecomputed)
        throw InputError(
            file_ + ":1",
            fmt::format("more than {} layers are recomputed: checkpoints and checkpoint_initiates",
                        kMostRecomputed));
    for (std::size_t i = first; i < layer; ++i)
        forward(i, Phase::recompute);
}

void LayerGraph::backward(std::size_t layer) {
    const LayerPolicy policy = table_.rows[layer].policy;
    if (starts_[layer])
        recompute(layer);
    const bool weights_first = policy == LayerPolicy::data || policy == LayerPolicy::dlrm;
    const auto weights = [&] {
        compute(layer, Part::weight_gradient, Phase::backward);
        label(layer, Phase::gradient_sync);
        communicate(layer, Part::weight_gradient, false);
    };
    if (weights_first)
        weights();
    compute(layer, Part::input_gradient, Phase::backward);
    if (policy == LayerPolicy::dlrm && layer == 0) {
        communicate(layer, Part::input_gradient, false);
        return;
    }
    const bool blocks = policy == LayerPolicy::transformer;
    const std::uint64_t comm = communicate(layer, Part::input_gradient, blocks);
    if (!weights_first)
        weights();
    if (!blocks && comm != kNoEvent)
        graph_.wait_for(comm);
}

void LayerGraph::run() {
    const std::size_t layers = table_.rows.size();
    if (table_.policy == LayerPolicy::micro) {
        for (std::size_t i = 0; i < layers; ++i) {
            label(i, Phase::other);
            for (const Part part : {Part::forward, Part::input_gradient, Part::weight_gradient})
                communicate(i, part, true);
        }
        return;
    }
    for (std::size_t i = 0; i < layers; ++i)
        forward(i, Phase::forward);
    if (table_.policy == LayerPolicy::inference)
        return;
    for (std::size_t i = layers; i-- > 0;)
        backward(i);
}

std::string meta_of(const LayerTable& table) {
    nlohmann::ordered_json sizes;
    const auto note = [&](const char* key, std::uint64_t value) {
        if (value > 0)
            sizes[key] = value;
    };
    note("tp", table.tensor);
    note("ep", table.expert);
    note("pp", table.pipeline);
    note("vpp", table.virtual_pipeline);
    note("micro_batches", table.micro_batches);
    note("gpus", table.gpus);
    note("pp_bytes", table.pipeline_bytes);
    nlohmann::ordered_json meta = {{"source", "SimAI or ASTRA-sim 1 layer table"},
                                   {"policy", table.policy_word},
                                   {"layers", table.rows.size()}};
    if (!sizes.empty())
        meta["sizes"] = sizes;
    return meta.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void note_limits(const LayerTable& table, ImportReport& report) {
    report.note("compute times are taken as nanoseconds (SimAI; ASTRA-sim 1: cycles of 1 ns); times of "
                "collectives are not in the file");
    report.note("the table is the work of one rank; the others are taken to be alike");
    if (table.policy == LayerPolicy::micro)
        report.note("compute times of a MICRO table are placeholders and left out: the simulators run its "
                    "collectives alone");
    if (table.gpus == 0)
        report.note(
            "the header has no all_gpus: the ranks and the sizes of data-parallel groups are not known");
    if (table.pipeline > 1)
        report.note(fmt::format("the table is one of {} pipeline stages; transfers between stages ({} bytes "
                                "each) have no place in it and are not in the graph",
                                table.pipeline, table.pipeline_bytes));
    report.warn("unknown_header_key", table.unknown_keys);
}

} // namespace

Imported graph_of_layers(const LayerTable& table, const std::string& file) {
    TraceBuilder builder;
    builder.set_timed(false);
    builder.set_meta(meta_of(table));
    LayerGraph graph(table, file, builder);
    graph.run();
    Imported result;
    result.report.format = "SimAI or ASTRA-sim layer table";
    result.report.files = {file};
    result.report.events = table.rows.size();
    result.report.kernels = graph.kernels();
    result.report.warn("empty_collective", graph.empty_collectives());
    note_limits(table, result.report);
    result.trace = builder.finish();
    return result;
}

} // namespace echosim
