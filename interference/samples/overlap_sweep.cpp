// SPDX-License-Identifier: Apache-2.0
#include "interference/samples/overlap_sweep.h"

#include <algorithm>

namespace echosim {
namespace {

// A kernel runs beside earlier ones until the latest of their ends, and beside later ones from the next start
// on: an upper bound of the time beside others.
std::vector<TimeNs> beside_kernels(std::span<const WorkInterval> kernels) {
    std::vector<TimeNs> time(kernels.size(), 0);
    TimeNs latest = kernels.empty() ? 0 : kernels.front().start;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto [start, end] = kernels[i];
        time[i] = std::max<TimeNs>(0, std::min(end, latest) - start);
        if (i + 1 < kernels.size()) {
            time[i] += std::max<TimeNs>(0, end - std::max(start, kernels[i + 1].start));
        }
        time[i] = std::min(time[i], end - start);
        latest = std::max(latest, end);
    }
    return time;
}

} // namespace

OverlapSweep sweep_overlaps(std::span<const WorkInterval> kernels, std::span<const WorkInterval> comms) {
    OverlapSweep result{std::vector<TimeNs>(kernels.size(), 0), beside_kernels(kernels), {}};
    std::vector<std::uint32_t> active; // communications that may still run, by start
    std::uint32_t next = 0;
    for (std::uint32_t k = 0; k < kernels.size(); ++k) {
        const auto [start, end] = kernels[k];
        std::erase_if(active, [&](std::uint32_t c) { return comms[c].end <= start; });
        for (; next < comms.size() && comms[next].start < end; ++next) {
            if (comms[next].end > start) {
                active.push_back(next);
            }
        }
        TimeNs covered = start; // all before it is counted
        for (const std::uint32_t c : active) {
            const TimeNs from = std::max(start, comms[c].start), to = std::min(end, comms[c].end);
            if (to <= from) {
                continue;
            }
            result.pairs.push_back({k, c, to - from});
            result.beside_comm[k] += std::max<TimeNs>(0, to - std::max(from, covered));
            covered = std::max(covered, to);
        }
    }
    return result;
}

} // namespace echosim
