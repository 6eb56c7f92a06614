// SPDX-License-Identifier: Apache-2.0
#include "traces/unknown_comms.h"

namespace echosim {

void note_unknown_communication(const Trace& trace, ImportReport& report) {
    std::uint64_t all = 0;
    std::uint64_t kinds = 0;
    std::uint64_t types = 0;
    for (const TraceStream& stream : trace.streams) {
        for (std::size_t i = 0; i < stream.events.size(); ++i) {
            if (stream.events.kind[i] == EventKind::comm && stream.events.ext[i] != kNoRow) {
                const CommOp& op = trace.comm_ops.at(stream.events.ext[i]);
                ++all;
                kinds += op.kind == kNoCollective ? 1U : 0U;
                types += op.dtype == kNoDType ? 1U : 0U;
            }
        }
    }
    if (kinds > 0) {
        report.note_counts("the collective of {} of {} communication events is not in the files",
                           {kinds, all});
    }
    if (types > 0) {
        report.note_counts("the data type of {} of {} communication events is not in the files, or none that "
                           "echosim has",
                           {types, all});
    }
}

} // namespace echosim
