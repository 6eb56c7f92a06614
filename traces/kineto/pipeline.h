// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/kineto/scan.h"
#include "traces/kineto/table.h"

#include <string>

namespace echosim {

// Parses all pieces of a trace on several threads while the caller's thread reads, cuts and joins. The result
// does not depend on their number. Throws the first error in the order of the file. `own`: whether we wrote
// the file, as far as the text in front of the events tells.
struct ParsedTrace {
    KinetoTable table;
    bool own = false;
};
ParsedTrace parse_pieces(TraceScanner& scanner, const std::string& path, bool assume_own, unsigned threads);

} // namespace echosim
