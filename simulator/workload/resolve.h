// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/workload/job.h"
#include "simulator/workload/megatron_args.h"
#include "simulator/workload/resolve_flags.h"

#include <string>
#include <string_view>

// The steps of resolve_job(): each fills its part of the job and adds what is wrong to the flag table's
// problems. Rule numbers (R1 .. R27, P1 .. P11, M1 .. M9) are explained in docs/models.md; they restate what
// Megatron-LM's validate_args(), TransformerConfig and parallel_state do.
namespace echosim {

constexpr std::int64_t kMaxGpus = 4'194'304; // largest world size that echosim takes
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::int64_t kMaxHidden = 1'048'576;
constexpr std::int64_t kMaxSequence = 134'217'728;
constexpr std::int64_t kMaxVocab = 100'000'000;
constexpr std::int64_t kMaxBatch = 100'000'000;

struct Resolution {
    const JobSource& source;
    const ResolveOptions& options;
    FlagTable flags;
    Job job;

    void note(std::string_view key, std::string value, std::string origin);
    void note(std::string_view key, std::int64_t value, std::string origin);
    void note_flag(std::string_view key, bool value, std::string origin);
    void warn(std::string text);
    void refuse(std::string text); // a feature whose graph cannot be built

    // An int option with Megatron's default; a problem when it is out of range.
    int integer(std::string_view flag, std::int64_t low, std::int64_t high, int otherwise);
};

// Generations of Megatron-LM before flash attention became usual (2023).
bool is_old_software(const std::string& software);

void resolve_parallel(Resolution& r);   // R6-R10: degrees, world size, the two grids
void resolve_model(Resolution& r);      // R1-R5, R13, R16, activation, norms, positions, vocabulary
void resolve_sharding(Resolution& r);   // R4, R14, R15: what the degrees must divide
void resolve_experts(Resolution& r);    // M1-M9
void resolve_batch(Resolution& r);      // R11, R12
void resolve_pipeline(Resolution& r);   // P1-P8, P11
void resolve_recompute(Resolution& r);  // R18
void resolve_training(Resolution& r);   // R17, R19-R27: gradients, optimizer, precision, kernels
void resolve_unmodelled(Resolution& r); // names what build_graph cannot build

// Layout string (P6): decoder layers of each stage in order of the string; empty when it is wrong (problems
// added).
struct StageLayout {
    std::vector<int> layers;
    int mtp_layers = 0;
};
StageLayout parse_pipeline_layout(const std::string& text, int layers, int pp, FlagTable& flags);

} // namespace echosim
