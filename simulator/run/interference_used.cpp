// SPDX-License-Identifier: Apache-2.0
#include "simulator/run/interference_used.h"

#include "interference/learned_slowdown.h"
#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

const Op& op_at(const RankTimeline& rank, const RankGraph& graph, std::size_t row) {
    return graph.blocks[graph.program[rank.instance[row]].block.value].ops[rank.op[row]];
}

} // namespace

InterferenceUsed describe_interference(const std::string& setting, const SlowdownModel& model) {
    InterferenceUsed used;
    used.setting = setting;
    if (const auto* learned = dynamic_cast<const LearnedSlowdown*>(&model)) {
        const ModelFacts& facts = learned->facts();
        used.model = "learned";
        for (const ModelGpu& gpu : facts.gpus)
            used.gpus.push_back(gpu.name.empty() ? fmt::format("a GPU with {} SMs", gpu.sms) : gpu.name);
        used.nccl_versions = facts.nccl_versions;
        used.files = facts.files;
        used.samples = facts.samples;
    } else if (dynamic_cast<const PriorSlowdown*>(&model) != nullptr) {
        used.model = "prior";
    } else if (!model.identity()) {
        used.model = "constant";
    }
    return used;
}

double share_from_data(const SlowdownModel& model, const GpuLimits& limits, const RankTimeline& rank,
                       const AnnotatedGraph& graph) {
    const auto* learned = dynamic_cast<const LearnedSlowdown*>(&model);
    if (learned == nullptr || graph.communications.empty())
        return 0;
    const CommFootprint& widest = *std::ranges::max_element(graph.communications, {}, &CommFootprint::ctas);
    TimeNs from_data = 0, all = 0;
    for (std::size_t row = 0; row < rank.size(); ++row) {
        const Op& op = op_at(rank, *graph.graph, row);
        const TimeNs extra = rank.duration[row] - rank.alone[row];
        if (op.kind != OpKind::compute || op.work == kNone || extra <= 0)
            continue;
        const KernelFootprint& kernel = graph.kernels[op.work];
        const CommLoad load = load_of(kernel, {&widest, 1}, false, limits);
        all += extra;
        if (learned->estimate(kernel, load, "").source == EstimateSource::residual)
            from_data += extra;
    }
    return all > 0 ? static_cast<double>(from_data) / static_cast<double>(all) : 0;
}

nlohmann::ordered_json interference_json(const InterferenceUsed& used) {
    nlohmann::ordered_json json{{"model", used.model}};
    if (used.model == "learned") {
        json["gpus"] = used.gpus;
        json["nccl"] = used.nccl_versions;
        json["files"] = used.files;
        json["samples"] = used.samples;
        json["share_from_data"] = used.share_from_data;
    }
    return json;
}

std::string interference_text(const InterferenceUsed& used) {
    if (used.model == "off")
        return "off: what overlaps runs as fast as alone";
    if (used.model == "constant")
        return used.setting + ": the same factor for every kernel beside communication";
    if (used.model == "prior")
        return "prior: equations for SMs, waves and memory; no training data";
    std::string text = fmt::format("{}: {} samples", used.setting, used.samples);
    if (!used.gpus.empty())
        text += " of " + join(used.gpus);
    if (!used.nccl_versions.empty())
        text += ", NCCL " + join(used.nccl_versions);
    return text + fmt::format("; {:.0f} % of the kernels' extra time from data, the rest from the prior",
                              100 * used.share_from_data);
}

} // namespace echosim
