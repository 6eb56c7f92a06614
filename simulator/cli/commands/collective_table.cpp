// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/collective_table.h"

#include "comm_models/calibration_file.h"
#include "comm_models/nccl_tables.h"
#include "simulator/run/version.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace echosim {
namespace {

bool is_measured(const CollectiveReport& report) {
    return !report.measured_file.empty();
}

bool is_amd(Arch arch) {
    return arch == Arch::cdna2 || arch == Arch::cdna3 || arch == Arch::cdna4;
}

std::string machine_text(const Cluster& cluster) {
    const Node& node = cluster.node;
    std::string text = fmt::format("{}, {} GPUs a node", cluster.gpu.name, node.gpus);
    if (node.nvlink.bandwidth > 0)
        text += fmt::format(", {} {} a GPU", link_name(cluster), format_bandwidth(node.nvlink.bandwidth));
    else
        text += fmt::format(", PCIe {} x{}", node.pcie.gen, node.pcie.width);
    if (cluster.nvlink_domain_nodes > 1)
        text += fmt::format(" in domains of {} nodes", cluster.nvlink_domain_nodes);
    if (node.nics.count > 0)
        text += fmt::format(", {} x {:.4g} Gb/s {}", node.nics.count, node.nics.bandwidth * 8e-9,
                            to_string(cluster.fabric.kind));
    return text;
}

std::string_view meaning_of(Provenance provenance) {
    switch (provenance) {
    case Provenance::measured:
        return "measured: a table of this GPU";
    case Provenance::fitted:
        return "fitted: constants fitted to nccl-tests tables of this GPU";
    case Provenance::catalogue:
        return "catalogue: constants of a related GPU, scaled by the data sheet";
    case Provenance::assumed:
        break;
    }
    return "assumed: no table of this GPU, link or network: data sheets and the nearest architecture";
}

// How the call differs from what nccl-tests makes.
std::string call_text(const CollectiveRequest& request) {
    std::string text;
    const Collective& call = request.call;
    if (call.buffers != Buffers::plain)
        text += call.buffers == Buffers::registered ? ", registered buffers" : ", symmetric memory";
    constexpr std::string_view kTransports[] = {"", "copy engines", "user buffers, ring exchange",
                                                "user buffers, pipelined", "DeepEP"};
    if (call.transport != Transport::nccl)
        text += fmt::format(", {}", kTransports[static_cast<std::size_t>(call.transport)]);
    if (call.calls > 1)
        text += fmt::format(", {} calls in one group", call.calls);
    if (request.imbalance > 1)
        text += fmt::format(", busiest rank {:g} times the mean", request.imbalance);
    return text;
}

// What of the calibration file this group uses.
std::string calibration_basis(const CollectiveRequest& request) {
    const std::string& file = request.options.calibration;
    const nccl::CalibrationUse use = nccl::calibration_use(nccl::read_calibration(file), request.cluster);
    const bool network = use.fabric && request.group.nodes > 1;
    if (use.links)
        return fmt::format("constants of {}", file);
    return network ? fmt::format("constants of {} between nodes, built-in ones inside a node", file)
                   : fmt::format("built-in constants: none of {} applies", file);
}

std::string header(const CollectiveReport& report) {
    const CollectiveRequest& request = report.request;
    std::string out = fmt::format("# echosim {}: {} as nccl-tests prints it, modelled, not measured\n",
                                  version(), to_string(request.call.kind));
    out += fmt::format("# cluster  {}: {}\n", request.cluster.name, machine_text(request.cluster));
    out += fmt::format("# group    {}{}\n", group_text(request), call_text(request));
    std::string settings;
    for (const auto& [name, value] : request.options.environment)
        settings += fmt::format(" {}={}", name, value);
    const std::string origin = request.nccl_origin.empty() ? "" : fmt::format(" ({})", request.nccl_origin);
    out += fmt::format("# library  {}{}{}\n", library_text(request.cluster), origin, settings);
    std::set<Provenance> kinds;
    for (const CollectiveRow& row : report.rows)
        kinds.insert(row.out_of_place.cost.provenance);
    for (const Provenance kind : kinds)
        out += fmt::format("# basis    {}\n", meaning_of(kind));
    if (!request.options.calibration.empty())
        out += fmt::format("# basis    {}\n", calibration_basis(request));
    if (is_measured(report))
        out += fmt::format("# measured {}; err%: the model's time against it\n", report.measured_file);
    const auto [least, most] = std::minmax_element(request.sizes.sizes.begin(), request.sizes.sizes.end());
    out += fmt::format("# minBytes {} maxBytes {} step: {}\n#\n", *least, *most, request.sizes.step);
    return out;
}

// Titles over the columns, as nccl-tests prints them.
std::string titles(bool measured) {
    std::string out = fmt::format("#{:>73}{:>33}", "out-of-place", "in-place");
    std::string names =
        fmt::format("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type", "redop", "root");
    std::string units = fmt::format("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}", "(B)", "(elements)", "", "", "");
    for (int half = 0; half < 2; ++half) {
        names += fmt::format("  {:>7}  {:>6}  {:>6} {:>6}", "time", "algbw", "busbw", "#wrong");
        units += fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "(us)", "(GB/s)", "(GB/s)", "");
    }
    names += fmt::format("  {:<13}  {:<6}  {:>3}  {:<9}", "algo", "proto", "CTA", "basis");
    if (measured) {
        out += fmt::format("{:>54}{:>19}", "out-of-place", "in-place");
        for (int half = 0; half < 2; ++half)
            names += fmt::format("  {:>8}  {:>6}", "measured", "err%");
        units += fmt::format("  {:<13}  {:<6}  {:>3}  {:<9}  {:>8}  {:>6}  {:>8}", "", "", "", "", "(us)", "",
                             "(us)");
    }
    for (std::string* line : {&out, &names, &units})
        line->erase(line->find_last_not_of(' ') + 1);
    return out + "\n" + names + "\n" + units + "\n";
}

