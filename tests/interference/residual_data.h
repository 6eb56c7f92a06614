// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/fit/residual.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

// Data for the tests of the residual models.
namespace echosim {

// The same numbers everywhere: a linear congruential generator (Knuth, MMIX), upper 53 bits.
class Draw {
  public:
    explicit Draw(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {
        uniform();
        uniform();
    }
    double uniform() {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<double>(state_ >> 11) * 0x1p-53;
    }
    double normal() { // sum of twelve: variance 1
        double sum = -6;
        for (int i = 0; i < 12; ++i)
            sum += uniform();
        return sum;
    }

  private:
    std::uint64_t state_;
};

inline void add_row(FitData& data, const std::vector<double>& x, double y, double weight = 1) {
    data.columns = x.size();
    data.x.insert(data.x.end(), x.begin(), x.end());
    data.y.push_back(y);
    data.weight.push_back(weight);
}

inline FitData without_row(const FitData& data, std::size_t row) {
    FitData rest;
    for (std::size_t i = 0; i < data.rows(); ++i)
        if (i != row)
            add_row(rest, {data.row(i).begin(), data.row(i).end()}, data.y[i], data.weight[i]);
    return rest;
}

// Solves a x = b by elimination with pivots: what the tests compare the fitters' algebra with.
inline std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> b) {
    const std::size_t n = b.size();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t pivot = k;
        for (std::size_t i = k + 1; i < n; ++i)
            if (std::abs(a[i][k]) > std::abs(a[pivot][k]))
                pivot = i;
        std::swap(a[k], a[pivot]);
        std::swap(b[k], b[pivot]);
        for (std::size_t i = k + 1; i < n; ++i) {
            const double factor = a[i][k] / a[k][k];
            for (std::size_t j = k; j < n; ++j)
                a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (std::size_t k = n; k-- > 0;) {
        for (std::size_t j = k + 1; j < n; ++j)
            b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
    return b;
}

} // namespace echosim
