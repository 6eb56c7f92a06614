// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/report/svg_chart.h"

#include <string>
#include <vector>

namespace echosim {

struct AxisTick {
    double value = 0;
    std::string label;
};

// From values to px along one side of the chart.
//
//   linear   px = begin + (v - from) / (to - from) (end - begin)
//   log      the same with log v
class AxisMap {
  public:
    AxisMap(AxisScale scale, double from, double to) : scale_(scale), from_(from), to_(to) {}
    void span(double begin, double end) { begin_ = begin, end_ = end; }

    double from() const { return from_; }
    double to() const { return to_; }
    bool shows(double value) const; // false where the axis has no place for it
    double at(double value) const;

  private:
    AxisScale scale_;
    double from_, to_;
    double begin_ = 0, end_ = 1;
};

// The range of the axis for data in [low, high]: rounded outwards to ticks on a linear axis.
AxisMap axis_map(const ChartAxis& axis, double low, double high);

// At most about `most` ticks at round values within the range: 1, 2, 5 times a power of ten; powers of two;
// powers of ten.
std::vector<AxisTick> axis_ticks(const ChartAxis& axis, const AxisMap& map, int most);

} // namespace echosim
