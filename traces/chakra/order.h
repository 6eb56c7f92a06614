// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <vector>

// The events of a trace as the nodes of a graph that a simulator can run: an order in which every dependency
// goes backward.
//
// An event depends on the one in front of it on its stream and on the events from which flows lead to it
// (launch, event, sync, control, data, forward_backward, other; the members of a collective and the two ends
// of a transfer are met through their communication), and on the event of another stream whose end let it
// start, where a simulation says so. Ready events are taken in order of their start. A flow
// that would close a cycle is no dependency.
namespace echosim {

struct ChakraOrder {
    std::vector<std::uint64_t> events;     // node -> event
    std::vector<std::size_t> first;        // node -> begin of its row of `depends_on`; one more at the end
    std::vector<std::uint32_t> depends_on; // nodes, ascending, each once
    std::vector<std::uint32_t> caller;     // node that launched this one or encloses it; kNoRow: none
    std::vector<std::uint64_t> own_micros; // time of the event itself, without the events that it encloses
};

ChakraOrder chakra_order(const Trace& trace);

} // namespace echosim
