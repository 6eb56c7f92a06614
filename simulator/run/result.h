// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"
#include "simulator/workload/job.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

// The answer of one simulation: the document `echosim simulate --json` prints (schema echosim.simulate/1).
namespace echosim {

struct StepTime {
    Seconds time = 0;
    std::optional<Seconds> p05; // residual band of this GPU's validation rows; absent with fewer than 10 rows
    std::optional<Seconds> p95;
};

struct Throughput {
    double tokens_per_s = 0;
    double tokens_per_s_per_gpu = 0;
    double model_flops_per_gpu = 0;    // FLOP/s, without recomputation
    double hardware_flops_per_gpu = 0; // FLOP/s, with it
    double mfu = 0;
    double hfu = 0;
    std::string flops_formula = "causal";
};

// Time split of the critical rank; communication is exposed time only. Adds up to the step time.
struct Breakdown {
    Seconds compute = 0, recompute = 0, interference = 0, tp_comm = 0, pp_comm = 0, dp_comm = 0, cp_comm = 0,
            ep_comm = 0, bubble = 0, optimizer = 0, host = 0, data = 0, other = 0;
};

struct StageMemory {
    int stage = 0;
    Bytes peak = 0, weights = 0, gradients = 0, optimizer = 0, activations = 0, buffers = 0, overhead = 0;
    int in_flight = 0; // micro-batches (chunks of them) whose activations are held at the peak
};

struct Memory {
    bool fits = true;
    Bytes peak = 0;
    Bytes capacity = 0;
    std::vector<StageMemory> stages;
    std::string nearest_fit; // the smallest change that fits, when it does not
};

// All calls of one kind on one group, on the critical rank.
struct Communication {
    std::string group; // "tp", "dp_cp", "pp", ...
    CollectiveKind kind = CollectiveKind::all_reduce;
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    int channels = 0;
    std::int64_t count = 0;    // calls a step
    double bytes_per_call = 0; // mean
    Seconds time = 0;          // sum over the step, alone
    Seconds exposed = 0;
    double busbw = 0; // bytes/s, mean weighted by bytes
};

struct Contributor {
    std::string name; // kernel or collective
    Seconds time = 0; // on the critical rank
};

struct ProvenanceShares {
    double measured = 0, fitted = 0, catalogue = 0, assumed = 0; // shares of the step time, sum 1
};

// Which model of interference an answer was made with, and what it was made from.
struct InterferenceUsed {
    std::string setting = "off"; // as --set interference takes it
    std::string model = "off";   // off, constant, prior or learned
    // Of a learned one:
    std::vector<std::string> gpus;
    std::vector<std::string> nccl_versions;
    std::vector<std::string> files; // of the samples
    int samples = 0;
    double share_from_data = 0; // of the kernels' extra time; the rest is the prior's
};

struct SimulationStats {
    std::int64_t ops = 0;
    int ranks_represented = 0;
    int ranks_simulated = 0;
    Seconds wall = 0; // never written to a file
};

struct Result {
    Job job;
    Cluster cluster;
    StepTime step;
    Throughput throughput;
    Breakdown breakdown;
    Memory memory;
    std::vector<Communication> communication;
    std::vector<Contributor> top;
    ProvenanceShares provenance;
    InterferenceUsed interference;
    SimulationStats simulation;
    int critical_rank = 0;
    double bubble_share = 0; // bubble / step time
    std::vector<std::string> warnings;
};

// `with_wall_clock` adds simulation.wall_s: on stdout only, so that files are reproducible.
nlohmann::ordered_json result_to_json(const Result& result, bool with_wall_clock);

} // namespace echosim
