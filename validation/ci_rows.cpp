// SPDX-License-Identifier: Apache-2.0
#include "validation/ci_rows.h"

#include "simulator/workload/megatron_options.h"
#include "validation/row_fields.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <sstream>

namespace echosim {
namespace {

// The newest generation with measured steps: the tests follow Megatron-LM's main branch.
constexpr const char* kSoftware = "mcore-2025";

// "[a b]" -> a, b.
std::vector<std::string> words_of(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '[' || c == ']'; }, ' ');
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

void add_flag(FlagWriter& writer, const std::string& name, const std::string& value) {
    const MegatronOption* option = find_option(name);
    const bool is_switch =
        option == nullptr ? value == "true" || value == "false" : option->arity == Arity::none;
    if (is_switch)
        writer.add_if(value == "true", name); // a switch that is "false" is not given
    else if (option == nullptr || option->arity == Arity::one)
        writer.add(name, value);
    else
        writer.add(name, words_of(value));
}

std::string value_of(const std::vector<Flag>& flags, const std::string& name, const std::string& otherwise) {
    const auto it = std::ranges::find(flags, name, &Flag::name);
    return it == flags.end() || it->values.empty() ? otherwise : it->values.front();
}

bool is_given(const std::vector<Flag>& flags, const std::string& name) {
    return std::ranges::find(flags, name, &Flag::name) != flags.end();
}

// For grouping only: resolve_job() checks the flags.
int degree_of(const std::vector<Flag>& flags, const std::string& name) {
    const std::string text = value_of(flags, name, "1");
    int degree = 1;
    std::from_chars(text.data(), text.data() + text.size(), degree);
    return degree;
}

std::string precision_of(const std::vector<Flag>& flags) {
    if (is_given(flags, "--fp8-format"))
        return "fp8";
    return is_given(flags, "--bf16") ? "bf16" : is_given(flags, "--fp16") ? "fp16" : "fp32";
}

// The smallest catalogue machine of this GPU with at least so many GPUs a node, cut down to that many.
const Cluster* machine_of(const std::string& gpu, int gpus_per_node) {
    const Cluster* best = nullptr;
    for (const Cluster& cluster : all_clusters())
        if (cluster.gpu.name == gpu && cluster.node.gpus >= gpus_per_node &&
            (best == nullptr || cluster.node.gpus < best->node.gpus))
            best = &cluster;
    return best;
}

Cluster cluster_of(const Cluster& machine, int gpus_per_node) {
    Cluster cluster = machine;
    const int per_nic = std::max(1, machine.node.nics.gpus_per_nic);
    cluster.node.gpus = gpus_per_node;
    cluster.node.nics.count = std::max(1, std::min(machine.node.nics.count, gpus_per_node / per_nic));
    return cluster;
}

void check_values(RowFields& f) {
    if (const std::string scope = f.text("scope", "supported"); scope != "supported")
        f.refuse(fmt::format("scope of the row: {}", scope));
    f.require_counts({"world_size", "gpus_per_node"});
    f.require_range("iter_time_s_median", kMinStepSeconds, kMaxStepSeconds);
    if (!f.has("iter_time_s_median"))
        f.refuse("the row has no step time");
    if (!f.has("gpu"))
        f.refuse("gpu is not stated");
}

void note_assumptions(RowFields& f, std::vector<std::string>& notes) {
    if (f.yes("gpu_assumed"))
        notes.emplace_back("the kind of GPU is assumed by the source");
    if (f.yes("world_size_assumed"))
        notes.emplace_back("the number of GPUs is assumed by the source");
    if (f.yes("vocab_assumed"))
        notes.emplace_back("the vocabulary is assumed by the source");
}

} // namespace

StepRow read_ci_row(RowFields& f) {
    StepRow row;
    row.id = f.text("id", f.where());
    row.source = "megatron-ci";
    row.gpu = f.text("gpu", "not stated");
    row.model = f.text("test_case");
    row.software = kSoftware;
    row.confidence = "not stated";
    row.gpus = f.count("world_size", 0);
    row.measured_s = f.number("iter_time_s_median", 0);
    FlagWriter writer(row.job.flags, row.id);
    for (const auto& [name, value] : f.text_object("args"))
        add_flag(writer, name, value);
    row.tp = degree_of(row.job.flags, "--tensor-model-parallel-size");
    row.pp = degree_of(row.job.flags, "--pipeline-model-parallel-size");
    row.recompute = value_of(row.job.flags, "--recompute-granularity", "none");
    row.precision = precision_of(row.job.flags);
    check_values(f);
    const int gpus_per_node = f.count("gpus_per_node", 0);
    const Cluster* machine = machine_of(row.gpu, gpus_per_node);
    if (machine == nullptr)
        f.refuse(fmt::format("no catalogue cluster has {} GPUs \"{}\" a node", gpus_per_node, row.gpu));
    row.skipped = f.unusable();
    if (!row.skipped.empty())
        return row;
    row.cluster = cluster_of(*machine, gpus_per_node);
    row.options = {row.gpus, false, row.software};
    row.job.name = row.id;
    if (f.has("vocab") && !is_given(row.job.flags, "--vocab-size"))
        writer.add("--vocab-size", f.count("vocab", 0));
    note_assumptions(f, row.notes);
    return row;
}

} // namespace echosim
