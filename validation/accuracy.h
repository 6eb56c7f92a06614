// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/error.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

// Predicted against measured. error = (predicted - measured) / measured, in percent; a positive one is too
// slow.
namespace echosim {

struct ValidationRow {
    std::string id;
    double measured = 0; // in the unit of the report
    std::optional<double> predicted, p05, p95, error_percent;
    std::string skipped;                       // reason; empty when the row was simulated
    std::vector<std::string> notes;            // what was assumed, and what the prediction leaves out
    std::map<std::string, std::string> groups; // "gpu" -> "a100-sxm-80gb", "tp" -> "8", ...
    // Why the row stands apart: it is in the group "apart" under this word, and in no other summary. Empty =
    // it counts.
    std::string apart;
};

struct ValidationSummary {
    int rows = 0; // simulated
    int skipped = 0;
    double mean_abs_error_percent = 0;
    double median_abs_error_percent = 0;
    double p90_abs_error_percent = 0;
    double bias_percent = 0; // mean signed error
    std::optional<double> interval_coverage_percent;
};

struct ValidationReport {
    std::string kind; // "steps" or "replay", in seconds, "collectives", in microseconds, or "interference"
    std::vector<ValidationRow> rows;
};

struct ValidateOptions {
    int threads = 0; // 0 = one a core
    std::string interference = "off";
    std::string calibration = {}; // file; empty = the presets
};
// First problem of the error, without the row's own name in front.
std::string reason_of(const InputError& error, const std::string& row);

// Simulates every row of a table of measured steps. Results do not depend on the number of threads. Throws
// InputError when the file is not such a table; a row that cannot be simulated is in the report with the
// reason.
ValidationReport validate_steps(const std::string& data_path, const ValidateOptions& options);

ValidationSummary summarise(const std::vector<ValidationRow>& rows);
// The rows that count: all but those apart.
std::vector<ValidationRow> counted_rows(const ValidationReport& report);
// Of these, the ones of one group; of the group "apart" the others.
std::vector<ValidationRow> rows_with(const ValidationReport& report, const std::string& group,
                                     const std::string& value);

nlohmann::ordered_json report_to_json(const ValidationReport& report); // schema echosim.validate/1
std::string report_text(const ValidationReport& report);               // summaries, then the worst rows
// The groups of a summary in the order in which they are shown.
std::vector<std::string> groups_of_report(const ValidationReport& report);
// measured / predicted percentiles by kernel preset over high-confidence rows:
// simulator/run/step_residuals.json.
nlohmann::ordered_json residuals_json(const ValidationReport& report);

} // namespace echosim
