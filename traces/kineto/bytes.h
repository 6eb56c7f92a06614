// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <string>

namespace echosim {

// The text of a trace file from front to end: of a plain file as it stands, of gzip (told by its magic)
// inflated by a thread of its own, a few MiB ahead of the reader.
class TraceBytes {
  public:
    virtual ~TraceBytes() = default;
    // Fills `to` with up to `most` bytes; fewer than asked for only at the end, then 0. Throws InputError
    // "FILE:OFFSET", for gzip with the offset in the compressed file.
    virtual std::size_t read(char* to, std::size_t most) = 0;
};

// Throws InputError for what cannot be opened, is empty, a folder, or by its first bytes another kind of
// file.
std::unique_ptr<TraceBytes> open_trace_bytes(const std::string& path);

} // namespace echosim
