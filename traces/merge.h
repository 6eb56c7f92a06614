// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <vector>

namespace echosim {

// Traces of several ranks as one: classes, streams and tables one after the other, names interned again,
// times moved to the earliest t0_ns of those that have one. Communicators that are equal become one.
Trace merge(const std::vector<Trace>& traces);

// The trace of these ranks only, a class each, in this order; what belongs to no rank (classes without ranks)
// goes too. Rows of tables that nobody uses any more go. Throws InputError naming a rank that the trace does
// not have.
Trace select_ranks(const Trace& trace, const std::vector<int>& ranks);

} // namespace echosim
