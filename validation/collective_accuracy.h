// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "validation/accuracy.h"

#include <string>

// Predicted against measured collectives, in microseconds, out of place.
//
// Without `cross` every row is predicted with the presets or the calibration file. With it, with constants
// that were fitted without the tables of its own kind:
//
//   a table of one node      all tables of the same GPU, collective and number of GPUs are left out together,
//                            whatever the NCCL version or the repetition
//   a table of several       all tables of the same hardware and network
//
// Tables marked `degraded` are never fitted. Reported apart, under the first of these words that fits:
// degraded; assumed (with `cross`: no other table of this GPU and kind of link is left for the fit; without:
// the constants of the link or network have no measurement behind them); EFA, TCPX(O) and other networks.
namespace echosim {

struct CollectiveValidateOptions {
    int threads = 0; // 0 = one a core
    bool cross = false;
    std::string calibration = {}; // file; empty = the presets. Not with `cross`
};

// Results do not depend on the number of threads. Throws InputError when the file is not such a table.
ValidationReport validate_collectives(const std::string& data_path, const CollectiveValidateOptions& options);

} // namespace echosim
