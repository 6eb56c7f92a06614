// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/job_input.h"

#include "interference/make_slowdown.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"
#include "simulator/run/version.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

constexpr int kMostGpus = 4'194'304;

template <class Number> std::optional<Number> number_in(std::string_view text) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || text.empty())
        return std::nullopt;
    return value;
}

void read_override(const std::string& setting, Overrides& overrides) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
        throw InputError("--set", fmt::format("\"{}\" is not KEY=VALUE", setting),
                         "for example --set cluster.node.nics.bandwidth=200Gbps");
    const std::string key = setting.substr(0, equals);
    const std::string value = setting.substr(equals + 1);
    if (value.empty())
        throw InputError("--set " + key, "the value after = is empty");
    if (key == "interference") {
        read_interference(value, "--set interference"); // checked before anything runs; the text is kept
        overrides.interference = value;
        return;
    }
    if (key == "contention") {
        if (value != "on" && value != "off")
            throw InputError("--set contention", fmt::format("read \"{}\"; allowed: on, off", value));
        overrides.contention = value == "on";
        return;
    }
    const std::string prefix = key.substr(0, key.find('.'));
    if (key.starts_with("cluster."))
        return overrides.cluster.emplace_back(key.substr(8), value), void();
    if (key.starts_with("gpu."))
        return overrides.cluster.emplace_back(key, value), void();
    if (key == "job.kernels.software")
        return overrides.software = value, void();
    if (key.starts_with("job.")) {
        overrides.flags.push_back(flag_for_key(key.substr(4), value));
        overrides.flags.back().origin = "--set";
        return;
    }
    const std::vector<std::string> prefixes = {"cluster", "gpu", "job", "interference", "contention"};
    throw InputError("--set " + key,
                     fmt::format("unknown key \"{}\"{}", prefix, did_you_mean(prefixes, prefix)),
                     "keys are cluster.PATH, gpu.KEY, job.KEY, interference or contention");
}

[[noreturn]] void refuse_missing_cluster() {
    std::vector<std::string> names;
    for (const Cluster& cluster : all_clusters())
        names.push_back(cluster.name);
    throw InputError("--cluster", "is missing: give a name or a cluster file",
                     fmt::format("names: {}", join(names)));
}

} // namespace

int parse_whole_number(const std::string& option, const std::string& text, int low, int high) {
    const auto value = number_in<long long>(text);
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (value && *value >= low && *value <= high)
        return static_cast<int>(*value);
    const std::string read = value || digits ? text : fmt::format("\"{}\"", text);
    throw InputError(option, fmt::format("must be a whole number from {} to {}, read {}", low, high, read));
}

double parse_percent(const std::string& option, const std::string& text) {
    std::string_view digits = text;
    if (digits.ends_with('%'))
        digits.remove_suffix(1);
    const auto value = number_in<double>(digits);
    if (value && *value >= 0 && *value <= 1000)
        return *value;
    throw InputError(option, fmt::format("must be a percentage such as 10%, read \"{}\"", text));
}

std::vector<int> parse_ranks_in_order(const std::string& option, const std::string& text,
                                      const std::string& hint) {
    const auto wrong = [&](const std::string& part) {
        return InputError(option, fmt::format("\"{}\" is not a rank or a range of ranks", part), hint);
    };
    std::vector<int> ranks;
    std::size_t start = 0;
    while (start <= text.size()) {
        const std::size_t comma = std::min(text.find(',', start), text.size());
        const std::string part = text.substr(start, comma - start);
        start = comma + 1;
        const std::size_t dash = part.find('-');
        const auto first = number_in<int>(std::string_view(part).substr(0, dash));
        const auto last =
            dash == std::string::npos ? first : number_in<int>(std::string_view(part).substr(dash + 1));
        if (!first || !last || *first < 0 || *last < *first || *last >= kMostGpus)
            throw wrong(part);
        for (int rank = *first; rank <= *last; ++rank)
            ranks.push_back(rank);
        if (ranks.size() > static_cast<std::size_t>(kMostGpus))
            throw wrong(part);
    }
    return ranks;
}

std::vector<int> parse_rank_list(const std::string& text) {
    std::vector<int> ranks = parse_ranks_in_order("--timeline-ranks", text,
                                                  "write representative, all, or a list such as 0,8,16-23");
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

Overrides read_overrides(const std::vector<std::string>& settings) {
    Overrides overrides;
    std::vector<Problem> problems;
    for (const std::string& setting : settings) {
        try {
            read_override(setting, overrides);
        } catch (const InputError& error) {
            problems.insert(problems.end(), error.problems().begin(), error.problems().end());
        }
    }
    if (!problems.empty())
        throw InputError(std::move(problems));
    return overrides;
}

Job resolve_job_argument(const Invocation& invocation, const Overrides& overrides, std::size_t position) {
    JobSource source;
    if (invocation.arguments.size() > position)
        source = read_job_source(invocation.arguments[position]);
    else if (invocation.rest.empty())
        throw InputError(fmt::format("echosim {}", invocation.command->name), "JOB is missing",
                         "give a launch script, a file of Megatron flags, a model name or an earlier result");
    else
        source.name = "command line";
    for (Flag& flag : parse_flags(invocation.rest, "command line"))
        source.flags.push_back(std::move(flag));
    source.flags.insert(source.flags.end(), overrides.flags.begin(), overrides.flags.end());
    ResolveOptions options;
    if (const auto gpus = invocation.value("--gpus"))
        options.gpus = parse_whole_number("--gpus", *gpus, 1, kMostGpus);
    options.strict = invocation.has("--strict");
    options.software = overrides.software;
    return resolve_job(source, options);
}

std::optional<EarlierRun> read_earlier_run(const std::string& path) {
    std::error_code error;
    if (!path.ends_with(".json") || !std::filesystem::is_regular_file(path, error))
        return std::nullopt;
    if (read_text_file(path).find(kSimulateSchema) == std::string::npos)
        return std::nullopt;
    const nlohmann::ordered_json document = read_json_file(path);
    if (!document.is_object() || document.value("schema", nlohmann::ordered_json()) != kSimulateSchema)
        return std::nullopt;
    if (!document.contains("cluster") || !document["cluster"].is_object())
        throw InputError(path, "the result document has no object \"cluster\"");
    nlohmann::ordered_json cluster = document["cluster"];
    cluster.erase("gpus_used");
    EarlierRun earlier{.cluster = cluster_from_json(cluster, path + ": cluster"), .interference = "off"};
    const auto simulation = document.find("simulation");
    if (simulation != document.end() && simulation->is_object() && simulation->contains("interference") &&
        (*simulation)["interference"].is_string())
        earlier.interference = (*simulation)["interference"];
    if (simulation != document.end() && simulation->is_object())
        earlier.contention = simulation->value("contention", false);
    return earlier;
}

Cluster resolve_cluster(const Invocation& invocation, const Overrides& overrides,
                        const std::optional<EarlierRun>& earlier) {
    const auto name = invocation.value("--cluster");
    if (!name && !earlier)
        refuse_missing_cluster();
    Cluster cluster = name ? find_cluster(*name) : earlier->cluster;
    std::vector<Problem> problems;
    for (const auto& [path, value] : overrides.cluster) {
        try {
            set_value(cluster, path, value);
        } catch (const InputError& error) {
            problems.insert(problems.end(), error.problems().begin(), error.problems().end());
        }
    }
    if (!problems.empty())
        throw InputError(std::move(problems));
    return cluster;
}

} // namespace echosim
