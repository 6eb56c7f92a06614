// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/estimate.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What a learned model is told of a kernel and of the communication beside it: numbers that a profiler
// (CUPTI, Nsight Compute) and a simulated graph both have. M = SMs of the GPU, q = blocks that fit on one.
//
//   log_time            ln(time alone / 1 us)
//   gemm ... copy       class of the kernel, 1 or 0; all 0: a class without a column
//   grid_known          1 when the number of blocks G is known, else 0 (then `waves` and `tail` are 0)
//   waves               ln(1 + G / (q M))
//   tail                fraction of the last wave that is filled, G / (q M) - floor(G / (q M))
//   blocks_per_sm       q
//   occupancy_ratio     resident warps over the occupancy limit; not measured: min(1, G / (q M))
//   threads_per_block   in thousands
//   shared_kib          shared memory of a block
//   hbm_share           u; compute_share: of the peak of its pipe
//   tensor_cores, persistent, yields_sms     1 or 0
//   comm_ctas           c / M
//   comm_hbm_share      h / BW
//   comm_nvlink_share, comm_nic_share
//   comm_fits           share of the c CTAs for which the kernel leaves room on its SMs
//   kernel_first, comm_priority              1 or 0
//   log_prior           ln of the prior's factor
//
// Bytes per FLOP are the ratio of the two shares, protocol and algorithm act through comm_hbm_share: they
// have no columns. How much of the kernel is overlapped is no property of the pair: it weights the samples.
//
// Example: 132 blocks of 256 threads, q = 1, on M = 132: waves = ln 2 = 0.693, tail = 0, occupancy_ratio = 1,
// threads_per_block = 0.256; beside 24 CTAs: comm_ctas = 0.182.
namespace echosim {

enum class Feature : std::uint8_t {
    log_time,
    gemm,
    attention,
    norm,
    norm_wgrad,
    elementwise,
    softmax,
    reduction,
    optimizer,
    copy,
    grid_known,
    waves,
    tail,
    blocks_per_sm,
    occupancy_ratio,
    threads_per_block,
    shared_kib,
    hbm_share,
    compute_share,
    tensor_cores,
    persistent,
    yields_sms,
    comm_ctas,
    comm_hbm_share,
    comm_nvlink_share,
    comm_nic_share,
    comm_fits,
    kernel_first,
    comm_priority,
    log_prior
};
inline constexpr std::size_t kFeatures = 30;
using FeatureVector = std::array<double, kFeatures>;

std::string_view to_string(Feature feature);
const std::vector<std::string>& feature_names(); // of all, in order

// `prior` is the prior's factor for the pair, `sms` M.
FeatureVector features_of(const KernelFootprint& kernel, const CommLoad& load, double sms, double prior);

// Names, units and order of the features in words, and its 64-bit FNV-1a: a model that was fitted under
// another schema is refused, not misread.
const std::string& feature_schema();
std::uint64_t feature_schema_hash();

} // namespace echosim
