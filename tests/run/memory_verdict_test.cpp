// SPDX-License-Identifier: Apache-2.0
#include "simulator/run/memory_verdict.h"

#include "simulator/run/run.h"
#include "simulator/workload/tensor_sizes.h"
#include "tests/workload/job_texts.h"

#include <gtest/gtest.h>
#include <set>

namespace echosim {
namespace {

using test::small_job;

constexpr const char* kBase = "--num-layers 16 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 "
                              "--max-position-embeddings 2048 --vocab-size 32000 --bf16 --use-flash-attn ";
Job job_of(const std::string& flags) {
    return resolve_job(test::source_of(kBase + flags, 8), {});
}

Memory memory_of(const std::string& flags, Bytes capacity) {
    Cluster cluster = find_cluster("dgx-h100");
    cluster.gpu.memory = capacity;
    return run(job_of(flags), cluster, {}).result.memory;
}

TEST(MemoryVerdict, StatesStagesAndTheLargest) {
    const Job job = job_of("--pipeline-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 16");
    const Memory m = judge_memory(job, find_gpu("h100-sxm"), {3_GiB, 1_GiB});
    ASSERT_EQ(m.stages.size(), 2U);
    for (int stage = 0; stage < 2; ++stage) {
        const StageMemory& s = m.stages[static_cast<std::size_t>(stage)];
        const MemoryEstimate e = estimate_memory(job, stage);
        EXPECT_EQ(s.activations, stage == 0 ? 3_GiB : 1_GiB); // as simulated
        EXPECT_EQ(s.peak - s.activations, e.peak() - e.activations);
        EXPECT_EQ(s.in_flight, e.in_flight);
    }
    EXPECT_EQ(m.peak, std::max(m.stages[0].peak, m.stages[1].peak));
    EXPECT_TRUE(m.fits);
    EXPECT_TRUE(m.nearest_fit.empty());
}

TEST(MemoryVerdict, CapacityIsTheLimit) {
    const Job job = job_of("--pipeline-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 16");
    Gpu gpu = find_gpu("h100-sxm");
    const Memory m = judge_memory(job, gpu, {3_GiB, 1_GiB});
    gpu.memory = m.peak;
    EXPECT_TRUE(judge_memory(job, gpu, {3_GiB, 1_GiB}).fits);
    gpu.memory = m.peak - 1;
    EXPECT_FALSE(judge_memory(job, gpu, {3_GiB, 1_GiB}).fits);
}

// Whatever change is named, the job with it fits when it is simulated again.
TEST(MemoryVerdict, TheNearestChangeReallyFits) {
    const std::vector<std::string> jobs = {
        "--micro-batch-size 1 --global-batch-size 8", "--micro-batch-size 4 --global-batch-size 32",
        "--tensor-model-parallel-size 4 --micro-batch-size 4 --global-batch-size 32",
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --micro-batch-size 2 "
        "--global-batch-size 32",
        "--pipeline-model-parallel-size 4 --micro-batch-size 2 --global-batch-size 32"};
    int named = 0;
    std::set<std::string> different;
    for (const std::string& flags : jobs) {
        const Bytes peak = memory_of(flags, 1024_GiB).peak;
        for (const double share : {0.98, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4}) {
            const auto capacity = static_cast<Bytes>(share * static_cast<double>(peak));
            const Memory m = memory_of(flags, capacity);
            EXPECT_FALSE(m.fits);
            ASSERT_FALSE(m.nearest_fit.empty());
            if (!m.nearest_fit.starts_with("--"))
                continue; // says that nothing is enough
            ++named;
            different.insert(m.nearest_fit);
            const Memory changed = memory_of(flags + " " + m.nearest_fit, capacity);
            EXPECT_TRUE(changed.fits) << flags << " at " << share << ": " << m.nearest_fit << ", peak "
                                      << changed.peak << " of " << capacity;
        }
    }
    EXPECT_GE(named, 15);
    EXPECT_GE(different.size(), 4U);
}

TEST(MemoryVerdict, SaysWhenNothingIsEnough) {
    const Memory m = memory_of("--micro-batch-size 1 --global-batch-size 8", 4_GiB);
    EXPECT_FALSE(m.fits);
    EXPECT_NE(m.nearest_fit.find("more GPUs"), std::string::npos) << m.nearest_fit;
}

} // namespace
} // namespace echosim
