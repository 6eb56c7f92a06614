// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_model.h"

#include "comm_models/calibration_file.h"
#include "comm_models/nccl_channels.h"
#include "comm_models/nccl_timing.h"
#include "comm_models/nccl_volumes.h"
#include "comm_models/rccl_timing.h"
#include "comm_models/transports.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>
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

// Time, bytes on each resource and bus bandwidth from the parts of the time.
void fill_cost(const Collective& c, const GroupSystem& s, const nccl::TimeTerms& terms, CommCost& cost) {
    cost.time = terms.total() * 1e-6;
    cost.latency = (terms.start + terms.near + terms.far) * 1e-6;
    const nccl::Volumes sent = nccl::volumes(c, cost.algorithm, s);
    cost.nvlink_bytes = sent.near;
    cost.nic_bytes = sent.far;
    cost.pcie_bytes = sent.far + (s.nvlink ? 0 : sent.near);
    cost.hbm_bytes = sent.memory;
    cost.bus_bandwidth = static_cast<double>(c.bytes) / cost.time * bus_factor(c.kind, s.ranks);
}

nccl::TimeTerms time_terms(const Collective& c, const nccl::Choice& choice, const GroupPlan& plan) {
    const GroupSystem& s = plan.system;
    if (s.amd)
        return nccl::rccl_time(c, choice, s, plan.timing);
    nccl::TimeTerms terms = s.nodes > 1 ? nccl::network_time(c, choice, s, plan.timing)
                                        : nccl::node_time(c, choice, s, plan.timing);
    // Fewer CTAs than the default limit the rate; LL and NVLS of one node count their CTAs themselves.
    const bool nvls = choice.algorithm == Algorithm::nvls || choice.algorithm == Algorithm::nvls_tree;
    const bool counted = choice.protocol == Protocol::ll || (nvls && s.nodes == 1);
    if (!counted && c.buffers == Buffers::plain)
        terms.transfer /= nvls ? s.nvls_cta_share : s.ring_cta_share;
    return terms;
}

// One rank out of place is a copy of the device: T = 4.5 us + bytes / copy rate (nccl-tests on one A100 40
// GB: 4.5 us up to 512 KiB, 1620 us for 1 GiB).
CommCost copy_within_gpu(const Collective& c, const GroupTiming& timing) {
    constexpr double kCopyStart = 4.5; // us
    CommCost cost{.provenance = Provenance::assumed};
    cost.latency = kCopyStart * 1e-6;
    cost.time = cost.latency + static_cast<double>(c.bytes) / (timing.memory_copy * 1e9);
    cost.hbm_bytes = 2 * static_cast<double>(c.bytes);
    return cost;
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

    // Of AMD's parts all-reduces of MI300X on one and two nodes are measured, nothing else.
    Provenance provenance(const Collective& c, const GroupPlan& plan) const {
        if (!plan.system.amd)
            return plan.timing.provenance;
        const bool measured = c.kind == CollectiveKind::all_reduce &&
                              cluster.gpu.name.rfind("mi300x", 0) == 0 && plan.system.local == 8 &&
                              plan.system.nodes <= 2;
        return measured ? Provenance::fitted : Provenance::assumed;
    }

    // Algorithm, protocol and channels of the cost.
    CommCost choose(const Collective& c, const GroupPlan& plan) const {
        CommCost cost;
        cost.provenance = provenance(c, plan);
        const auto& entries = plan.entries[static_cast<std::size_t>(c.kind)];
        if (entries.empty()) {
            cost.algorithm = Algorithm::direct;
            cost.protocol = nccl::point_to_point_protocol(c, plan.system);
        } else {
            const TunerEntry& entry = nccl::choose(entries, plan.system, c);
            cost.algorithm = entry.algorithm;
            cost.protocol = entry.protocol;
        }
        cost.channels = nccl::layout_of(c, cost.algorithm, cost.protocol, plan.system).channels;
        return cost;
    }
};

