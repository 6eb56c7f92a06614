// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

// Processes and threads of a file of trace events. Events of one thread that overlap without nesting are
// dropped or misplaced by readers of this format: they go to a further thread of the same stream.
namespace echosim {

enum class TraceDialect : std::uint8_t { perfetto, chrome };

struct TraceThread {
    std::uint64_t pid = 0;
    std::uint64_t tid = 0;
};

// Whether the work of the stream is done by a GPU.
bool is_device_stream(const TraceStream& stream);

class TraceThreads {
  public:
    TraceThreads(const Trace& trace, TraceDialect dialect);
    const std::vector<TraceThread>& of_stream(std::size_t stream) const { return threads_[stream]; }
    std::size_t lane(std::size_t stream, std::size_t event) const {
        return lanes_[stream].empty() ? 0 : lanes_[stream][event];
    }
    TraceThread of_event(std::size_t stream, std::size_t event) const {
        return threads_[stream][lane(stream, event)];
    }
    std::uint64_t pid_of_class(std::uint32_t rank_class) const; // for names and counters
    std::uint64_t host_pid() const { return host_pid_; }        // chrome: of the threads of the CPU

  private:
    void number_as_recorded(const Trace& trace, std::size_t stream);
    std::uint64_t free_tid(std::uint64_t pid);

    TraceDialect dialect_;
    std::uint64_t next_tid_ = 0;
    std::uint64_t host_pid_ = 0;
    std::set<std::pair<std::uint64_t, std::uint64_t>> used_;
    std::vector<std::vector<TraceThread>> threads_;
    std::vector<std::vector<std::uint32_t>> lanes_; // of each event; empty: the stream has one thread
};

} // namespace echosim
