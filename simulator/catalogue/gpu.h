// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace echosim {

enum class Arch : std::uint8_t { volta, ampere, ada, hopper, blackwell, cdna2, cdna3, cdna4 };

// One GPU type as its vendor describes it. Rates are dense (no structured sparsity), bandwidths one
// direction.
struct Gpu {
    std::string name;        // catalogue id, "h100-sxm"
    std::string description; // "NVIDIA H100 SXM5 80 GB"
    Arch arch = Arch::hopper;
    int sms = 0;                   // streaming multiprocessors or compute units
    FlopsPerSecond fp32_flops = 0; // without tensor cores
    FlopsPerSecond tf32_flops = 0; // 0 where the part has none; the same for the ones below
    FlopsPerSecond fp16_flops = 0; // tensor cores
    FlopsPerSecond bf16_flops = 0;
    FlopsPerSecond fp8_flops = 0;
    FlopsPerSecond fp4_flops = 0;
    Bytes memory = 0; // usable by a process: what nvidia-smi reports
    BytesPerSecond memory_bandwidth = 0;
    Bytes l2 = 0;
    double tdp_watts = 0;
    int nvlink_links = 0; // xGMI / Infinity Fabric links on AMD
    BytesPerSecond nvlink_link_bandwidth = 0;
    std::string kernel_preset; // name of the kernel-time preset; empty = derived from the specification
    std::string source;        // where the figures come from
};

// Peak rate for matrix products of this type (fp32 without tensor cores uses fp32_flops).
FlopsPerSecond peak_flops(const Gpu& gpu, DType type);

// A GPU by name. Throws InputError with the nearest names when there is none.
const Gpu& find_gpu(std::string_view name);
const std::vector<Gpu>& all_gpus();

std::string_view to_string(Arch arch);

// The form that users write (DESIGN 3.1): strings with units. from_json refuses unknown keys with a
// suggestion; `where` is the file and path that error messages start with.
nlohmann::ordered_json gpu_to_json(const Gpu& gpu);
Gpu gpu_from_json(const nlohmann::ordered_json& json, const std::string& where);

} // namespace echosim
