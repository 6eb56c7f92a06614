// SPDX-License-Identifier: Apache-2.0
#include "comm_models/calibration_file.h"
#include "simulator/cli/command.h"
#include "simulator/cli/commands/validate_kinds.h"
#include "simulator/cli/console.h"
#include "simulator/cli/job_input.h"
#include "simulator/cli/output.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "simulator/core/suggest.h"
#include "validation/collective_rows.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

constexpr const char* kAvailable = "available: steps, collectives, interference, replay, all";

std::string checked_kind(const Invocation& invocation) {
    const std::string where = "echosim validate";
    if (invocation.arguments.empty())
        throw InputError(where, "what to validate is missing",
                         "write: steps, collectives, interference, replay or all");
    const std::string& kind = invocation.arguments[0];
    if (kind == "memory")
        throw InputError(where, fmt::format("\"{}\" is not available in this version", kind), kAvailable);
    const std::vector<std::string> kinds = {"steps", "collectives", "interference", "replay", "all"};
    if (std::ranges::find(kinds, kind) == kinds.end())
        throw InputError(where, fmt::format("unknown kind \"{}\"{}", kind, did_you_mean(kinds, kind)),
                         kAvailable);
    return kind;
}

struct Options {
    TableOptions tables;
    std::optional<double> limit; // percent
};

// A replay has no models: nothing of them can be set.
void check_replay_options(const Invocation& invocation) {
    for (const char* option : {"--set", "--cross", "--calibration"})
        if (invocation.has(option))
            throw InputError(option, "does not concern a replay: durations are those that were recorded");
}

void check_interference_options(const Invocation& invocation, const std::string& kind,
                                const Overrides& overrides) {
    if (kind == "interference" && invocation.has("--calibration"))
        throw InputError("--calibration", "does not concern interference",
                         "a model of `echosim calibrate interference` is given with --set interference=FILE");
    if (kind == "interference" && invocation.has("--cross") && overrides.interference)
        throw InputError("--cross", "compares all ways of predicting: --set interference would have no use");
    const auto plot = invocation.value("--plot");
    if (!plot)
        return;
    if (kind != "interference")
        throw InputError("--plot", fmt::format("is not available for {}", kind),
                         "echosim validate interference --plot FILE.svg");
    if (!plot->ends_with(".svg"))
        throw InputError("--plot", fmt::format("the name must end in .svg, read \"{}\"", *plot));
    if (plot == invocation.value("--output"))
        throw InputError("--plot", "is the same file as --output");
    check_writable(*plot);
}

Options read_options(const Invocation& invocation, const std::string& kind) {
    if (kind == "replay")
        check_replay_options(invocation);
    const Overrides overrides = read_overrides(invocation.values("--set"));
    if (!overrides.cluster.empty() || !overrides.flags.empty() || overrides.contention)
        throw InputError("echosim validate", "takes --set interference=VALUE only",
                         "job and cluster are those of each row");
    if (overrides.interference && kind == "collectives")
        throw InputError("--set", "interference does not concern a collective that runs alone");
    if (invocation.has("--cross") && kind == "steps")
        throw InputError("--cross", "is not available for steps in this version",
                         "echosim validate collectives --cross");
    if (invocation.has("--cross") && invocation.has("--calibration"))
        throw InputError("--cross", "fits its own constants: --calibration would have no use");
    check_interference_options(invocation, kind, overrides);
    Options options;
    options.tables.steps.interference = overrides.interference.value_or("off");
    options.tables.interference.interference = overrides.interference.value_or("prior");
    options.tables.interference.cross = invocation.has("--cross");
    options.tables.steps.calibration = invocation.value("--calibration").value_or("");
    options.tables.collectives.calibration = options.tables.steps.calibration;
    options.tables.collectives.cross = invocation.has("--cross");
    if (const auto text = invocation.value("--max-error"))
        options.limit = parse_percent("--max-error", *text);
    return options;
}

// What to validate: --data, for a replay also words of the command line.
std::vector<std::string> data_of(const Invocation& invocation, const std::string& kind) {
    std::vector<std::string> paths(invocation.arguments.begin() + 1, invocation.arguments.end());
    const auto data = invocation.value("--data");
    if (kind != "replay" && !paths.empty())
        throw InputError("echosim validate", fmt::format("unexpected argument \"{}\"", paths[0]),
                         "measurements are given with --data");
    if (data && !paths.empty())
        throw InputError("--data", fmt::format("is given beside \"{}\"", paths[0]), "leave one of them out");
    if (data)
        return {*data};
    if (!paths.empty())
        return paths;
    if (kind == "replay")
        throw InputError(
            "echosim validate", "what to replay is missing",
            "give a folder of pipeline timelines, or a recorded trace (file or folder of ranks)");
    throw InputError("--data", kind == "all" ? "is missing: give the folder of the measurements"
                                             : "is missing: give a file of measured " + kind);
}

// Files of a folder that hold a table which can be validated, in order of their names.
std::vector<std::string> tables_in(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.is_regular_file() && entry.path().extension() == ".json")
            files.push_back(entry.path().string());
    std::ranges::sort(files);
    return files;
}

