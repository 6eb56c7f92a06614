// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/etr.h"
#include "traces/trace.h"

#include <cstddef>
#include <string>
#include <vector>

namespace echosim::test {

// Two pipeline stages of four ranks each; stage 0 has a compute, a tp_comm and a p2p stream, stage 1 a
// compute and a p2p stream; every field of every table is used once or more.
Trace small_trace();

// One rank as an importer leaves it: two threads and four CUDA streams of GPU 1, each kind of event once or
// more, every field and every table in use.
Trace recorded_trace();

// A valid trace whose sizes and values all come from `seed`.
Trace random_trace(unsigned seed);

// One stream of `events` kernels, 10 us apart.
Trace long_trace(std::size_t events);

// The trace line by line, with names and rows of tables spelled out: equal for traces that differ in the
// numbers of rows and names only, in rows that nothing uses, and in empty names.
std::vector<std::string> spelled_out(const Trace& trace);

// A path in the folder of temporary files, unique to the running test.
std::string temporary_path(const std::string& ending);

std::vector<std::byte> read_bytes(const std::string& path);
void write_bytes(const std::string& path, const std::vector<std::byte>& bytes);

// Whether read_etr refuses the bytes with an InputError that names the file. Any other end fails the test.
bool refused(const std::vector<std::byte>& bytes, const std::string& path);

} // namespace echosim::test
