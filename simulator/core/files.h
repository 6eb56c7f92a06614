// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <string>
#include <string_view>

namespace echosim {

constexpr Bytes kMaxTextFile = 64_MiB;

// The content of a text file. Throws InputError that starts with the path when there is no such file, it is a
// folder, cannot be read, is empty, is larger than `max_bytes` or holds NUL bytes (a binary file).
std::string read_text_file(const std::string& path, Bytes max_bytes = kMaxTextFile);

// Writes the file completely or not at all: a temporary file beside it, fsync, rename; the temporary is
// removed when anything fails. Follows symbolic links, keeps the mode of a file that it replaces, and writes
// straight to what is not a regular file (/dev/stdout, a pipe). Throws InputError when the folder is missing
// or not writable, or the disk full.
void write_file_atomically(const std::string& path, std::string_view content);

} // namespace echosim
