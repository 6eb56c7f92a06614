// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/command.h"
#include "simulator/cli/console.h"
#include "simulator/cli/job_input.h"
#include "simulator/cli/output.h"
#include "simulator/core/error.h"
#include "simulator/core/suggest.h"
#include "validation/accuracy.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

void check_kind(const Invocation& invocation) {
    const std::string where = "echosim validate";
    if (invocation.arguments.empty())
        throw InputError(where, "what to validate is missing", "write: steps");
    const std::string& kind = invocation.arguments[0];
    const std::vector<std::string> later = {"collectives", "interference", "memory", "replay", "all"};
    if (std::find(later.begin(), later.end(), kind) != later.end())
        throw InputError(where, fmt::format("\"{}\" is not available in this version", kind),
                         "available: steps");
    if (kind != "steps")
        throw InputError(where, fmt::format("unknown kind \"{}\"{}", kind, did_you_mean({"steps"}, kind)),
                         "available: steps");
}

ValidateOptions read_options(const Invocation& invocation) {
    const Overrides overrides = read_overrides(invocation.values("--set"));
    if (!overrides.cluster.empty() || !overrides.flags.empty() || overrides.contention)
        throw InputError("echosim validate", "takes --set interference=VALUE only",
                         "job and cluster are those of each row");
    ValidateOptions options;
    options.interference = overrides.interference.value_or("off");
    return options;
}

} // namespace

int run_validate(const Invocation& invocation, Console& console) {
    check_kind(invocation);
    const auto data = invocation.value("--data");
    if (!data)
        throw InputError("--data", "is missing: give a file of measured steps");
    std::optional<double> limit;
    if (const auto text = invocation.value("--max-error"))
        limit = parse_percent("--max-error", *text);
    const ValidateOptions options = read_options(invocation);
    check_output(invocation);

    const ValidationReport report = validate_steps(*data, options);
    const std::string document = document_text(report_to_json(report));
    write_output(invocation, {.text = report_text(report), .json = document, .file = document}, console);
    if (!limit)
        return static_cast<int>(ExitCode::ok);
    const ValidationSummary summary = summarise(report.rows);
    if (summary.rows > 0 && summary.mean_abs_error_percent <= *limit)
        return static_cast<int>(ExitCode::ok);
    console.error(summary.rows == 0 ? "gate: no row was simulated"
                                    : fmt::format("gate: the mean absolute error {:.2f} % is above {:.4g} %",
                                                  summary.mean_abs_error_percent, *limit));
    return static_cast<int>(ExitCode::gate_failed);
}

} // namespace echosim
