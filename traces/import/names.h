// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace echosim {

// Digits compare as numbers: "rank_2" before "rank_10".
bool natural_less(std::string_view a, std::string_view b);

// The rank of each file by its name, of files that do not say it themselves: the number behind the word
// "rank" where all names have one, else the first number in which names of equal shape all differ
// ("job.0.et", "worker3_step_12.1694.json"). Empty: the names do not tell.
std::vector<int> ranks_of_names(const std::vector<std::string>& paths);

} // namespace echosim