// What `validate all` finds in the folder.
std::vector<KindReport> all_reports(const std::string& folder, const Options& options) {
    if (!std::filesystem::is_directory(folder))
        throw InputError("--data", fmt::format("\"{}\" is not a folder", folder),
                         "validate all takes the folder with the measurements");
    std::vector<KindReport> reports;
    const std::vector<std::string> pipelines = pipeline_folders(folder);
    if (std::ranges::find(pipelines, folder) == pipelines.end())
        for (const std::string& file : tables_in(folder))
            if (const std::string found = kind_of_table(file); !found.empty())
                reports.push_back(validate_table(found, file, options.tables));
    for (const std::string& table : interference_tables(folder))
        reports.push_back(validate_interference_file(table, options.tables.interference));
    for (const std::string& pipeline : pipelines)
        reports.push_back(validate_replay({pipeline}));
    if (reports.empty())
        throw InputError("--data",
                         fmt::format("the folder \"{}\" holds no table of measurements and no pipeline "
                                     "timelines",
                                     folder));
    return reports;
}

nlohmann::ordered_json json_of(const KindReport& report) {
    const auto* replay = std::get_if<ReplayReport>(&report.result);
    if (const auto* interference = std::get_if<InterferenceReport>(&report.result))
        return interference_to_json(*interference);
    return replay != nullptr ? replay_to_json(*replay)
                             : report_to_json(std::get<ValidationReport>(report.result));
}

Output output_of(const std::string& kind, const std::vector<KindReport>& reports) {
    if (kind != "all") {
        const std::string document = document_text(json_of(reports[0]));
        const std::string title =
            kind == "replay" || kind == "interference" ? reports[0].path + ": " : std::string();
        return {.text = title + reports[0].text, .json = document, .file = document};
    }
    std::string text;
    nlohmann::ordered_json json = {
        {"schema", "echosim.validate/1"}, {"kind", kind}, {"reports", nlohmann::ordered_json::array()}};
    for (const KindReport& report : reports) {
        text += fmt::format("{}{}: {}\n", text.empty() ? "" : "\n", report.path, report.text);
        json["reports"].push_back(json_of(report));
        json["reports"].back()["file"] = report.path;
    }
    const std::string document = document_text(json);
    return {.text = text, .json = document, .file = document};
}

ExitCode gate(const std::vector<KindReport>& reports, double limit, Console& console) {
    ExitCode code = ExitCode::ok;
    for (const KindReport& report : reports) {
        const ValidationSummary summary = summarise(report.counted);
        if (summary.rows > 0 && summary.mean_abs_error_percent <= limit)
            continue;
        const std::string where = reports.size() > 1 ? report.path + ": " : std::string();
        console.error(summary.rows == 0
                          ? fmt::format("gate: {}no row was simulated", where)
                          : fmt::format("gate: {}the mean absolute error {:.2f} % is above {:.4g} %", where,
                                        summary.mean_abs_error_percent, limit));
        code = ExitCode::gate_failed;
    }
    return code;
}

// Says of how many tables the calibration describes the links.
void warn_of_calibration(const std::string& data, const std::string& calibration, Console& console) {
    const nccl::ModelConstants constants = nccl::read_calibration(calibration);
    std::string first;
    int tables = 0, left = 0;
    for (const CollectiveTable& table : read_collective_tables(data).tables) {
        if (!table.skipped.empty())
            continue;
        ++tables;
        const std::string mismatch = nccl::calibration_mismatch(constants, table.cluster);
        left += mismatch.empty() ? 0 : 1;
        if (first.empty() && !mismatch.empty())
            first = fmt::format("{}: {}", table.name, mismatch);
    }
    if (left > 0)
        console.warn(fmt::format("no link entry of {} is for {} of {} tables, the first {}", calibration,
                                 left, tables, first));
}

} // namespace

int run_validate(const Invocation& invocation, Console& console) {
    const std::string kind = checked_kind(invocation);
    const std::vector<std::string> data = data_of(invocation, kind);
    const Options options = read_options(invocation, kind);
    check_output(invocation);
    std::vector<KindReport> reports;
    if (kind == "all")
        reports = all_reports(data[0], options);
    else if (kind == "replay")
        reports.push_back(validate_replay(data));
    else if (kind == "interference")
        reports.push_back(validate_interference_file(data[0], options.tables.interference));
    else
        reports.push_back(validate_table(kind, data[0], options.tables));
    const std::string& calibration = options.tables.collectives.calibration;
    if (kind == "collectives" && !calibration.empty())
        warn_of_calibration(data[0], calibration, console);
    if (const auto plot = invocation.value("--plot")) {
        const HoldSignals held;
        write_file_atomically(*plot,
                              svg_chart(interference_chart(std::get<InterferenceReport>(reports[0].result))));
    }
    write_output(invocation, output_of(kind, reports), console);
    return static_cast<int>(options.limit ? gate(reports, *options.limit, console) : ExitCode::ok);
}

} // namespace echosim
