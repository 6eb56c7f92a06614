// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_json.h"

#include "simulator/core/error.h"
#include "traces/gzip.h"
#include "traces/json_text.h"
#include "traces/output_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <tuple>
#include <unordered_map>

// Two things that readers of this format do badly are avoided here: events of one thread that overlap without
// nesting (dropped or mis-nested) go to a further thread of the same stream, and an arrow that would end
// before it begins (dropped) is turned round.
namespace echosim {
namespace {

using Sink = std::function<void(std::string_view)>;

constexpr std::size_t kFlushBytes = std::size_t{1} << 20U;

// A thread of the output: events that nest or follow each other.
struct Lane {
    std::uint64_t tid = 0;
    std::vector<TimeNs> open; // ends of the events that are still open, outermost first
};

class PerfettoWriter {
  public:
    PerfettoWriter(const Trace& trace, const Sink& sink);
    void write();

  private:
    void begin_event();
    void flush();
    void put_time(std::string_view key, TimeNs ns);
    void put_metadata(std::uint64_t pid, std::uint64_t tid, std::string_view name, std::string_view args);
    void put_processes();
    void put_stream(std::uint32_t stream);
    std::uint64_t add_lane(std::uint32_t stream, std::size_t lane);
    std::uint64_t tid_for(std::uint32_t stream, std::size_t event, std::vector<Lane>& lanes);
    void put_event(std::uint32_t stream, const Event& event, std::uint64_t tid);
    void put_comm(const CommOp& op);
    void put_flow(std::size_t row);
    void put_flow_end(const char* head, std::size_t row, std::uint64_t ref, TimeNs time);
    void put_counter(const TraceCounter& counter);
    std::string_view name(NameId id) const {
        return id == kNoName ? std::string_view("\"\"") : names_[id.value];
    }
    std::uint64_t pid_of(std::uint32_t rank_class) const { return rank_class + std::uint64_t{1}; }
    auto out() { return std::back_inserter(buffer_); }

    const Trace& trace_;
    const Sink& sink_;
    fmt::memory_buffer buffer_;
    bool first_ = true;
    std::vector<std::string> names_;  // JSON text of each string
    std::vector<std::string> labels_; // args of each label, a comma behind each
    std::uint64_t next_tid_ = 0;      // of further lanes
    std::unordered_map<std::uint64_t, std::uint64_t>
        further_lane_; // event -> thread, where it is not the first lane
};

std::string label_args(const Label& label, std::string_view module) {
    std::string args = fmt::format(R"("phase":"{}",)", to_string(label.phase));
    const auto add = [&](std::string_view key, std::int32_t value) {
        if (value >= 0) {
            args += fmt::format(R"("{}":{},)", key, value);
        }
    };
    add("iteration", label.iteration);
    add("micro_batch", label.micro_batch);
    add("chunk", label.chunk);
    add("layer", label.layer);
    if (label.module != kNoName) {
        args += fmt::format(R"("module":{},)", module);
    }
    return args;
}

// Pids and tids share one range of numbers: a thread whose number is that of a process counts as its main
// thread.
PerfettoWriter::PerfettoWriter(const Trace& trace, const Sink& sink)
    : trace_(trace), sink_(sink), next_tid_(trace.classes.size() + trace.streams.size() + 1) {
    for (std::uint32_t i = 0; i < trace.strings.size(); ++i) {
        names_.push_back(json_string(trace.strings[NameId{i}]));
    }
    for (const Label& label : trace.labels) {
        labels_.push_back(label_args(label, name(label.module)));
    }
}

void PerfettoWriter::flush() {
    sink_({buffer_.data(), buffer_.size()});
    buffer_.clear();
}

void PerfettoWriter::begin_event() {
    if (buffer_.size() >= kFlushBytes) {
        flush();
    }
    fmt::format_to(out(), "{}", first_ ? "\n" : ",\n");
    first_ = false;
}

// Microseconds with exactly three decimals: whole nanoseconds, nothing is rounded.
void PerfettoWriter::put_time(std::string_view key, TimeNs ns) {
    const auto size =
        ns < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    fmt::format_to(out(), R"("{}":{}{}.{:03},)", key, ns < 0 ? "-" : "", size / 1000, size % 1000);
}

void PerfettoWriter::put_metadata(std::uint64_t pid, std::uint64_t tid, std::string_view name,
                                  std::string_view args) {
    begin_event();
    fmt::format_to(out(), R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{{}}}}})", pid, tid, name,
                   args);
}

