// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "comm_models/nccl_timing.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace echosim {

struct NcclOptions {
    std::string calibration; // a file made by `echosim calibrate collectives`; empty = the presets
    std::map<std::string, std::string> environment;        // of the job; NCCL_* variables are followed
    std::shared_ptr<const nccl::ModelConstants> constants; // in place of presets and file
};

// One algorithm and protocol that NCCL weighs for a message.
struct CollectiveCandidate {
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    double tuner_us = 0; // what NCCL's tuner believes
    double time_us = 0;  // what the model says it takes
};

struct CollectiveExplanation {
    CommCost cost;
    nccl::TimeTerms terms;                       // their sum is cost.time
    std::vector<CollectiveCandidate> candidates; // the chosen one first
    std::vector<std::string> notes;              // what is odd about this group: uneven nodes, a log's graphs
};

// The white-box model of NCCL for one cluster: which algorithm, protocol and channels NCCL chooses
// (nccl_tuner.h), and how long they take (nccl_timing.h).
class NcclModel final : public CollectiveModel {
  public:
    explicit NcclModel(const Cluster& cluster, const NcclOptions& options = {});
    ~NcclModel() override;

    CommCost estimate(const Collective& collective, const GroupGeometry& group) const override;
    CollectiveExplanation explain(const Collective& collective, const GroupGeometry& group) const;
    // The cluster as this NCCL sees it (without NVLink when NCCL_P2P_DISABLE=1, every tray a node without
    // multi-node NVLink): the geometry of groups is to be taken of it.
    const Cluster& cluster() const;
    // Variables of the environment that are misspelt or that the model does not follow.
    const std::vector<std::string>& warnings() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// The factor of nccl-tests from algorithm bandwidth to bus bandwidth: 2(n-1)/n for all_reduce, (n-1)/n for
// all_gather, reduce_scatter, all_to_all, gather, scatter, 1 for the others.
double bus_factor(CollectiveKind kind, int ranks);

} // namespace echosim
