// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace echosim {

enum class TraceFormat : std::uint8_t {
    etr,
    trace_events,  // Kineto, Chrome, Perfetto's JSON
    nsys,          // SQLite export of Nsight Systems
    own_sqlite,    // what write_sqlite writes
    chakra,        // Chakra protobuf or JSON, PyTorch execution traces
    workload_text, // SimAI, ASTRA-sim 1, AICB
    echo_json      // the tracer of the Echo paper
};
std::string_view to_string(TraceFormat value);

// What the file is, by its first 64 KiB (unpacked, where it is gzip); never by its name, but for reports of
// Nsight Systems, whose content is closed. Throws InputError: no format of the list, or one that only its own
// program reads, with the line that converts it.
TraceFormat detect_format(const std::string& path);

} // namespace echosim
