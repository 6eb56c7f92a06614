// SPDX-License-Identifier: Apache-2.0
#include "comm_models/calibration_file.h"
#include "comm_models/log_samples.h"
#include "comm_models/nccl_model.h"
#include "simulator/cli/command.h"
#include "simulator/cli/commands/calibrate_interference.h"
#include "simulator/cli/console.h"
#include "simulator/cli/job_input.h"
#include "simulator/cli/output.h"
#include "simulator/cli/text_table.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "simulator/core/suggest.h"
#include "validation/collective_rows.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr Bytes kMaxLog = 512_MiB;
constexpr double kMisfit = 25; // percent

// What the fit gets, and what is to be said about it.
struct Measurements {
    nccl::CalibrationData data;
    nccl::LogSamples log;
};

struct FittedProfile {
    std::string name;                 // "link h100", "network infiniband"
    std::vector<std::string> changed; // keys whose values moved by more than a percent
};

void check_arguments(const Invocation& invocation) {
    const std::string where = "echosim calibrate";
    if (invocation.arguments.empty())
        throw InputError(where, "what to calibrate is missing",
                         "write: calibrate collectives FILE..., or calibrate interference FILE...");
    const std::string& kind = invocation.arguments[0];
    const std::string available = "available: collectives, interference";
    if (kind == "kernels")
        throw InputError(where, fmt::format("\"{}\" is not available in this version", kind), available);
    if (kind != "collectives")
        throw InputError(
            where,
            fmt::format("unknown kind \"{}\"{}", kind, did_you_mean({"collectives", "interference"}, kind)),
            available);
    if (invocation.arguments.size() < 2)
        throw InputError(where, "no measurements are given",
                         "name files with the output of nccl-tests, or of the schema of nccl_tests.json");
}

void refuse_interference_options(const Invocation& invocation) {
    for (const char* option : {"--gpu", "--fitter", "--known-families"})
        if (invocation.has(option))
            throw InputError(option, "does not concern collectives",
                             "echosim calibrate interference takes it");
}

nccl::LogSettings log_settings(const Invocation& invocation) {
    if (!invocation.has("--cluster"))
        throw InputError("--cluster", "is missing: a log of nccl-tests does not describe the machine",
                         "give a name of `echosim show clusters` or a cluster file");
    nccl::LogSettings settings;
    settings.cluster = find_cluster(*invocation.value("--cluster"));
    if (const auto gpus = invocation.value("--gpus"))
        settings.gpus = parse_whole_number("--gpus", *gpus, 2, 10000000);
    if (const auto version = invocation.value("--nccl")) {
        nccl::parse_version(*version);
        settings.nccl = *version;
    }
    return settings;
}

bool is_json(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string::npos && text[first] == '{';
}

void add_log(const std::string& path, const std::string& text, const nccl::LogSettings& settings,
             Measurements& all) {
    for (const NcclTestsTable& table : read_nccl_tests(text, path))
        nccl::add_samples(table, path, settings, all.data, all.log);
}

void add_tables(const std::string& path, Measurements& all) {
    const CollectiveTables tables = read_collective_tables(path);
    for (const CollectiveTable& table : tables.tables) {
        const std::string place = fmt::format("{}: {}", path, table.name);
        if (!table.skipped.empty())
            all.log.notes.push_back(fmt::format("{}: not used: {}", place, table.skipped));
        else if (table.degraded)
            all.log.notes.push_back(fmt::format("{}: not used: it is marked degraded", place));
        else
            for (const std::string& note : table.notes)
                all.log.notes.push_back(fmt::format("{}: {}", place, note));
    }
    nccl::CalibrationData data = calibration_data(tables, std::vector<bool>(tables.tables.size(), true));
    for (nccl::CollectiveSample& sample : data.samples) {
        sample.cluster += all.data.clusters.size();
        all.data.samples.push_back(sample);
    }
    all.log.tables += static_cast<int>(data.clusters.size());
    for (const Cluster& cluster : data.clusters)
        all.log.names.push_back(fmt::format("{}: {}", path, cluster.name));
    std::ranges::move(data.clusters, std::back_inserter(all.data.clusters));
}

Measurements read_measurements(const Invocation& invocation) {
    Measurements all;
    std::optional<nccl::LogSettings> settings;
    for (std::size_t i = 1; i < invocation.arguments.size(); ++i) {
        const std::string& path = invocation.arguments[i];
        const std::string text = read_text_file(path, kMaxLog);
        if (is_json(text)) {
            add_tables(path, all);
            continue;
        }
        if (!settings)
            settings = log_settings(invocation);
        add_log(path, text, *settings, all);
    }
    if (invocation.has("--cluster") && !settings)
        all.log.notes.emplace_back("--cluster was not needed: tables name their own machines");
    if (all.data.samples.empty())
        throw InputError("echosim calibrate", "the files hold no row that can be fitted",
                         all.log.notes.empty() ? std::string() : join(all.log.notes, "; "));
    return all;
}

