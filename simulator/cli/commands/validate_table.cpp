// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/validate_kinds.h"
#include "simulator/core/json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace echosim {

std::string kind_of_table(const std::string& path) {
    const nlohmann::ordered_json json = read_json_file(path);
    if (json.is_object() && json.contains("tables") && json.contains("rows"))
        return "collectives";
    const bool rows = json.is_array() && !json.empty() && json[0].is_object();
    const bool steps = rows && (json[0].contains("iter_time_s") || json[0].contains("test_case"));
    return steps ? "steps" : "";
}

KindReport validate_table(const std::string& kind, const std::string& path, const TableOptions& options) {
    ValidationReport report = kind == "steps" ? validate_steps(path, options.steps)
                                              : validate_collectives(path, options.collectives);
    return {path, counted_rows(report), report_text(report), std::move(report)};
}

} // namespace echosim
