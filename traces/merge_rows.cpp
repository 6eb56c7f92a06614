// SPDX-License-Identifier: Apache-2.0
#include "traces/merge_rows.h"

#include "simulator/core/error.h"

#include <fmt/format.h>

namespace echosim {

const RowMap* RowMaps::of(EventKind kind) const {
    switch (kind) {
    case EventKind::comm:
        return &comm_ops;
    case EventKind::kernel:
        return &launches;
    case EventKind::memcpy:
    case EventKind::memset:
        return &copies;
    case EventKind::sync:
    case EventKind::api:
        return &syncs;
    case EventKind::instant:
    case EventKind::other:
        return &strings;
    default:
        return nullptr;
    }
}

TimeNs moved_time(TimeNs time, TimeNs shift) {
    TimeNs moved = 0;
    if (__builtin_add_overflow(time, shift, &moved)) {
        throw InputError("merge", fmt::format("{} ns moved by {} ns is no time", time, shift),
                         "the files are not of one job");
    }
    return moved;
}

void renumber(EventColumns& events, const RowMaps& maps, const MoveEvent& move, TimeNs shift) {
    for (std::size_t i = 0; i < events.size(); ++i) {
        events.start_ns[i] = moved_time(events.start_ns[i], shift);
        static_cast<void>(moved_time(events.start_ns[i], events.dur_ns[i]));
        events.name[i] = moved_row(maps.strings, events.name[i]);
        events.args[i] = moved_row(maps.strings, events.args[i]);
        events.label[i] = moved_row(maps.labels, events.label[i]);
        const RowMap* table = maps.of(events.kind[i]);
        events.ext[i] = table == nullptr ? kNoRow : moved_row(*table, events.ext[i]);
        if (events.binding_pred[i] != kNoEvent) {
            events.binding_pred[i] = move(events.binding_pred[i]);
        }
    }
}

} // namespace echosim
