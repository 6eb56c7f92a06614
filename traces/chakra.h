// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <cstddef>
#include <span>
#include <string>

namespace echosim {

// One rank's execution trace: Chakra ET protobuf (.et), Chakra's JSON form, and PyTorch's execution trace
// JSON (schema 1.0.1 to 1.1.x), plain or gzip, told by content. Without times of its own the trace is a graph
// (Trace::timed false): streams keep the order of the program, dependencies are flows. A file that
// write_chakra wrote comes back equal. Throws InputError "FILE:OFFSET" with the byte offset of the message or
// token.
Imported read_chakra(const std::string& path);

// Whether a file that begins with these bytes (not compressed; some kilobytes are enough) is one that
// read_chakra reads. Protobuf has no magic: the messages in `head` must be made of the fields that
// GlobalMetadata and Node have.
bool is_chakra(std::span<const std::byte> head);

// Writes one rank as Chakra ET protobuf, version 0.0.4, that ASTRA-sim runs: a node an event, ids from 0 in
// an order in which every dependency goes backward. All that the schema has no field for lies in attributes
// of our own, so that nothing is lost. Throws InputError when the trace has more than one class.
void write_chakra(const Trace& trace, const std::string& path);

} // namespace echosim
