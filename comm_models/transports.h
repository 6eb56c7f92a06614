// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "comm_models/nccl_timing.h"

#include <optional>

// Collectives that NCCL's rings, trees and NVLS do not carry. All of them need NVLink between the GPUs of a
// node and, but for DeepEP, a group within one NVLink domain. us, GB/s; n ranks, S bytes as Collective counts
// them, B the NVLink rate of a GPU.
//
//   symmetric memory (NCCL 2.27 and later; all_reduce, all_gather, reduce_scatter; symmetric_kernels.cpp):
//   the
//       model that NCCL itself carries.
//   copy engine (NCCL 2.28 and later; all_gather, all_to_all, gather, scatter):
//       T = 10 + S (n-1)/n / (0.95 x 0.88 B) + 2 floor(copies / 8) above 512 MiB;     no SM
//   te_ring_exchange (Transformer Engine; all_gather, reduce_scatter): n - 1 copies to the neighbour, one
//   after
//       the other:  T = 5 + (n-1) (4 + S/n / (0.88 B)), reduce_scatter adds a local sum of n parts;     1 SM
//   te_pipeline (Transformer Engine; the same kinds): a kernel on 16 SMs that writes to all peers in 4
//   splits:
//       T = 4 x 6 + S (n-1)/n / min(0.8 B, 16 x 22)
//   deepep: V = S bytes that a GPU sends (dispatch) or receives (combine) in all:
//       T = start + V (1 + v / (2 (V + v))) / r,   1/r^10 = 1/cap^10 + 1/(sms x per_sm)^10,   cap in shares
//       of B; over several nodes the network's share V (N-1)/N runs beside it at 0.86 of the GPU's NICs.
//
// Basis: DeepEP dispatch and combine fitted to 1,518 rows of H100 (ai-dynamo/aiconfigurator 095f58a5, 8 GPUs,
// 4 to 24 SMs, hidden 4096 and more, 4 and more experts a token): 4 % and 6 % mean error; the others are
// assumed.
namespace echosim {

// nullopt when the call runs on NCCL's ordinary kernels: no such transport asked for, or one that does not
// exist for this kind, group or version.
std::optional<CommCost> transport_cost(const Collective& collective, const nccl::GroupSystem& system,
                                       const nccl::GroupTiming& timing);

namespace nccl {

// One kernel for symmetric memory as NCCL's own model sees it (src/sym_kernels.cc, 2.27 to 2.29; figures
// restated):
//   t = base + softplus(bytes / bw - 1),   bw = softmin(CTAs x sm_rate x multiple, peak)
// but never faster than the links: 0.69 of the NVLink rate through the switch's multicast, which is what NVLS
// reaches on 8 H100 at 16 GiB (274 GB/s of 450 x 1.125 sent), 0.8 between peers. The choice is NCCL's own.
// bytes of one GPU's busier direction, rates in GiB/s per 1e-6 s. Of the kernels that the type allows it
// takes the smallest t (1 + 0.025 CTAs), each with the fewest CTAs within 2.5 % of its best.
struct SymmetricChoice {
    double us = 0;
    double base_us = 0;
    int ctas = 0;
    double bus_bytes = 0;
    bool multicast = false;
    bool low_latency = false;
};
std::optional<SymmetricChoice> symmetric_kernel(const Collective& collective, const GroupSystem& system);

} // namespace nccl
} // namespace echosim
