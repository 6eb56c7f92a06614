// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <vector>

// From time stamps to the figures of a sample. All stamps of a run are of one clock of the GPU (globaltimer,
// nanoseconds), so kernels on different streams can be compared.
namespace echosim {

struct Interval {
    TimeNs begin = 0;
    TimeNs end = 0;
    TimeNs length() const { return end - begin; }
};

// What surrounds a kernel that cannot stamp itself (cuBLAS, NCCL): one launch gap g between the stamp before
// it and its start, another between its end and the stamp after. g is measured: two stamps with nothing
// between them. The interval shrinks by g on both sides, never below zero.
//   stamps 1000 and 11,000, g = 900: the kernel ran from 1900 to 10,100 = 8.2 us.
Interval without_gaps(const Interval& stamps, TimeNs gap);

// Share of `kernel` during which `communication` ran; 0 for an empty kernel.
//   kernel 100..300, communication 150..900: 150 / 200 = .75
double overlap_ratio(const Interval& kernel, const Interval& communication);

// Middle value; the mean of the two in the middle when their number is even. Not empty.
double median(std::vector<double> values);

// The figure that stands for the repeats. The median, but where that is below 20 steps of the clock the mean
// of all values up to three medians: the clock floors times, and the mean of many floored times with random
// phase is right where their median can be off by a step.
//   step 1000 ns; 2000 2000 3000 2000 3000 2000 and one of 40,000: mean of the first six = 2333
double typical(const std::vector<double>& values, double clock_step);

} // namespace echosim
