// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/sqlite/database.h"
#include "traces/sqlite/schema.h"
#include "traces/sqlite_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace echosim {
namespace {

namespace fs = std::filesystem;
using Number = std::optional<std::int64_t>;

Number row_or_null(std::uint32_t row) {
    return row == kNoRow ? Number{} : Number{row};
}

// NULL for the value that stands for "not known" or "does not apply".
template <class Value> Number or_null(Value value, Value none) {
    return value == none ? Number{} : Number{static_cast<std::int64_t>(value)};
}

Number name_or_null(NameId name) {
    return row_or_null(name.value);
}

template <class Enum> std::optional<std::string_view> word_or_null(Enum value, Enum none) {
    return value == none ? std::nullopt : std::optional(to_string(value));
}

std::int64_t as_signed(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

// A file of SQLite's own making that takes its place at commit(): SQLite writes through a path of its own.
class DatabaseFile {
  public:
    explicit DatabaseFile(const std::string& path) : path_(path) {
        std::error_code error;
        const fs::file_status status = fs::status(path, error);
        if (fs::exists(status) && !fs::is_regular_file(status)) {
            throw InputError(path, "is not a regular file; a SQLite database cannot be written there");
        }
        const fs::path followed = fs::weakly_canonical(path, error);
        target_ = error || followed.empty() ? path : followed.string();
        temporary_ = fmt::format("{}.{}.part", target_, ::getpid());
        fs::remove(temporary_, error);
    }
    ~DatabaseFile() {
        std::error_code error;
        fs::remove(temporary_, error);
    }
    DatabaseFile(const DatabaseFile&) = delete;
    DatabaseFile& operator=(const DatabaseFile&) = delete;
    const std::string& temporary() const { return temporary_; }
    void commit() {
        if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
            throw InputError(path_, fmt::format("cannot be put in place: {}", std::strerror(errno)));
        }
    }

  private:
    std::string path_;
    std::string target_;
    std::string temporary_;
};

std::string ranks_text(const std::vector<RankRange>& ranges) {
    std::string text;
    for (const RankRange& range : ranges) {
        const std::uint32_t last = range.first + (range.count - 1) * range.stride;
        text += text.empty() ? "" : ",";
        text += range.count == 1 ? fmt::format("{}", range.first) : fmt::format("{}-{}", range.first, last);
        text += range.count > 1 && range.stride > 1 ? fmt::format(":{}", range.stride) : "";
    }
    return text;
}

class SqliteWriter {
  public:
    SqliteWriter(const Trace& trace, SqliteDatabase& database) : trace_(trace), database_(database) {}
    void write();

  private:
    SqliteStatement insert(std::string_view table, int columns) const;
    template <class Enum> void put_words(std::string_view table, Enum last) const;
    void put_meta() const;
    void put_classes() const;
    void put_streams();
    void put_small_tables() const;
    void put_comm_ops() const;
    void put_events() const;
    void put_links() const;
    std::int64_t event_id(std::uint64_t ref) const {
        return first_event_.at(stream_of(ref)) + std::int64_t{index_of(ref)};
    }

    const Trace& trace_;
    SqliteDatabase& database_;
    std::vector<std::int64_t> first_event_; // of each stream
};

SqliteStatement SqliteWriter::insert(std::string_view table, int columns) const {
    std::string marks = "?";
    for (int i = 1; i < columns; ++i) {
        marks += ",?";
    }
    return {database_, fmt::format("INSERT INTO {} VALUES ({})", sql_name(table), marks),
            fmt::format("{}: table {}", database_.path(), table)};
}

template <class Enum> void SqliteWriter::put_words(std::string_view table, Enum last) const {
    SqliteStatement rows = insert(table, 2);
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        rows.run(i, to_string(static_cast<Enum>(i)));
    }
}

void SqliteWriter::put_meta() const {
    SqliteStatement rows = insert("echosim_meta", 2);
    rows.run(std::string_view("format_version"), kSqliteFormat);
    rows.run(std::string_view("meta"), std::string_view(trace_.meta));
    rows.run(std::string_view("t0_ns"), trace_.t0_ns);
    rows.run(std::string_view("timed"), trace_.timed ? 1 : 0);
    put_words("event_kind", EventKind::other);
    put_words("flow_kind", FlowKind::other);
    put_words("provenance", Provenance::assumed);
    SqliteStatement strings = insert("string", 2);
    for (std::uint32_t i = 0; i < trace_.strings.size(); ++i) {
        strings.run(i, trace_.strings[NameId{i}]);
    }
}

void put_ranges(SqliteStatement& rows, std::uint32_t owner, const std::vector<RankRange>& ranges) {
    for (std::uint32_t j = 0; j < ranges.size(); ++j) {
        rows.run(owner, j, ranges[j].first, ranges[j].count, ranges[j].stride);
    }
}

void SqliteWriter::put_classes() const {
    SqliteStatement rows = insert("rank_class", 5);
    SqliteStatement ranges = insert("class_rank", 5);
    for (std::uint32_t i = 0; i < trace_.classes.size(); ++i) {
        const TraceClass& row = trace_.classes[i];
        rows.run(i, name_or_null(row.name), or_null(row.stage, -1), row.rank_count(),
                 std::string_view(ranks_text(row.ranks)));
        put_ranges(ranges, i, row.ranks);
    }
    SqliteStatement communicators = insert("communicator", 3);
    SqliteStatement members = insert("communicator_rank", 5);
    for (std::uint32_t i = 0; i < trace_.communicators.size(); ++i) {
        const TraceCommunicator& row = trace_.communicators[i];
        communicators.run(i, name_or_null(row.name), name_or_null(row.description));
        put_ranges(members, i, row.ranks);
    }
}

