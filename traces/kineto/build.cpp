// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/build.h"

#include "traces/kineto/link.h"
#include "traces/kineto/slices.h"
#include "traces/kineto/text.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace echosim {
namespace {

// Time of the first record, in the nanoseconds of the file.
TimeNs first_time(KinetoTable& table) {
    TimeNs first = std::numeric_limits<TimeNs>::max();
    table.each(
        [&](std::uint64_t, const KinetoRow& row) { first = row.timed ? std::min(first, row.start) : first; });
    for (const KinetoMemory& row : table.memory) {
        first = std::min(first, row.time);
    }
    for (const KinetoSample& row : table.samples) {
        first = std::min(first, row.time);
    }
    return first == std::numeric_limits<TimeNs>::max() ? 0 : first;
}

// An event on its way into a stream: parents before their children.
struct Placed {
    TimeNs start = 0;
    TimeNs duration = 0;
    std::uint64_t ref = 0;
};

bool same_detail(const KinetoTable& table, const KinetoRow& a, const KinetoRow& b) {
    if (a.detail == kNoRow || b.detail == kNoRow) {
        return a.detail == b.detail;
    }
    switch (a.kind) {
    case EventKind::kernel:
        return table.launches[a.detail] == table.launches[b.detail];
    case EventKind::comm:
        return table.comms[a.detail] == table.comms[b.detail];
    case EventKind::memcpy:
    case EventKind::memset:
        return table.copies[a.detail] == table.copies[b.detail];
    default:
        return table.syncs[a.detail] == table.syncs[b.detail];
    }
}

class Builder {
  public:
    Builder(KinetoTable& table, const KinetoHeader& header) : table_(table) {
        for (const HeaderGroup& group : header.groups) {
            const std::uint32_t row =
                table_.builder.add_communicator({name(group.name), name(group.description), group.ranks});
            groups_.emplace(table_.builder.name(group.name).value, row);
        }
    }

    void add_stream(const KinetoStreams::Stream& plan, std::uint32_t stream, TimeNs t0) {
        std::vector<Placed> placed = in_order(plan, t0);
        table_.builder.reserve(stream, placed.size());
        TimeNs end = std::numeric_limits<TimeNs>::min();
        for (std::size_t i = 0; i < placed.size(); ++i) {
            const KinetoRow& row = table_.row(placed[i].ref);
            if (is_duplicate(placed, i)) {
                table_.report.warn("duplicate_event");
                continue;
            }
            if (is_device_work(row.kind)) {
                table_.report.warn("overlapping_kernels", placed[i].start < end ? 1 : 0);
                end = std::max(end, placed[i].start + placed[i].duration);
            }
            Event event;
            event.start = placed[i].start;
            event.duration = placed[i].duration;
            event.name = row.name;
            event.kind = row.kind;
            event.ext = ext_of(row);
            event.provenance = Provenance::measured;
            event.correlation = row.correlation;
            event.args = row.args;
            table_.builder.add_event(stream, event);
        }
    }

  private:
    NameId name(std::string_view text) { return text.empty() ? kNoName : table_.builder.name(text); }

    std::vector<Placed> in_order(const KinetoStreams::Stream& plan, TimeNs t0) {
        std::vector<Placed> placed;
        placed.reserve(plan.rows.size());
        for (const std::uint64_t ref : plan.rows) {
            const KinetoRow& row = table_.row(ref);
            placed.push_back({row.timed ? row.start - t0 : 0, row.duration, ref});
        }
        const bool nested = plan.lane != KinetoLane::device;
        const auto before = [nested](const Placed& a, const Placed& b) {
            return a.start < b.start || (a.start == b.start && nested && a.duration > b.duration);
        };
        if (!std::is_sorted(placed.begin(), placed.end(), before)) {
            std::stable_sort(placed.begin(), placed.end(), before);
        }
        return placed;
    }

    // The same record once more, of what the recorder numbers.
    bool is_duplicate(const std::vector<Placed>& placed, std::size_t i) {
        const KinetoRow& row = table_.row(placed[i].ref);
        constexpr std::size_t kMostBack = 64;
        for (std::size_t back = 1; row.correlation != 0 && back <= std::min(i, kMostBack); ++back) {
            if (placed[i - back].start != placed[i].start) {
                return false;
            }
            const KinetoRow& other = table_.row(placed[i - back].ref);
            KinetoRow like = other;
            like.detail = row.detail;
            if (like == row && same_detail(table_, row, other)) {
                return true;
            }
        }
        return false;
    }

