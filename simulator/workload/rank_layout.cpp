// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/rank_layout.h"

#include "simulator/core/error.h"

// A rank is a mixed-radix number, fastest digit first (Megatron-LM d98e8a64, parallel_state.py):
//   default               dense  tp cp dp pp     expert  etp ep edp pp
//   --use-tp-pp-dp-mapping dense  tp cp pp dp     expert  etp ep pp edp
// The group of a set of digits is all ranks that agree in the other digits. With `stride` the product of the
// sizes of the faster digits, digit = rank / stride mod size, so that a group costs O(group size).
namespace echosim {
namespace {

struct Digit {
    int size = 1;
    int stride = 1;
    int of(int rank) const { return rank / stride % size; }
};

struct DenseGrid {
    Digit tp, cp, dp, pp;
};

struct ExpertGrid {
    Digit etp, ep, edp;
};

DenseGrid dense_grid(const ParallelLayout& layout) {
    DenseGrid grid;
    grid.tp = {layout.tp, 1};
    grid.cp = {layout.cp, layout.tp};
    const int inner = layout.tp * layout.cp;
    grid.dp = {layout.dp, layout.tp_pp_dp_order ? inner * layout.pp : inner};
    grid.pp = {layout.pp, layout.tp_pp_dp_order ? inner : inner * layout.dp};
    return grid;
}

ExpertGrid expert_grid(const ParallelLayout& layout) {
    ExpertGrid grid;
    grid.etp = {layout.etp, 1};
    grid.ep = {layout.ep, layout.etp};
    const int inner = layout.etp * layout.ep;
    grid.edp = {layout.expert_dp, layout.tp_pp_dp_order ? inner * layout.pp : inner};
    return grid;
}

// `fast` must have the smaller stride, so that the ranks come out in ascending order.
std::vector<int> ranks_over(int rank, Digit fast, Digit slow = {1, 1}) {
    const int base = rank - fast.of(rank) * fast.stride - slow.of(rank) * slow.stride;
    std::vector<int> ranks;
    ranks.reserve(static_cast<std::size_t>(fast.size) * static_cast<std::size_t>(slow.size));
    for (int j = 0; j < slow.size; ++j) {
        for (int i = 0; i < fast.size; ++i) {
            ranks.push_back(base + i * fast.stride + j * slow.stride);
        }
    }
    return ranks;
}

std::vector<int> embedding_group(const Digit& pp, int rank) {
    const int stage = pp.of(rank);
    const int first = rank - stage * pp.stride;
    if (pp.size == 1 || (stage != 0 && stage != pp.size - 1)) {
        return {rank};
    }
    return {first, first + (pp.size - 1) * pp.stride};
}

} // namespace

RankCoordinates coordinates_of(const ParallelLayout& layout, int rank) {
    const DenseGrid dense = dense_grid(layout);
    const ExpertGrid expert = expert_grid(layout);
    return {.tp = dense.tp.of(rank),
            .cp = dense.cp.of(rank),
            .dp = dense.dp.of(rank),
            .pp = dense.pp.of(rank),
            .etp = expert.etp.of(rank),
            .ep = expert.ep.of(rank),
            .edp = expert.edp.of(rank)};
}

int rank_at(const ParallelLayout& layout, int tp, int cp, int dp, int pp) {
    const DenseGrid grid = dense_grid(layout);
    return tp * grid.tp.stride + cp * grid.cp.stride + dp * grid.dp.stride + pp * grid.pp.stride;
}

std::vector<int> group_of(const ParallelLayout& layout, GroupKind kind, int rank) {
    const DenseGrid dense = dense_grid(layout);
    const ExpertGrid expert = expert_grid(layout);
    switch (kind) {
    case GroupKind::tp:
        return ranks_over(rank, dense.tp);
    case GroupKind::cp:
        return ranks_over(rank, dense.cp);
    case GroupKind::dp:
        return ranks_over(rank, dense.dp);
    case GroupKind::pp:
        return ranks_over(rank, dense.pp);
    case GroupKind::dp_cp:
        return ranks_over(rank, dense.cp, dense.dp);
    case GroupKind::tp_cp:
        return ranks_over(rank, dense.tp, dense.cp);
    case GroupKind::mp:
        return ranks_over(rank, dense.tp, dense.pp);
    case GroupKind::ep:
        return ranks_over(rank, expert.ep);
    case GroupKind::etp:
        return ranks_over(rank, expert.etp);
    case GroupKind::edp:
        return ranks_over(rank, expert.edp);
    case GroupKind::tp_ep:
        return ranks_over(rank, expert.etp, expert.ep);
    case GroupKind::embd:
        return embedding_group(dense.pp, rank);
    case GroupKind::pos_embd:
        return {rank};
    case GroupKind::world:
        return ranks_over(0, {layout.world_size, 1});
    }
    ECHOSIM_CHECK(false, "unknown group kind");
}

} // namespace echosim