std::string process_name(const Trace& trace, const TraceClass& rank_class) {
    if (rank_class.ranks.empty()) {
        return std::string(trace.text(rank_class.name));
    }
    std::string details = rank_class.stage >= 0 ? fmt::format("stage {}", rank_class.stage) : "";
    if (rank_class.rank_count() > 1) {
        details += fmt::format("{}stands for {} ranks", details.empty() ? "" : ", ", rank_class.rank_count());
    }
    const std::string rank = fmt::format("rank {}", rank_class.ranks.front().first);
    return details.empty() ? rank : fmt::format("{} ({})", rank, details);
}

// "ranks 0-7, 64-120 by 8": at most eight ranges.
std::string rank_list(const TraceClass& rank_class) {
    std::string text = "ranks ";
    for (std::size_t i = 0; i < rank_class.ranks.size() && i < 8; ++i) {
        const RankRange& range = rank_class.ranks[i];
        text += fmt::format("{}{}", i == 0 ? "" : ", ", range.first);
        if (range.count > 1) {
            text += fmt::format("-{}", range.first + (range.count - 1) * range.stride);
        }
        if (range.count > 1 && range.stride > 1) {
            text += fmt::format(" by {}", range.stride);
        }
    }
    return rank_class.ranks.size() > 8 ? text + ", ..." : text;
}

// Natural order: by pipeline stage, then by number of the first rank.
void PerfettoWriter::put_processes() {
    const auto key = [&](std::uint32_t i) {
        const TraceClass& row = trace_.classes[i];
        return std::tuple(row.stage, row.ranks.empty() ? 0U : row.ranks.front().first, i);
    };
    std::vector<std::uint32_t> order(trace_.classes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    for (std::size_t position = 0; position < order.size(); ++position) {
        const TraceClass& row = trace_.classes[order[position]];
        const std::uint64_t pid = pid_of(order[position]);
        put_metadata(pid, 0, "process_name",
                     fmt::format(R"("name":{})", json_string(process_name(trace_, row))));
        put_metadata(pid, 0, "process_sort_index", fmt::format(R"("sort_index":{})", position));
        if (row.rank_count() > 1) {
            put_metadata(pid, 0, "process_labels",
                         fmt::format(R"("labels":{})", json_string(rank_list(row))));
        }
    }
}

std::uint64_t PerfettoWriter::add_lane(std::uint32_t stream, std::size_t lane) {
    const TraceStream& row = trace_.streams[stream];
    const std::uint64_t pid = pid_of(row.rank_class);
    const std::uint64_t tid = lane == 0 ? trace_.classes.size() + stream + 1 : next_tid_++;
    std::string text(row.name == kNoName ? to_string(row.kind) : trace_.text(row.name));
    if (lane > 0) {
        text += fmt::format(" (overlap {})", lane);
    }
    put_metadata(pid, tid, "thread_name", fmt::format(R"("name":{})", json_string(text)));
    const std::uint64_t position = stream * std::uint64_t{16} + std::min<std::size_t>(lane, 15);
    put_metadata(pid, tid, "thread_sort_index", fmt::format(R"("sort_index":{})", position));
    return tid;
}

std::uint64_t PerfettoWriter::tid_for(std::uint32_t stream, std::size_t event, std::vector<Lane>& lanes) {
    const EventColumns& events = trace_.streams[stream].events;
    const TimeNs start = events.start_ns[event];
    const TimeNs end = start + events.dur_ns[event];
    std::size_t lane = 0;
    for (; lane < lanes.size(); ++lane) {
        std::vector<TimeNs>& open = lanes[lane].open;
        while (!open.empty() && open.back() <= start) {
            open.pop_back();
        }
        if (open.empty() || end <= open.back()) {
            break;
        }
    }
    if (lane == lanes.size()) {
        lanes.push_back({add_lane(stream, lane), {}});
    }
    lanes[lane].open.push_back(end);
    if (lane > 0) {
        further_lane_[event_ref(stream, static_cast<std::uint32_t>(event))] = lanes[lane].tid;
    }
    return lanes[lane].tid;
}

void PerfettoWriter::put_stream(std::uint32_t stream) {
    std::vector<Lane> lanes{{add_lane(stream, 0), {}}};
    const EventColumns& events = trace_.streams[stream].events;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const std::uint64_t tid = tid_for(stream, i, lanes);
        put_event(stream, events.row(i), tid);
    }
}

