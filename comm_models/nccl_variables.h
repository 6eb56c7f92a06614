// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

// The environment variables of NCCL 2.18 to 2.30 and what this model makes of them.
namespace echosim::nccl {

enum class Following : unsigned char { followed, harmless, not_followed, unknown };

struct Variable {
    Following following = Following::unknown;
    std::string_view instead; // of one that is not followed: what the model assumes
};

Variable variable(std::string_view name);
std::vector<std::string> variable_names();

} // namespace echosim::nccl
