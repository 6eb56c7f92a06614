// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/import_text.h"

#include "simulator/cli/text_table.h"
#include "traces/align/spread.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 16; // of the table of ranks, without -v
constexpr std::size_t kMostNotes = 8; // likewise

std::string count_text(std::uint64_t value) {
    return with_separators(static_cast<long long>(value));
}

double seconds(TimeNs time) {
    return static_cast<double>(time) * 1e-9;
}

std::string duration_text(TimeNs time) {
    return format_time(seconds(time));
}

std::string clocks_text(const ImportSummary& summary) {
    const ImportReport& report = summary.imported->report;
    if (!report.alignment) {
        return {};
    }
    const Alignment& alignment = *report.alignment;
    TimeNs residual = 0;
    TimeNs offset = 0;
    for (const RankAlignment& rank : alignment.ranks) {
        residual = std::max(residual, rank.residual);
        offset = std::max(offset, std::abs(rank.offset));
    }
    if (!alignment.trusted) {
        return "as recorded, not comparable: " + alignment.reason;
    }
    const std::string measured =
        fmt::format("collectives end within {} (median deviation)", time_text(residual));
    if (alignment.applied) {
        return fmt::format("put on one clock: up to {} apart; {}", time_text(offset), measured);
    }
    return (offset == 0 ? "one clock: " : fmt::format("as recorded, up to {} apart: ", time_text(offset))) +
           measured;
}

bool has_durations(const TraceFigures& figures) {
    return std::any_of(figures.classes.begin(), figures.classes.end(),
                       [](const RankFigures& row) { return row.has_durations; });
}

bool starts_are_wall_clock(const ImportSummary& summary) {
    return summary.imported->trace.timed && is_wall_clock(summary.imported->trace.t0_ns);
}

// "job.etr", "rank0.json and 7 more"
std::string title_text(const ImportSummary& summary) {
    return summary.paths.size() == 1
               ? summary.paths.front()
               : fmt::format("{} and {} more", summary.paths.front(), summary.paths.size() - 1);
}

// The file may have a kernel twice: "3 (4 records), 1 of them communication".
std::string kernels_text(std::uint64_t records, const TraceFigures& figures) {
    std::string text = count_text(figures.kernels);
    if (records != figures.kernels) {
        text += fmt::format(" ({} records)", count_text(records));
    }
    if (figures.communication == 0) {
        return text;
    }
    return text + (figures.kernels == figures.communication
                       ? ", all of them communication"
                       : fmt::format(", {} of them communication", count_text(figures.communication)));
}

std::string head_text(const ImportSummary& summary, const TextStyle& style) {
    const Trace& trace = summary.imported->trace;
    const ImportReport& report = summary.imported->report;
    const TraceFigures& figures = summary.figures;
    std::string text = style.bold(title_text(summary)) + "\n\n";
    const auto line = [&](const char* title, const std::string& value) {
        text += wrap(fmt::format("  {:<10} {}", title, value), style.width, 13) + "\n";
    };
    line("format", report.files.size() > 1 ? fmt::format("{}, {} files", report.format, report.files.size())
                                           : report.format);
    line("ranks", figures.ranks > trace.classes.size()
                      ? fmt::format("{} in {} class{}", count_text(figures.ranks), trace.classes.size(),
                                    trace.classes.size() == 1 ? "" : "es")
                  : figures.ranks == 0 ? fmt::format("not known ({} recorded)", trace.classes.size())
                                       : count_text(figures.ranks));
    line("streams", count_text(trace.streams.size()));
    line("events",
         trace.event_count() == report.events
             ? count_text(report.events)
             : fmt::format("{} from {} records", count_text(trace.event_count()), count_text(report.events)));
    line("kernels", kernels_text(report.kernels, figures));
    if (trace.timed) {
        line("span", duration_text(figures.span));
    } else {
        line("times", has_durations(figures) ? "none: durations only" : "none, nor durations");
    }
    if (starts_are_wall_clock(summary) && trace.event_count() > 0) {
        line("recorded", wall_clock_text(trace.t0_ns + figures.first));
    }
    if (const std::string clocks = clocks_text(summary); !clocks.empty()) {
        line("clocks", clocks);
    }
    return text;
}

