// SPDX-License-Identifier: Apache-2.0
#include "interference/kernel_names.h"
#include "interference/samples/forms.h"

#include <algorithm>

// Columns of Echo-slowdown: times in ns, figures of Nsight Compute in percent. Grid, registers, shared memory
// and the communication are not in the file. M = SM; u = DRAM throughput; the occupancy limit gives q for
// blocks of 256 threads (100 % of 2,048 threads: q = 8); achieved over limit bounds G / (q M). The
// communication of that data: all-reduces of 2 MB buckets between two GPUs, c = 2 CTAs and 2.5 x bus
// bandwidth = 7 % of the HBM bandwidth.
namespace echosim {
namespace {

constexpr double kCtas = 2;
constexpr double kHbmShare = 0.07;
constexpr double kBlocksAtFull = 8; // 2,048 threads / 256
constexpr double kMaxNs = 1e15;     // 11 days

InterferenceSample read_echo(CsvValues& values, const Gpu* gpu) {
    const CsvValues::Range time{
        .high = kMaxNs, .above_low = true, .needed = true, .otherwise = 1, .unit = "ns"};
    const CsvValues::Range percent{.high = 100, .needed = true, .unit = "%"};
    InterferenceSample sample;
    sample.id = values.text("id");
    sample.kernel_name = values.text("kShortName");
    if (sample.kernel_name.empty()) {
        values.wrong("kShortName", "is empty; the kernel's name is needed");
    }
    sample.gpu = gpu != nullptr ? gpu->name : std::string();
    sample.communication = "all_reduce, 2 CTAs (assumed)";
    sample.sms = values.number("SM", {.low = 1, .high = 10000, .needed = true, .otherwise = 108});
    sample.time_alone = values.number("ground_truth", time) * 1e-9;
    sample.time_overlapped = values.number("duration", time) * 1e-9;
    sample.overlap = values.number("overlap_ratio", {.needed = true});
    const double achieved = values.number("Achieved occupancy", percent);
    const double limit = values.number(
        "Maximum occupancy", {.high = 100, .above_low = true, .needed = true, .otherwise = 100, .unit = "%"});
    sample.kernel.kernel_class = kernel_class_of(sample.kernel_name);
    sample.kernel.tensor_cores = uses_tensor_cores(sample.kernel_name);
    sample.kernel.yields_sms = is_stream_k(sample.kernel_name);
    sample.kernel.hbm_share = values.number("DRAM throughput", percent) / 100;
    sample.kernel.compute_share = values.number("Compute throughput", percent) / 100;
    sample.kernel.blocks_per_sm = std::max(1.0, kBlocksAtFull * limit / 100);
    sample.kernel.occupancy_ratio = std::min(1.0, achieved / limit);
    sample.load.ctas = kCtas;
    sample.load.hbm_share = kHbmShare;
    return sample;
}

} // namespace

const SamplesForm& echo_form() {
    static const SamplesForm form{
        {{"id"},
         {"kShortName", true},
         {"ground_truth", true},
         {"duration", true},
         {"overlap_ratio", true},
         {"slowdown"},
         {"Compute throughput", true},
         {"SM", true},
         {"Memory throughput"},
         {"DRAM throughput", true},
         {"Achieved occupancy", true},
         {"Maximum occupancy", true},
         {"L1 hit rate"},
         {"L2 hit rate"}},
        read_echo,
        {"the communication is not in the file: all-reduces that hold 2 CTAs and take 7 % of the HBM "
         "bandwidth are assumed",
         "grid, registers and shared memory are not in the file: many waves of blocks are assumed where the "
         "occupancy does not say otherwise"}};
    return form;
}

} // namespace echosim
