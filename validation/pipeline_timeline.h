// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"
#include "simulator/workload/schedule.h"

#include <optional>
#include <string>
#include <vector>

// Measured timelines of a 1F1B pipeline: a folder with one file a stage.
//
//   config.json        {"pp_size": 8, "num_mbs": 16, ...}: stages and micro-batches. vp_size, if stated, must
//                      be 1 (an entry of an interleaved run does not say which chunk it belongs to);
//                      world_size, if stated, must be dp_size x tp_size x pp_size (1 where not stated);
//                      train_iters, if stated, is compared with the files. Other keys are ignored
//   pp_rank_N.json     of stage N, by iteration (keys "1", "2", ...), times in milliseconds:
//                      {"fwd_start": [...], "fwd_end": [...], "bwd_start": [...], "bwd_end": [...],
//                       "total": end of the iteration}
//                      each list has an entry a micro-batch; `total` may be absent; other keys are ignored
//
// The times of a file count from the begin of the iteration on that rank; the clocks of two ranks need not
// agree (pipeline_timeline_fit.h puts them on one). Checked are equal lengths, finite numbers, durations that
// are not negative, and the order of 1F1B (the next op of a stage does not start before the one before it
// ends).
namespace echosim {

struct TimedOp {
    TimeNs start = 0;
    TimeNs end = 0;
    TimeNs duration() const { return end - start; }
};

// One iteration of one stage; ops by micro-batch.
struct StageIteration {
    std::vector<TimedOp> forward;
    std::vector<TimedOp> backward;
    std::optional<TimeNs> total;
    TimeNs first_start() const { return forward.front().start; }
    TimeNs last_end() const { return backward.back().end; }
    // forward or backward of the step
    const TimedOp& op(const ScheduleStep& step) const;
};

struct PipelineTimeline {
    std::string folder;
    int stages = 1;
    int microbatches = 1;
    std::vector<int> iterations;                    // as the files number them, ascending
    std::vector<std::vector<StageIteration>> times; // [iteration][stage]
    std::vector<std::string> notes;                 // where the files contradict config.json without harm
};

// Whether the folder has a file of a stage.
bool is_pipeline_timeline(const std::string& folder);

// Throws InputError with file, field and what was read.
PipelineTimeline read_pipeline_timeline(const std::string& folder);

// What Megatron-LM's 1F1B does on this stage.
PipelineSchedule schedule_of(const PipelineTimeline& timeline, int stage);

} // namespace echosim
