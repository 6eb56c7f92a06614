// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"
#include "simulator/workload/megatron_args.h"

#include <string>
#include <vector>

namespace echosim {

// One measured training step, and what to simulate for it. Two schemas are read, both an array of objects
// with model, hardware, layout and measurement (docs/validation.md lists the fields): published step tables,
// and the runs of Megatron-LM's own CI, whose rows have "test_case" and "args" (ci_rows.h).
struct StepRow {
    std::string id, source, gpu, model, software, recompute, precision, confidence;
    int gpus = 0, tp = 1, pp = 1;
    double measured_s = 0;
    JobSource job; // the row as Megatron flags
    ResolveOptions options;
    Cluster cluster;                // built from the row's own hardware fields
    std::string skipped;            // why it cannot be simulated; empty otherwise
    std::vector<std::string> notes; // assumptions made for fields that the source does not state
};

// Reads every row, also those that cannot be simulated (`skipped`). Throws InputError with all problems
// (file, row, id, field; the first kMaxRowProblems of them) when the file is not an array of such rows.
std::vector<StepRow> read_step_rows(const std::string& path);

constexpr int kMaxRowProblems = 20;

// Bounds of a believable step time; anything else is no measurement of a training step.
constexpr double kMinStepSeconds = 1e-6;
constexpr double kMaxStepSeconds = 1e7;

} // namespace echosim
