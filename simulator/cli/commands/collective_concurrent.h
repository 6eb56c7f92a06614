// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/commands/collective_input.h"
#include "simulator/cli/output.h"

#include <string>

// Collectives that run at the same time on one cluster. The file is a JSON list (comments allowed), or an
// object with the list under "collectives":
//
//   [{"kind": "all_reduce", "bytes": "1GiB", "stride": 8, "siblings": true},
//    {"kind": "all_to_all", "bytes": "64MiB", "ranks": "0-7", "start": "100us", "weight": 16}]
//
// kind and bytes are needed. ranks: a list as text or numbers; without it first, first + stride, ... of the
// job's GPUs (0 and 1 by default). siblings: the groups of every other first below the stride run the same
// thing. start: default 0. weight in the sharing of links: default the CTAs. in_place, dtype, name.
namespace echosim {

Output concurrent_output(const Invocation& invocation, CollectiveRequest& request, const TextStyle& style);

} // namespace echosim
