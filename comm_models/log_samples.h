// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/calibrate.h"
#include "comm_models/nccl_tests_log.h"

#include <string>
#include <vector>

// From the tables of an nccl-tests log to samples of the fit, and what had to be assumed on the way.
namespace echosim::nccl {

struct LogSettings {
    Cluster cluster;
    int gpus = 0;     // ranks of the run; 0 = as the log says
    std::string nccl; // version; empty = as the log says, else the cluster's
};

struct LogSamples {
    std::vector<std::string> outliers; // rows that are left out of the fit as warm-up or noise
    std::vector<std::string> notes;    // what was assumed, what the log contradicts, tables without use
    int tables = 0;                    // that gave samples
    std::vector<std::string> names;    // of these, "nccl.log:14", one for each cluster of the data
};

// NCCL of runs whose source does not state it: a release of the years in which GPUs of this architecture were
// new, because that is when most of what is published about them was measured. An assumption.
std::string_view likely_nccl(Arch arch);

// NCCL of a log: what it prints, else the cluster's, else an assumption. Empty = the newest.
struct LogVersion {
    std::string nccl;
    std::string assumed; // why, in words; empty when it is stated
};
LogVersion version_of_log(const NcclTestsTable& table, const Cluster& cluster);

// "half", "bfloat16", "f8e4m3", ... as nccl-tests prints element types.
DType element_type(std::string_view name);

// Whether "NVIDIA H100 80GB HBM3", as nccl-tests prints it, can be the catalogue's "h100-sxm".
bool names_gpu(std::string_view printed, std::string_view catalogue_name);

// A row of a table that takes more than 1.5 times as long as a larger message of the same table. Switches
// between algorithms and protocols cost at most a quarter in published tables.
std::vector<bool> warm_up_rows(const std::vector<NcclTestsRow>& rows);

// Out-of-place times where the table has them, else in-place ones; every table has the same weight. `name` is
// the file. The cluster of a table is added to data.clusters.
void add_samples(const NcclTestsTable& table, const std::string& name, const LogSettings& settings,
                 CalibrationData& data, LogSamples& result);

} // namespace echosim::nccl