std::string size_range(const nccl::SizeRangeError& range) {
    constexpr Bytes open_end = 1ULL << 50U;
    if (range.from <= 1)
        return fmt::format("< {}", format_bytes(range.to));
    if (range.to >= open_end)
        return fmt::format(">= {}", format_bytes(range.from));
    return fmt::format("{} - {}", format_bytes(range.from), format_bytes(range.to));
}

bool moved(const Json& before, const Json& after) {
    if (before.is_number() && after.is_number())
        return std::abs(after.get<double>() - before.get<double>()) > 0.01 * std::abs(before.get<double>());
    if (before.is_array() && after.is_array() && before.size() == after.size())
        return !std::ranges::equal(before, after, [](const Json& a, const Json& b) { return !moved(a, b); });
    return before != after;
}

// Entries of the list with what differs from the entry of the same name at the start.
void add_profiles(const Json& fitted, const Json& start, const char* list, const char* key, const char* title,
                  std::vector<FittedProfile>& profiles) {
    for (const Json& entry : fitted.at(list)) {
        FittedProfile profile{fmt::format("{} {}", title, entry.at(key).get<std::string>()), {}};
        const auto same = std::ranges::find_if(
            start.at(list), [&](const Json& other) { return other.at(key) == entry.at(key); });
        for (const auto& [name, value] : entry.items())
            if (same != start.at(list).end() && (!same->contains(name) || moved(same->at(name), value)))
                profile.changed.push_back(name);
        profiles.push_back(std::move(profile));
    }
}

std::vector<FittedProfile> profiles_of(const nccl::ModelConstants& fitted,
                                       const nccl::ModelConstants& start) {
    const Json after = nccl::constants_to_json(fitted), before = nccl::constants_to_json(start);
    std::vector<FittedProfile> profiles;
    add_profiles(after, before, "links", "name", "link", profiles);
    add_profiles(after, before, "fabrics", "kind", "network", profiles);
    return profiles;
}

// Tables that the fitted constants do not describe: another machine, another NCCL, a disturbed run.
std::vector<std::string> misfits(const Measurements& all, const nccl::ModelConstants& fitted) {
    NcclOptions options;
    options.constants = std::make_shared<const nccl::ModelConstants>(
        nccl::with_calibration(nccl::preset_constants(), fitted));
    std::vector<double> sum(all.data.clusters.size(), 0), rows(sum);
    std::vector<std::unique_ptr<NcclModel>> models(sum.size());
    for (const nccl::CollectiveSample& sample : all.data.samples) {
        if (sample.us <= 0 || sample.group.ranks < 2)
            continue;
        auto& model = models[sample.cluster];
        if (!model)
            model = std::make_unique<NcclModel>(all.data.clusters[sample.cluster], options);
        const double us = model->estimate(sample.collective, sample.group).time * 1e6;
        sum[sample.cluster] += std::abs(us / sample.us - 1) * 100;
        ++rows[sample.cluster];
    }
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < sum.size(); ++i)
        if (rows[i] > 0 && sum[i] / rows[i] > kMisfit)
            lines.push_back(fmt::format("{}: mean error {:.0f} % after the fit: is it of this cluster?",
                                        all.log.names.at(i), sum[i] / rows[i]));
    return lines;
}

// The versions of NCCL for which each fitted link entry will be taken.
std::vector<std::string> version_lines(const nccl::CalibrationData& data,
                                       const nccl::ModelConstants& fitted) {
    const nccl::ModelConstants constants = nccl::with_calibration(nccl::preset_constants(), fitted);
    std::vector<std::string> lines;
    for (const nccl::LinkProfile& entry : fitted.links)
        for (const Cluster& cluster : data.clusters)
            if (const std::string versions = nccl::versions_of(entry, constants, cluster);
                !versions.empty()) {
                lines.push_back(
                    fmt::format("link {} holds for {} with {}", entry.name, cluster.gpu.name, versions));
                break;
            }
    return lines;
}

// The mean over all rows, before and after.
std::pair<double, double> mean_errors(const std::vector<nccl::SizeRangeError>& errors) {
    double before = 0, after = 0;
    int rows = 0;
    for (const nccl::SizeRangeError& range : errors) {
        rows += range.samples;
        before += range.before * range.samples;
        after += range.after * range.samples;
    }
    return {before / std::max(1, rows), after / std::max(1, rows)};
}

