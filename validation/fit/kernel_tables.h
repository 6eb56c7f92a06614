// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/kernels/kernel_time.h"

#include <string>
#include <vector>

// Readers of the published kernel tables (layout of shared/data/tables; sources and licences beside the
// files). All throw InputError when a file is missing or a column is not there.
namespace echosim {

struct GemmRow {
    GemmShape shape;
    std::string type; // "bfloat16", "fp8", "fp8_block"
    Seconds time = 0;
};

struct AttentionRow {
    AttentionShape shape;
    Seconds time = 0;
};

// Operator medians of one layer: what one row of a vidur table means in kernels.
struct LayerGemm {
    std::string op; // "attn_pre_proj" ...
    GemmShape shape;
    Seconds time = 0;
};
struct LayerMemory {
    std::string op; // "add" ...
    double bytes = 0;
    Seconds time = 0;
};
struct LayerTable {
    std::vector<LayerGemm> gemms;
    std::vector<LayerMemory> memory;
};

// `gpu` is "a100", "h100" or "b200"; `tables` is the folder that holds aiconfigurator/, simumax/ and vidur/.
std::vector<GemmRow> read_gemm_table(const std::string& tables, const std::string& gpu);
std::vector<AttentionRow> read_attention_table(const std::string& tables, const std::string& gpu);
LayerTable read_layer_tables(const std::string& tables, const std::string& gpu);

// SimuMax efficiencies turned back into times. Empty where there is no file for the GPU.
std::vector<GemmRow> read_training_gemms(const std::string& tables, const std::string& gpu);
std::vector<GemmRow> read_grouped_gemms(const std::string& tables, const std::string& gpu);
std::vector<AttentionRow> read_training_attention(const std::string& tables, const std::string& gpu);

// One fifth of the (n, k) pairs, or of the (heads, kv heads, head dimension) triples, is kept out of the fit.
bool held_out(const GemmShape& shape);
bool held_out(const AttentionShape& shape);

} // namespace echosim
