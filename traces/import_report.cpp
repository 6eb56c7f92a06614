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

void ImportReport::note_counts(std::string text, const std::vector<std::uint64_t>& counts) {
    std::vector<std::uint64_t>& sums = counted_notes[std::move(text)];
    sums.resize(std::max(sums.size(), counts.size()));
    for (std::size_t i = 0; i < counts.size(); ++i) {
        sums[i] += counts[i];
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
    for (const auto& [text, counts] : other.counted_notes) {
        note_counts(text, counts);
    }
}

std::vector<std::string> ImportReport::all_notes() const {
    std::vector<std::string> all = notes;
    for (const auto& [text, counts] : counted_notes) {
        std::string spelled = text;
        std::size_t from = 0;
        for (const std::uint64_t count : counts) {
            const std::size_t place = spelled.find("{}", from);
            if (place == std::string::npos) {
                break;
            }
            const std::string number = std::to_string(count);
            spelled.replace(place, 2, number);
            from = place + number.size();
        }
        all.push_back(std::move(spelled));
    }
    return all;
}

} // namespace echosim
