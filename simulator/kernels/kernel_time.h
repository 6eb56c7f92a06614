// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/gpu.h"
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"

#include <memory>
#include <string>
#include <string_view>

// Time of one kernel alone on a GPU: roofline with size-indexed efficiencies per GPU and kernel class, fitted
// to measured tables (presets/*.json; how: docs/models.md). The equations stand in kernel_time.cpp and the
// preset says where its numbers come from.
namespace echosim {

// The three GEMMs of a linear layer in training: forward Y = X W^T (TN), data gradient dX = dY W (NN), weight
// gradient dW = dY^T X (NT, reads and writes an fp32 accumulator when accumulate_fp32).
enum class GemmPass : std::uint8_t { forward, dgrad, wgrad };

struct GemmShape {
    double m = 0;     // rows of the output
    double n = 0;     // columns of the output
    double k = 0;     // summed dimension
    double batch = 1; // > 1: strided batch (unfused attention)
    DType dtype = DType::bf16;
    GemmPass pass = GemmPass::forward;
    bool accumulate_fp32 = false;
};

// Fused (flash) attention over whole sequences.
struct AttentionShape {
    double batch = 1;
    double seq_q = 0;
    double seq_kv = 0;
    double heads = 0; // query heads on this rank
    double kv_heads = 0;
    double head_dim = 0;
    bool causal = true;
    bool backward = false;
    DType dtype = DType::bf16;
};

// A kernel bound by memory traffic.
struct MemoryShape {
    KernelClass kernel_class = KernelClass::elementwise;
    double bytes = 0; // read + written
};

struct KernelTime {
    Seconds time = 0;
    Flops flops = 0;  // useful floating-point operations (2 m n k; causal attention counts the half)
    double bytes = 0; // HBM traffic
    Provenance provenance = Provenance::assumed;
};

// What one GPU's presets say. A value: cheap to copy, no state that changes.
class KernelTimes {
  public:
    // The preset named by gpu.kernel_preset; a GPU without one gets efficiencies of its nearest relative and
    // provenance `assumed`. `software` is the generation of the framework (older ones used slower kernels).
    // Throws InputError when the calibration file is wrong.
    static KernelTimes for_gpu(const Gpu& gpu, std::string_view software);

    KernelTime gemm(const GemmShape& shape) const;
    KernelTime attention(const AttentionShape& shape) const;
    KernelTime memory_bound(const MemoryShape& shape) const;

  private:
    struct Preset;
    std::shared_ptr<const Preset> preset_;
};

} // namespace echosim
