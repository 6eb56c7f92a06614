// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/estimate.h"

#include <string>
#include <vector>

// Measured pairs: a kernel alone and beside communication. docs/formats.md describes both CSV forms.
namespace echosim {

struct InterferenceSample {
    std::string id;            // "FILE:LINE", or the id column
    std::string kernel_name;   // as recorded
    std::string family;        // kernel_family(kernel_name)
    std::string gpu;           // catalogue id or words of the file; empty: not known
    std::string nccl_version;  // empty: not known
    std::string communication; // configuration in words: "all_reduce 24 CTAs 64 MiB, kernel first"
    KernelFootprint kernel;    // kernel.time = time_alone
    CommLoad load;
    double sms = 108; // of the GPU
    Seconds time_alone = 0;
    Seconds time_overlapped = 0;
    double overlap = 0;               // share of the kernel's time beside communication, 0..1
    Seconds comm_time_alone = 0;      // 0: not known
    Seconds comm_time_overlapped = 0; // 0: not known
    // measured factor of the whole kernel, 1 = no effect
    double factor() const { return time_overlapped / time_alone; }
};

struct InterferenceSamples {
    std::vector<InterferenceSample> samples;
    std::vector<std::string> notes; // what was assumed, and what was left out and why
};

struct Gpu;

// CSV with the columns of Echo-slowdown or with our own (told by the header). `gpu`: what is measured, where
// the file does not say. Throws InputError with up to 20 problems, `where` = "FILE:LINE".
InterferenceSamples read_interference_csv(const std::string& text, const std::string& path,
                                          const Gpu* gpu = nullptr);

} // namespace echosim
