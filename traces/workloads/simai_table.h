// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// SimAI and ASTRA-sim 1 layer tables (workload/Workload.cc of both). Line 1: the policy of parallelism and
// what it needs; line 2: the number of layers; then one line a layer, 12 fields between blanks or tabs:
//
//     HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 16 pp: 12 vpp: 8 ga: 24 all_gpus: 9216
//     1789
//     name dependency  compute comm bytes   compute comm bytes   compute comm bytes   update
//                      ---- forward ----    - input gradient -   - weight gradient -
//
// Times are nanoseconds (AICB writes its measured microseconds times 1000; ASTRA-sim 1 counts cycles of
// 1 ns). comm is NONE or ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, BROADCAST with the group as a suffix:
// none for tensor parallel in the first two, data parallel in the third, _EP expert parallel, _DP_EP data
// parallel of the experts. Bytes are those of nccl-tests (SimAI times them as bytes / busbw (n-1) / n).
namespace echosim {

enum class LayerPolicy : std::uint8_t {
    data,
    model,
    hybrid_data_model,
    hybrid_model_data,
    transformer, // with and without recomputation
    dlrm,
    customized, // a policy a layer, in field 13
    micro,      // the weight-gradient collectives alone
    inference   // forward alone
};

struct LayerPass {
    TimeNs compute = 0;
    std::string_view comm; // as the file has it; empty: NONE
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::string_view group_suffix; // "", "EP", "DP_EP"
    Bytes bytes = 0;
};

struct LayerRow {
    std::string_view name;
    std::int64_t dependency = -1;
    LayerPass forward;
    LayerPass input_gradient;
    LayerPass weight_gradient;
    TimeNs update = 0;
    LayerPolicy policy = LayerPolicy::transformer; // of this layer
};

struct LayerTable {
    LayerPolicy policy = LayerPolicy::transformer;
    std::string_view policy_word;
    std::uint32_t tensor = 0; // sizes of groups; 0: the file does not say
    std::uint32_t expert = 0;
    std::uint32_t pipeline = 0;
    std::uint32_t virtual_pipeline = 0;
    std::uint32_t micro_batches = 0; // gradient accumulation
    std::uint32_t gpus = 0;
    Bytes pipeline_bytes = 0;
    std::uint32_t last_bottom_layer = 0;           // DLRM
    std::vector<std::uint32_t> checkpoints;        // layers whose input is kept
    std::vector<std::uint32_t> recompute_starters; // layers whose backward first recomputes
    std::vector<LayerRow> rows;
    std::uint64_t unknown_keys = 0; // of the header
};

std::optional<LayerPolicy> layer_policy(std::string_view word);

// The texts of the result lie in `text`. Throws InputError with file and line.
LayerTable read_layer_table(std::string_view text, const std::string& file);

// The graph of one rank: one pass forward and back in the order in which the simulators run the policy.
Imported graph_of_layers(const LayerTable& table, const std::string& file);

} // namespace echosim
