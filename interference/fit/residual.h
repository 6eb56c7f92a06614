// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

// The learned part: y = ln(S measured) - ln(S prior) as a function of features x. One interface for three
// fitters; none knows what the features mean.
namespace echosim {

// n rows of d features, row-major; weight 1 = a kernel overlapped all along, less for a partial overlap (its
// noise has variance ~ 1 / weight). n >= 2.
struct FitData {
    std::size_t columns = 0;
    std::vector<double> x;
    std::vector<double> y;
    std::vector<double> weight;
    std::size_t rows() const { return y.size(); }
    std::span<const double> row(std::size_t i) const { return {x.data() + i * columns, columns}; }
};

struct ResidualPrediction {
    double mean = 0;
    double sd = 0; // of the mean, large outside the data; noise of single kernels not included
};

class ResidualModel {
  public:
    virtual ~ResidualModel() = default;
    virtual ResidualPrediction predict(std::span<const double> x) const = 0;
    // Residuals y - prediction of each row of the data by the model fitted without that row.
    virtual const std::vector<double>& left_out() const = 0;
    // How much row i of the data has to say about x: fills weight[i] >= 0 (a kernel function; all equal where
    // the fitter has none).
    virtual void relevance(std::span<const double> x, std::span<double> weight) const = 0;
    virtual std::string name() const = 0; // "ridge", "gaussian_process", "boosted_trees"
    virtual nlohmann::ordered_json to_json() const = 0;
};

} // namespace echosim
