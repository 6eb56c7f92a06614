// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"
#include "traces/trace.h"
#include "validation/accuracy.h"
#include "validation/replay.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

// What a replay found, the same for measured pipelines and recorded traces.
//
//   row          makespan of an iteration (pipeline), or span of the recording (trace; those of single ranks
//                are apart), in seconds
//   busy         time in which a rank computes (pipeline) or runs device work (trace)
//   idle share   1 - busy / span of the rank, which is from the start of its first to the end of its last op
//   start error  predicted - measured start of an op, both counted from the first op of the iteration or
//                recording
namespace echosim {

struct ReplayRank {
    std::string name;
    Seconds span_measured = 0, span_predicted = 0; // means over the iterations, likewise the next four
    Seconds busy_measured = 0, busy_predicted = 0;
    double idle_measured = 0, idle_predicted = 0; // shares
    std::optional<double> idle_worst_points;      // largest difference in one iteration
    std::uint64_t ops = 0;
    std::optional<Seconds> start_mean; // with its sign; the others are of the absolute error
    Seconds start_median = 0, start_p95 = 0, start_worst = 0;
};

struct ReplayOp {
    std::string id, rank;
    Seconds measured = 0, predicted = 0; // starts
};

// A number that was taken from the recording besides the durations.
struct ReplayConstant {
    std::string name;
    Seconds value = 0;
    std::string meaning;
};

struct ReplayReport {
    ValidationReport validation; // kind "replay"
    std::string path, what;      // "1F1B pipeline of 8 stages, 16 micro-batches, 20 iterations"
    std::vector<ReplayConstant> constants;
    std::vector<ReplayRank> ranks;
    std::vector<ReplayOp> worst; // the ops that start farthest off
    std::vector<std::string> notes;
};

constexpr std::size_t kWorstOps = 5;

// A folder of measured pipeline timelines (pipeline_timeline.h). The first iteration is warm-up and skipped;
// the constants are fitted on the 2nd, 4th, ... iteration, the others are held out (group "constants"). How
// sends behave is chosen on the same iterations, by the mean absolute start error. Throws InputError.
ReplayReport replay_pipeline(const std::string& folder);

// A recorded trace that was replayed (replay.h).
ReplayReport replay_report_of(const Trace& trace, const ReplayComparison& comparison, std::string path);

nlohmann::ordered_json replay_to_json(const ReplayReport& report); // schema echosim.validate/1
std::string replay_text(const ReplayReport& report);

} // namespace echosim
