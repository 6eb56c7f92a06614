// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <optional>
#include <string_view>

namespace echosim {

// What a call of the CUDA or HIP runtime or driver synchronises, by its name in any of its versions:
// cudaStreamWaitEvent, cuEventRecord, hipDeviceSynchronize, cudaEventRecordWithFlags_v11010 ...; empty:
// nothing. Also the names that Kineto gives to records of synchronisation ("Stream Wait Event").
std::optional<SyncKind> sync_of_call(std::string_view name);

// "Memcpy HtoD (Pinned -> Device)", "Memset (Device)".
CopyKind copy_of_name(std::string_view name);

} // namespace echosim
