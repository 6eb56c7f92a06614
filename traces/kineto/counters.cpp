// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/build.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace echosim {
namespace {

struct Sample {
    TimeNs time = 0;
    double value = 0;
};

class Series {
  public:
    explicit Series(TraceBuilder& builder) : builder_(builder) {}

    void add(std::uint32_t rank_class, const std::string& name, const std::string& unit, Sample sample) {
        rows_[{rank_class, name, unit}].push_back(sample);
    }

    void finish() {
        for (auto& [key, samples] : rows_) {
            const auto& [rank_class, name, unit] = key;
            const std::uint32_t counter = builder_.add_counter(rank_class, name, unit);
            std::stable_sort(samples.begin(), samples.end(),
                             [](const Sample& a, const Sample& b) { return a.time < b.time; });
            for (const Sample& sample : samples) {
                builder_.add_sample(counter, sample.time, sample.value);
            }
        }
    }

  private:
    TraceBuilder& builder_;
    std::map<std::tuple<std::uint32_t, std::string, std::string>, std::vector<Sample>> rows_;
};

// Totals where the profiler gives them, else the sum of what was allocated and freed since the beginning.
void add_memory(KinetoTable& table, Series& series, TimeNs t0) {
    std::stable_sort(table.memory.begin(), table.memory.end(),
                     [](const KinetoMemory& a, const KinetoMemory& b) { return a.time < b.time; });
    std::map<std::pair<std::int64_t, std::int64_t>, double> sums;
    for (const KinetoMemory& row : table.memory) {
        const std::string place = row.device_type == 0 ? "CPU" : fmt::format("GPU {}", row.device);
        const TimeNs time = row.time - t0;
        if (row.allocated >= 0) {
            series.add(0, fmt::format("memory allocated ({})", place), "bytes",
                       {time, static_cast<double>(row.allocated)});
        } else {
            double& sum = sums[{row.device_type, row.device}];
            sum += static_cast<double>(row.bytes);
            series.add(0, fmt::format("memory allocated since the beginning ({})", place), "bytes",
                       {time, sum});
        }
        if (row.reserved >= 0) {
            series.add(0, fmt::format("memory reserved ({})", place), "bytes",
                       {time, static_cast<double>(row.reserved)});
        }
    }
}

} // namespace

void add_counters(KinetoTable& table, const std::vector<std::uint32_t>& class_of_track, TimeNs t0) {
    if (table.builder.so_far().classes.empty()) {
        return;
    }
    Series series(table.builder);
    add_memory(table, series, t0);
    for (const KinetoSample& row : table.samples) {
        series.add(class_of_track[row.track], table.text(row.name), table.text(row.series),
                   {row.time - t0, row.value});
    }
    series.finish();
}

} // namespace echosim