NcclModel::NcclModel(const Cluster& cluster, const NcclOptions& options) : state_(std::make_unique<State>()) {
    state_->settings = nccl::read_settings(cluster.nccl, options.environment);
    nccl::add_cluster_warnings(cluster, state_->settings);
    state_->cluster = nccl::visible_cluster(cluster, state_->settings);
    state_->constants = options.constants ? options.constants : nccl::load_constants(options.calibration);
    if (!options.calibration.empty()) {
        const std::string mismatch =
            nccl::calibration_mismatch(nccl::read_calibration(options.calibration), cluster);
        if (!mismatch.empty())
            state_->settings.warnings.push_back(mismatch);
    }
}

NcclModel::~NcclModel() = default;

const Cluster& NcclModel::cluster() const {
    return state_->cluster;
}

const std::vector<std::string>& NcclModel::warnings() const {
    return state_->settings.warnings;
}

CommCost NcclModel::estimate(const Collective& c, const GroupGeometry& group) const {
    const GroupPlan& plan = state_->plan_of(group);
    if (c.bytes == 0 || (group.ranks < 2 && c.in_place))
        return {.provenance = plan.timing.provenance};
    if (group.ranks < 2)
        return copy_within_gpu(c, plan.timing);
    if (const auto other = transport_cost(c, plan.system, plan.timing))
        return *other;
    CommCost cost = state_->choose(c, plan);
    fill_cost(c, plan.system, time_terms(c, {cost.algorithm, cost.protocol}, plan), cost);
    return cost;
}

namespace {

std::vector<CollectiveCandidate> candidates(const Collective& c, const GroupPlan& plan,
                                            const CommCost& chosen) {
    std::vector<CollectiveCandidate> result;
    for (const TunerEntry& entry : plan.entries[static_cast<std::size_t>(c.kind)])
        if (nccl::allowed(entry, plan.system, c))
            result.push_back({entry.algorithm, entry.protocol, nccl::tuner_time(entry, plan.system, c),
                              time_terms(c, {entry.algorithm, entry.protocol}, plan).total()});
    std::sort(result.begin(), result.end(),
              [](const auto& a, const auto& b) { return a.tuner_us < b.tuner_us; });
    std::stable_partition(result.begin(), result.end(), [&](const CollectiveCandidate& candidate) {
        return candidate.algorithm == chosen.algorithm && candidate.protocol == chosen.protocol;
    });
    return result;
}

std::vector<std::string> notes(const Collective& c, const GroupPlan& plan) {
    std::vector<std::string> result;
    if (c.buffers == Buffers::symmetric && c.transport == Transport::nccl &&
        !transport_cost(c, plan.system, plan.timing))
        result.emplace_back(
            "symmetric memory is for all_reduce, all_gather and reduce_scatter within one NVLink "
            "domain from NCCL 2.27 on: ordinary kernels are timed");
    const GroupGeometry& group = plan.system.group;
    if (group.min_ranks_per_node != group.max_ranks_per_node)
        result.push_back(fmt::format("the nodes hold {} to {} ranks: NCCL counts with the fewest on all",
                                     group.min_ranks_per_node, group.max_ranks_per_node));
    if (plan.system.from_log)
        result.emplace_back("channels and graphs are those of the log in the cluster file");
    return result;
}

} // namespace

CollectiveExplanation NcclModel::explain(const Collective& c, const GroupGeometry& group) const {
    CollectiveExplanation result;
    result.cost = estimate(c, group);
    if (group.ranks < 2 || c.bytes == 0) {
        result.terms.start = result.cost.latency * 1e6;
        result.terms.copy = (result.cost.time - result.cost.latency) * 1e6;
        return result;
    }
    const GroupPlan& plan = state_->plan_of(group);
    result.notes = notes(c, plan);
    if (transport_cost(c, plan.system, plan.timing)) {
        result.terms.start = result.cost.latency * 1e6;
        result.terms.transfer = (result.cost.time - result.cost.latency) * 1e6;
        return result;
    }
    result.terms = time_terms(c, {result.cost.algorithm, result.cost.protocol}, plan);
    result.candidates = candidates(c, plan, result.cost);
    return result;
}

} // namespace echosim
