// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/chrome_json/threads.h"
#include "traces/trace.h"

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace echosim {

// Microseconds with exactly three decimals: whole nanoseconds, nothing is rounded.
void put_json_time(fmt::memory_buffer& out, std::string_view key, TimeNs ns);

// Writes what stands in the "args" of an event, by the tables of docs/formats.md.
class TraceEventArgs {
  public:
    TraceEventArgs(const Trace& trace, TraceDialect dialect);
    // JSON text of a name, "" for none.
    std::string_view name(NameId id) const {
        return id == kNoName ? std::string_view("\"\"") : names_[id.value];
    }
    void put(fmt::memory_buffer& out, const TraceStream& stream, const Event& event);
    // What `name` of the event has to be for readers that tell kinds by it; empty: it is as it is.
    std::string reader_name(const Event& event) const;

  private:
    // How the recorder's object can be written.
    struct Recorded {
        bool known = false;
        bool object = false;        // else a string
        bool members = false;       // its members can stand among ours, but for ...
        std::uint16_t reserved = 0; // ... kinds (bits) for which a key is one of ours
    };
    void put_row(fmt::memory_buffer& out, const Event& event);
    void put_comm(fmt::memory_buffer& out, const CommOp& op);
    void put_group(fmt::memory_buffer& out, const CommOp& op);
    void put_sync(fmt::memory_buffer& out, const SyncOp& op);
    void put_recorded(fmt::memory_buffer& out, NameId args, EventKind kind);
    const Recorded& recorded(NameId args);

    const Trace& trace_;
    TraceDialect dialect_;
    std::vector<std::string> names_;  // JSON text of each string
    std::vector<std::string> labels_; // members of each label, a comma behind each
    std::vector<std::string> groups_; // members that describe each communicator, likewise (chrome)
    std::vector<Recorded> recorded_;
};

} // namespace echosim
