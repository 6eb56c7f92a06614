// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

namespace echosim {
namespace {

constexpr std::size_t kMemory = 8;
constexpr double kLongestStep = 1.5;
constexpr double kSufficient = 1e-4; // of what the slope promises
constexpr double kLeastGain = 1e-4;
constexpr int kHalvings = 20;

using Point = std::vector<double>;

double dot(const Point& a, const Point& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void add(Point& to, double factor, const Point& step) {
    for (std::size_t i = 0; i < to.size(); ++i)
        to[i] += factor * step[i];
}

Point difference(const Point& a, const Point& b) {
    Point result = a;
    add(result, -1, b);
    return result;
}

struct Step {
    Point moved;
    Point turned; // change of the gradient
};

// The two-loop recursion: minus the gradient times the inverse curvature that the last steps showed.
Point direction_of(const Point& gradient, const std::deque<Step>& steps) {
    Point direction = gradient;
    std::vector<double> share(steps.size());
    for (std::size_t i = steps.size(); i-- > 0;) {
        share[i] = dot(steps[i].moved, direction) / dot(steps[i].moved, steps[i].turned);
        add(direction, -share[i], steps[i].turned);
    }
    double scale = 1;
    if (!steps.empty())
        scale = dot(steps.back().moved, steps.back().turned) / dot(steps.back().turned, steps.back().turned);
    for (double& value : direction)
        value *= scale;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const double back = dot(steps[i].turned, direction) / dot(steps[i].moved, steps[i].turned);
        add(direction, share[i] - back, steps[i].moved);
    }
    for (double& value : direction)
        value = -value;
    return direction;
}

void shorten(Point& direction, double longest) {
    double size = 0;
    for (const double value : direction)
        size = std::max(size, std::abs(value));
    if (size > longest)
        for (double& value : direction)
            value *= longest / size;
}

// Where a line search ended.
struct Trial {
    Point at;
    Point gradient;
    double value = 0;
    bool found = false;
};

Trial search_along(const SmoothFunction& function, const Minimum& from, const Point& direction, double slope,
                   int& evaluations) {
    Trial trial;
    trial.gradient.resize(direction.size());
    double length = 1;
    for (int i = 0; i < kHalvings && !trial.found; ++i, length /= 2) {
        trial.at = from.at;
        add(trial.at, length, direction);
        trial.value = function(trial.at, trial.gradient);
        ++evaluations;
        trial.found = std::isfinite(trial.value) && trial.value <= from.value + kSufficient * length * slope;
    }
    return trial;
}

} // namespace

Minimum minimise(const SmoothFunction& function, std::vector<double> start, int iterations) {
    Minimum best{std::move(start), 0, 1};
    Point gradient(best.at.size());
    best.value = function(best.at, gradient);
    std::deque<Step> steps;
    for (int i = 0; i < iterations; ++i) {
        Point direction = direction_of(gradient, steps);
        shorten(direction, steps.empty() ? 0.5 : kLongestStep);
        const double slope = dot(direction, gradient);
        if (!(slope < 0))
            break;
        const Trial trial = search_along(function, best, direction, slope, best.evaluations);
        if (!trial.found)
            break;
        Step step{difference(trial.at, best.at), difference(trial.gradient, gradient)};
        if (dot(step.moved, step.turned) > 1e-12)
            steps.push_back(std::move(step));
        if (steps.size() > kMemory)
            steps.pop_front();
        const double gain = best.value - trial.value;
        best.at = trial.at;
        best.value = trial.value;
        gradient = trial.gradient;
        if (gain < kLeastGain)
            break;
    }
    return best;
}

} // namespace echosim
