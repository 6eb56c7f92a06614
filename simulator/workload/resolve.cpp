// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/resolve.h"

#include "simulator/core/suggest.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

const std::vector<std::string>& software_generations() {
    static const std::vector<std::string> names = {"megatron-2020",      "megatron-2021", "megatron-2022",
                                                   "megatron-deepspeed", "mcore-2023",    "mcore-2024",
                                                   "mcore-2025",         "mcore-2026"};
    return names;
}

void resolve_software(Resolution& r) {
    std::string& software = r.job.kernels.software;
    std::string origin = "echosim default";
    if (!r.options.software.empty()) {
        software = r.options.software;
        origin = "option";
        if (const auto& names = software_generations();
            std::find(names.begin(), names.end(), software) == names.end()) {
            r.flags.problems.push_back({"software generation", fmt::format("read \"{}\"", software),
                                        fmt::format("one of {}", join(names))});
        }
    } else if (!r.source.software.empty()) {
        software = r.source.software;
        origin = r.source.name;
    }
    r.note("kernels.software", software, origin);
}

// Order of `show job`: the sections of the job, inside them the order of resolution.
void sort_by_section(std::vector<ResolvedValue>& values) {
    static const std::vector<std::string> sections = {"model",         "parallel",  "batch",  "recompute",
                                                      "data_parallel", "precision", "kernels"};
    const auto section = [&](const ResolvedValue& v) {
        const std::string name = v.key.substr(0, v.key.find('.'));
        return std::find(sections.begin(), sections.end(), name) - sections.begin();
    };
    std::stable_sort(values.begin(), values.end(),
                     [&](const ResolvedValue& a, const ResolvedValue& b) { return section(a) < section(b); });
}

} // namespace

void Resolution::note(std::string_view key, std::string value, std::string origin) {
    job.values.push_back({std::string(key), std::move(value), std::move(origin)});
}

void Resolution::note(std::string_view key, std::int64_t value, std::string origin) {
    note(key, std::to_string(value), std::move(origin));
}

void Resolution::note_flag(std::string_view key, bool value, std::string origin) {
    note(key, std::string(value ? "true" : "false"), std::move(origin));
}

void Resolution::warn(std::string text) {
    flags.warnings.push_back(std::move(text));
}

void Resolution::refuse(std::string text) {
    auto& list = flags.not_modelled;
    if (std::find(list.begin(), list.end(), text) == list.end())
        list.push_back(std::move(text));
}

int Resolution::integer(std::string_view flag, std::int64_t low, std::int64_t high, int otherwise) {
    const auto value = flags.integer(flag, low, high);
    return value ? static_cast<int>(*value) : otherwise;
}

bool is_old_software(const std::string& software) {
    return software == "megatron-2020" || software == "megatron-2021" || software == "megatron-2022" ||
           software == "megatron-deepspeed";
}

Job resolve_job(const JobSource& source, const ResolveOptions& options) {
    Resolution r{source, options, FlagTable(source, options.strict), Job{}};
    r.job.name = source.name;
    r.job.environment = source.environment;
    r.flags.keep_strongest({"--fp16", "--bf16"});
    r.flags.keep_strongest({"--num-layers-per-virtual-pipeline-stage",
                            "--num-virtual-stages-per-pipeline-rank", "--pipeline-model-parallel-layout"});
    resolve_software(r);
    resolve_parallel(r);
    resolve_model(r);
    resolve_sharding(r);
    resolve_experts(r);
    resolve_batch(r);
    resolve_pipeline(r);
    resolve_recompute(r);
    resolve_training(r);
    resolve_unmodelled(r);
    sort_by_section(r.job.values);
    if (!r.flags.problems.empty())
        throw InputError(std::move(r.flags.problems));
    r.job.flags = std::move(r.flags.verdicts);
    r.job.warnings = source.warnings;
    r.job.warnings.insert(r.job.warnings.end(), r.flags.warnings.begin(), r.flags.warnings.end());
    r.job.not_modelled = std::move(r.flags.not_modelled);
    return std::move(r.job);
}

} // namespace echosim
