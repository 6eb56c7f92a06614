// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <vector>

namespace echosim {

// Traces of several ranks as one: classes, streams and tables one after the other, names interned again,
// times moved to the earliest t0_ns of those that have one (the others keep their times). Communicators that
// are equal become one. Meta texts that are objects become one: keys that are equal in all stay, the others
// go into a list "merged", an object a trace. Columns of events are renumbered where they lie, not copied:
// give the traces away with std::move. Throws InputError when a time does not fit.
Trace merge(std::vector<Trace> traces);

// The trace of these ranks only, a class each, in this order, also out of a class that stands for many.
// Classes without ranks are left out, and so are rows of tables and names that nothing uses any more, flows
// with an end outside, and binding predecessors outside. A rank given twice counts once. Throws InputError
// naming a rank that the trace does not have.
//
// Of a class that stands for many, what concerns other classes (flows, peers) is known for its first rank;
// the i-th rank is joined to the i-th rank of a class of as many ranks, else to none. A communicator that
// does not have the rank among its members goes.
Trace select_ranks(const Trace& trace, const std::vector<int>& ranks);

} // namespace echosim
