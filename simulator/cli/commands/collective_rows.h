// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/commands/collective_input.h"
#include "simulator/cli/commands/collective_measured.h"

#include <optional>
#include <string>
#include <vector>

// The figures of `echosim collective`, before anything is written.
namespace echosim {

struct CollectiveRow {
    Bytes bytes = 0; // as nccl-tests rounds what was asked for
    Bytes count = 0; // elements, as nccl-tests counts them
    CollectiveExplanation out_of_place, in_place;
    MeasuredTimes measured;
};

// A size from which NCCL runs something else, and the times just below and there.
struct SwitchPoint {
    Bytes at = 0;
    Bytes below = 0; // the largest size before it
    CommCost before, after;
};

struct CollectiveReport {
    CollectiveRequest request;
    std::vector<CollectiveRow> rows;
    std::vector<SwitchPoint> switches; // with --explain and --plot
    std::string measured_file;
    double average_busbw = 0; // GB/s, over both columns, as nccl-tests averages
};

// The size and element count that nccl-tests runs when it is asked for `bytes`: whole elements; for kinds
// that split the buffer among the ranks whole elements of each, and parts of 16 bytes.
Bytes nccl_tests_count(CollectiveKind kind, DType dtype, int ranks, Bytes bytes);
Bytes nccl_tests_bytes(CollectiveKind kind, DType dtype, int ranks, Bytes count);

// One message of the request.
Collective call_of(const CollectiveRequest& request, Bytes bytes, bool in_place);

std::vector<CollectiveRow> collective_rows(const NcclModel& model, const CollectiveRequest& request,
                                           const Measurements& measured);

// Every change of algorithm or protocol between two sizes, found to the last size that nccl-tests can run.
std::vector<SwitchPoint> find_switches(const NcclModel& model, const CollectiveRequest& request, Bytes from,
                                       Bytes to);

// GB/s; 0 where there is no time.
double algorithm_bandwidth(Bytes bytes, Seconds time);
// busbw of a measured or modelled time.
double bus_bandwidth(const CollectiveRequest& request, Bytes bytes, Seconds time);
// Predicted against measured, percent.
double error_percent(Seconds predicted, double measured_us);

// "Ring", "NVLSTree", "P2P", as NCCL names them.
std::string_view nccl_name(Algorithm algorithm);
std::string choice_name(Algorithm algorithm, Protocol protocol); // "Tree LL128"

} // namespace echosim
