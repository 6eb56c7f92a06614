// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"
#include "simulator/kernels/kernel_models.h"

#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

// The calibration of one GPU: presets/*.json, embedded at build time.
namespace echosim {

constexpr std::size_t kKernelClasses = static_cast<std::size_t>(KernelClass::norm_wgrad) + 1;

struct KernelPreset {
    std::string name;
    std::string source;
    std::vector<std::string> measured_on; // catalogue GPUs whose measurements were fitted
    Provenance provenance = Provenance::assumed;

    GemmParameters gemm;
    std::array<double, 3> pass_factor{1, 1, 1}; // forward, dgrad, wgrad: time relative to forward
    std::map<DType, double> dtype_efficiency;   // GEMM ceiling of this type relative to bf16 (missing: 1)
    AttentionParameters attention_forward;
    AttentionParameters attention_backward;
    double memory_fixed_us = 2;
    std::array<double, kKernelClasses> memory_efficiency{}; // by KernelClass, share of the nominal bandwidth

    // Time in sustained training relative to a kernel measured alone (power, cold caches): one number each,
    // applied to the whole kernel time.
    double derate_matmul = 1; // GEMM and attention
    double derate_memory = 1;

    // What stood between the measured table and `attention_forward`, so that both can be compared: the
    // inference kernel of the table also prepared q, k and v (fixed time, transfers of q, k, v in and out),
    // and the training library runs `library_factor` times as fast.
    struct AttentionTable {
        double fixed_us = 14;
        double passes = 1;
        double library_factor = 1;
    };
    AttentionTable attention_table;

    // Factors on the time for older software generations (missing: 1).
    struct Generation {
        double gemm = 1, attention = 1, memory = 1;
    };
    std::map<std::string, Generation> generations;
};

// The preparation that the attention table timed with the kernel.
Seconds table_extra(const KernelPreset::AttentionTable& table, const KernelMachine& machine,
                    const AttentionShape& shape);

// `where` starts the error messages. Throws InputError for missing, unknown or out-of-range values.
KernelPreset kernel_preset_from_json(const nlohmann::ordered_json& json, const std::string& where);
nlohmann::ordered_json kernel_preset_to_json(const KernelPreset& preset);

// An embedded preset. Throws InputError with the list of names when there is none.
KernelPreset load_kernel_preset(std::string_view name);
std::vector<std::string> kernel_preset_names();

} // namespace echosim
