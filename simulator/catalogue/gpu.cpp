// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/gpu.h"

#include "embedded/catalogue_data.h"
#include "simulator/catalogue/gpu_reader.h"
#include "simulator/catalogue/unit_text.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"

#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 8> kArchs = {"volta",     "ampere", "ada",   "hopper",
                                                    "blackwell", "cdna2",  "cdna3", "cdna4"};

struct Rate {
    std::string_view key;
    FlopsPerSecond Gpu::*member;
    bool required;
};
constexpr std::array<Rate, 6> kRates = {{{"fp32_flops", &Gpu::fp32_flops, true},
                                         {"tf32_flops", &Gpu::tf32_flops, false},
                                         {"fp16_flops", &Gpu::fp16_flops, true},
                                         {"bf16_flops", &Gpu::bf16_flops, false},
                                         {"fp8_flops", &Gpu::fp8_flops, false},
                                         {"fp4_flops", &Gpu::fp4_flops, false}}};
constexpr double kMaxFlops = 1e19;
constexpr double kMaxMemory = 64.0 * (1ULL << 40U);
constexpr double kMaxBandwidth = 1e15;

void read_arch(ObjectReader& reader, Arch& arch) {
    std::string name;
    reader.read({.key = "arch", .required = true}, name);
    if (name.empty())
        return;
    for (std::size_t i = 0; i < kArchs.size(); ++i) {
        if (kArchs[i] != name)
            continue;
        arch = static_cast<Arch>(i);
        return;
    }
    const std::vector<std::string> known(kArchs.begin(), kArchs.end());
    reader.fail("arch", fmt::format("unknown architecture \"{}\"{}; known: {}", name,
                                    did_you_mean(known, name), join(known)));
}

std::vector<Gpu> read_catalogue() {
    const std::string file = "gpus.json";
    const Json json = parse_json(embedded::kGpus, file);
    std::vector<Problem> problems;
    std::vector<Gpu> gpus;
    for (const Json& entry : json.at("gpus"))
        gpus.push_back(read_gpu(entry, file, entry.at("name").get<std::string>(), problems));
    ECHOSIM_CHECK(problems.empty(), InputError(problems).what());
    return gpus;
}

} // namespace

Gpu read_gpu(const Json& json, const std::string& file, const std::string& path,
             std::vector<Problem>& problems) {
    Gpu gpu;
    ObjectReader reader(json, file, path, problems);
    reader.read({.key = "name", .required = true}, gpu.name);
    reader.read({.key = "description"}, gpu.description);
    read_arch(reader, gpu.arch);
    reader.read({.key = "sms", .required = true, .min = 1, .max = 4096}, gpu.sms);
    for (const Rate& rate : kRates) {
        const Field field{
            .key = rate.key, .required = rate.required, .min = rate.required ? 1e9 : 0, .max = kMaxFlops};
        reader.read_quantity(field, Quantity::flops, gpu.*rate.member);
    }
    reader.read({.key = "memory", .required = true, .min = 1U << 30U, .max = kMaxMemory}, gpu.memory);
    reader.read_quantity({.key = "hbm_bandwidth", .required = true, .min = 1e9, .max = kMaxBandwidth},
                         Quantity::bandwidth, gpu.memory_bandwidth);
    reader.read({.key = "l2", .required = true, .min = 1U << 16U, .max = 1ULL << 40U}, gpu.l2);
    reader.read({.key = "tdp_watts", .required = true, .min = 1, .max = 1e5}, gpu.tdp_watts);
    reader.read({.key = "nvlink_links", .max = 1024}, gpu.nvlink_links);
    reader.read_quantity({.key = "nvlink_link_bandwidth", .max = kMaxBandwidth}, Quantity::bandwidth,
                         gpu.nvlink_link_bandwidth);
    reader.read({.key = "kernel_preset"}, gpu.kernel_preset);
    reader.read({.key = "source"}, gpu.source);
    reader.finish();
    return gpu;
}

FlopsPerSecond peak_flops(const Gpu& gpu, DType type) {
    const auto or_else = [](FlopsPerSecond rate, FlopsPerSecond wider) { return rate > 0 ? rate : wider; };
    const FlopsPerSecond fp8 = or_else(gpu.fp8_flops, or_else(gpu.bf16_flops, gpu.fp16_flops));
    switch (type) {
    case DType::fp32:
        return gpu.fp32_flops;
    case DType::tf32:
        return or_else(gpu.tf32_flops, gpu.fp32_flops);
    case DType::fp16:
        return or_else(gpu.fp16_flops, gpu.fp32_flops);
    case DType::bf16:
        return or_else(gpu.bf16_flops, gpu.fp32_flops);
    case DType::fp8:
    case DType::int8:
        return fp8;
    case DType::fp4:
        return or_else(gpu.fp4_flops, fp8);
    case DType::int32:
    case DType::int64:
        break;
    }
    return gpu.fp32_flops;
}

const std::vector<Gpu>& all_gpus() {
    static const std::vector<Gpu> gpus = read_catalogue();
    return gpus;
}

const Gpu& find_gpu(std::string_view name) {
    std::vector<std::string> names;
    for (const Gpu& gpu : all_gpus()) {
        if (gpu.name == name)
            return gpu;
        names.push_back(gpu.name);
    }
    throw InputError("", fmt::format("unknown GPU \"{}\"{}", name, did_you_mean(names, name)),
                     "known GPUs: " + join(names));
}

std::string_view to_string(Arch arch) {
    return kArchs.at(static_cast<std::size_t>(arch));
}

Json gpu_to_json(const Gpu& gpu) {
    Json json;
    json["name"] = gpu.name;
    json["description"] = gpu.description;
    json["arch"] = to_string(gpu.arch);
    json["sms"] = gpu.sms;
    for (const Rate& rate : kRates)
        json[std::string(rate.key)] = exact_flops(gpu.*rate.member);
    json["memory"] = exact_bytes(gpu.memory);
    json["hbm_bandwidth"] = exact_bandwidth(gpu.memory_bandwidth);
    json["l2"] = exact_bytes(gpu.l2);
    json["tdp_watts"] = gpu.tdp_watts;
    json["nvlink_links"] = gpu.nvlink_links;
    json["nvlink_link_bandwidth"] = exact_bandwidth(gpu.nvlink_link_bandwidth);
    json["kernel_preset"] = gpu.kernel_preset;
    json["source"] = gpu.source;
    return json;
}

Gpu gpu_from_json(const Json& json, const std::string& where) {
    std::vector<Problem> problems;
    Gpu gpu = read_gpu(json, where, "", problems);
    if (!problems.empty())
        throw InputError(problems);
    return gpu;
}

} // namespace echosim
