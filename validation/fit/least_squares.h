// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

namespace echosim {

// A variable of a fit, kept inside its bounds.
struct FitVariable {
    double* value;
    double low, high;
};

// Minimises sum of rho(r_i) over the variables, rho(r) = 2 s^2 (sqrt(1 + (r / s)^2) - 1) (soft L1 with scale
// s), by Levenberg-Marquardt with forward differences; the loss enters as weights that are renewed each
// iteration. `residuals` reads the variables where they are and fills its argument, always with the same
// length. Returns the final loss. The variables hold the result.
using Residuals = std::function<void(std::vector<double>&)>;
double fit_least_squares(const std::vector<FitVariable>& variables, const Residuals& residuals, double scale);

} // namespace echosim
