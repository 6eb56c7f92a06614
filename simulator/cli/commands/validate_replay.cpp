// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/validate_kinds.h"
#include "traces/import.h"
#include "validation/pipeline_timeline.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

namespace fs = std::filesystem;

// What the import mended, and how the clocks of the ranks relate.
std::vector<std::string> import_notes(const ImportReport& report) {
    std::vector<std::string> notes;
    for (const auto& [what, count] : report.warnings)
        notes.push_back(fmt::format("{} ({} times)", what, count));
    if (report.alignment && !report.alignment->trusted)
        notes.push_back("the clocks of the ranks are not comparable: " + report.alignment->reason);
    if (report.alignment && report.alignment->applied)
        notes.push_back("the ranks were put on one clock by the ends of their collectives");
    const std::vector<std::string> limits = report.all_notes();
    notes.insert(notes.end(), limits.begin(), limits.end());
    return notes;
}

ReplayReport replay_recorded(const std::vector<std::string>& paths) {
    const Imported imported = import_trace(paths);
    const std::string name =
        paths.size() == 1 ? paths[0] : fmt::format("{} and {} more", paths[0], paths.size() - 1);
    ReplayReport report = replay_report_of(imported.trace, replay(imported.trace), name);
    for (std::string& note : import_notes(imported.report))
        report.notes.push_back(std::move(note));
    return report;
}

} // namespace

KindReport validate_replay(const std::vector<std::string>& paths) {
    const bool pipeline = paths.size() == 1 && is_pipeline_timeline(paths[0]);
    ReplayReport report = pipeline ? replay_pipeline(paths[0]) : replay_recorded(paths);
    const std::string name = report.path;
    return {name, counted_rows(report.validation), replay_text(report), std::move(report)};
}

std::vector<std::string> pipeline_folders(const std::string& folder) {
    if (is_pipeline_timeline(folder))
        return {folder};
    std::vector<std::string> found;
    std::error_code ignored;
    constexpr auto skip = fs::directory_options::skip_permission_denied;
    for (const auto& entry : fs::recursive_directory_iterator(folder, skip, ignored))
        if (entry.is_directory(ignored) && is_pipeline_timeline(entry.path().string()))
            found.push_back(entry.path().string());
    std::ranges::sort(found);
    return found;
}

} // namespace echosim
