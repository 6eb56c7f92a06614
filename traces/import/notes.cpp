// SPDX-License-Identifier: Apache-2.0
#include "traces/import/notes.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOneClock = "one_clock";

Json document_of(const Alignment& alignment) {
    Json ranks = Json::array();
    for (const RankAlignment& rank : alignment.ranks) {
        ranks.push_back({{"rank", rank.rank},
                         {"offset_ns", rank.offset},
                         {"residual_ns", rank.residual},
                         {"p95_ns", rank.worst},
                         {"collectives", rank.collectives}});
    }
    return {{"trusted", alignment.trusted},
            {"applied", alignment.applied},
            {"reason", alignment.reason},
            {"ranks", ranks}};
}

bool has_whole(const Json& row, const char* key) {
    return row.contains(key) && row.at(key).is_number_integer();
}

std::optional<RankAlignment> rank_from(const Json& row) {
    for (const char* key : {"rank", "offset_ns", "residual_ns", "p95_ns", "collectives"}) {
        if (!row.is_object() || !has_whole(row, key)) {
            return std::nullopt;
        }
    }
    return RankAlignment{row["rank"].get<int>(), row["offset_ns"].get<TimeNs>(),
                         row["residual_ns"].get<TimeNs>(), row["p95_ns"].get<TimeNs>(),
                         row["collectives"].get<std::uint64_t>()};
}

std::optional<Alignment> alignment_from(const Json& found, std::size_t classes) {
    const auto is_flag = [&](const char* key) { return found.contains(key) && found.at(key).is_boolean(); };
    if (!found.is_object() || !is_flag("trusted") || !is_flag("applied") || !found.contains("ranks") ||
        !found["ranks"].is_array() || found["ranks"].size() != classes) {
        return std::nullopt;
    }
    Alignment alignment;
    alignment.trusted = found["trusted"].get<bool>();
    alignment.applied = found["applied"].get<bool>();
    if (found.contains("reason") && found["reason"].is_string()) {
        alignment.reason = found["reason"].get<std::string>();
    }
    for (const Json& row : found["ranks"]) {
        const auto rank = rank_from(row);
        if (!rank) {
            return std::nullopt;
        }
        alignment.ranks.push_back(*rank);
    }
    return alignment;
}

} // namespace

void keep_notes(Imported& imported) {
    const ImportReport& report = imported.report;
    const std::vector<std::string> notes = report.all_notes();
    if (notes.empty() && !report.alignment) {
        return;
    }
    Json meta = Json::parse(imported.trace.meta.empty() ? "{}" : imported.trace.meta, nullptr, false);
    if (!meta.is_object()) {
        meta = Json{{"meta", imported.trace.meta}};
    }
    meta["import"] = Json{{"notes", notes}};
    if (report.alignment) {
        meta["import"]["alignment"] = document_of(*report.alignment);
    }
    imported.trace.meta = meta.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void recall_notes(Imported& imported) {
    const Json meta = Json::parse(imported.trace.meta, nullptr, false);
    if (!meta.is_object() || !meta.contains("import") || !meta["import"].is_object()) {
        return;
    }
    const Json& kept = meta["import"];
    if (kept.contains("notes") && kept["notes"].is_array()) {
        for (const Json& note : kept["notes"]) {
            if (note.is_string()) {
                imported.report.note(note.get<std::string>());
            }
        }
    }
    if (kept.contains("alignment")) {
        imported.report.alignment = alignment_from(kept["alignment"], imported.trace.classes.size());
    }
}

void mark_one_clock(Trace& trace) {
    Json meta = Json::parse(trace.meta.empty() ? "{}" : trace.meta, nullptr, false);
    if (!meta.is_object()) {
        return;
    }
    std::uint64_t hash = 0xcbf29ce484222325ULL; // FNV-1a
    const auto add = [&](std::string_view text) {
        for (const char c : text) {
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        }
    };
    add(trace.meta);
    add(trace.strings.bytes());
    add(fmt::format("{} {} {}", trace.t0_ns, trace.event_count(), trace.classes.size()));
    meta[kOneClock] = fmt::format("{:016x}", hash);
    trace.meta = meta.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool take_one_clock(std::vector<Imported>& recordings) {
    std::vector<std::string> marks;
    for (Imported& recording : recordings) {
        Json meta = Json::parse(recording.trace.meta, nullptr, false);
        const bool marked = meta.is_object() && meta.contains(kOneClock) && meta[kOneClock].is_string();
        marks.push_back(marked ? meta[kOneClock].get<std::string>() : "");
        if (marked) {
            meta.erase(kOneClock);
            recording.trace.meta =
                meta.empty() ? "" : meta.dump(-1, ' ', false, Json::error_handler_t::replace);
        }
    }
    return marks.size() > 1 && !marks.front().empty() &&
           std::equal(marks.begin() + 1, marks.end(), marks.begin());
}

} // namespace echosim
