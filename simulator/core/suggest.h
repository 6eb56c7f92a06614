// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// "Did you mean": which known names are close to what the user wrote.
namespace echosim {

// Edits (insert, delete, replace, swap of two neighbours) that turn one text into the other: the
// Damerau-Levenshtein distance with each place edited once (optimal string alignment). "bandwith" ->
// "bandwidth" 1, "ngpus" -> "gpus" 1.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Candidates within `max_distance` edits (1 for texts of up to three characters), nearest first, at most
// three. When the nearest is not within one edit, candidates that start with the text go first, if they are
// at most three ("h100" -> "h100-sxm", "h100-pcie"). Case is ignored.
std::vector<std::string> nearest(const std::vector<std::string>& candidates, std::string_view text,
                                 std::size_t max_distance = 2);

// `; did you mean "bandwidth"?` or `; did you mean "a" or "b"?`; empty when nothing is close.
std::string did_you_mean(const std::vector<std::string>& candidates, std::string_view text);

// "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

} // namespace echosim