// us with the digits that nccl-tests gives it.
std::string time_text(double us) {
    return us >= 10000 ? fmt::format("{:.0f}", us)
           : us >= 100 ? fmt::format("{:.1f}", us)
                       : fmt::format("{:.2f}", us);
}

std::string times(const CollectiveRequest& request, Bytes bytes, const CommCost& cost) {
    return fmt::format("  {:>7}  {:>6.2f}  {:>6.2f}  {:>5}", time_text(cost.time * 1e6),
                       algorithm_bandwidth(bytes, cost.time), bus_bandwidth(request, bytes, cost.time),
                       "N/A");
}

std::string comparison(const std::optional<double>& measured, const CommCost& cost) {
    if (!measured)
        return fmt::format("  {:>8}  {:>6}", "-", "-");
    return fmt::format("  {:>8}  {:>+6.1f}", time_text(*measured), error_percent(cost.time, *measured));
}

std::string line_of(const CollectiveReport& report, const CollectiveRow& row) {
    const CollectiveRequest& request = report.request;
    const CommCost& cost = row.out_of_place.cost;
    std::string out = fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.bytes, row.count,
                                  nccl_tests_name(request.call.dtype), redop_of(request.call.kind),
                                  root_of(request.call.kind));
    out += times(request, row.bytes, cost) + times(request, row.bytes, row.in_place.cost);
    const bool runs = cost.time > 0 && request.group.ranks > 1; // else a copy at most
    out += fmt::format("  {:<13}  {:<6}  {:>3}  {:<9}", runs ? nccl_name(cost.algorithm) : "-",
                       runs ? to_string(cost.protocol) : "-", cost.channels, to_string(cost.provenance));
    if (is_measured(report))
        out += comparison(row.measured.out_of_place_us, cost) +
               comparison(row.measured.in_place_us, row.in_place.cost);
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
}

std::string error_line(const CollectiveReport& report) {
    double sum = 0;
    int count = 0;
    for (const CollectiveRow& row : report.rows) {
        const auto add = [&](const std::optional<double>& measured, const CommCost& cost) {
            if (measured && *measured > 0) {
                sum += std::abs(error_percent(cost.time, *measured));
                ++count;
            }
        };
        add(row.measured.out_of_place_us, row.out_of_place.cost);
        add(row.measured.in_place_us, row.in_place.cost);
    }
    if (count == 0)
        return "# Mean absolute error  : no measured size is among these\n";
    return fmt::format("# Mean absolute error  : {:.1f} % of {} times\n", sum / count, count);
}

} // namespace