// Columns that would be empty or zero throughout are left out.
std::string ranks_text(const ImportSummary& summary, const TextStyle& style) {
    using Align = TextTable::Align;
    const std::vector<RankFigures>& rows = summary.figures.classes;
    const auto& alignment = summary.imported->report.alignment;
    const bool timed = summary.imported->trace.timed;
    const bool durations = has_durations(summary.figures);
    const bool communication =
        std::any_of(rows.begin(), rows.end(), [](const RankFigures& row) { return row.communication > 0; });
    std::vector<TextTable::Column> columns{{"rank"}, {"kernels", Align::right}};
    if (durations) {
        columns.push_back({timed ? "GPU busy" : "GPU work", Align::right});
    }
    if (communication) {
        columns.push_back({"communication", Align::right});
    }
    if (alignment) {
        columns.push_back({"clock offset", Align::right});
        columns.push_back({"residual", Align::right});
    }
    TextTable table(columns);
    const std::size_t shown = summary.all_rows ? rows.size() : std::min(rows.size(), kMostRows);
    for (std::size_t i = 0; i < shown; ++i) {
        std::vector<std::string> cells{rows[i].name, count_text(rows[i].kernels)};
        if (durations) {
            cells.push_back(timed || rows[i].has_durations ? duration_text(rows[i].busy) : "-");
        }
        if (communication) {
            cells.push_back(timed || rows[i].communication > 0 ? duration_text(rows[i].communication) : "-");
        }
        if (alignment) {
            const RankAlignment& rank = alignment->ranks.at(i);
            cells.push_back(rank.collectives == 0 ? "-" : time_text(rank.offset));
            cells.push_back(rank.collectives == 0 ? "-" : time_text(rank.residual));
        }
        table.add(std::move(cells));
    }
    std::string text = "\n" + table.text(style, 2);
    if (shown < rows.size()) {
        text += fmt::format("  and {} more (-v shows all)\n", rows.size() - shown);
    }
    if (durations) {
        text += style.dim(timed ? "  GPU busy: some kernel, copy or communication runs; waiting inside "
                                  "communication counts\n"
                                : "  GPU work: durations of kernels, copies and communication, added up\n");
    }
    return text;
}

std::string warnings_text(const ImportReport& report, const TextStyle& style) {
    if (report.warnings.empty()) {
        return {};
    }
    TextTable table({{"", TextTable::Align::right}, {""}, {""}});
    for (const auto& [word, count] : report.warnings) {
        table.add({count_text(count), word, std::string(warning_text(word))});
    }
    const std::string text = table.text(style, 2);
    return "\n" + style.bold("Mended, dropped or in doubt") + text.substr(text.find('\n')); // no titles
}

std::string list_text(const std::string& title, const std::vector<std::string>& lines,
                      const TextStyle& style) {
    std::string text;
    for (const std::string& item : lines) {
        text += wrap("  " + item, style.width, 4) + "\n";
    }
    return text.empty() ? text : "\n" + style.bold(title) + "\n" + text;
}

// A name as a word of a POSIX shell: in quotes where it has a sign that means something to the shell.
std::string shell_word(const std::string& name) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+,@%";
    if (!name.empty() && name.find_first_not_of(plain) == std::string::npos) {
        return name;
    }
    std::string quoted = "'";
    for (const char sign : name) {
        quoted += sign == '\'' ? "'\\''" : std::string(1, sign);
    }
    return quoted + "'";
}

// A replay needs the durations of device work, and when it ran.
bool can_replay(const ImportSummary& summary) {
    return summary.imported->trace.timed && has_durations(summary.figures);
}

