// SPDX-License-Identifier: Apache-2.0
#include "simulator/run/step_interval.h"

#include "embedded/step_residuals.h"

#include <nlohmann/json.hpp>

namespace echosim {
namespace {

constexpr int kLeastRows = 10;

} // namespace

void fill_interval(StepTime& step, const Gpu& gpu) {
    static const nlohmann::ordered_json residuals = nlohmann::ordered_json::parse(embedded::kStepResiduals);
    const auto row = residuals.at("gpus").find(gpu.kernel_preset);
    if (row == residuals.at("gpus").end() || row->at("rows").get<int>() < kLeastRows)
        return;
    step.p05 = step.time * row->at("p05").get<double>();
    step.p95 = step.time * row->at("p95").get<double>();
}

} // namespace echosim
