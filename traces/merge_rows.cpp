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

void append_moved(const EventColumns& from, const RowMaps& maps, const MoveEvent& move, TimeNs shift,
                  EventColumns& to) {
    const std::size_t first = to.size();
    to.append(from.view());
    for (std::size_t i = first; i < to.size(); ++i) {
        to.start_ns[i] = moved_time(to.start_ns[i], shift);
        static_cast<void>(moved_time(to.start_ns[i], to.dur_ns[i]));
        to.name[i] = moved_row(maps.strings, to.name[i]);
        to.args[i] = moved_row(maps.strings, to.args[i]);
        to.label[i] = moved_row(maps.labels, to.label[i]);
        const RowMap* table = maps.of(to.kind[i]);
        to.ext[i] = table == nullptr ? kNoRow : moved_row(*table, to.ext[i]);
        if (to.binding_pred[i] != kNoEvent) {
            to.binding_pred[i] = move(to.binding_pred[i]);
        }
    }
}

} // namespace echosim
