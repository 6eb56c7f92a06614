// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/chrome_json/args.h"
#include "traces/chrome_json/threads.h"
#include "traces/trace.h"

#include <fmt/format.h>
#include <functional>
#include <string_view>

namespace echosim {

using TextSink = std::function<void(std::string_view)>;

// Writes one file of trace events, piece by piece. The trace is consistent (check_trace).
class TraceEventWriter {
  public:
    TraceEventWriter(const Trace& trace, TraceDialect dialect, const TextSink& sink);
    void write();

  private:
    void begin_event();
    void flush();
    void put_metadata(const TraceThread& thread, std::string_view name, std::string_view args);
    void put_processes();
    void put_process(const TraceThread& thread, std::string_view name, std::size_t position);
    void put_recorded_processes();
    void put_thread_names(std::size_t stream);
    void put_stream(std::size_t stream);
    void put_event(const TraceStream& stream, const Event& event, const TraceThread& thread);
    void put_category(const TraceStream& stream, const Event& event);
    void put_flow(std::size_t row);
    void put_arrow(Flow flow, std::size_t id, std::string_view args);
    void put_flow_end(std::string_view head, std::uint64_t ref, TimeNs time, FlowKind kind);
    void put_call_arrows();
    void put_counter(std::size_t row);
    TimeNs start_of(std::uint64_t ref) const;
    TimeNs inside(std::uint64_t ref, TimeNs time) const;

    const Trace& trace_;
    TraceDialect dialect_;
    const TextSink& sink_;
    TraceThreads threads_;
    TraceEventArgs args_;
    fmt::memory_buffer buffer_;
    bool first_ = true;
};

} // namespace echosim
