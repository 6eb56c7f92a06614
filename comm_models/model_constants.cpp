// SPDX-License-Identifier: Apache-2.0
#include "comm_models/model_constants.h"

#include "embedded/nccl_presets.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace echosim::nccl {
namespace {

ModelConstants load_presets() {
    using Json = nlohmann::ordered_json;
    ModelConstants result = constants_from_json(Json::parse(embedded::kNcclLinks), "nccl_links.json");
    result.fabrics = constants_from_json(Json::parse(embedded::kNcclFabrics), "nccl_fabrics.json").fabrics;
    return result;
}

} // namespace

const ModelConstants& preset_constants() {
    static const ModelConstants constants = load_presets();
    return constants;
}

std::vector<double*> fitted_constants(FabricProfile& f) {
    return {&f.efficiency, &f.hop[0], &f.start, &f.ll_rate_per_nic, &f.ll_growth};
}

double efficiency_of(const FabricProfile& fabric, double nic_rate) {
    return std::min(0.98, fabric.efficiency * std::pow(nic_rate / 25, -fabric.efficiency_fall));
}

const FabricProfile& fabric_profile(const ModelConstants& constants, FabricKind kind) {
    for (const FabricProfile& f : constants.fabrics)
        if (f.kind == kind)
            return f;
    return constants.fabrics.back();
}

} // namespace echosim::nccl
