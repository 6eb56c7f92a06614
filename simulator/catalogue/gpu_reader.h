// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/gpu.h"
#include "simulator/core/error.h"

namespace echosim {

// Reads one GPU object; problems are named "FILE: PATH.key". Part of the reading of a cluster file.
Gpu read_gpu(const nlohmann::ordered_json& json, const std::string& file, const std::string& path,
             std::vector<Problem>& problems);

} // namespace echosim
