// SPDX-License-Identifier: Apache-2.0
#include "interference/samples/recorder_facts.h"
#include "interference/samples/forms.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::json;

constexpr double kMostCtas = 1024, kMostRegisters = 512, kMostThreads = 1024;

Json object_of(std::string_view text) {
    Json value = Json::parse(text, nullptr, false);
    return value.is_object() ? value : Json::object();
}

double number_of(const Json& object, const char* key, double otherwise) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string text_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// First entry of the array of that name; an empty object where there is none.
Json first_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_array() && !found->empty() ? found->front() : Json::object();
}

// Product of a launch size, "grid": [8, 1, 1]; 0: not there.
double product_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array() || found->empty()) {
        return 0;
    }
    double product = 1;
    for (const Json& size : *found) {
        product *= size.is_number() ? std::max(1.0, size.get<double>()) : 1;
    }
    return product;
}

GpuLimits limits_from(const Json& properties) {
    GpuLimits limits;
    const auto read = [&](const char* key, double& value) {
        value = std::max(1.0, number_of(properties, key, value));
    };
    read("numSms", limits.sms);
    read("maxThreadsPerMultiprocessor", limits.threads_per_sm);
    read("regsPerMultiprocessor", limits.registers_per_sm);
    read("sharedMemPerMultiprocessor", limits.shared_bytes_per_sm);
    return limits;
}

} // namespace

RecordedGpu recorded_gpu(std::string_view meta_text, const Gpu* gpu) {
    Json meta = object_of(meta_text);
    Json merged = first_of(meta, "merged"); // what the ranks do not have in common
    if (merged.is_object()) {
        merged.update(meta);
        meta = std::move(merged);
    }
    const Json properties = first_of(meta, "deviceProperties");
    const bool listed = properties.is_object() && !properties.empty();
    const Json name = first_of(meta, "gpus");
    const auto job = meta.find("distributedInfo");
    RecordedGpu result;
    result.nccl_version =
        job != meta.end() && job->is_object() ? text_of(*job, "nccl_version") : std::string();
    result.name = listed ? text_of(properties, "name") : name.is_string() ? name.get<std::string>() : "";
    const Gpu* known = gpu != nullptr ? gpu : catalogue_gpu(result.name);
    if (known != nullptr) {
        result.name = known->name;
        result.limits = limits_of(*known);
        result.hbm = known->memory_bandwidth;
    }
    if (listed && gpu == nullptr) { // the file knows better
        result.limits = limits_from(properties);
    }
    return result;
}

void read_comm_launch(std::string_view text, CommFootprint& footprint) {
    const Json args = object_of(text);
    if (footprint.ctas <= 0) {
        footprint.ctas = std::min(kMostCtas, product_of(args, "grid"));
    }
    if (const double threads = product_of(args, "block"); threads > 0) {
        footprint.threads_per_cta = static_cast<int>(std::min(kMostThreads, threads));
    }
    footprint.registers_per_thread = static_cast<int>(std::clamp(
        number_of(args, "registers per thread", footprint.registers_per_thread), 0.0, kMostRegisters));
    footprint.shared_bytes = std::max(0.0, number_of(args, "shared memory", footprint.shared_bytes));
}

double recorded_occupancy(std::string_view text, const KernelFootprint& kernel, const GpuLimits& limits) {
    const double achieved = number_of(object_of(text), "est. achieved occupancy %", 0);
    const double limit = 100 * kernel.blocks_per_sm * kernel.threads_per_block / limits.threads_per_sm;
    return std::clamp(achieved / std::max(1.0, limit), 0.0, 1.0);
}

double bus_factor(CollectiveKind kind, std::uint32_t members) {
    const double most = members > 1 ? (members - 1.0) / members : 1;
    switch (kind) {
    case CollectiveKind::all_reduce:
        return 2 * most;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
        return most;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
        break;
    }
    return 1;
}

} // namespace echosim
