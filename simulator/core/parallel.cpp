// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace echosim {

void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t wanted = threads > 0 ? static_cast<std::size_t>(threads) : cores;
    std::atomic<std::size_t> next{0};
    const auto take = [&] {
        for (std::size_t i = next++; i < count; i = next++)
            work(i);
    };
    std::vector<std::jthread> pool;
    for (std::size_t t = 1; t < std::min(wanted, count); ++t)
        pool.emplace_back(take);
    take();
}

} // namespace echosim
