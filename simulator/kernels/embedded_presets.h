// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

namespace echosim {

// presets/*.json as texts of the program; the definition is generated at build time.
struct EmbeddedPreset {
    std::string_view name;
    std::string_view text;
};

std::span<const EmbeddedPreset> embedded_presets();

} // namespace echosim
