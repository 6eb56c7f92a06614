// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/collective_plot.h"

#include "simulator/cli/commands/collective_table.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr double kPointsPerDoubling = 8;

// Ascending sizes of the curve: dense, with those on both sides of a switch.
std::vector<Bytes> curve_sizes(const CollectiveReport& report) {
    const Collective& call = report.request.call;
    const int ranks = report.request.group.ranks;
    std::vector<Bytes> sizes;
    for (const CollectiveRow& row : report.rows)
        if (row.bytes > 0)
            sizes.push_back(row.bytes);
    if (sizes.empty())
        return sizes;
    const auto [low, high] = std::minmax_element(sizes.begin(), sizes.end());
    const auto from = static_cast<double>(*low);
    const auto to = static_cast<double>(*high);
    const int steps = static_cast<int>(std::log2(to / from) * kPointsPerDoubling);
    for (int i = 1; i < steps; ++i) {
        const auto bytes = static_cast<Bytes>(from * std::exp2(i / kPointsPerDoubling));
        const Bytes count = nccl_tests_count(call.kind, call.dtype, ranks, bytes);
        sizes.push_back(nccl_tests_bytes(call.kind, call.dtype, ranks, count));
    }
    for (const SwitchPoint& s : report.switches) {
        const bool inside = static_cast<double>(s.below) >= from && static_cast<double>(s.at) <= to;
        if (inside)
            sizes.insert(sizes.end(), {s.below, s.at});
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    sizes.erase(sizes.begin(), std::find_if(sizes.begin(), sizes.end(), [](Bytes b) { return b > 0; }));
    return sizes;
}

ChartPoint point(const CollectiveRequest& request, Bytes bytes, Seconds time) {
    return {static_cast<double>(bytes), bus_bandwidth(request, bytes, time)};
}

ChartSeries curve(const CollectiveReport& report, const NcclModel& model, bool in_place) {
    const CollectiveRequest& request = report.request;
    ChartSeries series{.name = in_place ? "in place" : "out of place",
                       .style = report.rows.size() > 1 ? SeriesStyle::line : SeriesStyle::points,
                       .dashed = in_place,
                       .colour = in_place ? 1U : 0U};
    for (const Bytes bytes : curve_sizes(report))
        series.points.push_back(
            point(request, bytes, model.estimate(call_of(request, bytes, in_place), request.group).time));
    return series;
}

void add_measured(const CollectiveReport& report, Chart& chart) {
    ChartSeries out{.name = "measured, out of place", .style = SeriesStyle::points, .colour = 0U};
    ChartSeries in{.name = "measured, in place", .style = SeriesStyle::points, .colour = 1U};
    for (const CollectiveRow& row : report.rows) {
        if (row.measured.out_of_place_us)
            out.points.push_back(point(report.request, row.bytes, *row.measured.out_of_place_us * 1e-6));
        if (row.measured.in_place_us)
            in.points.push_back(point(report.request, row.bytes, *row.measured.in_place_us * 1e-6));
    }
    for (ChartSeries* series : {&out, &in})
        if (!series->points.empty())
            chart.series.push_back(std::move(*series));
}

void add_bands(const CollectiveReport& report, Chart& chart) {
    const auto shown = curve_sizes(report);
    if (shown.empty() || report.request.group.ranks < 2 || !has_algorithms(report.request.call.kind))
        return;
    const auto from = static_cast<double>(shown.front());
    const auto to = static_cast<double>(shown.back());
    const auto name = [](const CommCost& c) { return choice_name(c.algorithm, c.protocol); };
    double begin = from;
    std::string label;
    for (const CollectiveRow& row : report.rows)
        if (row.bytes == shown.front())
            label = name(row.out_of_place.cost);
    for (const SwitchPoint& s : report.switches) {
        const auto at = static_cast<double>(s.at);
        if (at <= from || at > to)
            continue;
        chart.bands.push_back({begin, at, label});
        chart.rings.push_back(point(report.request, s.at, s.after.time));
        begin = at;
        label = name(s.after);
    }
    if (to > begin)
        chart.bands.push_back({begin, to, label});
}

// The rate that the bus bandwidth cannot pass where every byte crosses the named links as in a ring.
void add_limit(const CollectiveRequest& request, Chart& chart) {
    const Node& node = request.cluster.node;
    const GroupGeometry& g = request.group;
    if (g.ranks < 2)
        return;
    const double nics = g.nics_per_node * node.nics.bandwidth / 1e9; // of one node's members
    const bool ring = has_algorithms(request.call.kind);
    const bool nvlink_binds =
        g.nvlink && g.max_ranks_per_node > 1 && ring && node.nvlink.bandwidth / 1e9 < nics;
    if (g.nodes == 1 || nvlink_binds) {
        if (g.nvlink && node.nvlink.bandwidth > 0)
            chart.limits.push_back(
                {node.nvlink.bandwidth / 1e9,
                 fmt::format("{} of one GPU, {}: no ring is faster", link_name(request.cluster),
                             format_bandwidth(node.nvlink.bandwidth))});
        return;
    }
    if (nics <= 0)
        return;
    const std::string rate =
        fmt::format("{} x {:.4g} Gb/s a node", g.nics_per_node, node.nics.bandwidth * 8e-9);
    if (ring) {
        chart.limits.push_back({nics, fmt::format("NICs, {}, {:.4g} GB/s: no ring is faster", rate, nics)});
    } else if (request.call.kind == CollectiveKind::all_to_all) {
        // a GPU sends (n - m) / n of its bytes over its share of the NICs, and busbw counts (n - 1) / n
        const double n = g.ranks;
        const double m = n / g.nodes;
        const double limit = nics / m * (n - 1) / (n - m);
        chart.limits.push_back({limit, fmt::format("NICs, {}: {:.4g} GB/s of bus bandwidth", rate, limit)});
    }
}

} // namespace

Chart collective_chart(const CollectiveReport& report, const NcclModel& model) {
    const CollectiveRequest& request = report.request;
    Chart chart;
    chart.title = fmt::format("{} on {}", to_string(request.call.kind), request.cluster.name);
    chart.subtitle = fmt::format("{}; {}; modelled", group_text(request), library_text(request.cluster));
    chart.x = {.title = "size", .scale = AxisScale::log2, .unit = AxisUnit::bytes};
    chart.y = {.title = "bus bandwidth (GB/s)"};
    chart.series.push_back(curve(report, model, false));
    chart.series.push_back(curve(report, model, true));
    add_measured(report, chart);
    add_bands(report, chart);
    add_limit(request, chart);
    return chart;
}

} // namespace echosim