    std::uint32_t ext_of(const KinetoRow& row) {
        switch (row.kind) {
        case EventKind::kernel:
            return row.detail == kNoRow ? kNoRow : table_.builder.add_launch(table_.launches[row.detail]);
        case EventKind::comm:
            return row.detail == kNoRow ? kNoRow
                                        : table_.builder.add_comm_op(comm_of(table_.comms[row.detail]));
        case EventKind::memcpy:
        case EventKind::memset:
            return row.detail == kNoRow ? kNoRow : table_.builder.add_copy(table_.copies[row.detail]);
        case EventKind::api:
        case EventKind::sync:
            return row.detail == kNoRow ? kNoRow : table_.builder.add_sync(table_.syncs[row.detail]);
        case EventKind::other:
        case EventKind::instant:
            return row.category == kNoName ? kNoRow : row.category.value;
        default:
            return kNoRow;
        }
    }

    CommOp comm_of(const KinetoComm& comm) {
        CommOp op = comm.op;
        op.group = comm.description != kNoName ? comm.description : comm.group;
        if (comm.group == kNoName && comm.description == kNoName && comm.ranks == kNoName) {
            return op;
        }
        if (comm.ranks == kNoName) {
            const auto group = groups_.find(comm.group.value);
            if (group != groups_.end()) {
                op.communicator = group->second;
                return op;
            }
        }
        op.communicator =
            table_.builder.add_communicator({comm.group, comm.description, ranks_of(comm.ranks)});
        return op;
    }

    std::vector<RankRange> ranks_of(NameId list) {
        const auto known = ranks_.find(list.value);
        if (known != ranks_.end()) {
            return known->second;
        }
        std::vector<int> ranks;
        const auto numbers =
            list == kNoName ? std::nullopt : whole_numbers(table_.text(list), std::size_t{1} << 20U);
        for (const std::int64_t rank : numbers.value_or(std::vector<std::int64_t>{})) {
            if (rank < 0 || rank > std::numeric_limits<int>::max()) {
                ranks.clear();
                break;
            }
            ranks.push_back(static_cast<int>(rank));
        }
        return ranks_[list.value] = compact_ranks(ranks);
    }

    KinetoTable& table_;
    std::unordered_map<std::uint32_t, std::uint32_t> groups_; // name of a group -> communicator
    std::unordered_map<std::uint32_t, std::vector<RankRange>> ranks_;
};

void note_dropped(KinetoTable& table) {
    constexpr std::size_t kMostFields = 12;
    std::size_t told = 0;
    std::uint64_t more = 0;
    for (const auto& [field, count] : table.dropped_fields) {
        if (++told <= kMostFields) {
            table.report.note_counts(
                "{} events have a member \"" + field.substr(0, 40) + "\", which is not kept", {count});
        } else {
            more += count;
        }
    }
    if (more > 0) {
        table.report.note_counts("{} more members of events are not kept", {more});
    }
}

} // namespace

Imported build_recorded(KinetoTable& table, const KinetoHeader& header, const std::string& path) {
    close_slices(table);
    link_calls(table);
    check_arrows(table);
    const TimeNs t0 = first_time(table);
    KinetoStreams plan(table, header, path);
    Builder builder(table, header);
    for (KinetoStreams::Stream& stream : plan.streams) {
        const std::uint32_t row = table.builder.add_stream(stream.rank_class, stream.kind, stream.name);
        table.builder.set_origin(row, stream.device, stream.number);
        builder.add_stream(stream, row, t0);
        stream.rows = {};
    }
    table.rows = {};
    bind_flows(table, plan.stream_of_track, t0);
    add_counters(table, plan.class_of_track, t0);
    note_dropped(table);
    constexpr TimeNs kWallClock = 100'000'000'000'000'000; // 1973: what is later counts from 1970 already
    table.builder.set_t0(t0 < kWallClock ? header.base + t0 : t0);
    table.builder.set_meta(header.meta);
    Imported out{table.builder.finish(), std::move(table.report)};
    out.report.format = header.kineto || table.kineto ? "Kineto" : "Chrome trace";
    out.report.files = {path};
    return out;
}

} // namespace echosim
