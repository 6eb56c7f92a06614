// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <vector>

namespace echosim {

// What an import could not know goes with its trace: the key "import" of Trace::meta holds the notes and how
// the clocks of the ranks were told.
//
//     "import": {"notes": ["..."], "alignment": {"trusted": false, "applied": false, "reason": "...",
//                "ranks": [{"rank": 0, "offset_ns": 0, "residual_ns": 0, "p95_ns": 0, "collectives": 8}]}}
void keep_notes(Imported& imported);

// The notes of the import that `imported` was written by, into its report; nothing where there are none, or
// none that can be read. The ranks of the alignment only if they are those of the trace.
void recall_notes(Imported& imported);

// Files that are written of one trace, a rank each, share its clock whatever their collectives say: the key
// "one_clock" of their meta is the same in all, and in those of no other trace. Nothing for a meta that is no
// JSON object.
void mark_one_clock(Trace& trace);

// Takes the mark off. True: there are several recordings, and all of them have the same mark.
bool take_one_clock(std::vector<Imported>& recordings);

} // namespace echosim