void PerfettoWriter::put_event(std::uint32_t stream, const Event& event, std::uint64_t tid) {
    begin_event();
    fmt::format_to(out(), R"({{"ph":"X","pid":{},"tid":{},)", pid_of(trace_.streams[stream].rank_class), tid);
    put_time("ts", event.start);
    put_time("dur", event.duration);
    fmt::format_to(out(), R"("name":{},"cat":"{}","args":{{)", name(event.name), to_string(event.kind));
    if (event.label != kNoRow) {
        fmt::format_to(out(), "{}", labels_[event.label]);
    }
    if (event.kind != EventKind::host && event.kind != EventKind::sync && event.alone > 0) {
        put_time("alone_us", event.alone);
        fmt::format_to(out(), R"("slowdown":{:.3f},)",
                       static_cast<double>(event.duration) / static_cast<double>(event.alone));
    }
    if (event.kind == EventKind::comm && event.ext != kNoRow) {
        put_comm(trace_.comm_ops[event.ext]);
    }
    fmt::format_to(out(), R"("provenance":"{}"}}}})", to_string(event.provenance));
}

void PerfettoWriter::put_comm(const CommOp& op) {
    fmt::format_to(out(), R"("collective":"{}","bytes":{},"dtype":"{}",)", to_string(op.kind), op.bytes,
                   to_string(op.dtype));
    if (op.group != kNoName) {
        fmt::format_to(out(), R"("group":{},)", name(op.group));
    }
    fmt::format_to(out(), R"("group_size":{},"sequence":{},)", op.group_size, op.sequence);
    if (op.algorithm != kNoAlgorithm) {
        fmt::format_to(out(), R"("algorithm":"{}",)", to_string(op.algorithm));
    }
    if (op.protocol != kNoProtocol) {
        fmt::format_to(out(), R"("protocol":"{}",)", to_string(op.protocol));
    }
    if (op.channels > 0) {
        fmt::format_to(out(), R"("channels":{},)", op.channels);
    }
    if (op.peer >= 0) {
        fmt::format_to(out(), R"("peer":{},)", op.peer);
    }
}

void PerfettoWriter::put_flow_end(const char* head, std::size_t row, std::uint64_t ref, TimeNs time) {
    const auto further = further_lane_.find(ref);
    const std::uint64_t tid =
        further != further_lane_.end() ? further->second : trace_.classes.size() + stream_of(ref) + 1;
    begin_event();
    fmt::format_to(out(), R"({{{},"id":{},"pid":{},"tid":{},)", head, row + 1,
                   pid_of(trace_.streams[stream_of(ref)].rank_class), tid);
    put_time("ts", time);
    fmt::format_to(out(), R"("name":"{}","cat":"flow"}})", to_string(trace_.flows[row].kind));
}

