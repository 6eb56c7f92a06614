// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"
#include "simulator/workload/megatron_args.h"

#include <string>
#include <vector>

namespace echosim {

// One measured training step, and what to simulate for it. The schema is that of published step tables: an
// array of objects with model, hardware, layout and measurement fields (docs/validation.md lists them).
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

// Throws InputError (file, row, field) when the file is not an array of such rows.
std::vector<StepRow> read_step_rows(const std::string& path);

} // namespace echosim
