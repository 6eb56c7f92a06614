// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

// Minimum of a smooth function of a few variables, by L-BFGS: Nocedal and Wright, Numerical Optimization,
// algorithm 7.5 (the last 8 steps), with a backtracking line search that asks for a sufficient decrease and a
// step of at most 1.5 in each variable (the variables are logarithms).
namespace echosim {

// Value at `at`, and the gradient. A value that is not finite means: not allowed there.
using SmoothFunction = std::function<double(const std::vector<double>& at, std::vector<double>& gradient)>;

struct Minimum {
    std::vector<double> at;
    double value = 0;
    int evaluations = 0;
};

// Stops after so many iterations, or when one gains less than 1e-4. `start` must be allowed.
Minimum minimise(const SmoothFunction& function, std::vector<double> start, int iterations);

} // namespace echosim
