// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/collective_rows.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr double kGridFactor = 1.02; // a change and a change back within such a stretch of sizes are missed

bool splits_buffer(CollectiveKind kind) {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
           kind == CollectiveKind::all_to_all || kind == CollectiveKind::gather ||
           kind == CollectiveKind::scatter;
}

// Elements of one rank's part come in multiples of this.
Bytes part_multiple(CollectiveKind kind, DType dtype) {
    const bool aligned = kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
                         kind == CollectiveKind::all_to_all;
    return aligned ? static_cast<Bytes>(16 / size_of(dtype)) : 1;
}

bool same_choice(const CommCost& a, const CommCost& b) {
    return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

// Costs at the k-th size that nccl-tests can run.
class SizeGrid {
  public:
    SizeGrid(const NcclModel& model, const CollectiveRequest& request) : model_(model), request_(request) {
        const Collective& call = request.call;
        grain_ = nccl_tests_bytes(call.kind, call.dtype, request.group.ranks,
                                  part_multiple(call.kind, call.dtype));
    }
    Bytes bytes(Bytes k) const { return k * grain_; }
    Bytes index(Bytes bytes) const { return std::max<Bytes>(1, bytes / grain_); }
    CommCost cost(Bytes k) const {
        return model_.estimate(call_of(request_, bytes(k), false), request_.group);
    }

  private:
    const NcclModel& model_;
    const CollectiveRequest& request_;
    Bytes grain_ = 1;
};

} // namespace

Bytes nccl_tests_count(CollectiveKind kind, DType dtype, int ranks, Bytes bytes) {
    const auto elements = bytes / static_cast<Bytes>(size_of(dtype));
    if (!splits_buffer(kind))
        return elements;
    const Bytes multiple = part_multiple(kind, dtype);
    return elements / static_cast<Bytes>(ranks) / multiple * multiple;
}

Bytes nccl_tests_bytes(CollectiveKind kind, DType dtype, int ranks, Bytes count) {
    return count * static_cast<Bytes>(size_of(dtype)) * (splits_buffer(kind) ? static_cast<Bytes>(ranks) : 1);
}

Collective call_of(const CollectiveRequest& request, Bytes bytes, bool in_place) {
    Collective call = request.call;
    call.bytes = bytes;
    call.in_place = in_place;
    if (request.imbalance > 1)
        call.largest_rank_bytes = static_cast<Bytes>(request.imbalance * static_cast<double>(bytes));
    return call;
}

std::vector<CollectiveRow> collective_rows(const NcclModel& model, const CollectiveRequest& request,
                                           const Measurements& measured) {
    const Collective& call = request.call;
    std::vector<CollectiveRow> rows;
    for (const Bytes asked : request.sizes.sizes) {
        CollectiveRow row;
        row.count = nccl_tests_count(call.kind, call.dtype, request.group.ranks, asked);
        row.bytes = nccl_tests_bytes(call.kind, call.dtype, request.group.ranks, row.count);
        if (!rows.empty() && rows.back().bytes == row.bytes)
            continue; // too small for so many ranks: the same run again
        row.out_of_place = model.explain(call_of(request, row.bytes, false), request.group);
        row.in_place = model.explain(call_of(request, row.bytes, true), request.group);
        if (const auto found = measured.find(row.bytes); found != measured.end())
            row.measured = found->second;
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<SwitchPoint> find_switches(const NcclModel& model, const CollectiveRequest& request, Bytes from,
                                       Bytes to) {
    std::vector<SwitchPoint> switches;
    if (request.group.ranks < 2)
        return switches;
    const SizeGrid grid(model, request);
    const Bytes last = grid.index(to);
    Bytes low = grid.index(from);
    CommCost before = grid.cost(low);
    while (low < last) {
        const auto next = static_cast<Bytes>(std::ceil(static_cast<double>(low) * kGridFactor));
        Bytes high = std::min(last, std::max(low + 1, next));
        CommCost after = grid.cost(high);
        if (same_choice(before, after)) {
            low = high;
            continue;
        }
        Bytes same = low; // the largest size known to run as `before`
        while (high - same > 1) {
            const Bytes middle = same + (high - same) / 2;
            const CommCost cost = grid.cost(middle);
            if (same_choice(before, cost)) {
                same = middle;
            } else {
                high = middle;
                after = cost;
            }
        }
        switches.push_back(
            {.at = grid.bytes(high), .below = grid.bytes(same), .before = grid.cost(same), .after = after});
        low = high;
        before = after;
    }
    return switches;
}

double algorithm_bandwidth(Bytes bytes, Seconds time) {
    return time > 0 ? static_cast<double>(bytes) / time / 1e9 : 0;
}

double bus_bandwidth(const CollectiveRequest& request, Bytes bytes, Seconds time) {
    return algorithm_bandwidth(bytes, time) * bus_factor(request.call.kind, request.group.ranks);
}

double error_percent(Seconds predicted, double measured_us) {
    return (predicted * 1e6 / measured_us - 1) * 100;
}

std::string_view nccl_name(Algorithm algorithm) {
    switch (algorithm) {
    case Algorithm::ring:
        return "Ring";
    case Algorithm::tree:
        return "Tree";
    case Algorithm::collnet_direct:
        return "CollnetDirect";
    case Algorithm::collnet_chain:
        return "CollnetChain";
    case Algorithm::nvls:
        return "NVLS";
    case Algorithm::nvls_tree:
        return "NVLSTree";
    case Algorithm::pat:
        return "PAT";
    case Algorithm::direct:
        return "P2P";
    }
    return "?";
}

std::string choice_name(Algorithm algorithm, Protocol protocol) {
    return fmt::format("{} {}", nccl_name(algorithm), to_string(protocol));
}

} // namespace echosim
