// SPDX-License-Identifier: Apache-2.0
#include "traces/import_report.h"

#include <algorithm>

namespace echosim {

void ImportReport::warn(std::string_view kind, std::uint64_t count) {
    if (count > 0) {
        warnings[std::string(kind)] += count;
    }
}

void ImportReport::note(std::string text) {
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) {
        notes.push_back(std::move(text));
    }
}

void ImportReport::add(const ImportReport& other) {
    files.insert(files.end(), other.files.begin(), other.files.end());
    events += other.events;
    complete_events += other.complete_events;
    kernels += other.kernels;
    for (const auto& [kind, count] : other.warnings) {
        warn(kind, count);
    }
    for (const std::string& text : other.notes) {
        note(text);
    }
}

} // namespace echosim
