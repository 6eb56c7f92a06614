// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/import_text.h"

#include "simulator/cli/text_table.h"
#include "traces/align_spread.h"

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

std::string head_text(const ImportSummary& summary, const TextStyle& style) {
    const Trace& trace = summary.imported->trace;
    const ImportReport& report = summary.imported->report;
    const TraceFigures& figures = summary.figures;
    std::string text = style.bold(summary.source) + "\n\n";
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
         fmt::format("{} (of {} records)", count_text(trace.event_count()), count_text(report.events)));
    line("kernels", fmt::format("{}, {} of them communication", count_text(report.kernels),
                                count_text(figures.communication)));
    line("span", trace.timed ? duration_text(figures.span) : "no times: a graph");
    if (trace.t0_ns != 0) {
        line("recorded", wall_clock_text(trace.t0_ns + figures.first));
    }
    if (const std::string clocks = clocks_text(summary); !clocks.empty()) {
        line("clocks", clocks);
    }
    return text;
}

std::string ranks_text(const ImportSummary& summary, const TextStyle& style) {
    using Align = TextTable::Align;
    const std::vector<RankFigures>& rows = summary.figures.classes;
    const auto& alignment = summary.imported->report.alignment;
    std::vector<TextTable::Column> columns{
        {"rank"}, {"kernels", Align::right}, {"GPU busy", Align::right}, {"communication", Align::right}};
    if (alignment) {
        columns.push_back({"clock offset", Align::right});
        columns.push_back({"residual", Align::right});
    }
    TextTable table(columns);
    const std::size_t shown = summary.all_rows ? rows.size() : std::min(rows.size(), kMostRows);
    for (std::size_t i = 0; i < shown; ++i) {
        std::vector<std::string> cells{rows[i].name, count_text(rows[i].kernels), duration_text(rows[i].busy),
                                       duration_text(rows[i].communication)};
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
    return text;
}

std::string list_text(const std::string& title, const std::vector<std::string>& lines,
                      const TextStyle& style) {
    std::string text;
    for (const std::string& item : lines) {
        text += wrap("  " + item, style.width, 4) + "\n";
    }
    return text.empty() ? text : "\n" + style.bold(title) + "\n" + text;
}

std::vector<std::string> next_commands(const ImportSummary& summary) {
    const std::string& source = summary.written.empty() ? summary.source : summary.written;
    std::vector<std::string> lines;
    if (summary.written.empty()) {
        lines.push_back(fmt::format("echosim import {} -o job.etr   nothing is written without -o", source));
    }
    lines.push_back(
        fmt::format("echosim export {} --format perfetto -o job.json.gz   for ui.perfetto.dev", source));
    if (summary.imported->trace.timed) {
        lines.push_back(fmt::format("echosim validate replay {}   simulate what was recorded", source));
    }
    return lines;
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
    std::string text = head_text(summary, style) + ranks_text(summary, style);
    std::vector<std::string> mended;
    for (const auto& [word, count] : report.warnings) {
        mended.push_back(fmt::format("{} {}: {}", count_text(count), word, warning_text(word)));
    }
    text += list_text("Mended, dropped or in doubt", mended, style);
    std::vector<std::string> notes = report.notes;
    if (!summary.all_rows && notes.size() > kMostNotes) {
        notes.resize(kMostNotes);
        notes.push_back(fmt::format("and {} more (-v shows all)", report.notes.size() - kMostNotes));
    }
    text += list_text("Notes", notes, style);
    if (!summary.written.empty()) {
        text += fmt::format("\nwritten: {}\n", summary.written);
    }
    return text + list_text("Next", next_commands(summary), style);
}

Json import_document(const ImportSummary& summary) {
    const Trace& trace = summary.imported->trace;
    const ImportReport& report = summary.imported->report;
    Json rows = Json::array();
    for (const RankFigures& row : summary.figures.classes) {
        rows.push_back({{"name", row.name},
                        {"ranks", row.ranks},
                        {"kernels", row.kernels},
                        {"busy_s", seconds(row.busy)},
                        {"communication_s", seconds(row.communication)}});
    }
    return {{"schema", "echosim.import/1"},
            {"file", summary.source},
            {"format", report.format},
            {"files", report.files},
            {"ranks", summary.figures.ranks},
            {"streams", trace.streams.size()},
            {"events", report.events},
            {"complete_events", report.complete_events},
            {"kernels", report.kernels},
            {"communication_kernels", summary.figures.communication},
            {"timed", trace.timed},
            {"span_s", seconds(summary.figures.span)},
            {"start_ns", trace.t0_ns == 0 ? Json(nullptr) : Json(trace.t0_ns + summary.figures.first)},
            {"classes", rows},
            {"alignment", alignment_document(summary)},
            {"warnings", report.warnings},
            {"notes", report.notes}};
}

} // namespace echosim