// A command is never wrapped: it is there to be copied. What it does stands beside it, or below where that is
// too long.
std::string next_text(const ImportSummary& summary, const TextStyle& style) {
    std::string source = summary.written;
    if (source.empty()) {
        for (const std::string& path : summary.paths) {
            source += (source.empty() ? "" : " ") + shell_word(path);
        }
        source += summary.align ? "" : " --align off";
    } else {
        source = shell_word(source);
    }
    std::string text = "\n" + style.bold("Next") + "\n";
    const auto add = [&](const std::string& command, const std::string& meaning) {
        const bool beside = command.size() + meaning.size() + 5 <= static_cast<std::size_t>(style.width);
        text += fmt::format("  {}{}{}\n", command, beside ? "   " : "\n      ", meaning);
    };
    if (summary.written.empty()) {
        add(fmt::format("echosim import {} -o job.etr", source), "nothing is written without -o");
    }
    if (summary.imported->trace.timed) {
        add(fmt::format("echosim export {} --format perfetto -o job.json.gz", source), "for ui.perfetto.dev");
    } else {
        add(fmt::format("echosim export {} --format sqlite -o job.sqlite", source), "for SQL");
    }
    if (can_replay(summary)) {
        add(fmt::format("echosim validate replay {}", source), "simulate what was recorded");
    }
    return text;
}

Json alignment_document(const ImportSummary& summary) {
    const auto& alignment = summary.imported->report.alignment;
    if (!alignment) {
        return nullptr;
    }
    Json ranks = Json::array();
    for (const RankAlignment& rank : alignment->ranks) {
        ranks.push_back({{"rank", rank.rank},
                         {"offset_ns", rank.offset},
                         {"residual_ns", rank.residual},
                         {"p95_ns", rank.worst},
                         {"collectives", rank.collectives}});
    }
    return {{"mode", summary.align ? "auto" : "off"},
            {"trusted", alignment->trusted},
            {"applied", alignment->applied},
            {"reason", alignment->reason},
            {"ranks", ranks}};
}

} // namespace

std::string import_text(const ImportSummary& summary, const TextStyle& style) {
    const ImportReport& report = summary.imported->report;
    std::string text = head_text(summary, style);
    text += summary.figures.classes.empty() ? "" : ranks_text(summary, style); // a file that was cut off
    text += warnings_text(report, style);
    std::vector<std::string> notes = report.all_notes();
    if (!summary.all_rows && notes.size() > kMostNotes) {
        const std::size_t hidden = notes.size() - kMostNotes;
        notes.resize(kMostNotes);
        notes.push_back(fmt::format("and {} more (-v shows all)", hidden));
    }
    text += list_text("Notes", notes, style);
    if (!summary.written.empty()) {
        text += fmt::format("\nwritten: {}\n", summary.written);
    }
    return text + next_text(summary, style);
}

Json import_document(const ImportSummary& summary) {
    const Trace& trace = summary.imported->trace;
    const ImportReport& report = summary.imported->report;
    Json rows = Json::array();
    for (const RankFigures& row : summary.figures.classes) {
        const bool known = trace.timed || row.has_durations;
        rows.push_back({{"name", row.name},
                        {"ranks", row.ranks},
                        {"kernels", row.kernels},
                        {"busy_s", known ? Json(seconds(row.busy)) : Json(nullptr)},
                        {"communication_s", known ? Json(seconds(row.communication)) : Json(nullptr)}});
    }
    return {{"schema", "echosim.import/1"},
            {"file", summary.paths.front()},
            {"format", report.format},
            {"files", report.files},
            {"ranks", summary.figures.ranks},
            {"streams", trace.streams.size()},
            {"events", report.events},
            {"trace_events", trace.event_count()},
            {"complete_events", report.complete_events},
            {"kernels", report.kernels},
            {"kernels_kept", summary.figures.kernels},
            {"communication_kernels", summary.figures.communication},
            {"timed", trace.timed},
            {"span_s", trace.timed ? Json(seconds(summary.figures.span)) : Json(nullptr)},
            {"start_ns",
             starts_are_wall_clock(summary) ? Json(trace.t0_ns + summary.figures.first) : Json(nullptr)},
            {"classes", rows},
            {"alignment", alignment_document(summary)},
            {"warnings", report.warnings},
            {"notes", report.all_notes()}};
}

} // namespace echosim