std::string_view redop_of(CollectiveKind kind) {
    const bool reduces = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
                         kind == CollectiveKind::reduce;
    return reduces ? "sum" : "none";
}

int root_of(CollectiveKind kind) {
    const bool rooted = kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ||
                        kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
    return rooted ? 0 : -1;
}

std::string nccl_version_text(const Cluster& cluster) {
    if (!cluster.nccl.empty())
        return cluster.nccl;
    const int version = nccl::parse_version("");
    return fmt::format("{}.{} (the newest that the model knows)", version / 100, version % 100);
}

std::string library_text(const Cluster& cluster) {
    return is_amd(cluster.gpu.arch) ? "RCCL" : "NCCL " + nccl_version_text(cluster);
}

std::string_view link_name(const Cluster& cluster) {
    return is_amd(cluster.gpu.arch) ? "xGMI" : "NVLink";
}

std::string group_text(const CollectiveRequest& request) {
    const GroupGeometry& group = request.group;
    const auto plural = [](int count) { return count == 1 ? "" : "s"; };
    std::string text =
        group.hosts > group.nodes
            ? fmt::format("{} ranks on {} NVLink domain{} of {} hosts{}", group.ranks, group.nodes,
                          plural(group.nodes), group.hosts, group.nodes > 1 ? " together" : "")
            : fmt::format("{} rank{} on {} node{}", group.ranks, plural(group.ranks), group.nodes,
                          plural(group.nodes));
    if (group.min_ranks_per_node != group.max_ranks_per_node)
        text += fmt::format(", {} to {} a node", group.min_ranks_per_node, group.max_ranks_per_node);
    else if (group.nodes > 1)
        text += fmt::format(", {} a node", group.max_ranks_per_node);
    if (group.max_ranks_per_node > 1)
        text += fmt::format(", {}", group.nvlink ? link_name(request.cluster) : "PCIe");
    if (group.nodes > 1)
        text += fmt::format(", {} NIC{} a node", group.nics_per_node, group.nics_per_node == 1 ? "" : "s");
    if (request.gpus > group.ranks)
        text += fmt::format(", of a job of {} GPUs", request.gpus);
    if (request.placement_text != "packed")
        text += fmt::format(", nodes {}", request.placement_text);
    return text;
}

std::string collective_table_text(const CollectiveReport& report) {
    std::string out = header(report) + titles(is_measured(report));
    for (const CollectiveRow& row : report.rows)
        out += line_of(report, row);
    out += fmt::format("# Avg bus bandwidth    : {:g}\n", report.average_busbw);
    if (is_measured(report))
        out += error_line(report);
    return out;
}

std::string collective_csv(const CollectiveReport& report) {
    const CollectiveRequest& request = report.request;
    std::string out = "bytes,count,type,redop,root,out_of_place_us,out_of_place_algbw_gbytes_per_s,"
                      "out_of_place_busbw_gbytes_per_s,in_place_us,in_place_algbw_gbytes_per_s,"
                      "in_place_busbw_gbytes_per_s,algorithm,protocol,channels,provenance,"
                      "measured_out_of_place_us,measured_in_place_us\n";
    for (const CollectiveRow& row : report.rows) {
        const CommCost& cost = row.out_of_place.cost;
        out += fmt::format("{},{},{},{},{}", row.bytes, row.count, nccl_tests_name(request.call.dtype),
                           redop_of(request.call.kind), root_of(request.call.kind));
        for (const CommCost* c : {&cost, &row.in_place.cost})
            out +=
                fmt::format(",{:.6g},{:.6g},{:.6g}", c->time * 1e6, algorithm_bandwidth(row.bytes, c->time),
                            bus_bandwidth(request, row.bytes, c->time));
        out += fmt::format(",{},{},{},{}", to_string(cost.algorithm), to_string(cost.protocol), cost.channels,
                           to_string(cost.provenance));
        for (const auto& measured : {row.measured.out_of_place_us, row.measured.in_place_us})
            out += measured ? fmt::format(",{:.6g}", *measured) : ",";
        out += "\n";
    }
    return out;
}

} // namespace echosim
