// SPDX-License-Identifier: Apache-2.0
#include "traces/nsys/import.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

// GPU_METRICS: samples of counters of the GPUs. The low half of typeId is the number of the GPU in the
// machine, metricId names a counter of TARGET_INFO_GPU_METRICS; a name ends in its unit:
// "SMs Active [Throughput %]".
namespace echosim {
namespace {

using MetricId = std::pair<std::int64_t, std::int64_t>;

struct Samples {
    std::vector<std::pair<TimeNs, double>> values;
};

// The class of the only process that used the GPU; else the first one.
std::uint32_t class_of_gpu(NsysImport& import, std::int64_t gpu) {
    std::vector<std::uint32_t> users;
    NsysTable rows = import.open("TARGET_INFO_CUDA_DEVICE", {"gpuId", "pid"});
    while (rows.next()) {
        for (const NsysProcess& process : import.processes) {
            if (rows.integer(0) == gpu && rows.integer(1) == nsys_pid(process.id)) {
                users.push_back(process.rank_class);
            }
        }
    }
    return users.size() == 1 ? users.front() : 0;
}

std::string unit_of(const std::string& name) {
    const std::size_t begin = name.rfind('[');
    return begin != std::string::npos && name.back() == ']' ? name.substr(begin + 1, name.size() - begin - 2)
                                                            : std::string();
}

void add_counter(NsysImport& import, MetricId id, const std::string& name, Samples& samples) {
    std::stable_sort(samples.values.begin(), samples.values.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const std::int64_t gpu = id.first & 0xffffffffLL;
    const std::uint32_t counter = import.builder.add_counter(
        class_of_gpu(import, gpu), fmt::format("GPU {}: {}", gpu, name), unit_of(name));
    for (const auto& [time, value] : samples.values) {
        import.builder.add_sample(counter, time, value);
    }
}

} // namespace

void read_nsys_metrics(NsysImport& import) {
    std::map<MetricId, std::string> names;
    NsysTable metrics = import.open("TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"});
    while (metrics.next()) {
        names[{metrics.integer(0, 0), metrics.integer(1, 0)}] = metrics.text(2).value_or("");
    }
    std::map<MetricId, Samples> samples;
    NsysTable rows = import.open("GPU_METRICS", {"timestamp", "typeId", "metricId", "value"});
    while (rows.next()) {
        ++import.report.events;
        const std::optional<TimeNs> time = rows.integer(0);
        const std::optional<double> value = rows.real(3);
        if (!time || !value) {
            import.report.warn("missing_time");
            continue;
        }
        const TimeNs at = rows.within(0, -(std::int64_t{1} << 61U), std::int64_t{1} << 61U, 0) - import.shift;
        samples[{rows.integer(1, 0), rows.integer(2, 0)}].values.emplace_back(at, *value);
    }
    for (auto& [id, values] : samples) {
        const auto name = names.find(id);
        add_counter(import, id, name == names.end() ? fmt::format("metric {}", id.second) : name->second,
                    values);
    }
}

} // namespace echosim
