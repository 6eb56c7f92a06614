// SPDX-License-Identifier: Apache-2.0
#include "validation/pipeline_timeline_graph.h"
#include "validation/replay_report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace echosim {
namespace {

// One op in both timelines, times from the first op of the pipeline.
struct ComparedOp {
    ScheduleStep::Kind kind = ScheduleStep::Kind::forward;
    int microbatch = 0;
    TimedOp measured, predicted;
    TimeNs error() const { return predicted.start - measured.start; }
};

struct ComparedStage {
    std::vector<ComparedOp> ops; // in order of the schedule
    TimeNs busy = 0;
    TimeNs span(TimedOp ComparedOp::*which) const {
        return (ops.back().*which).end - (ops.front().*which).start;
    }
    double idle(TimedOp ComparedOp::*which) const {
        const TimeNs whole = span(which);
        return whole > 0 ? 1 - static_cast<double>(busy) / static_cast<double>(whole) : 0;
    }
};

struct ComparedIteration {
    std::vector<ComparedStage> stages;
    TimeNs largest_offset = 0; // of the clocks
    TimeNs makespan(TimedOp ComparedOp::*which) const {
        TimeNs begin = (stages[0].ops.front().*which).start, end = begin;
        for (const ComparedStage& stage : stages) {
            begin = std::min(begin, (stage.ops.front().*which).start);
            end = std::max(end, (stage.ops.back().*which).end);
        }
        return end - begin;
    }
};

// Measured times on one clock, from the start of the first op.
std::vector<StageIteration> aligned(const PipelineTimeline& timeline, std::size_t iteration,
                                    const std::vector<TimeNs>& offsets) {
    std::vector<StageIteration> stages = timeline.times[iteration];
    TimeNs begin = stages[0].first_start();
    for (std::size_t s = 0; s < stages.size(); ++s)
        begin = std::min(begin, stages[s].first_start() - offsets[s]);
    for (std::size_t s = 0; s < stages.size(); ++s)
        for (auto* ops : {&stages[s].forward, &stages[s].backward})
            for (TimedOp& op : *ops) {
                op.start -= begin + offsets[s];
                op.end -= begin + offsets[s];
            }
    return stages;
}

ComparedIteration compare(const PipelineTimeline& timeline, std::size_t iteration,
                          const PipelineConstants& constants, SendMode sends) {
    const std::vector<TimeNs> offsets = clock_offsets(timeline, iteration);
    const std::vector<StageIteration> measured = aligned(timeline, iteration, offsets);
    const std::vector<PredictedStage> predicted = replay_iteration(timeline, iteration, constants, sends);
    ComparedIteration result;
    for (const TimeNs offset : offsets)
        result.largest_offset = std::max(result.largest_offset, std::abs(offset));
    for (std::size_t s = 0; s < measured.size(); ++s) {
        ComparedStage& stage = result.stages.emplace_back();
        for (const ScheduleStep& step : schedule_of(timeline, static_cast<int>(s)).steps) {
            if (step.kind == ScheduleStep::Kind::exchange)
                continue;
            stage.ops.push_back({step.kind, step.microbatch, measured[s].op(step), predicted[s].op(step)});
            stage.busy += measured[s].op(step).duration();
        }
    }
    return result;
}

double mean_start_error(const PipelineTimeline& timeline, const std::vector<std::size_t>& iterations,
                        const PipelineConstants& constants, SendMode sends) {
    double sum = 0, count = 0;
    for (const std::size_t iteration : iterations)
        for (const ComparedStage& stage : compare(timeline, iteration, constants, sends).stages)
            for (const ComparedOp& op : stage.ops) {
                sum += std::abs(static_cast<double>(op.error()));
                ++count;
            }
    return sum / count;
}

struct ChosenSends {
    SendMode mode = SendMode::rendezvous;
    std::string note;
};

ChosenSends choose_sends(const PipelineTimeline& timeline, const std::vector<std::size_t>& iterations,
                         const PipelineConstants& constants) {
    if (timeline.stages == 1)
        return {};
    const double rendezvous = mean_start_error(timeline, iterations, constants, SendMode::rendezvous);
    const double eager = mean_start_error(timeline, iterations, constants, SendMode::eager);
    const bool is_eager = eager < rendezvous;
    const auto text = [&](const char* chosen, const char* other) {
        return fmt::format(
            "{}: starts of the fitted iterations are {:.3f} ms off on average, {:.3f} ms if {}", chosen,
            std::min(eager, rendezvous) * 1e-6, std::max(eager, rendezvous) * 1e-6, other);
    };
    if (is_eager)
        return {SendMode::eager, text("sends are done without their receiver", "they waited for it")};
    if (rendezvous < eager)
        return {SendMode::rendezvous, text("sends wait for their receiver", "they did not")};
    return {SendMode::rendezvous, "whether sends wait for their receiver makes no difference here"};
}

// The sums of one stage over the iterations that count.
struct StageSum {
    ReplayRank rank;
    std::vector<TimeNs> errors; // absolute
    double error_sum = 0;
    int iterations = 0;

