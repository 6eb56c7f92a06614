// SPDX-License-Identifier: Apache-2.0
#include "comm_models/calibration_file.h"
#include "simulator/cli/command.h"
#include "simulator/cli/console.h"
#include "simulator/cli/job_input.h"
#include "simulator/cli/output.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"
#include "validation/accuracy.h"
#include "validation/collective_accuracy.h"
#include "validation/collective_rows.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

constexpr const char* kAvailable = "available: steps, collectives, all";

std::string checked_kind(const Invocation& invocation) {
    const std::string where = "echosim validate";
    if (invocation.arguments.empty())
        throw InputError(where, "what to validate is missing", "write: steps, collectives or all");
    const std::string& kind = invocation.arguments[0];
    if (kind == "interference" || kind == "memory" || kind == "replay")
        throw InputError(where, fmt::format("\"{}\" is not available in this version", kind), kAvailable);
    const std::vector<std::string> kinds = {"steps", "collectives", "all"};
    if (std::ranges::find(kinds, kind) == kinds.end())
        throw InputError(where, fmt::format("unknown kind \"{}\"{}", kind, did_you_mean(kinds, kind)),
                         kAvailable);
    return kind;
}

// The options of both kinds.
struct Options {
    ValidateOptions steps;
    CollectiveValidateOptions collectives;
    std::optional<double> limit; // percent
};

Options read_options(const Invocation& invocation, const std::string& kind) {
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
    Options options;
    options.steps.interference = overrides.interference.value_or("off");
    options.steps.calibration = invocation.value("--calibration").value_or("");
    options.collectives.calibration = options.steps.calibration;
    options.collectives.cross = invocation.has("--cross");
    if (const auto text = invocation.value("--max-error"))
        options.limit = parse_percent("--max-error", *text);
    return options;
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

// "steps", "collectives", or nothing when the file is no table of measurements.
std::string kind_of_file(const std::string& path) {
    const nlohmann::ordered_json json = read_json_file(path);
    if (json.is_object() && json.contains("tables") && json.contains("rows"))
        return "collectives";
    const bool rows = json.is_array() && !json.empty() && json[0].is_object();
    const bool steps = rows && (json[0].contains("iter_time_s") || json[0].contains("test_case"));
    return steps ? "steps" : "";
}

ValidationReport report_of(const std::string& kind, const std::string& path, const Options& options) {
    return kind == "steps" ? validate_steps(path, options.steps)
                           : validate_collectives(path, options.collectives);
}

struct NamedReport {
    std::string file;
    ValidationReport report;
};

std::vector<NamedReport> reports_of(const std::string& kind, const std::string& data,
                                    const Options& options) {
    if (kind != "all")
        return {{data, report_of(kind, data, options)}};
    if (!std::filesystem::is_directory(data))
        throw InputError("--data", fmt::format("\"{}\" is not a folder", data),
                         "validate all takes the folder with the tables of measurements");
    std::vector<NamedReport> reports;
    for (const std::string& file : tables_in(data))
        if (const std::string found = kind_of_file(file); !found.empty())
            reports.push_back({file, report_of(found, file, options)});
    if (reports.empty())
        throw InputError("--data", fmt::format("the folder \"{}\" holds no table of measurements", data));
    return reports;
}

Output output_of(const std::string& kind, const std::vector<NamedReport>& reports) {
    if (kind != "all") {
        const std::string document = document_text(report_to_json(reports[0].report));
        return {.text = report_text(reports[0].report), .json = document, .file = document};
    }
    std::string text;
    nlohmann::ordered_json json = {
        {"schema", "echosim.validate/1"}, {"kind", kind}, {"reports", nlohmann::ordered_json::array()}};
    for (const NamedReport& named : reports) {
        text += fmt::format("{}{}: {}\n", text.empty() ? "" : "\n", named.file, report_text(named.report));
        json["reports"].push_back(report_to_json(named.report));
        json["reports"].back()["file"] = named.file;
    }
    const std::string document = document_text(json);
    return {.text = text, .json = document, .file = document};
}

ExitCode gate(const std::vector<NamedReport>& reports, double limit, Console& console) {
    ExitCode code = ExitCode::ok;
    for (const NamedReport& named : reports) {
        const ValidationSummary summary = summarise(counted_rows(named.report));
        if (summary.rows > 0 && summary.mean_abs_error_percent <= limit)
            continue;
        const std::string where = reports.size() > 1 ? named.file + ": " : std::string();
        console.error(summary.rows == 0
                          ? fmt::format("gate: {}no row was simulated", where)
                          : fmt::format("gate: {}the mean absolute error {:.2f} % is above {:.4g} %", where,
                                        summary.mean_abs_error_percent, limit));
        code = ExitCode::gate_failed;
    }
    return code;
}

} // namespace

namespace {

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
    const auto data = invocation.value("--data");
    if (!data)
        throw InputError("--data", kind == "all" ? "is missing: give the folder of the measurements"
                                                 : "is missing: give a file of measured " + kind);
    const Options options = read_options(invocation, kind);
    check_output(invocation);
    const std::vector<NamedReport> reports = reports_of(kind, *data, options);
    const std::string& calibration = options.collectives.calibration;
    if (kind == "collectives" && !calibration.empty())
        warn_of_calibration(*data, calibration, console);
    write_output(invocation, output_of(kind, reports), console);
    return static_cast<int>(options.limit ? gate(reports, *options.limit, console) : ExitCode::ok);
}

} // namespace echosim