// An arrow leaves at the start of its event and arrives inside the other one, not before it left.
void PerfettoWriter::put_flow(std::size_t row) {
    const auto start = [&](std::uint64_t ref) {
        return trace_.streams[stream_of(ref)].events.start_ns[index_of(ref)];
    };
    const auto inside = [&](std::uint64_t ref, TimeNs time) {
        const TimeNs length = trace_.streams[stream_of(ref)].events.dur_ns[index_of(ref)];
        return std::clamp(time, start(ref), start(ref) + std::max<TimeNs>(length - 1, 0));
    };
    Flow flow = trace_.flows[row];
    const bool backwards = flow.kind == FlowKind::collective
                               ? start(flow.to) < start(flow.from)
                               : inside(flow.to, start(flow.from)) < start(flow.from);
    if (backwards) {
        std::swap(flow.from, flow.to);
    }
    const TimeNs leaves = start(flow.from);
    put_flow_end(R"("ph":"s")", row, flow.from, leaves);
    put_flow_end(R"("ph":"f","bp":"e")", row, flow.to, inside(flow.to, leaves));
}

void PerfettoWriter::put_counter(const TraceCounter& counter) {
    const std::string_view unit =
        counter.unit == kNoName ? std::string_view("\"value\"") : name(counter.unit);
    for (std::size_t i = 0; i < counter.value.size(); ++i) {
        begin_event();
        fmt::format_to(out(), R"({{"ph":"C","pid":{},"tid":0,)", pid_of(counter.rank_class));
        put_time("ts", counter.time_ns[i]);
        fmt::format_to(out(), R"("name":{},"args":{{{}:{}}}}})", name(counter.name), unit, counter.value[i]);
    }
}

void PerfettoWriter::write() {
    fmt::format_to(out(), R"({{"displayTimeUnit":"ms",)");
    if (trace_.t0_ns != 0) {
        fmt::format_to(out(), R"("baseTimeNanoseconds":{},)", trace_.t0_ns);
    }
    const bool is_json = nlohmann::json::accept(trace_.meta);
    if (!trace_.meta.empty()) {
        fmt::format_to(out(), R"("otherData":{{"echosim":{}}},)",
                       is_json ? trace_.meta : json_string(trace_.meta));
    }
    fmt::format_to(out(), R"("traceEvents":[)");
    put_processes();
    for (std::uint32_t i = 0; i < trace_.streams.size(); ++i) {
        put_stream(i);
    }
    for (std::size_t i = 0; i < trace_.flows.size(); ++i) {
        put_flow(i);
    }
    for (const TraceCounter& counter : trace_.counters) {
        put_counter(counter);
    }
    fmt::format_to(out(), "\n]}}\n");
    flush();
}

void check_size(const Trace& trace, const std::string& path, const PerfettoOptions& options) {
    std::uint64_t events = trace.event_count() + 2 * trace.flows.size();
    for (const TraceCounter& counter : trace.counters) {
        events += counter.value.size();
    }
    if (events > options.max_events && !options.force) {
        throw InputError(path,
                         fmt::format("{} trace events; a browser holds about {}", events, options.max_events),
                         "write .etr for echosim-viewer, or use --force");
    }
}

} // namespace

void write_perfetto(const Trace& trace, const std::string& path, const PerfettoOptions& options) {
    const bool gzip = std::string_view(path).ends_with(".json.gz");
    if (!gzip && !std::string_view(path).ends_with(".json")) {
        throw InputError(path, "the name of a Perfetto trace ends in .json or .json.gz");
    }
    check_size(trace, path, options);
    check_trace(trace, "trace");
    OutputFile file(path);
    if (gzip) {
        Gzip compressor(file);
        const Sink sink = [&](std::string_view text) { compressor.write(text); };
        PerfettoWriter(trace, sink).write();
        compressor.finish();
    } else {
        const Sink sink = [&](std::string_view text) { file.write(std::as_bytes(std::span(text))); };
        PerfettoWriter(trace, sink).write();
    }
    file.commit();
}

void write_perfetto(const Trace& trace, std::ostream& out, const PerfettoOptions& options) {
    check_size(trace, "trace", options);
    check_trace(trace, "trace");
    const Sink sink = [&](std::string_view text) {
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
    };
    PerfettoWriter(trace, sink).write();
    if (!out) {
        throw InputError("trace", "the output stream cannot be written");
    }
}

} // namespace echosim