std::string error_table(const std::vector<nccl::SizeRangeError>& errors, const TextStyle& style) {
    using Align = TextTable::Align;
    TextTable table(
        {{"size", Align::left}, {"rows", Align::right}, {"before", Align::right}, {"after", Align::right}});
    double before = 0, after = 0;
    int rows = 0;
    for (const nccl::SizeRangeError& range : errors) {
        if (range.samples == 0)
            continue;
        table.add({size_range(range), std::to_string(range.samples), fmt::format("{:.1f} %", range.before),
                   fmt::format("{:.1f} %", range.after)});
        rows += range.samples;
        before += range.before * range.samples;
        after += range.after * range.samples;
    }
    if (rows > 0)
        table.add({"all", std::to_string(rows), fmt::format("{:.1f} %", before / rows),
                   fmt::format("{:.1f} %", after / rows)});
    return table.text(style, 2);
}

std::string list_text(const char* title, const std::vector<std::string>& lines, const TextStyle& style) {
    if (lines.empty())
        return {};
    std::string text = fmt::format("\n{}\n", title);
    for (const std::string& line : lines)
        text += wrap("  " + line, style.width, 4) + "\n";
    return text;
}

std::string text_of(const Measurements& all, const nccl::Calibration& calibration,
                    const std::vector<FittedProfile>& profiles, const TextStyle& style) {
    std::string text = fmt::format("Fitted to {} rows of {} tables. Mean |error| by size:\n\n",
                                   all.data.samples.size(), all.log.tables);
    text += error_table(calibration.errors, style);
    std::vector<std::string> changed;
    for (const FittedProfile& profile : profiles)
        changed.push_back(fmt::format("{}: {}", profile.name,
                                      profile.changed.empty() ? "no constant moved by more than 1 %"
                                                              : join(profile.changed)));
    text += list_text("Constants", changed, style);
    text += list_text("Left out: warm-up or noise", all.log.outliers, style);
    text += list_text("Notes", all.log.notes, style);
    if (const auto [before, after] = mean_errors(calibration.errors); after >= before)
        text +=
            fmt::format("\nThe fit does not lower the mean error ({:.1f} % to {:.1f} %): the measurements "
                        "contradict each other or the cluster\n",
                        before, after);
    return text + list_text("Valid for", version_lines(all.data, calibration.constants), style);
}

Json document_of(const Measurements& all, const nccl::Calibration& calibration,
                 const std::vector<FittedProfile>& profiles, const std::string& file_text) {
    Json errors = Json::array(), changed = Json::array();
    for (const nccl::SizeRangeError& range : calibration.errors)
        if (range.samples > 0)
            errors.push_back({{"from_bytes", range.from},
                              {"to_bytes", range.to},
                              {"rows", range.samples},
                              {"mean_abs_error_percent_before", range.before},
                              {"mean_abs_error_percent_after", range.after}});
    for (const FittedProfile& profile : profiles)
        changed.push_back({{"profile", profile.name}, {"changed", profile.changed}});
    return {
        {"schema", "echosim.calibrate/1"}, {"kind", "collectives"},  {"tables", all.log.tables},
        {"rows", all.data.samples.size()}, {"errors", errors},       {"profiles", changed},
        {"outliers", all.log.outliers},    {"notes", all.log.notes}, {"calibration", Json::parse(file_text)}};
}

std::string source_of(const Invocation& invocation) {
    std::vector<std::string> names;
    for (std::size_t i = 1; i < invocation.arguments.size(); ++i)
        names.push_back(std::filesystem::path(invocation.arguments[i]).filename().string());
    return "nccl-tests: " + join(names);
}

} // namespace

int run_calibrate(const Invocation& invocation, Console& console) {
    if (!invocation.arguments.empty() && invocation.arguments[0] == "interference")
        return run_calibrate_interference(invocation, console);
    refuse_interference_options(invocation);
    check_arguments(invocation);
    check_output(invocation);
    const auto start = nccl::load_constants(invocation.value("--calibration").value_or(""));
    const Measurements all = read_measurements(invocation);
    const nccl::Calibration calibration = nccl::calibrate(all.data, *start);
    for (const std::string& warning : misfits(all, calibration.constants))
        console.warn(warning);
    const std::vector<FittedProfile> profiles = profiles_of(calibration.constants, *start);
    const std::string file = nccl::calibration_text(calibration, source_of(invocation));
    std::string text = text_of(all, calibration, profiles, console.style());
    const auto output = invocation.value("--output");
    text += output ? fmt::format("\nwritten: {}; use it with --calibration {}\n", *output, *output)
                   : std::string("\nnothing is written: give -o FILE\n");
    const std::string document = document_text(document_of(all, calibration, profiles, file));
    write_output(invocation, {.text = text, .json = document, .file = file}, console);
    return static_cast<int>(ExitCode::ok);
}

} // namespace echosim
