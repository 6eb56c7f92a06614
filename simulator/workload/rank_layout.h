// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"
#include "simulator/workload/job.h"

#include <vector>

namespace echosim {

// Position of a rank in the dense grid (tp x cp x dp x pp) and in the expert grid (etp x ep x edp x pp).
// Megatron's order is tp-cp-ep-dp-pp: TP varies fastest, PP slowest; --use-tp-pp-dp-mapping swaps DP and PP.
struct RankCoordinates {
    int tp = 0, cp = 0, dp = 0, pp = 0;
    int etp = 0, ep = 0, edp = 0;
    bool operator==(const RankCoordinates&) const = default;
};

RankCoordinates coordinates_of(const ParallelLayout& layout, int rank);
int rank_at(const ParallelLayout& layout, int tp, int cp, int dp, int pp);

// Ranks of the communicator of this kind that `rank` belongs to, in rank order. embd is first and last stage,
// pp the whole pipeline, mp tensor x pipeline; one rank when the rank is not a member.
std::vector<int> group_of(const ParallelLayout& layout, GroupKind kind, int rank);

} // namespace echosim
