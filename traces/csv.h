// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <string>

namespace echosim {

// One row an event, with the names of its class, stream, label and communication spelled out
// (docs/formats.md). RFC 4180: comma, lines end in CR LF, a header first. Whole or not at all.
//
// A text that begins with = + - @, tab or carriage return would be run as a formula by a spreadsheet: it is
// written with an apostrophe in front, and so is a text that begins with an apostrophe. Who reads the file
// takes one leading apostrophe off a text to have it back.
void write_csv(const Trace& trace, const std::string& path);

} // namespace echosim
