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

// Channels a peer: all of the pool inside a node, 2 over PCIe, 2 to 4 over the network, times the peers.
int point_to_point_channels(const Collective& c, const GroupSystem& s) {
    const int pool = s.nvlink || s.nodes > 1 ? 32 : 8;
    int per_peer = s.nodes > 1 ? (s.version >= 230 ? static_cast<int>(std::ceil(s.nic / 14)) : 2)
                               : (s.nvlink ? pool : 2);
    const double message = static_cast<double>(c.bytes) / (c.kind == CollectiveKind::send_recv ? 1 : s.ranks);
    per_peer = std::clamp(static_cast<int>(message / 65536), 1, std::max(1, per_peer));
    const int peers = c.kind == CollectiveKind::send_recv ? 1 : s.ranks - 1;
    return static_cast<int>(std::min<long>(pool, static_cast<long>(per_peer) * peers));
}

// Time, bytes on each resource and bus bandwidth from the parts of the time.
void fill_cost(const Collective& c, const GroupSystem& s, const nccl::TimeTerms& terms, CommCost& cost) {
    cost.time = terms.total() * 1e-6;
    cost.latency = (terms.start + terms.near + terms.far) * 1e-6;
    const Volumes sent = volumes(c, cost.algorithm, s);
    cost.nvlink_bytes = sent.near;
    cost.nic_bytes = sent.far;
    cost.pcie_bytes = sent.far + (s.nvlink ? 0 : sent.near);
    cost.hbm_bytes = hbm_volume(c, sent, s.ranks);
    cost.bus_bandwidth = static_cast<double>(c.bytes) / cost.time * bus_factor(c.kind, s.ranks);
}

nccl::TimeTerms time_terms(const Collective& c, const nccl::Choice& choice, const GroupPlan& plan) {
    return plan.system.nodes > 1 ? nccl::network_time(c, choice, plan.system, plan.timing)
                                 : nccl::node_time(c, choice, plan.system, plan.timing);
}

} // namespace

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

struct NcclModel::State {
    Cluster cluster;
    nccl::Settings settings;
    std::shared_ptr<const nccl::ModelConstants> constants;
    mutable std::shared_mutex mutex;
    mutable std::unordered_map<GroupGeometry, std::unique_ptr<GroupPlan>, GeometryHash> plans;

    const GroupPlan& plan_of(const GroupGeometry& group) const {
        {
            const std::shared_lock lock(mutex);
            if (const auto it = plans.find(group); it != plans.end())
                return *it->second;
        }
        auto plan = std::make_unique<GroupPlan>();
        plan->system = nccl::group_system(cluster, group, settings, *constants);
        plan->timing = nccl::group_timing(cluster, plan->system, *constants);
        for (std::size_t kind = 0; kind < kKinds; ++kind)
            plan->entries[kind] = nccl::tuner_entries(plan->system, static_cast<CollectiveKind>(kind),
                                                      plan->timing.fabric.nic_latency_tuner);
        const std::unique_lock lock(mutex);
        return *plans.try_emplace(group, std::move(plan)).first->second;
    }

    // Algorithm, protocol and channels of the cost.
    CommCost choose(const Collective& c, const GroupPlan& plan) const {
        CommCost cost;
        cost.provenance = plan.timing.provenance;
        const auto& entries = plan.entries[static_cast<std::size_t>(c.kind)];
        if (entries.empty()) {
            cost.algorithm = Algorithm::direct;
            cost.channels = point_to_point_channels(c, plan.system);
            return cost;
        }
        const double bytes = static_cast<double>(c.bytes);
        const TunerEntry& entry = nccl::choose(entries, plan.system, c.kind, bytes);
        cost.algorithm = entry.algorithm;
        cost.protocol = entry.protocol;
        cost.channels = nccl::channels_used(entry, plan.system, c.kind, bytes);
        return cost;
    }
};

NcclModel::NcclModel(const Cluster& cluster, const NcclOptions& options) : state_(std::make_unique<State>()) {
    if (!options.calibration.empty())
        throw InputError("--calibration",
                         "\"" + options.calibration + "\": calibrated collectives are not supported",
                         "leave the option out to use the built-in constants");
    state_->cluster = cluster;
    state_->settings = nccl::read_settings(cluster.nccl, options.environment);
    state_->constants = options.constants;
    if (!state_->constants)
        state_->constants = std::shared_ptr<const nccl::ModelConstants>(
            std::shared_ptr<const nccl::ModelConstants>{}, &nccl::preset_constants());
}

NcclModel::~NcclModel() = default;

const std::vector<std::string>& NcclModel::warnings() const {
    return state_->settings.warnings;
}

CommCost NcclModel::estimate(const Collective& c, const GroupGeometry& group) const {
    const GroupPlan& plan = state_->plan_of(group);
    if (group.ranks < 2 || c.bytes == 0)
        return {.provenance = plan.timing.provenance};
    CommCost cost = state_->choose(c, plan);
    fill_cost(c, plan.system, time_terms(c, {cost.algorithm, cost.protocol}, plan), cost);
    return cost;
}

CollectiveExplanation NcclModel::explain(const Collective& c, const GroupGeometry& group) const {
    CollectiveExplanation result;
    result.cost = estimate(c, group);
    if (group.ranks < 2 || c.bytes == 0)
        return result;
    const GroupPlan& plan = state_->plan_of(group);
    result.terms = time_terms(c, {result.cost.algorithm, result.cost.protocol}, plan);
    for (const TunerEntry& entry : plan.entries[static_cast<std::size_t>(c.kind)])
        result.candidates.push_back(
            {entry.algorithm, entry.protocol,
             nccl::tuner_time(entry, plan.system, c.kind, static_cast<double>(c.bytes)),
             time_terms(c, {entry.algorithm, entry.protocol}, plan).total()});
    std::stable_sort(result.candidates.begin(), result.candidates.end(),
                     [](const auto& a, const auto& b) { return a.tuner_us < b.tuner_us; });
    return result;
}

} // namespace echosim
