// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/table.h"

#include <utility>

namespace echosim {
namespace {

template <class T> void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

NameId renamed(NameId name, const std::vector<NameId>& ids) {
    return name == kNoName ? kNoName : ids[name.value];
}

} // namespace

std::size_t KinetoTable::TrackHash::operator()(const KinetoTrack& track) const noexcept {
    std::size_t hash = 0x9e3779b97f4a7c15ULL;
    for (const std::uint64_t field :
         {static_cast<std::uint64_t>(track.pid.number), std::uint64_t{track.pid.text.value},
          static_cast<std::uint64_t>(track.tid.number), std::uint64_t{track.tid.text.value}}) {
        hash = (hash ^ field) * 0xff51afd7ed558ccdULL;
        hash ^= hash >> 32U;
    }
    return hash;
}

std::vector<NameId> KinetoTable::join_names(const StringPool& strings) {
    std::vector<NameId> ids;
    ids.reserve(strings.size());
    for (std::uint32_t i = 0; i < strings.size(); ++i) {
        ids.push_back(builder.name(strings[NameId{i}]));
    }
    return ids;
}

std::vector<std::uint32_t> KinetoTable::join_tracks(const std::vector<KinetoTrack>& added,
                                                    const std::vector<NameId>& ids) {
    std::vector<std::uint32_t> places;
    for (KinetoTrack track : added) {
        track.pid.text = renamed(track.pid.text, ids);
        track.tid.text = renamed(track.tid.text, ids);
        const auto [entry, is_new] =
            track_rows_.try_emplace(track, static_cast<std::uint32_t>(tracks.size()));
        if (is_new) {
            tracks.push_back(track);
        }
        places.push_back(entry->second);
    }
    return places;
}

// Row `detail` of a piece's table becomes a row of the joined one.
void KinetoTable::join_rows(KinetoPiece& piece, const std::vector<NameId>& ids,
                            const std::vector<std::uint32_t>& places) {
    const auto move_row = [&](KinetoRow& row) {
        row.name = renamed(row.name, ids);
        row.category = renamed(row.category, ids);
        row.args = renamed(row.args, ids);
        row.track = places[row.track];
        if (row.detail == kNoRow) {
            return;
        }
        const std::size_t before = row.kind == EventKind::kernel ? launches.size()
                                   : row.kind == EventKind::comm ? comms.size()
                                   : is_device_work(row.kind)    ? copies.size()
                                                                 : syncs.size();
        row.detail += static_cast<std::uint32_t>(before);
    };
    for (KinetoRow& row : piece.rows) {
        move_row(row);
    }
    for (KinetoMark& mark : piece.marks) {
        move_row(mark.row);
    }
    for (OwnRow& row : piece.own) {
        row.label.module = renamed(row.label.module, ids);
        row.group = renamed(row.group, ids);
    }
}

void KinetoTable::join_details(KinetoPiece& piece, const std::vector<NameId>& ids) {
    for (KinetoComm& comm : piece.comms) {
        comm.group = renamed(comm.group, ids);
        comm.description = renamed(comm.description, ids);
        comm.ranks = renamed(comm.ranks, ids);
    }
    append(launches, piece.launches);
    append(copies, piece.copies);
    append(syncs, piece.syncs);
    append(comms, piece.comms);
}

void KinetoTable::join_marks(KinetoPiece& piece, const std::vector<NameId>& ids,
                             const std::vector<std::uint32_t>& places) {
    for (KinetoMark& mark : piece.marks) {
        mark.id = renamed(mark.id, ids);
    }
    for (KinetoSample& sample : piece.samples) {
        sample.name = renamed(sample.name, ids);
        sample.series = renamed(sample.series, ids);
        sample.track = places[sample.track];
    }
    for (KinetoName& name : piece.names) {
        name.what = renamed(name.what, ids);
        name.text = renamed(name.text, ids);
        name.track = places[name.track];
    }
    append(marks, piece.marks);
    append(memory, piece.memory);
    append(samples, piece.samples);
    append(names, piece.names);
}

void KinetoTable::join(KinetoPiece&& piece) {
    const std::vector<NameId> ids = join_names(piece.strings);
    const std::vector<std::uint32_t> places = join_tracks(piece.tracks, ids);
    join_rows(piece, ids, places);
    join_details(piece, ids);
    join_marks(piece, ids, places);
    append(own, piece.own);
    append(flows, piece.flows);
    append(launched, piece.launched);
    append(arrived, piece.arrived);
    for (const auto& [field, count] : piece.dropped_fields) {
        dropped_fields[field] += count;
    }
    report.add(piece.report);
    kineto = kineto || piece.kineto;
    recognised = recognised || piece.recognised;
    piece.rows.shrink_to_fit();
    rows.push_back(std::move(piece.rows));
}

} // namespace echosim
