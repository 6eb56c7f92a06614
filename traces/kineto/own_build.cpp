// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/build.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace echosim {
namespace {

class OwnBuilder {
  public:
    OwnBuilder(KinetoTable& table, const KinetoHeader& header, const std::string& path)
        : table_(table), header_(header), own_(*header.own), path_(path) {}

    void run() {
        TraceBuilder& out = table_.builder;
        out.set_t0(own_.t0);
        out.set_timed(own_.timed);
        out.set_meta(header_.meta);
        for (const HeaderClass& row : own_.classes) {
            out.add_class(row.name, row.stage, expand_ranks(row.ranks));
        }
        for (const HeaderGroup& row : header_.groups) {
            out.add_communicator({name(row.name), name(row.description), row.ranks});
        }
        add_streams();
        add_events();
        add_references();
        add_samples();
    }

  private:
    [[noreturn]] void refuse(const std::string& message) const {
        throw InputError(path_ + ":0", message, "export the timeline again");
    }

    NameId name(std::string_view text) { return text.empty() ? kNoName : table_.builder.name(text); }

    void add_streams() {
        std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> threads;
        std::map<std::uint32_t, std::uint32_t> next_id;
        for (const HeaderStream& row : own_.streams) {
            if (row.rank_class >= own_.classes.size()) {
                refuse(fmt::format("otherData.echosim_trace: class {} of {}", row.rank_class,
                                   own_.classes.size()));
            }
            if (row.id != next_id[row.rank_class]++) {
                refuse("otherData.echosim_trace: the streams of a class are not numbered from 0");
            }
            const std::uint32_t stream = table_.builder.add_stream(row.rank_class, row.kind, row.name);
            table_.builder.set_origin(stream, row.device, row.number);
            for (const HeaderThread& thread : row.threads) {
                threads[{thread.pid, thread.tid}] = stream;
            }
        }
        for (const KinetoTrack& track : table_.tracks) {
            const auto found = threads.find({track.pid.number, track.tid.number});
            stream_of_track_.push_back(found == threads.end() ? kNoRow : found->second);
        }
    }

    void add_events() {
        std::size_t row_number = 0;
        table_.each([&](std::uint64_t, const KinetoRow& row) {
            const OwnRow& own = table_.own[row_number++];
            const std::uint32_t stream = stream_of_track_[row.track];
            if (stream == kNoRow) {
                refuse(fmt::format(
                    "an event lies on a thread that no stream of otherData.echosim_trace has (event {})",
                    row_number));
            }
            Event event;
            event.start = row.start + header_.base - own_.t0;
            event.duration = row.duration;
            event.name = row.name;
            event.kind = row.kind;
            event.label = own.has_label ? table_.builder.add_label(own.label) : kNoRow;
            event.ext = ext_of(row, own);
            event.alone = own.alone;
            event.provenance = own.provenance;
            event.correlation = row.correlation;
            event.args = row.args;
            const std::uint64_t ref = table_.builder.add_event(stream, event);
            if (own.binding_pred != kNoEvent) {
                preds_.emplace_back(ref, own.binding_pred);
            }
        });
    }

    std::uint32_t ext_of(const KinetoRow& row, const OwnRow& own) {
        if (row.kind == EventKind::other || row.kind == EventKind::instant) {
            return row.category == kNoName ? kNoRow : row.category.value;
        }
        if (row.detail == kNoRow) {
            return kNoRow;
        }
        switch (row.kind) {
        case EventKind::kernel:
            return table_.builder.add_launch(table_.launches[row.detail]);
        case EventKind::comm: {
            CommOp op = table_.comms[row.detail].op;
            op.group = own.group;
            return table_.builder.add_comm_op(op);
        }
        case EventKind::memcpy:
        case EventKind::memset:
            return table_.builder.add_copy(table_.copies[row.detail]);
        default:
            return table_.builder.add_sync(table_.syncs[row.detail]);
        }
    }

    bool exists(std::uint64_t ref) const {
        const Trace& trace = table_.builder.so_far();
        return stream_of(ref) < trace.streams.size() &&
               index_of(ref) < trace.streams[stream_of(ref)].events.size();
    }

    void add_references() {
        for (const auto& [event, pred] : preds_) {
            if (exists(pred)) {
                table_.builder.set_binding_pred(event, pred);
            } else {
                table_.report.warn("unmatched_flow");
            }
        }
        for (const Flow& flow : table_.flows) {
            if (exists(flow.from) && exists(flow.to)) {
                table_.builder.add_flow(flow.from, flow.to, flow.kind);
            } else {
                table_.report.warn("unmatched_flow");
            }
        }
    }

    void add_samples() {
        for (const HeaderCounter& row : own_.counters) {
            if (row.rank_class >= own_.classes.size()) {
                refuse("otherData.echosim_trace: a counter is of a class that does not exist");
            }
            table_.builder.add_counter(row.rank_class, row.name, row.unit);
        }
        for (const KinetoSample& sample : table_.samples) {
            if (sample.counter < own_.counters.size()) {
                table_.builder.add_sample(sample.counter, sample.time + header_.base - own_.t0, sample.value);
            } else {
                table_.report.warn("unmatched_sample");
            }
        }
    }

    KinetoTable& table_;
    const KinetoHeader& header_;
    const OwnTables& own_;
    const std::string& path_;
    std::vector<std::uint32_t> stream_of_track_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> preds_;
};

} // namespace

Imported build_own(KinetoTable& table, const KinetoHeader& header, const std::string& path) {
    OwnBuilder(table, header, path).run();
    Imported out{table.builder.finish(), std::move(table.report)};
    out.report.format = "echosim trace events";
    out.report.files = {path};
    check_trace(out.trace, path);
    return out;
}

} // namespace echosim
