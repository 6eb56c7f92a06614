// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/kernels/kernel_preset.h"
#include "validation/fit/kernel_tables.h"

#include <string>
#include <vector>

namespace echosim {

// A GPU that has measured tables, with the data-sheet figures that its efficiencies refer to.
struct ReferenceGpu {
    std::string name;
    KernelMachine bf16;
    double fp8_peak = 0; // 0: no such units
};

// Relative error (logarithm of predicted / measured) over a set of rows.
struct FitError {
    std::string what;
    std::size_t rows = 0;
    double mean_abs = 0, p90 = 0, bias = 0;
};
FitError summarise(std::string what, const std::vector<double>& log_errors);

// Each fills its part of the preset and appends what it reached. Gemm first: the others use its result.
void fit_gemm(const ReferenceGpu& gpu, const std::string& tables, KernelPreset& preset,
              std::vector<FitError>& errors);
void fit_attention(const ReferenceGpu& gpu, const std::string& tables, KernelPreset& preset,
                   std::vector<FitError>& errors);
void fit_memory(const ReferenceGpu& gpu, const std::string& tables, KernelPreset& preset,
                std::vector<FitError>& errors);

// Tables that no fit uses: layer operators, training GEMMs and grouped GEMMs.
void cross_check(const ReferenceGpu& gpu, const std::string& tables, const KernelPreset& preset,
                 std::vector<FitError>& errors);

double median(std::vector<double> values);

} // namespace echosim