    void add(const ComparedStage& stage) {
        ++iterations;
        rank.span_measured += to_seconds(stage.span(&ComparedOp::measured));
        rank.span_predicted += to_seconds(stage.span(&ComparedOp::predicted));
        rank.busy_measured += to_seconds(stage.busy);
        const double measured = stage.idle(&ComparedOp::measured),
                     predicted = stage.idle(&ComparedOp::predicted);
        rank.idle_measured += measured;
        rank.idle_predicted += predicted;
        const double points = 100 * (predicted - measured);
        if (std::abs(points) >= std::abs(rank.idle_worst_points.value_or(0)))
            rank.idle_worst_points = points;
        for (const ComparedOp& op : stage.ops) {
            errors.push_back(std::abs(op.error()));
            error_sum += to_seconds(op.error());
        }
    }
    ReplayRank finish(std::size_t stage) {
        rank.name = fmt::format("rank {}", stage);
        for (double* sum : {&rank.span_measured, &rank.span_predicted, &rank.busy_measured,
                            &rank.idle_measured, &rank.idle_predicted})
            *sum /= iterations;
        rank.busy_predicted = rank.busy_measured; // durations are given
        rank.ops = errors.size();
        rank.start_mean = error_sum / static_cast<double>(errors.size());
        rank.start_median = to_seconds(quantile(errors, 0.5));
        rank.start_p95 = to_seconds(quantile(errors, 0.95));
        rank.start_worst = to_seconds(quantile(std::move(errors), 1));
        return std::move(rank);
    }
};

// Keeps the ops that start farthest off.
void add_worst(std::vector<ReplayOp>& worst, int iteration, std::size_t stage,
               const ComparedStage& compared) {
    const auto off = [](const ReplayOp& op) { return std::abs(op.predicted - op.measured); };
    for (const ComparedOp& op : compared.ops) {
        if (op.error() == 0)
            continue;
        const ReplayOp candidate{fmt::format("{} of micro-batch {}, iteration {}",
                                             op.kind == ScheduleStep::Kind::forward ? "forward" : "backward",
                                             op.microbatch, iteration),
                                 fmt::format("rank {}", stage), to_seconds(op.measured.start),
                                 to_seconds(op.predicted.start)};
        const auto place =
            std::ranges::find_if(worst, [&](const ReplayOp& w) { return off(w) < off(candidate); });
        worst.insert(place, candidate);
        if (worst.size() > kWorstOps)
            worst.pop_back();
    }
}

ValidationRow row_of(const ComparedIteration& compared, int iteration, bool fitted) {
    ValidationRow row;
    row.id = fmt::format("iteration {}", iteration);
    row.measured = to_seconds(compared.makespan(&ComparedOp::measured));
    row.predicted = to_seconds(compared.makespan(&ComparedOp::predicted));
    if (row.measured > 0)
        row.error_percent = 100 * (*row.predicted - row.measured) / row.measured;
    else
        row.skipped = "the measured makespan is zero";
    row.groups["constants"] = fitted ? "fitted" : "held out";
    return row;
}

// Measured only.
ValidationRow warm_up(ValidationRow row) {
    row.predicted = row.error_percent = std::nullopt;
    row.skipped = "the first iteration is warm-up";
    row.groups.clear();
    return row;
}

std::string tail_note(const PipelineTimeline& timeline) {
    std::vector<TimeNs> tails;
    for (std::size_t i = 1; i < timeline.iterations.size(); ++i)
        for (const StageIteration& stage : timeline.times[i])
            if (stage.total)
                tails.push_back(*stage.total - stage.last_end());
    if (tails.empty())
        return "the files do not say what follows the last backward";
    return fmt::format(
        "what follows the last backward (median {:.2f} ms, largest {:.2f} ms a rank) is not part "
        "of the replay",
        static_cast<double>(quantile(tails, 0.5)) * 1e-6, static_cast<double>(quantile(tails, 1)) * 1e-6);
}

void describe(ReplayReport& report, const PipelineTimeline& timeline, const PipelineConstants& constants,
              TimeNs largest_offset) {
    const std::size_t replayed = timeline.iterations.size() - 1;
    report.what = fmt::format("1F1B pipeline of {} stage{}, {} micro-batches, {} iteration{}",
                              timeline.stages, timeline.stages == 1 ? "" : "s", timeline.microbatches,
                              replayed, replayed == 1 ? "" : "s");
    report.constants = {
        {"transfer", to_seconds(constants.transfer),
         "from the end of an op to the start of the op that waits"},
        {"forward_backward_gap", to_seconds(constants.forward_backward_gap), "no transfer between"},
        {"backward_forward_gap", to_seconds(constants.backward_forward_gap), "no transfer between"}};
    report.notes.push_back("given: the durations of forwards and backwards; predicted: their starts");
    if (timeline.stages > 1)
        report.notes.push_back(
            fmt::format("clocks are up to {:.3f} ms apart; aligned by the transfers in both "
                        "directions, for each iteration",
                        static_cast<double>(largest_offset) * 1e-6));
    report.notes.push_back(tail_note(timeline));
    report.notes.insert(report.notes.end(), timeline.notes.begin(), timeline.notes.end());
}

// The 2nd, 4th, ... of all.
std::vector<std::size_t> fitted_iterations(const PipelineTimeline& timeline) {
    std::vector<std::size_t> fitted;
    for (std::size_t i = 1; i < timeline.iterations.size(); i += 2)
        fitted.push_back(i);
    return fitted;
}

} // namespace

