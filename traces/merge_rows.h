// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <functional>
#include <vector>

// Rows that move from one trace to another.
namespace echosim {

// New row of each row of a table; kNoRow: it is not there. kNoRow itself stays kNoRow.
using RowMap = std::vector<std::uint32_t>;
inline std::uint32_t moved_row(const RowMap& map, std::uint32_t row) {
    return row == kNoRow ? kNoRow : map[row];
}
inline NameId moved_name(const RowMap& strings, NameId name) {
    return NameId{moved_row(strings, name.value)};
}

// The tables that events point into.
struct RowMaps {
    RowMap strings;
    RowMap labels;
    RowMap comm_ops;
    RowMap launches;
    RowMap copies;
    RowMap syncs;
    const RowMap* of(EventKind kind) const; // the table of ext, nullptr: none
};

using MoveEvent = std::function<std::uint64_t(std::uint64_t ref)>;

TimeNs moved_time(TimeNs time, TimeNs shift); // throws InputError when it does not fit

// Renumbers the rows and predecessors of the events where they lie, moves their starts by `shift`.
void renumber(EventColumns& events, const RowMaps& maps, const MoveEvent& move, TimeNs shift);

} // namespace echosim
