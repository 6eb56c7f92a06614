// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/kernel_cases.h"
#include "tracer/interference_bench/options.h"

// What is measured: every kernel beside every communication, in every order.
namespace echosim {

struct CommCase {
    bool stand_in = true;
    CollectiveKind kind = CollectiveKind::all_reduce; // NCCL
    int ctas = 1;
    double hbm_per_cta = 0; // stand-in: share of the HBM bandwidth asked of a CTA
};
std::string to_string(const CommCase& comm);

struct PairCase {
    std::size_t kernel = 0;
    std::size_t comm = 0;
    LaunchOrder order = LaunchOrder::comm_first;
};

struct BenchPlan {
    std::vector<KernelCase> kernels;
    std::vector<CommCase> comms; // by CTAs: a communicator serves one count
    std::vector<PairCase> pairs; // by communication, then kernel, then order
};

// `gpus` = 1, or --stand-in: the stand-in. CTA counts that no GPU of this size can hold beside a kernel (more
// than half of its SMs) are left out. Throws InputError for names of kernels that do not exist.
BenchPlan make_plan(const BenchOptions& options, const GpuFacts& gpu, int gpus);

// Communication is sized to outlast the kernel, whatever slows that: four times its time alone and 100 us.
Seconds wanted_comm_time(Seconds kernel_alone);

// How long the second op of a pair is held back once the first was let go: communication has to be in full
// swing, or the kernel on its SMs. kernel_first: 5 us, at most a quarter of the kernel.
Seconds head_start(LaunchOrder order, bool stand_in, Seconds kernel_alone);

// Of all runs: each repeat is the kernel alone, communication alone and both, with a flush of the L2 cache
// before each, and 3 unmeasured repeats a pair.
constexpr int kWarmUps = 3;
Seconds expected_duration(const BenchPlan& plan, const BenchOptions& options, const GpuFacts& gpu);

std::string kernel_list(const GpuFacts& gpu);                                                  // --list
std::string describe(const BenchPlan& plan, const BenchOptions& options, const GpuFacts& gpu); // --dry-run

} // namespace echosim
