// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "validation/interference_accuracy.h"

// Rows of a validation of interference, and what each family of kernels weighs in it.
namespace echosim {

// One row for each sample; predictions: of those with overlap, in order.
ValidationReport report_of(const std::vector<InterferenceSample>& samples,
                           const std::vector<CrossPrediction>& predictions);

// Largest share of the error first.
std::vector<FamilyShare> family_shares(const std::vector<InterferenceSample>& samples,
                                       const std::vector<CrossPrediction>& predictions);

// Of the share of the kernel beside communication: "under 0.5", "0.5 - 0.9", "over 0.9".
std::string overlap_group(double overlap);

} // namespace echosim
