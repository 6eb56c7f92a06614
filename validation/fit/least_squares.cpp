// SPDX-License-Identifier: Apache-2.0
#include "validation/fit/least_squares.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace echosim {
namespace {

constexpr int kIterations = 80;
constexpr double kStep = 1e-3; // of a variable's size, for the differences

double soft_l1(const std::vector<double>& residuals, double scale) {
    double sum = 0;
    for (const double r : residuals) {
        sum += 2 * scale * scale * (std::sqrt(1 + r * r / (scale * scale)) - 1);
    }
    return sum;
}

double size_of_step(const FitVariable& v) {
    const double step = kStep * std::max(std::abs(*v.value), 0.01 * (v.high - v.low));
    return *v.value + step > v.high ? -step : step;
}

struct Normal {
    Eigen::MatrixXd matrix;
    Eigen::VectorXd gradient;
};

// J^T W J and J^T W r, with the weights of the loss.
Normal normal_equations(const std::vector<FitVariable>& variables, const Residuals& residuals,
                        const std::vector<double>& at, double scale) {
    const auto rows = static_cast<Eigen::Index>(at.size());
    const auto columns = static_cast<Eigen::Index>(variables.size());
    Eigen::MatrixXd jacobian(rows, columns);
    std::vector<double> moved(at.size());
    for (Eigen::Index c = 0; c < columns; ++c) {
        const FitVariable& v = variables[static_cast<std::size_t>(c)];
        const double saved = *v.value;
        const double step = size_of_step(v);
        *v.value = saved + step;
        residuals(moved);
        *v.value = saved;
        for (Eigen::Index r = 0; r < rows; ++r) {
            const auto i = static_cast<std::size_t>(r);
            jacobian(r, c) = (moved[i] - at[i]) / step;
        }
    }
    Eigen::VectorXd weight(rows);
    Eigen::VectorXd value(rows);
    for (Eigen::Index r = 0; r < rows; ++r) {
        value(r) = at[static_cast<std::size_t>(r)];
        weight(r) = 1 / std::sqrt(1 + value(r) * value(r) / (scale * scale));
    }
    const Eigen::MatrixXd weighted = weight.asDiagonal() * jacobian;
    return {jacobian.transpose() * weighted, weighted.transpose() * value};
}

void move(const std::vector<FitVariable>& variables, const std::vector<double>& from,
          const Eigen::VectorXd& step) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
        const double target = from[i] + step(static_cast<Eigen::Index>(i));
        *variables[i].value = std::clamp(target, variables[i].low, variables[i].high);
    }
}

} // namespace

double fit_least_squares(const std::vector<FitVariable>& variables, const Residuals& residuals,
                         double scale) {
    std::vector<double> current;
    residuals(current);
    double loss = soft_l1(current, scale);
    double damping = 1e-2;
    std::vector<double> from(variables.size());
    for (int iteration = 0; iteration < kIterations && damping < 1e8; ++iteration) {
        const Normal normal = normal_equations(variables, residuals, current, scale);
        std::transform(variables.begin(), variables.end(), from.begin(),
                       [](const FitVariable& v) { return *v.value; });
        const double before = loss;
        for (bool accepted = false; !accepted && damping < 1e8;) {
            Eigen::MatrixXd damped = normal.matrix;
            damped.diagonal() +=
                damping * normal.matrix.diagonal() + Eigen::VectorXd::Constant(normal.matrix.rows(), 1e-12);
            move(variables, from, -damped.ldlt().solve(normal.gradient));
            std::vector<double> moved(current.size());
            residuals(moved);
            const double moved_loss = soft_l1(moved, scale);
            accepted = moved_loss < loss;
            damping *= accepted ? 0.3 : 4;
            if (accepted) {
                loss = moved_loss;
                current = std::move(moved);
            } else {
                move(variables, from, Eigen::VectorXd::Zero(normal.gradient.size()));
            }
        }
        if (before - loss < 1e-7 * before) {
            break;
        }
    }
    return loss;
}

} // namespace echosim
