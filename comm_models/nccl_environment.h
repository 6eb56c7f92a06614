// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What the environment of a job tells NCCL to do (NCCL_ALGO, NCCL_PROTO, NCCL_MIN_NCHANNELS, ...).
namespace echosim::nccl {

struct Settings {
    int version = 0; // 100 x major + minor
    // Allowed algorithms and protocols by kind of collective, one bit an enumerator; all bits = NCCL chooses.
    std::array<unsigned, 9> algorithms{};
    std::array<unsigned, 9> protocols{};
    int min_channels = 0; // 0 = not set
    int max_channels = 0;
    int threads = 0;   // NCCL_NTHREADS
    double buffer = 0; // NCCL_BUFFSIZE, bytes
    std::optional<bool> nvls;
    bool collnet = false; // NCCL_COLLNET_ENABLE: SHARP
    bool pxn = true;
    bool p2p = true; // NCCL_P2P_DISABLE clears it: GPUs of a node talk through host memory
    std::optional<bool> mnnvl;
    std::vector<std::string> warnings; // variables that are misspelt, or that the model does not follow
};

// `version` is cluster.nccl; `environment` may hold other variables than NCCL's, which are ignored. A value
// that NCCL itself would ignore gives a warning.
Settings read_settings(const std::string& version, const std::map<std::string, std::string>& environment);

} // namespace echosim::nccl
