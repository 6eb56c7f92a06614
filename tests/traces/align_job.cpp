// SPDX-License-Identifier: Apache-2.0
#include "tests/traces/align_job.h"

#include <algorithm>
#include <random>

namespace echosim {
namespace {

struct Times {
    std::vector<TimeNs> end; // of each collective
};

// Collectives a millisecond apart, give or take; every eighth closes a step, after which 3 ms pass.
Times times_of(const JobRecording& job, std::mt19937& random) {
    std::uniform_int_distribution<TimeNs> jitter(-job.step_jitter, job.step_jitter);
    Times times;
    TimeNs now = 10'000'000;
    for (int i = 0; i < job.collectives; ++i) {
        now += 1'000'000 + (i % 8 == 0 ? 3'000'000 : 0) + jitter(random);
        times.end.push_back(now);
    }
    return times;
}

template <class T> T at_or(const std::vector<T>& values, int i, T otherwise) {
    return values.empty() ? otherwise : values.at(static_cast<std::size_t>(i));
}

} // namespace

Trace record_job(const JobRecording& job) {
    std::mt19937 random(job.seed);
    std::uniform_int_distribution<TimeNs> jitter(-job.jitter / 2, job.jitter / 2);
    std::uniform_int_distribution<TimeNs> duration(100'000, 600'000);
    const int group = job.group > 0 ? job.group : job.ranks;
    TraceBuilder builder;
    Times times;
    for (int rank = 0; rank < job.ranks; ++rank) {
        if (rank % group == 0) {
            times = times_of(job, random);
        }
        const std::uint32_t cls = builder.add_class("rank " + std::to_string(rank), -1, {rank});
        const std::uint32_t stream = builder.add_stream(cls, StreamKind::comm, "stream 7");
        builder.set_origin(stream, rank, 7);
        std::vector<int> members;
        for (int member = 0; member < group; ++member) {
            members.push_back(rank / group * group + member);
        }
        const std::uint32_t row =
            job.communicator ? builder.add_communicator({builder.name("0"), kNoName, compact_ranks(members)})
                             : kNoRow;
        for (int i = at_or(job.first, rank, 0); i < at_or(job.last, rank, job.collectives); ++i) {
            CommOp op;
            op.kind = job.kind;
            op.communicator = row;
            op.sequence = job.sequence ? static_cast<std::uint64_t>(i) + 1 : 0;
            const TimeNs end = times.end.at(static_cast<std::size_t>(i)) + jitter(random);
            const TimeNs length = duration(random);
            builder.add_event(stream, {.start = end - length + at_or<TimeNs>(job.offsets, rank, 0),
                                       .duration = length,
                                       .name = builder.name("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
                                       .kind = EventKind::comm,
                                       .ext = builder.add_comm_op(op)});
        }
    }
    return builder.finish();
}

} // namespace echosim
