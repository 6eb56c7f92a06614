// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/pacing.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace echosim {

Pacing pacing_of(double share, const GpuFacts& gpu, TimeNs clock_step) {
    const Seconds period = 2 * static_cast<double>(kChunkBytes) / (share * gpu.hbm_bandwidth);
    Pacing pacing{to_ns(period), 0};
    pacing.slack = std::max(pacing.period, 2 * clock_step);
    return pacing;
}

std::int64_t chunks_for(Bytes bytes, int ctas) {
    const double chunks = static_cast<double>(bytes) / (2.0 * static_cast<double>(kChunkBytes) * ctas);
    return std::max<std::int64_t>(1, std::llround(chunks));
}

Bytes traffic_of(std::int64_t chunks_per_cta, int ctas) {
    return static_cast<Bytes>(chunks_per_cta) * static_cast<Bytes>(ctas) * 2 *
           static_cast<Bytes>(kChunkBytes);
}

std::int64_t region_chunks(Bytes buffer, int ctas) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(buffer) / (kChunkBytes * ctas));
}

double bus_factor(CollectiveKind kind, int gpus) {
    const double share = static_cast<double>(gpus - 1) / gpus;
    return kind == CollectiveKind::all_reduce ? 2 * share : share;
}

double hbm_per_bus_byte(const char* nccl_algo) {
    const std::string_view algo = nccl_algo == nullptr ? "" : nccl_algo;
    return algo.find("NVLS") != std::string_view::npos || algo.find("nvls") != std::string_view::npos ? 1.5
                                                                                                      : 2.5;
}

} // namespace echosim