ReplayReport replay_pipeline(const std::string& folder) {
    const PipelineTimeline timeline = read_pipeline_timeline(folder);
    if (timeline.iterations.size() < 2)
        throw InputError(folder, "has one iteration, which counts as warm-up", "two or more are needed");
    const std::vector<std::size_t> fitted = fitted_iterations(timeline);
    const PipelineConstants constants = fit_constants(timeline, fitted);
    const ChosenSends sends = choose_sends(timeline, fitted, constants);
    ReplayReport report;
    report.path = folder;
    report.validation.kind = "replay";
    report.validation.rows.push_back(
        warm_up(row_of(compare(timeline, 0, constants, sends.mode), timeline.iterations[0], false)));
    std::vector<StageSum> sums(static_cast<std::size_t>(timeline.stages));
    TimeNs largest_offset = 0;
    for (std::size_t i = 1; i < timeline.iterations.size(); ++i) {
        const ComparedIteration compared = compare(timeline, i, constants, sends.mode);
        report.validation.rows.push_back(row_of(compared, timeline.iterations[i], i % 2 == 1));
        for (std::size_t s = 0; s < compared.stages.size(); ++s) {
            sums[s].add(compared.stages[s]);
            add_worst(report.worst, timeline.iterations[i], s, compared.stages[s]);
        }
        largest_offset = std::max(largest_offset, compared.largest_offset);
    }
    for (std::size_t s = 0; s < sums.size(); ++s)
        report.ranks.push_back(sums[s].finish(s));
    describe(report, timeline, constants, largest_offset);
    if (!sends.note.empty())
        report.notes.push_back(sends.note);
    return report;
}

} // namespace echosim
