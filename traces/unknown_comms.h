// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

namespace echosim {

// Notes how many communication events have a collective or a data type that the files do not tell. It is a
// note and no warning: NCCL has one kernel for data of every type, RCCL one for every collective.
void note_unknown_communication(const Trace& trace, ImportReport& report);

} // namespace echosim
