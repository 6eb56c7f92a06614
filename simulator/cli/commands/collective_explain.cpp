// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/collective_explain.h"

#include "simulator/cli/text_table.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr auto kRight = TextTable::Align::right;
constexpr std::size_t kMostDetailed = 4; // sizes whose candidates are all listed

struct NamedTerm {
    std::string_view name;
    std::string_view meaning;
    double us;
};

std::array<NamedTerm, 6> terms_of(const nccl::TimeTerms& t) {
    return {{{"start", "start", t.start},
             {"near", "hops inside a node", t.near},
             {"far", "hops between nodes", t.far},
             {"fill", "filling the pipeline", t.fill},
             {"transfer", "bytes", t.transfer},
             {"copy", "copy", t.copy}}};
}

std::string us(double value) {
    return value == 0 ? "-" : value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
}

const CollectiveExplanation& told(const CollectiveRow& row, bool in_place) {
    return in_place ? row.in_place : row.out_of_place;
}

std::string terms_text(const CollectiveReport& report, bool in_place, const TextStyle& style) {
    TextTable table({{"size", kRight},
                     {"runs"},
                     {"start", kRight},
                     {"near", kRight},
                     {"far", kRight},
                     {"fill", kRight},
                     {"transfer", kRight},
                     {"copy", kRight},
                     {"total", kRight},
                     {"mostly"}});
    for (const CollectiveRow& row : report.rows) {
        const CollectiveExplanation& e = told(row, in_place);
        if (e.cost.time <= 0)
            continue;
        const auto terms = terms_of(e.terms);
        const auto& largest = *std::max_element(terms.begin(), terms.end(),
                                                [](const auto& a, const auto& b) { return a.us < b.us; });
        std::vector<std::string> cells = {size_text(row.bytes),
                                          choice_name(e.cost.algorithm, e.cost.protocol)};
        for (const NamedTerm& term : terms)
            cells.push_back(us(term.us));
        cells.push_back(us(e.terms.total()));
        cells.push_back(fmt::format("{} {:.0f} %", largest.meaning, 100 * largest.us / e.terms.total()));
        table.add(std::move(cells));
    }
    if (table.empty())
        return "";
    return "\n" +
           style.bold(fmt::format("Terms of the time (us), {}", in_place ? "in place" : "out of place")) +
           "\n" + table.text(style, 2) +
           style.dim(
               "  near, far: latency of the hops inside a node and between nodes; fill: filling and "
               "draining\n"
               "  the pipeline; transfer: bytes over the slowest resource; copy: of a call out of place\n");
}

// What the model thinks of NCCL's choice.
std::string verdict(const std::vector<CollectiveCandidate>& candidates) {
    const CollectiveCandidate& chosen = candidates.front();
    const auto& best = *std::min_element(candidates.begin(), candidates.end(),
                                         [](const auto& a, const auto& b) { return a.time_us < b.time_us; });
    if (best.time_us >= 0.97 * chosen.time_us)
        return "-";
    return fmt::format("{}: {} us, {:.0f} % less", choice_name(best.algorithm, best.protocol),
                       us(best.time_us), 100 * (1 - best.time_us / chosen.time_us));
}

std::string chosen_because(const std::vector<CollectiveCandidate>& candidates) {
    for (const CollectiveCandidate& c : candidates)
        if (c.tuner_us < candidates.front().tuner_us)
            return "chosen";
    return "chosen: the tuner's smallest";
}

std::string all_candidates(const CollectiveRow& row, bool in_place, const TextStyle& style) {
    const CollectiveExplanation& e = told(row, in_place);
    if (e.candidates.empty())
        return "";
    TextTable table({{"candidate"}, {"tuner us", kRight}, {"model us", kRight}, {"note"}});
    for (const CollectiveCandidate& c : e.candidates) {
        const bool chosen = &c == e.candidates.data();
        table.add({choice_name(c.algorithm, c.protocol), us(c.tuner_us), us(c.time_us),
                   chosen ? chosen_because(e.candidates)
                          : fmt::format("tuner {:+.0f} %, model {:+.0f} %",
                                        100 * (c.tuner_us / e.candidates.front().tuner_us - 1),
                                        100 * (c.time_us / e.candidates.front().time_us - 1))});
    }
    return "\n" + style.bold(fmt::format("What NCCL weighs at {}", size_text(row.bytes))) + "\n" +
           table.text(style, 2);
}

