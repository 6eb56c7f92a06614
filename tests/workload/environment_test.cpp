// SPDX-License-Identifier: Apache-2.0
#include "tests/workload/job_texts.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using test::small_model;
using test::source_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Job job_with(const std::string& flags, const std::string& connections) {
    JobSource source = source_of(small_model() + flags);
    if (!connections.empty())
        source.environment["CUDA_DEVICE_MAX_CONNECTIONS"] = connections;
    return resolve_job(source, {});
}

ResolvedValue value_of(const Job& job, const std::string& key) {
    const auto found = std::ranges::find(job.values, key, &ResolvedValue::key);
    return found == job.values.end() ? ResolvedValue{} : *found;
}

TEST(MaxConnections, WhatTheScriptExportsCounts) {
    const Job job = job_with("--tensor-model-parallel-size 2", "1");
    EXPECT_EQ(max_connections(job, Arch::hopper), 1);
    EXPECT_EQ(max_connections(job, Arch::blackwell), 1);
    EXPECT_EQ(value_of(job, "kernels.max_connections").value, "1");
    EXPECT_EQ(value_of(job, "kernels.max_connections").origin, "test: exports CUDA_DEVICE_MAX_CONNECTIONS");
    EXPECT_EQ(job_to_json(job)["kernels"]["max_connections"], 1);
    EXPECT_THAT(job.warnings, IsEmpty());
}

TEST(MaxConnections, ASilentScriptHasWhatMegatronAsksFor) {
    const Job tensor = job_with("--tensor-model-parallel-size 2", "");
    EXPECT_EQ(max_connections(tensor, Arch::hopper), 1);
    EXPECT_EQ(max_connections(tensor, Arch::blackwell), 8);
    EXPECT_EQ(value_of(tensor, "kernels.max_connections").value, "1, 8 on Blackwell");
    EXPECT_TRUE(job_to_json(tensor)["kernels"]["max_connections"].is_null());
    const Job data = job_with("", "");
    EXPECT_EQ(max_connections(data, Arch::hopper), 8);
    EXPECT_EQ(value_of(data, "kernels.max_connections").origin, "CUDA default");
}

TEST(MaxConnections, OddValuesAreWarnedOf) {
    EXPECT_THAT(job_with("--tensor-model-parallel-size 2", "8").warnings,
                Contains(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS is 8: before Blackwell")));
    for (const char* value : {"0", "33", "many"}) {
        const Job job = job_with("", value);
        EXPECT_THAT(job.warnings, Contains(HasSubstr("CUDA takes 1 to 32"))) << value;
        EXPECT_FALSE(job.kernels.max_connections) << value;
    }
}

TEST(UserBuffers, FollowTensorParallelOverlap) {
    const Job job = job_with("--tensor-model-parallel-size 2 --sequence-parallel --tp-comm-overlap", "1");
    EXPECT_TRUE(job.kernels.tp_user_buffers);
    EXPECT_EQ(value_of(job, "kernels.tp_user_buffers").value, "true");
    EXPECT_EQ(job_to_json(job)["kernels"]["tp_user_buffers"], true);
    EXPECT_FALSE(job_with("--tensor-model-parallel-size 2", "1").kernels.tp_user_buffers);
}

TEST(StreamPriorities, GroupsByTheirNames) {
    const Job job = job_with("--high-priority-stream-groups tp dp_cp ep_dp", "");
    EXPECT_THAT(job.kernels.high_priority_groups,
                ElementsAre(GroupKind::tp, GroupKind::dp_cp, GroupKind::edp));
    EXPECT_EQ(value_of(job, "kernels.high_priority_groups").value, "tp dp_cp ep_dp");
    EXPECT_THAT(job_with("--high-priority-stream-groups world_of_mine", "").warnings,
                Contains(HasSubstr("world_of_mine")));
    EXPECT_THAT(job_with("", "").kernels.high_priority_groups, IsEmpty());
}

} // namespace
} // namespace echosim
