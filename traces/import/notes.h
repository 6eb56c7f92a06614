// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

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

} // namespace echosim
