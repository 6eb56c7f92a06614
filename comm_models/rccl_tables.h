// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/nccl_tables.h"
#include "simulator/core/op_types.h"

// What RCCL knows about AMD's parts (presets/rccl_tuning.json, compiled into the library). us, GB/s, bytes.
namespace echosim::nccl {

// One of RCCL's tuning models: latencies, shares of the graph's rate for up to two nodes and for more, and a
// correction of the rate by log2(bytes / 64).
struct RcclModel {
    using Correction = std::array<std::array<double, 27>, 3>;
    int id = 0;
    bool ll128 = false;
    PerProtocol tree_near{}, ring_near{}, tree_far{}, ring_far{};
    std::array<PerProtocol, 2> tree_ratio{}, ring_ratio{};
    Correction tree_correction{}, ring_correction{};
    // Over several nodes: most bytes of LL and of LL128, and what LL128 gains for each doubling of the nodes.
    struct Range {
        double ll = 0, ll128 = 0, growth = 0;
    };
    std::array<Range, 9> ranges{}; // by kind; zeros: the tuner decides
};

// The links of one part: rate of one link and of all, and whether each GPU has a link to each other one.
struct RcclGpu {
    int model = 0;
    bool mesh = false;
    double link = 0;
    double total = 0;
    int channels = 0;
};

// Constants of the time forms (rccl_timing.cpp).
struct RcclTiming {
    double start = 0, step = 0, ll_start = 0, ll_step = 0, ll_rate = 0, ll128_step = 0, ll128_rate = 0;
    double one_shot_start = 0, one_shot_link = 0, one_shot_to = 0, two_shot_start = 0, two_shot_link = 0;
    double mesh_from = 0, mesh_to = 0; // bytes of an all-reduce that direct exchanges serve
    double direct_start = 0, all_to_all_start = 0, nic_share = 0, copy = 0;
    double link_of_fit = 48; // the links of MI300X
};

const RcclGpu& rccl_gpu(Arch arch);
const RcclModel& rccl_model(int id);
const RcclTiming& rccl_timing();
PerProtocol rccl_base_latency(Algorithm algorithm);

} // namespace echosim::nccl
