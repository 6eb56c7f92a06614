// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/sqlite/database.h"
#include "traces/sqlite/rows.h"
#include "traces/sqlite/schema.h"
#include "traces/sqlite_file.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim {
namespace {

// Of a row of table event: a byte or more for each of 13 columns, and the head of the row.
constexpr std::uint64_t kLeastEventBytes = 16;

class SqliteReader {
  public:
    explicit SqliteReader(SqliteDatabase& database) : database_(database) {}
    Trace read();

  private:
    SqliteRows open(std::string_view table, std::string_view columns, std::string_view order = "id") const {
        return {database_, table, columns, order};
    }
    void read_meta();
    void read_classes();
    void read_ranges(std::string_view table, std::string_view owner,
                     const std::vector<std::vector<RankRange>*>& owners) const;
    void read_streams();
    void read_small_tables();
    void read_comm_ops();
    void read_events();
    void read_links();
    std::uint64_t event_ref_of(std::int64_t id, const SqliteRows& rows) const;

    SqliteDatabase& database_;
    Trace trace_;
    std::vector<std::int64_t> first_event_; // of each stream, and the count of all
};

void SqliteReader::read_meta() {
    SqliteRows rows = open("echosim_meta", "key, value", "key");
    std::int64_t version = 0;
    while (rows.next()) {
        const std::string key(rows.text());
        if (key == "format_version") {
            version = rows.integer();
        } else if (key == "meta") {
            trace_.meta = rows.text();
        } else if (key == "t0_ns") {
            trace_.t0_ns = rows.integer();
        } else if (key == "timed") {
            trace_.timed = rows.integer() != 0;
        }
    }
    if (version != kSqliteFormat) {
        throw InputError(database_.path(), fmt::format("format version {}; this program reads version {}",
                                                       version, kSqliteFormat));
    }
    SqliteRows strings = open("string", "id, value");
    while (strings.next()) {
        strings.expect_id();
        const std::size_t before = trace_.strings.size();
        trace_.strings.intern(strings.text());
        if (trace_.strings.size() == before) {
            strings.refuse("a text that an earlier row has");
        }
    }
}

void SqliteReader::read_ranges(std::string_view table, std::string_view owner,
                               const std::vector<std::vector<RankRange>*>& owners) const {
    SqliteRows rows =
        open(table, fmt::format("{}, first, count, stride", owner), fmt::format("{}, position", owner));
    while (rows.next()) {
        const auto of = rows.number<std::uint32_t>();
        if (of >= owners.size()) {
            rows.refuse(fmt::format("{} {} of {}", owner, of, owners.size()));
        }
        RankRange range;
        range.first = rows.number<std::uint32_t>();
        range.count = rows.number<std::uint32_t>();
        range.stride = rows.number<std::uint32_t>();
        owners[of]->push_back(range);
    }
}

void SqliteReader::read_classes() {
    SqliteRows classes = open("rank_class", "id, name_id, stage");
    while (classes.next()) {
        classes.expect_id();
        TraceClass row;
        row.name = classes.name();
        row.stage = classes.number_or<std::int32_t>(-1);
        trace_.classes.push_back(row);
    }
    SqliteRows communicators = open("communicator", "id, name_id, description_id");
    while (communicators.next()) {
        communicators.expect_id();
        TraceCommunicator row;
        row.name = communicators.name();
        row.description = communicators.name();
        trace_.communicators.push_back(row);
    }
    std::vector<std::vector<RankRange>*> owners;
    for (TraceClass& row : trace_.classes) {
        owners.push_back(&row.ranks);
    }
    read_ranges("class_rank", "class_id", owners);
    owners.clear();
    for (TraceCommunicator& row : trace_.communicators) {
        owners.push_back(&row.ranks);
    }
    read_ranges("communicator_rank", "communicator_id", owners);
}

void SqliteReader::read_streams() {
    SqliteRows rows =
        open("stream", "id, class_id, number_in_class, name_id, kind, device, number, event_count");
    std::int64_t first = 0;
    const auto most = static_cast<std::int64_t>(database_.bytes() / kLeastEventBytes);
    while (rows.next()) {
        rows.expect_id();
        TraceStream row;
        row.rank_class = rows.number<std::uint32_t>();
        row.id = rows.number<std::uint32_t>();
        row.name = rows.name();
        row.kind = rows.word(StreamKind::comm);
        row.device = rows.number_or<std::int32_t>(-1);
        row.number = rows.number_or<std::int64_t>(-1);
        const std::int64_t count = rows.integer();
        if (count < 0 || count > most - first) {
            rows.refuse(fmt::format("{} events; the file has no room for them", count));
        }
        row.events.reserve(static_cast<std::size_t>(count));
        trace_.streams.push_back(std::move(row));
        first_event_.push_back(first);
        first += count;
    }
    first_event_.push_back(first);
}

void SqliteReader::read_small_tables() {
    SqliteRows labels = open("label", "id, iteration, phase, micro_batch, chunk, layer, module_id");
    while (labels.next()) {
        labels.expect_id();
        Label row;
        row.iteration = labels.number_or<std::int32_t>(-1);
        row.phase = labels.word(Phase::other);
        row.micro_batch = labels.number_or<std::int32_t>(-1);
        row.chunk = labels.number_or<std::int32_t>(-1);
        row.layer = labels.number_or<std::int32_t>(-1);
        row.module = labels.name();
        trace_.labels.push_back(row);
    }
    SqliteRows launches =
        open("launch", "id, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, shared_bytes");
    while (launches.next()) {
        launches.expect_id();
        KernelLaunch row;
        for (std::uint32_t* value : {&row.grid[0], &row.grid[1], &row.grid[2], &row.block[0], &row.block[1],
                                     &row.block[2], &row.registers, &row.shared_bytes}) {
            *value = launches.number<std::uint32_t>();
        }
        trace_.launches.push_back(row);
    }
    SqliteRows copies = open("copy", "id, kind, bytes");
    while (copies.next()) {
        copies.expect_id();
        const CopyKind kind = copies.word(CopyKind::memset);
        trace_.copies.push_back({kind, copies.bits()});
    }
    SqliteRows syncs = open("sync", "id, kind, stream_number, event_number, recorded_by");
    while (syncs.next()) {
        syncs.expect_id();
        SyncOp row;
        row.kind = syncs.word(SyncKind::device_synchronize);
        row.stream = syncs.number_or<std::int64_t>(-1);
        row.event = syncs.bits_or(0);
        row.recorded_by = syncs.number_or<std::uint32_t>(0);
        trace_.syncs.push_back(row);
    }
}

void SqliteReader::read_comm_ops() {
    SqliteRows rows =
        open("comm_op", "id, collective, dtype, algorithm, protocol, channels, bytes, group_id, "
                        "group_size, peer, sequence, communicator_id, direction, in_elements, "
                        "out_elements");
    while (rows.next()) {
        rows.expect_id();
        CommOp row;
        row.kind = rows.word_or(CollectiveKind::send_recv, kNoCollective);
        row.dtype = rows.word_or(DType::int64, kNoDType);
        row.algorithm = rows.word_or(Algorithm::direct, kNoAlgorithm);
        row.protocol = rows.word_or(Protocol::simple, kNoProtocol);
        row.channels = rows.number_or<std::uint32_t>(0);
        row.bytes = rows.bits();
        row.group = rows.name();
        row.group_size = rows.number_or<std::uint32_t>(0);
        row.peer = rows.number_or<std::int32_t>(-1);
        row.sequence = rows.bits();
        row.communicator = rows.row();
        row.direction = rows.word(Direction::both);
        row.in_elements = rows.bits_or(0);
        row.out_elements = rows.bits_or(0);
        trace_.comm_ops.push_back(row);
    }
}

std::uint64_t SqliteReader::event_ref_of(std::int64_t id, const SqliteRows& rows) const {
    if (id < 0 || id >= first_event_.back()) {
        rows.refuse(fmt::format("event {} of {}", id, first_event_.back()));
    }
    const auto after = std::upper_bound(first_event_.begin(), first_event_.end(), id);
    const auto stream = static_cast<std::uint32_t>(after - first_event_.begin() - 1);
    return event_ref(stream, static_cast<std::uint32_t>(id - first_event_[stream]));
}

void SqliteReader::read_events() {
    SqliteRows rows =
        open("event", "id, stream_id, start_ns, dur_ns, name_id, kind_id, label_id, ext_id, alone_ns, "
                      "coalesce(binding_pred, -1), provenance_id, correlation, args_id");
    while (rows.next()) {
        rows.expect_id();
        const auto stream = rows.number<std::uint32_t>();
        Event row;
        row.start = rows.integer();
        row.duration = rows.integer();
        row.name = rows.name();
        row.kind = rows.code(EventKind::other);
        row.label = rows.row();
        row.ext = rows.row();
        row.alone = rows.number_or<TimeNs>(0);
        const std::int64_t pred = rows.integer();
        row.binding_pred = pred == -1 ? kNoEvent : event_ref_of(pred, rows);
        row.provenance = rows.code(Provenance::assumed);
        row.correlation = rows.number_or<std::uint32_t>(0);
        row.args = rows.name();
        if (stream >= trace_.streams.size()) {
            rows.refuse(fmt::format("stream {} of {}", stream, trace_.streams.size()));
        }
        trace_.streams[stream].events.push_back(row);
    }
    for (std::size_t i = 0; i < trace_.streams.size(); ++i) {
        const auto count = static_cast<std::int64_t>(trace_.streams[i].events.size());
        if (count != first_event_[i + 1] - first_event_[i]) {
            throw InputError(fmt::format("{}: table stream, row {}", database_.path(), i + 1),
                             fmt::format("event_count is {}; table event has {}",
                                         first_event_[i + 1] - first_event_[i], count));
        }
    }
}

void SqliteReader::read_links() {
    SqliteRows flows = open("flow", "id, from_event, to_event, kind_id");
    while (flows.next()) {
        flows.expect_id();
        Flow row;
        row.from = event_ref_of(flows.integer(), flows);
        row.to = event_ref_of(flows.integer(), flows);
        row.kind = flows.code(FlowKind::other);
        trace_.flows.push_back(row);
    }
    SqliteRows counters = open("counter", "id, class_id, name_id, unit_id");
    while (counters.next()) {
        counters.expect_id();
        TraceCounter row;
        row.rank_class = counters.number<std::uint32_t>();
        row.name = counters.name();
        row.unit = counters.name();
        trace_.counters.push_back(row);
    }
    SqliteRows samples = open("sample", "counter_id, time_ns, value");
    while (samples.next()) {
        const auto counter = samples.number<std::uint32_t>();
        if (counter >= trace_.counters.size()) {
            samples.refuse(fmt::format("counter {} of {}", counter, trace_.counters.size()));
        }
        trace_.counters[counter].time_ns.push_back(samples.integer());
        trace_.counters[counter].value.push_back(samples.real());
    }
}

Trace SqliteReader::read() {
    read_meta();
    read_classes();
    read_streams();
    read_small_tables();
    read_comm_ops();
    read_events();
    read_links();
    check_trace(trace_, database_.path());
    return std::move(trace_);
}

} // namespace

Imported read_sqlite(const std::string& path) {
    SqliteDatabase database = SqliteDatabase::open(path);
    const std::vector<std::string> tables = database.tables();
    for (const char* table :
         {"echosim_meta", "string", "rank_class", "class_rank", "stream", "label", "comm_op", "communicator",
          "communicator_rank", "launch", "copy", "sync", "event", "flow", "counter", "sample"}) {
        if (std::find(tables.begin(), tables.end(), table) == tables.end()) {
            throw InputError(path, fmt::format("is no trace of echosim: it has no table {}", table));
        }
    }
    Imported imported;
    imported.trace = SqliteReader(database).read();
    imported.report.format = "echosim SQLite";
    imported.report.files = {path};
    for (const TraceStream& stream : imported.trace.streams) {
        imported.report.events += stream.events.size();
        imported.report.kernels += static_cast<std::uint64_t>(
            std::count(stream.events.kind.begin(), stream.events.kind.end(), EventKind::kernel) +
            std::count(stream.events.kind.begin(), stream.events.kind.end(), EventKind::comm));
    }
    imported.report.complete_events = imported.report.events;
    return imported;
}

} // namespace echosim
