// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>

namespace echosim {

// Calls work(i) for every i below `count`, once each, on so many threads (0 = one a core). `work` must not
// throw.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

} // namespace echosim
