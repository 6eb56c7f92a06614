// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <string>
#include <vector>

namespace echosim {

constexpr std::size_t kMostSizes = 100'000;

// Message sizes as they are asked for on the command line.
struct SizeList {
    std::vector<Bytes> sizes = {}; // in the order written
    std::string step = {};         // "2(factor)", "1048576(bytes)", as nccl-tests prints it, or "as listed"
};

// "8:8GiB:x2" (from, to, factor), "1MiB:64MiB:+1MiB" (from, to, step), "8:1GiB" (factor 2), one size, or a
// list of these with commas. A number without a unit is bytes; K, M, G, T are powers of 1024, as for
// nccl-tests. Throws InputError that names `option`: a part that is no size, a range that runs backwards or
// does not move, more than kMostSizes sizes.
SizeList parse_size_list(const std::string& option, const std::string& text);

} // namespace echosim
