// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_model.h"

#include "comm_models/nccl_timing.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace echosim {
namespace {

using nccl::GroupSystem;
using nccl::GroupTiming;
using nccl::TunerEntry;

constexpr std::size_t kKinds = 9;

struct GeometryHash {
    std::size_t operator()(const GroupGeometry& g) const {
        std::size_t h = static_cast<std::size_t>(g.ranks);
        for (const int v :
             {g.nodes, g.min_ranks_per_node, g.max_ranks_per_node, g.nics_per_node, g.nvlink ? 1 : 0})
            h = h * 1000003U + static_cast<std::size_t>(v);
        return h;
    }
};

// What does not depend on the message: made once a communicator.
struct GroupPlan {
    GroupSystem system;
    GroupTiming timing;
    std::array<std::vector<TunerEntry>, kKinds> entries;
};

bool is_point_to_point(CollectiveKind kind) {
    return kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_recv ||
           kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
}

// Bytes that one rank sends in all, and the factor of nccl-tests from algorithm to bus bandwidth.
double bus_factor(CollectiveKind kind, int ranks) {
    const double n = ranks;
    switch (kind) {
    case CollectiveKind::all_reduce:
        return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
        return (n - 1) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
        break;
    }
    return 1;
}

struct Volumes {
    double near = 0;
    double far = 0;
};

// Bytes that an average GPU sends: rings pass the bus volume on every hop, N of the n hops leave the node;
// trees send each byte up and down once, within a node along a chain.
Volumes volumes(const Collective& c, Algorithm algorithm, const GroupSystem& s) {
    const double bytes = static_cast<double>(c.bytes);
    const double n = s.ranks;
    const double nodes = s.nodes;
    if (c.kind == CollectiveKind::send_recv)
        return s.nodes > 1 ? Volumes{0, bytes} : Volumes{bytes, 0};
    if (is_point_to_point(c.kind)) {
        const double m = n / nodes;
        const double far = bytes * (n - m) / n;
        return {bytes * (m - 1) / n + (s.nvlink ? far * (m - 1) / m : 0), far};
    }
    if (algorithm == Algorithm::nvls)
        return {bytes, 0};
    if (algorithm == Algorithm::tree || algorithm == Algorithm::nvls_tree) {
        const double far = 2 * (nodes - 1) / n * bytes;
        const double near = algorithm == Algorithm::tree ? 2 * (n - nodes) / n * bytes : bytes;
        return {near, far};
    }
    if (c.kind == CollectiveKind::broadcast || c.kind == CollectiveKind::reduce)
        return {bytes * (n - nodes) / n, bytes * (nodes - 1) / n};
    const double sent = bytes * bus_factor(c.kind, s.ranks);
    const double far_share = s.nodes > 1 ? nodes / n : 0;
    return {sent * (1 - far_share), sent * far_share};
}

// Reads and writes of one GPU's memory: each step of a ring reads what it sends and writes what it receives;
// a reduction reads its own operand too; a copy out of place reads and writes the rank's part.
double hbm_volume(const Collective& c, const Volumes& v, int ranks) {
    const double moved = v.near + v.far;
    const bool reduces = c.kind == CollectiveKind::all_reduce || c.kind == CollectiveKind::reduce_scatter ||
                         c.kind == CollectiveKind::reduce;
    const double copy = c.in_place ? 0 : 2.0 * static_cast<double>(c.bytes) / ranks;
    return moved * (reduces ? 2.5 : 2) + copy;
}

class NcclModel final : public CollectiveModel {
  public:
    explicit NcclModel(const Cluster& cluster)
        : cluster_(cluster), version_(nccl::parse_version(cluster.nccl)) {}

    CommCost estimate(const Collective& c, const GroupGeometry& group) const override {
        CommCost cost;
        const GroupPlan& plan = plan_of(group);
        cost.provenance = plan.timing.provenance;
        if (group.ranks < 2 || c.bytes == 0)
            return cost;
        const GroupSystem& s = plan.system;
        const auto& entries = plan.entries[static_cast<std::size_t>(c.kind)];
        const double bytes = static_cast<double>(c.bytes);
        double us = 0;
        if (entries.empty()) {
            cost.algorithm = Algorithm::direct;
            cost.channels = point_to_point_channels(c, s);
            us = nccl::point_to_point_time(c, s, plan.timing);
        } else {
            const TunerEntry& entry = nccl::choose(entries, s, c.kind, bytes);
            cost.algorithm = entry.algorithm;
            cost.protocol = entry.protocol;
            cost.channels = nccl::channels_used(entry, s, c.kind, bytes);
            us = nccl::body_time(c, {entry.algorithm, entry.protocol}, s, plan.timing);
        }
        cost.time = us * 1e-6;
        const Volumes sent = volumes(c, cost.algorithm, s);
        cost.nvlink_bytes = sent.near;
        cost.nic_bytes = sent.far;
        cost.hbm_bytes = hbm_volume(c, sent, s.ranks);
        cost.bus_bandwidth = bytes / cost.time * bus_factor(c.kind, s.ranks);
        return cost;
    }

  private:
    // Channels a peer: all of the pool inside a node, 2 over PCIe, 2 to 4 over the network, times the peers.
    static int point_to_point_channels(const Collective& c, const GroupSystem& s) {
        const int pool = s.nvlink || s.nodes > 1 ? 32 : 8;
        int per_peer = s.nodes > 1 ? (s.version >= 230 ? static_cast<int>(std::ceil(s.nic / 14)) : 2)
                                   : (s.nvlink ? pool : 2);
        const double message =
            static_cast<double>(c.bytes) / (c.kind == CollectiveKind::send_recv ? 1 : s.ranks);
        per_peer = std::clamp(static_cast<int>(message / 65536), 1, std::max(1, per_peer));
        const int peers = c.kind == CollectiveKind::send_recv ? 1 : s.ranks - 1;
        return static_cast<int>(std::min<long>(pool, static_cast<long>(per_peer) * peers));
    }

    const GroupPlan& plan_of(const GroupGeometry& group) const {
        {
            const std::shared_lock lock(mutex_);
            if (const auto it = plans_.find(group); it != plans_.end())
                return *it->second;
        }
        auto plan = std::make_unique<GroupPlan>();
        plan->system = nccl::group_system(cluster_, group, version_);
        plan->timing = nccl::group_timing(cluster_, plan->system);
        for (std::size_t kind = 0; kind < kKinds; ++kind)
            plan->entries[kind] = nccl::tuner_entries(plan->system, static_cast<CollectiveKind>(kind),
                                                      plan->timing.fabric.nic_latency_tuner);
        const std::unique_lock lock(mutex_);
        return *plans_.try_emplace(group, std::move(plan)).first->second;
    }

    Cluster cluster_;
    int version_;
    mutable std::shared_mutex mutex_;
    mutable std::unordered_map<GroupGeometry, std::unique_ptr<GroupPlan>, GeometryHash> plans_;
};

} // namespace

std::unique_ptr<CollectiveModel> make_nccl_model(const Cluster& cluster, const std::string& calibration) {
    if (!calibration.empty())
        throw InputError("--calibration", "\"" + calibration + "\": calibrated collectives are not supported",
                         "leave the option out to use the built-in constants");
    return std::make_unique<NcclModel>(cluster);
}

} // namespace echosim
