// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/device.h"
#include "tracer/interference_bench/timed_op.h"
#include "tracer/interference_bench/timing.h"

#include <optional>

namespace echosim {

// Runs a kernel, a communication or both on the first GPU and returns when each ran, by the GPU's own clock.
//
// One run: the L2 cache is flushed (cold caches, as in training); both streams get a gate, the op and a
// stamp; then the host opens the first gate, and the second opens `head_start` later. So nothing of what the
// host does lies between the stamps, and the order of the two ops is what was asked for.
class Rig {
  public:
    Rig(const GpuFacts& gpu, bool high_priority); // of the communication's stream
    Rig(const Rig&) = delete;
    Rig& operator=(const Rig&) = delete;
    ~Rig();

    struct Run {
        TimedOp* kernel = nullptr; // one of the two may be missing
        TimedOp* comm = nullptr;
        LaunchOrder order = LaunchOrder::comm_first;
        Seconds head_start = 0;
    };
    struct Times {
        Interval kernel, comm;
    };
    Times run(const Run& run);

    TimeNs gap() const { return gap_; } // between an op and the next on a stream, median of 30
    TimeNs step() const { return step_; }

  private:
    struct Lane; // a stream with its op
    void queue_gate(const Lane& lane, bool first, Seconds delay);
    void queue_op(const Lane& lane);
    void prepare_run();
    void finish_run();
    Interval interval_of(const Lane& lane) const;
    unsigned long long* slots_of(int lane) const;
    TimeNs measure_gap();

    Stream compute_stream_, comm_stream_;
    DeviceBuffer flush_, slots_, release_, expired_;
    std::vector<unsigned long long> read_back_;
    volatile unsigned long long* host_ticket_ = nullptr;
    unsigned long long ticket_ = 0;
    TimeNs step_ = 0, gap_ = 0;
};

} // namespace echosim
