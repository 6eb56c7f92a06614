// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"

#include <memory>
#include <string>

namespace echosim {

// The white-box model of NCCL for one cluster: which algorithm, protocol and channels NCCL chooses
// (nccl_tuner.h), and how long they take (nccl_timing.h). `calibration` is a file made by `echosim calibrate
// collectives`, or empty.
std::unique_ptr<CollectiveModel> make_nccl_model(const Cluster& cluster, const std::string& calibration = {});

} // namespace echosim
