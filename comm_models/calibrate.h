// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "comm_models/model_constants.h"

#include <vector>

// Fitting the constants of the collective model to measured times.
//
//   minimise  sum_i rho(ln(predicted_i / measured_i)) + sum_p ((ln p - ln p0) / width_p)^2
//
// over the constants p of the link and fabric profiles that the samples touch; rho is a robust loss, so that
// a warm-up outlier or a noisy row does not pull the fit; the second sum keeps constants that the samples
// cannot determine at their start p0.
namespace echosim::nccl {

struct CollectiveSample {
    std::size_t cluster = 0; // index into CalibrationData::clusters
    Collective collective;
    GroupGeometry group;
    double us = 0;     // measured, on the device
    double weight = 1; // a table with many sizes must not outweigh the others
};

struct CalibrationData {
    std::vector<Cluster> clusters; // with the NCCL version of the run
    std::vector<CollectiveSample> samples;
};

// Mean absolute error in percent of the samples of one range of sizes [from, to).
struct SizeRangeError {
    Bytes from = 0;
    Bytes to = 0;
    int samples = 0;
    double before = 0;
    double after = 0;
};

struct Calibration {
    ModelConstants constants; // only the profiles that were fitted
    std::vector<SizeRangeError> errors;
};

// Deterministic. `start` are the presets, or any other constants to start from; profiles that the samples do
// not touch are left out of the result. Throws InputError when there is no sample.
Calibration calibrate(const CalibrationData& data, const ModelConstants& start);

} // namespace echosim::nccl