void SqliteWriter::put_streams() {
    SqliteStatement rows = insert("stream", 9);
    std::int64_t first = 0;
    for (std::uint32_t i = 0; i < trace_.streams.size(); ++i) {
        const TraceStream& row = trace_.streams[i];
        first_event_.push_back(first);
        rows.run(i, row.rank_class, row.id, name_or_null(row.name), to_string(row.kind),
                 or_null(row.device, -1), or_null(row.number, std::int64_t{-1}), first,
                 std::uint64_t{row.events.size()});
        first += static_cast<std::int64_t>(row.events.size());
    }
}

void SqliteWriter::put_small_tables() const {
    SqliteStatement labels = insert("label", 7);
    for (std::uint32_t i = 0; i < trace_.labels.size(); ++i) {
        const Label& row = trace_.labels[i];
        labels.run(i, or_null(row.iteration, -1), to_string(row.phase), or_null(row.micro_batch, -1),
                   or_null(row.chunk, -1), or_null(row.layer, -1), name_or_null(row.module));
    }
    SqliteStatement launches = insert("launch", 9);
    for (std::uint32_t i = 0; i < trace_.launches.size(); ++i) {
        const KernelLaunch& row = trace_.launches[i];
        launches.run(i, row.grid[0], row.grid[1], row.grid[2], row.block[0], row.block[1], row.block[2],
                     row.registers, row.shared_bytes);
    }
    SqliteStatement copies = insert("copy", 3);
    for (std::uint32_t i = 0; i < trace_.copies.size(); ++i) {
        copies.run(i, to_string(trace_.copies[i].kind), as_signed(trace_.copies[i].bytes));
    }
    SqliteStatement syncs = insert("sync", 5);
    for (std::uint32_t i = 0; i < trace_.syncs.size(); ++i) {
        const SyncOp& row = trace_.syncs[i];
        syncs.run(i, to_string(row.kind), or_null(row.stream, std::int64_t{-1}),
                  or_null(row.event, std::uint64_t{0}), or_null(row.recorded_by, 0U));
    }
}

void SqliteWriter::put_comm_ops() const {
    SqliteStatement rows = insert("comm_op", 15);
    for (std::uint32_t i = 0; i < trace_.comm_ops.size(); ++i) {
        const CommOp& row = trace_.comm_ops[i];
        rows.run(i, word_or_null(row.kind, kNoCollective), word_or_null(row.dtype, kNoDType),
                 word_or_null(row.algorithm, kNoAlgorithm), word_or_null(row.protocol, kNoProtocol),
                 or_null(row.channels, 0U), as_signed(row.bytes), name_or_null(row.group),
                 or_null(row.group_size, 0U), or_null(row.peer, -1), as_signed(row.sequence),
                 row_or_null(row.communicator), to_string(row.direction),
                 or_null(row.in_elements, std::uint64_t{0}), or_null(row.out_elements, std::uint64_t{0}));
    }
}

void SqliteWriter::put_events() const {
    SqliteStatement rows = insert("event", 13);
    std::int64_t id = 0;
    for (std::uint32_t stream = 0; stream < trace_.streams.size(); ++stream) {
        const EventView events = trace_.streams[stream].events.view();
        for (std::size_t i = 0; i < events.size(); ++i) {
            const Event row = events.row(i);
            rows.run(id++, stream, row.start, row.duration, name_or_null(row.name),
                     static_cast<int>(row.kind), row_or_null(row.label), row_or_null(row.ext),
                     or_null(row.alone, TimeNs{0}),
                     row.binding_pred == kNoEvent ? Number{} : Number{event_id(row.binding_pred)},
                     static_cast<int>(row.provenance), or_null(row.correlation, 0U), name_or_null(row.args));
        }
    }
}

void SqliteWriter::put_links() const {
    SqliteStatement flows = insert("flow", 4);
    for (std::size_t i = 0; i < trace_.flows.size(); ++i) {
        const Flow& row = trace_.flows[i];
        flows.run(std::uint64_t{i}, event_id(row.from), event_id(row.to), static_cast<int>(row.kind));
    }
    SqliteStatement counters = insert("counter", 4);
    SqliteStatement samples = insert("sample", 4);
    std::int64_t sample = 0;
    for (std::uint32_t i = 0; i < trace_.counters.size(); ++i) {
        const TraceCounter& row = trace_.counters[i];
        counters.run(i, row.rank_class, name_or_null(row.name), name_or_null(row.unit));
        for (std::size_t j = 0; j < row.value.size(); ++j) {
            samples.run(sample++, i, row.time_ns[j], row.value[j]);
        }
    }
}

void SqliteWriter::write() {
    database_.execute(std::string(kSqliteTables));
    put_meta();
    put_classes();
    put_streams();
    put_small_tables();
    put_comm_ops();
    put_events();
    put_links();
    database_.execute(std::string(kSqliteIndexes));
}

} // namespace

void write_sqlite(const Trace& trace, const std::string& path) {
    check_trace(trace, "trace");
    DatabaseFile file(path);
    SqliteDatabase database = SqliteDatabase::create(file.temporary());
    database.execute(
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={};", kSqliteApplication, kSqliteFormat));
    SqliteWriter(trace, database).write();
    database.close();
    file.commit();
}

} // namespace echosim
