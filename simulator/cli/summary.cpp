// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/summary.h"

#include "simulator/cli/summary_tables.h"
#include "simulator/run/interference_used.h"
#include "simulator/workload/schedule.h"
#include "simulator/workload/tensor_sizes.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace echosim {
namespace {

std::string heading(const TextStyle& style, const std::string& title, const std::string& note) {
    return "\n" + style.bold(title) + (note.empty() ? "" : "  " + style.dim(note)) + "\n";
}

std::string degree(const char* name, int value) {
    return value == 1 ? "" : fmt::format("  {} {}", name, value);
}

std::string layout_text(const ParallelLayout& p) {
    std::string text = fmt::format("TP {}  PP {}", p.tp, p.pp);
    text += degree("VPP", p.vpp) + fmt::format("  DP {}", p.dp);
    text += degree("CP", p.cp) + degree("EP", p.ep);
    if (p.etp != p.tp && p.ep > 1)
        text += degree("ETP", p.etp);
    if (p.sequence_parallel)
        text += "  sequence parallel";
    return text;
}

std::string title_text(const Result& r, const TextStyle& style) {
    const Job& job = r.job;
    std::string out =
        style.bold(job.name) + "  " +
        fmt::format("{} parameters, {} layers x {}, sequence {}, {}\n", format_count(total_parameters(job)),
                    job.model.layers, with_separators(job.model.hidden), with_separators(job.model.seq_len),
                    to_string(job.precision.compute));
    out += fmt::format("{}, batch {} = {} micro-batches of {} on each of {} replicas\n",
                       layout_text(job.parallel), with_separators(job.batch.global),
                       job.batch.num_microbatches, job.batch.micro, job.parallel.dp);
    const int nodes = nodes_for(r.cluster, job.parallel.world_size);
    return out +
           fmt::format("{} x {} on {}, {} node{}\n", with_separators(job.parallel.world_size),
                       r.cluster.gpu.description.empty() ? r.cluster.gpu.name : r.cluster.gpu.description,
                       r.cluster.name, with_separators(nodes), nodes == 1 ? "" : "s");
}

std::string step_text(const Result& r, const TextStyle& style) {
    const std::string interval =
        r.step.p05 && r.step.p95
            ? fmt::format("5-95 %: {} to {}", format_time(*r.step.p05), format_time(*r.step.p95))
            : "no interval: fewer than 10 validation rows";
    const Throughput& t = r.throughput;
    return heading(style, fmt::format("Step time {}", format_time(r.step.time)), interval) +
           fmt::format(
               "  {} tokens/s, {} tokens/s/GPU, {:.4g} model TFLOP/s/GPU, MFU {:.1f} %, HFU {:.1f} % {}\n",
               with_separators(std::llround(t.tokens_per_s)),
               with_separators(std::llround(t.tokens_per_s_per_gpu)), t.model_flops_per_gpu / 1e12,
               t.mfu * 100, t.hfu * 100, style.dim(fmt::format("({})", t.flops_formula)));
}

std::vector<std::pair<std::string, Seconds>> breakdown_rows(const Breakdown& b) {
    return {{"compute", b.compute},
            {"recompute", b.recompute},
            {"interference", b.interference},
            {"TP communication", b.tp_comm},
            {"PP communication", b.pp_comm},
            {"DP communication", b.dp_comm},
            {"CP communication", b.cp_comm},
            {"EP communication", b.ep_comm},
            {"bubble", b.bubble},
            {"optimizer", b.optimizer},
            {"host", b.host},
            {"data", b.data},
            {"other", b.other}};
}

std::string breakdown_text(const Result& r, const SummaryOptions& options) {
    const TextStyle& style = options.style;
    const auto rows = breakdown_rows(r.breakdown);
    std::vector<double> parts;
    for (const auto& row : rows)
        parts.push_back(row.second);
    const std::vector<int> shares = permille_shares(parts);
    std::string out =
        heading(style, "Time split",
                fmt::format("rank {}, critical; communication is what is not hidden", r.critical_rank));
    const int columns = style.width - 46;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (shares[i] == 0 && !options.all_rows)
            continue;
        out += fmt::format("  {:<17} {:>9}  {:>5.1f} %  {}\n", rows[i].first, format_time(rows[i].second),
                           shares[i] / 10.0, style.bar(shares[i] / 1000.0, columns));
    }
    const ParallelLayout& p = r.job.parallel;
    if (p.pp > 1)
        out += style.dim(fmt::format(
                   "  bubble: {:.1f} % of the step time; ideal (p-1)/(M v) = {:.1f} % of the time "
                   "without bubble",
                   r.bubble_share * 100, ideal_bubble(p, r.job.batch.num_microbatches) * 100)) +
               "\n";
    return out;
}

std::string confidence_text(const Result& r, const TextStyle& style) {
    const ProvenanceShares& p = r.provenance;
    const std::vector<int> shares = permille_shares({p.measured, p.fitted, p.catalogue, p.assumed});
    return "\n" + style.bold("Confidence") +
           fmt::format("  measured {:.0f} %, fitted {:.0f} %, catalogue {:.0f} %, assumed {:.0f} % of the "
                       "step time\n",
                       shares[0] / 10.0, shares[1] / 10.0, shares[2] / 10.0, shares[3] / 10.0) +
           "  " + wrap("interference " + interference_text(r.interference), style.width, 4) + "\n";
}

std::string list_text(const std::string& title, const std::vector<std::string>& lines, std::size_t most,
                      const TextStyle& style) {
    if (lines.empty())
        return "";
    std::string out = "\n" + title + "\n";
    for (std::size_t i = 0; i < std::min(lines.size(), most); ++i)
        out += "  " + wrap(lines[i], style.width, 4) + "\n";
    if (lines.size() > most)
        out += style.dim(fmt::format("  {} more with -v or --json", lines.size() - most)) + "\n";
    return out;
}

} // namespace

std::vector<int> permille_shares(const std::vector<double>& parts) {
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
    std::vector<int> shares(parts.size(), 0);
    if (!(sum > 0))
        return shares;
    std::vector<std::pair<double, std::size_t>> remainders;
    int given = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const double exact = std::max(0.0, parts[i] / sum * 1000);
        shares[i] = static_cast<int>(exact);
        given += shares[i];
        remainders.emplace_back(exact - shares[i], i);
    }
    std::stable_sort(remainders.begin(), remainders.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < remainders.size() && given < 1000; ++i, ++given)
        ++shares[remainders[i].second];
    return shares;
}

std::string summary_text(const Result& result, const SummaryOptions& options) {
    const TextStyle& style = options.style;
    const std::size_t most_warnings = options.all_rows ? result.warnings.size() : 6;
    std::string out = title_text(result, style) + step_text(result, style) + breakdown_text(result, options);
    out += memory_text(result, options) + contributors_text(result, options) +
           communication_text(result, options);
    out += confidence_text(result, style);
    out += list_text(style.caution("Warnings"), result.warnings, most_warnings, style);
    out += list_text(style.bold("Next"), options.next_commands, options.next_commands.size(), style);
    return out;
}

} // namespace echosim
