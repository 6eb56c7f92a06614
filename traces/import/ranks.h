// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <cstdint>
#include <string>
#include <vector>

namespace echosim {

// Makes files the ranks of one job: gives a rank to files that do not say theirs (by name, else by place),
// sorts both lists by rank. Returns the number of the clock of each class of the merged trace: that of its
// file. Throws InputError when two files are the same rank.
std::vector<std::uint32_t> arrange_ranks(std::vector<std::string>& files, std::vector<Imported>& parts,
                                         std::vector<std::string>& notes);

} // namespace echosim
