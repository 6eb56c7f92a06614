// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace echosim {

inline constexpr std::string_view kSimulateSchema = "echosim.simulate/1";

// Version of the program, as CMake's project() states it.
std::string_view version();

} // namespace echosim
