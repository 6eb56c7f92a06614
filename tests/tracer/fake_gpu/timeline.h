// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tests/tracer/fake_gpu/fake_gpu.h"
#include "tracer/interference_bench/device_kernels.h"

#include <deque>
#include <vector>

namespace echosim::fake {

struct Task {
    enum class Kind : std::uint8_t { gate, stamp, kernel, comm } kind = Kind::kernel;
    double work = 0; // ns alone
    int ctas = 0;
    unsigned long long* slots = nullptr; // where it stamps itself
    GateArguments gate{};
    unsigned long long* to = nullptr; // of a stamp
    LibraryKernel launched{};
    double left = 0;
    TimeNs begun = -1;
};

struct FakeStream {
    int gpu = 0;
    bool capturing = false;
    TimeNs ready = 0; // the next task may begin
    std::deque<Task> tasks;
    std::vector<LibraryKernel> captured;
};

// Runs all that is queued on the streams, from `now` on, and returns the time of the last event. Tasks of
// other GPUs than the first are forgotten.
TimeNs run_timeline(const std::vector<FakeStream*>& streams, TimeNs now, const Settings& settings);

} // namespace echosim::fake
