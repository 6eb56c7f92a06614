// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/report/svg_chart.h"
#include "validation/accuracy.h"
#include "validation/collective_accuracy.h"
#include "validation/interference_accuracy.h"
#include "validation/replay_report.h"

#include <string>
#include <variant>
#include <vector>

namespace echosim {

// One validation as it is printed.
struct KindReport {
    std::string path;
    std::vector<ValidationRow> counted; // rows that a gate looks at
    std::string text;
    std::variant<ValidationReport, ReplayReport, InterferenceReport> result;
};

struct TableOptions {
    ValidateOptions steps;
    CollectiveValidateOptions collectives;
    InterferenceValidateOptions interference;
};

// kind: "steps" or "collectives".
KindReport validate_table(const std::string& kind, const std::string& path, const TableOptions& options);
// "steps", "collectives", or nothing when the file is no table of measurements.
std::string kind_of_table(const std::string& path);

KindReport validate_interference_file(const std::string& path, const InterferenceValidateOptions& options);
// Tables of interference samples in this folder and below, in order of their names.
std::vector<std::string> interference_tables(const std::string& folder);
// Measured over predicted factor, by family; of a cross-validation the random fifths.
Chart interference_chart(const InterferenceReport& report);

// A folder of pipeline timelines, or a recorded trace: one file, a folder of ranks, or the files of the
// ranks.
KindReport validate_replay(const std::vector<std::string>& paths);
// Folders of pipeline timelines: this one, or those in it at any depth, in order of their names.
std::vector<std::string> pipeline_folders(const std::string& folder);

} // namespace echosim
