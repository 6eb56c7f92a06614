// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/prior.h"
#include "simulator/engine/timeline.h"
#include "simulator/graph/annotate.h"
#include "simulator/run/result.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace echosim {

InterferenceUsed describe_interference(const std::string& setting, const SlowdownModel& model);

// Share of the extra time of this rank's kernels in which a learned model follows its data, 0..1: by the time
// of kernels beside which communication ran, each asked about the widest communication of the graph.
double share_from_data(const SlowdownModel& model, const GpuLimits& limits, const RankTimeline& rank,
                       const AnnotatedGraph& graph);

nlohmann::ordered_json interference_json(const InterferenceUsed& used);
std::string interference_text(const InterferenceUsed& used); // one line

} // namespace echosim
