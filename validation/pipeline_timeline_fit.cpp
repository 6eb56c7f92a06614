// SPDX-License-Identifier: Apache-2.0
#include "validation/pipeline_timeline_fit.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr TimeNs kClockGrain = 2'000; // of single-precision milliseconds

struct Lags {
    TimeNs forward = 0; // smallest
    TimeNs backward = 0;
    TimeNs transfer() const { return (forward + backward) / 2; }
    TimeNs offset() const { return (forward - backward) / 2; }
};

// Between a stage and the next one.
Lags lags_of(const PipelineTimeline& timeline, std::size_t iteration, std::size_t stage) {
    const StageIteration& here = timeline.times[iteration][stage];
    const StageIteration& next = timeline.times[iteration][stage + 1];
    Lags lags{next.forward[0].start - here.forward[0].end, here.backward[0].start - next.backward[0].end};
    for (std::size_t m = 1; m < here.forward.size(); ++m) {
        lags.forward = std::min(lags.forward, next.forward[m].start - here.forward[m].end);
        lags.backward = std::min(lags.backward, here.backward[m].start - next.backward[m].end);
    }
    if (lags.transfer() < -kClockGrain)
        throw InputError(
            fmt::format("{}: iteration {}", timeline.folder, timeline.iterations[iteration]),
            fmt::format("the transfers between stages {} and {} would take {:.3f} ms, whatever their clocks",
                        stage, stage + 1, static_cast<double>(lags.transfer()) * 1e-6),
            "are the files of one run, and their stages in order?");
    return lags;
}

struct Samples {
    std::vector<TimeNs> transfer, forward_backward, backward_forward;
};

void add_gaps(const PipelineTimeline& timeline, std::size_t iteration, int stage, Samples& samples) {
    const PipelineSchedule schedule = schedule_of(timeline, stage);
    const StageIteration& times = timeline.times[iteration][static_cast<std::size_t>(stage)];
    for (std::size_t i = 1; i < schedule.steps.size(); ++i) {
        const ScheduleStep& before = schedule.steps[i - 1];
        const ScheduleStep& step = schedule.steps[i];
        if (before.kind == ScheduleStep::Kind::exchange || step.kind == ScheduleStep::Kind::exchange)
            continue;
        const TimeNs gap = std::max<TimeNs>(0, times.op(step).start - times.op(before).end);
        if (before.kind == ScheduleStep::Kind::forward && step.kind == ScheduleStep::Kind::backward)
            samples.forward_backward.push_back(gap);
        if (before.kind == ScheduleStep::Kind::backward && step.kind == ScheduleStep::Kind::forward)
            samples.backward_forward.push_back(gap);
    }
}

} // namespace

std::vector<TimeNs> clock_offsets(const PipelineTimeline& timeline, std::size_t iteration) {
    std::vector<TimeNs> offsets{0};
    for (std::size_t stage = 0; stage + 1 < static_cast<std::size_t>(timeline.stages); ++stage)
        offsets.push_back(offsets.back() + lags_of(timeline, iteration, stage).offset());
    return offsets;
}

PipelineConstants fit_constants(const PipelineTimeline& timeline,
                                const std::vector<std::size_t>& iterations) {
    Samples samples;
    for (const std::size_t iteration : iterations) {
        for (int stage = 0; stage < timeline.stages; ++stage) {
            add_gaps(timeline, iteration, stage, samples);
            if (stage + 1 < timeline.stages)
                samples.transfer.push_back(std::max<TimeNs>(
                    0, lags_of(timeline, iteration, static_cast<std::size_t>(stage)).transfer()));
        }
    }
    return {.transfer = quantile(std::move(samples.transfer), 0.5),
            .forward_backward_gap = quantile(std::move(samples.forward_backward), 0.5),
            .backward_forward_gap = quantile(std::move(samples.backward_forward), 0.5)};
}

TimeNs quantile(std::vector<TimeNs> values, double share) {
    if (values.empty())
        return 0;
    const double rank = std::ceil(share * static_cast<double>(values.size())); // from 1
    const auto index = static_cast<std::ptrdiff_t>(std::max(1.0, rank)) - 1;
    std::ranges::nth_element(values, values.begin() + index);
    return values[static_cast<std::size_t>(index)];
}

} // namespace echosim
