// SPDX-License-Identifier: Apache-2.0
#include "traces/csv.h"

#include "traces/json_text.h"
#include "traces/output_file.h"

#include <fmt/format.h>
#include <iterator>
#include <unordered_map>

namespace echosim {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 20U;

constexpr std::string_view kHeader =
    "event,class,ranks,stage,stream,stream_kind,device,stream_number,kind,name,start_ns,dur_ns,end_ns,alone_"
    "ns,"
    "provenance,iteration,phase,micro_batch,chunk,layer,module,collective,direction,dtype,algorithm,protocol,"
    "channels,bytes,group,group_size,peer,sequence,communicator,communicator_description,copy_kind,sync_kind,"
    "sync_stream,sync_event,sync_recorded_by,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,"
    "shared_bytes,category,correlation,launched_by,binding_pred,args\r\n";

// Bytes that are no UTF-8 as U+FFFD.
std::string as_utf8(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        out += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

// A text as one field. "" stands for an empty text, nothing for none.
std::string csv_text(std::string_view text) {
    if (text.empty()) {
        return "\"\"";
    }
    std::string out = std::string_view("=+-@\t\r'").find(text.front()) == std::string_view::npos ? "" : "'";
    out += as_utf8(text);
    if (out.find_first_of(",\"\r\n") == std::string::npos) {
        return out;
    }
    std::string quoted = "\"";
    for (const char sign : out) {
        quoted += sign;
        if (sign == '"') {
            quoted += sign;
        }
    }
    return quoted + "\"";
}

class CsvWriter {
  public:
    CsvWriter(const Trace& trace, OutputFile& file);
    void write();

  private:
    void put(std::string_view field) {
        buffer_ += field;
        buffer_ += ',';
    }
    void put(NameId name) {
        put(name == kNoName ? std::string_view{} : std::string_view(names_[name.value]));
    }
    template <class Number> void number(Number value) {
        fmt::format_to(std::back_inserter(buffer_), "{},", value);
    }
    // Empty for the value that stands for "not known" or "does not apply".
    template <class Number> void known(Number value, Number none) { value == none ? skip(1) : number(value); }
    // Fields that do not apply stay empty.
    void skip(int fields) { buffer_.append(static_cast<std::size_t>(fields), ','); }
    void put_label(const Event& event);
    void put_comm(const Event& event);
    void put_sync(const Event& event);
    void put_launch(const Event& event);
    void put_place(const Event& event, std::uint32_t stream);
    void put_event(const Event& event, std::uint32_t stream);
    void flush();

    const Trace& trace_;
    OutputFile& file_;
    std::string buffer_;
    std::vector<std::string> names_;                         // the strings of the trace as fields
    std::vector<std::string> classes_;                       // class and ranks
    std::vector<std::uint64_t> first_event_;                 // of each stream
    std::unordered_map<std::uint64_t, std::uint64_t> calls_; // class and correlation -> event
};

// "0-3 8": ranges, with ":stride" where it is not 1. A class of a large job stands for many thousands.
std::string ranks_of(const TraceClass& row) {
    std::string text;
    for (const RankRange& range : row.ranks) {
        text += fmt::format("{}{}", text.empty() ? "" : " ", range.first);
        if (range.count > 1) {
            text += fmt::format("-{}", range.first + (range.count - 1) * range.stride);
            text += range.stride > 1 ? fmt::format(":{}", range.stride) : "";
        }
    }
    return text;
}

std::uint64_t call_key(std::uint32_t rank_class, std::uint32_t correlation) {
    return std::uint64_t{rank_class} << 32U | correlation;
}

CsvWriter::CsvWriter(const Trace& trace, OutputFile& file) : trace_(trace), file_(file) {
    for (std::uint32_t i = 0; i < trace.strings.size(); ++i) {
        names_.push_back(csv_text(trace.strings[NameId{i}]));
    }
    for (const TraceClass& row : trace.classes) {
        classes_.push_back((row.name == kNoName ? std::string() : names_[row.name.value]) + "," +
                           ranks_of(row) + ",");
    }
    std::uint64_t first = 0;
    for (const TraceStream& stream : trace.streams) {
        first_event_.push_back(first);
        for (std::size_t i = 0; i < stream.events.size(); ++i) {
            if (stream.events.kind[i] == EventKind::api && stream.events.correlation[i] != 0) {
                calls_.emplace(call_key(stream.rank_class, stream.events.correlation[i]), first + i);
            }
        }
        first += stream.events.size();
    }
}

void CsvWriter::put_label(const Event& event) {
    if (event.label == kNoRow) {
        skip(6);
        return;
    }
    const Label& label = trace_.labels[event.label];
    known(label.iteration, -1);
    put(to_string(label.phase));
    known(label.micro_batch, -1);
    known(label.chunk, -1);
    known(label.layer, -1);
    put(label.module);
}

void CsvWriter::put_comm(const Event& event) {
    if (event.kind != EventKind::comm || event.ext == kNoRow) {
        skip(6);
        const bool copy = event.kind == EventKind::memcpy || event.kind == EventKind::memset;
        if (copy && event.ext != kNoRow) {
            number(trace_.copies[event.ext].bytes);
            skip(6);
            put(to_string(trace_.copies[event.ext].kind));
        } else {
            skip(8);
        }
        return;
    }
    const CommOp& op = trace_.comm_ops[event.ext];
    put(op.kind == kNoCollective ? std::string_view{} : to_string(op.kind));
    put(to_string(op.direction));
    put(op.dtype == kNoDType ? std::string_view{} : to_string(op.dtype));
    put(op.algorithm == kNoAlgorithm ? std::string_view{} : to_string(op.algorithm));
    put(op.protocol == kNoProtocol ? std::string_view{} : to_string(op.protocol));
    known(op.channels, 0U);
    number(op.bytes);
    put(op.group);
    known(op.group_size, 0U);
    known(op.peer, -1);
    number(op.sequence);
    if (op.communicator == kNoRow) {
        skip(2);
    } else {
        put(trace_.communicators[op.communicator].name);
        put(trace_.communicators[op.communicator].description);
    }
    skip(1);
}

void CsvWriter::put_sync(const Event& event) {
    const bool sync = event.kind == EventKind::sync || event.kind == EventKind::api;
    if (!sync || event.ext == kNoRow) {
        skip(4);
        return;
    }
    const SyncOp& op = trace_.syncs[event.ext];
    put(to_string(op.kind));
    known(op.stream, std::int64_t{-1});
    known(op.event, std::uint64_t{0});
    known(op.recorded_by, 0U);
}

void CsvWriter::put_launch(const Event& event) {
    if (event.kind != EventKind::kernel || event.ext == kNoRow) {
        skip(8);
        return;
    }
    const KernelLaunch& launch = trace_.launches[event.ext];
    for (const std::uint32_t value :
         {launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2],
          launch.registers, launch.shared_bytes}) {
        number(value);
    }
}

// Columns class to provenance.
void CsvWriter::put_place(const Event& event, std::uint32_t stream) {
    const TraceStream& row = trace_.streams[stream];
    buffer_ += classes_[row.rank_class];
    known(trace_.classes[row.rank_class].stage, -1);
    put(row.name);
    put(to_string(row.kind));
    known(row.device, -1);
    known(row.number, std::int64_t{-1});
    put(to_string(event.kind));
    put(event.name);
    number(event.start);
    number(event.duration);
    number(event.start + event.duration);
    known(event.alone, TimeNs{0});
    put(to_string(event.provenance));
}

void CsvWriter::put_event(const Event& event, std::uint32_t stream) {
    put_place(event, stream);
    put_label(event);
    put_comm(event);
    put_sync(event);
    put_launch(event);
    const bool named =
        (event.kind == EventKind::instant || event.kind == EventKind::other) && event.ext != kNoRow;
    put(named ? NameId{event.ext} : kNoName);
    known(event.correlation, 0U);
    const bool launched = is_device_work(event.kind) || event.kind == EventKind::sync;
    const auto call =
        launched ? calls_.find(call_key(trace_.streams[stream].rank_class, event.correlation)) : calls_.end();
    if (call == calls_.end()) {
        skip(1);
    } else {
        number(call->second);
    }
    if (event.binding_pred == kNoEvent) {
        skip(1);
    } else {
        number(first_event_[stream_of(event.binding_pred)] + index_of(event.binding_pred));
    }
    put(event.args);
    buffer_.back() = '\r';
    buffer_ += '\n';
}

void CsvWriter::flush() {
    file_.write(std::as_bytes(std::span(buffer_.data(), buffer_.size())));
    buffer_.clear();
}

void CsvWriter::write() {
    buffer_ = kHeader;
    std::uint64_t id = 0;
    for (std::uint32_t stream = 0; stream < trace_.streams.size(); ++stream) {
        const EventView events = trace_.streams[stream].events.view();
        for (std::size_t i = 0; i < events.size(); ++i) {
            number(id++);
            put_event(events.row(i), stream);
            if (buffer_.size() >= kFlushBytes) {
                flush();
            }
        }
    }
    flush();
}

} // namespace

void write_csv(const Trace& trace, const std::string& path) {
    check_trace(trace, "trace");
    OutputFile file(path);
    CsvWriter(trace, file).write();
    file.commit();
}

} // namespace echosim
