// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/nccl_timing.h"

namespace echosim::nccl {

// Time of one collective of RCCL, one node or more.
TimeTerms rccl_time(const Collective& collective, const Choice& choice, const GroupSystem& system,
                    const GroupTiming& timing);

} // namespace echosim::nccl