std::string candidates_text(const CollectiveReport& report, bool in_place, const TextStyle& style) {
    if (!has_algorithms(report.request.call.kind))
        return "\nNCCL makes " + std::string(to_string(report.request.call.kind)) +
               " of sends and receives: there is no algorithm to weigh.\n";
    std::string out;
    if (report.rows.size() <= kMostDetailed) {
        for (const CollectiveRow& row : report.rows)
            out += all_candidates(row, in_place, style);
        return out;
    }
    TextTable table({{"size", kRight},
                     {"chosen"},
                     {"tuner us", kRight},
                     {"next"},
                     {"tuner us", kRight},
                     {"better by the model"}});
    for (const CollectiveRow& row : report.rows) {
        const auto& candidates = told(row, in_place).candidates;
        if (candidates.empty())
            continue;
        const CollectiveCandidate& chosen = candidates.front();
        const bool alone = candidates.size() == 1;
        table.add({size_text(row.bytes), choice_name(chosen.algorithm, chosen.protocol), us(chosen.tuner_us),
                   alone ? "-" : choice_name(candidates[1].algorithm, candidates[1].protocol),
                   alone ? "-" : us(candidates[1].tuner_us), verdict(candidates)});
    }
    if (table.empty())
        return "";
    return "\n" + style.bold("What NCCL's tuner weighs (the smallest estimate wins)") + "\n" +
           table.text(style, 2) + style.dim("  one or a few --bytes list every candidate") + "\n";
}

std::string switches_text(const CollectiveReport& report, const TextStyle& style) {
    if (!has_algorithms(report.request.call.kind))
        return "";
    if (report.switches.empty())
        return "\nNCCL runs the same algorithm and protocol at every size in this range.\n";
    TextTable table({{"from", kRight}, {"bytes", kRight}, {"below"}, {"from there"}, {"us", kRight}});
    for (const SwitchPoint& s : report.switches)
        table.add(
            {fmt::format("{:.4g} {}", static_cast<double>(s.at) / (s.at >= 1_MiB ? 1048576.0 : 1024.0),
                         s.at >= 1_MiB ? "MiB" : "KiB"),
             with_separators(static_cast<long long>(s.at)),
             fmt::format("{}, {} CTA", choice_name(s.before.algorithm, s.before.protocol), s.before.channels),
             fmt::format("{}, {} CTA", choice_name(s.after.algorithm, s.after.protocol), s.after.channels),
             fmt::format("{} -> {}", us(s.before.time * 1e6), us(s.after.time * 1e6))});
    return "\n" + style.bold("Sizes at which the choice changes") + "\n" + table.text(style, 2);
}

std::string volume(double bytes) {
    return bytes < 1 ? "-" : format_bytes(static_cast<Bytes>(bytes));
}

std::string occupancy_text(const CollectiveReport& report, bool in_place, const TextStyle& style) {
    TextTable table({{"size", kRight},
                     {"CTAs", kRight},
                     {"NVLink", kRight},
                     {"NIC", kRight},
                     {"PCIe", kRight},
                     {"HBM", kRight},
                     {"latency us", kRight},
                     {"basis"}});
    for (const CollectiveRow& row : report.rows) {
        const CommCost& c = told(row, in_place).cost;
        if (c.time <= 0)
            continue;
        table.add({size_text(row.bytes), std::to_string(c.channels), volume(c.nvlink_bytes),
                   volume(c.nic_bytes), volume(c.pcie_bytes), volume(c.hbm_bytes), us(c.latency * 1e6),
                   std::string(to_string(c.provenance))});
    }
    if (table.empty())
        return "";
    return "\n" + style.bold("What one GPU spends on it (bytes sent; HBM read and written)") + "\n" +
           table.text(style, 2);
}

} // namespace

std::string size_text(Bytes bytes) {
    constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < kUnits.size())
        bytes /= 1024, ++unit;
    return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string collective_explain_text(const CollectiveReport& report, bool in_place, const TextStyle& style) {
    return terms_text(report, in_place, style) + candidates_text(report, in_place, style) +
           switches_text(report, style) + occupancy_text(report, in_place, style);
}

} // namespace echosim
