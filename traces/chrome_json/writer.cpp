// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_json/writer.h"

#include "traces/chrome_json/header.h"
#include "traces/json_text.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>

namespace echosim {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 20U;

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

// cuLaunchKernel is the driver's, cudaLaunchKernel and hipLaunchKernel are the runtime's.
bool is_driver_call(std::string_view name) {
    return name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z';
}

} // namespace

TraceEventWriter::TraceEventWriter(const Trace& trace, TraceDialect dialect, const TextSink& sink)
    : trace_(trace), dialect_(dialect), sink_(sink), threads_(trace, dialect), args_(trace, dialect) {}

void TraceEventWriter::flush() {
    sink_({buffer_.data(), buffer_.size()});
    buffer_.clear();
}

void TraceEventWriter::begin_event() {
    if (buffer_.size() >= kFlushBytes) {
        flush();
    }
    fmt::format_to(std::back_inserter(buffer_), "{}", first_ ? "\n" : ",\n");
    first_ = false;
}

void TraceEventWriter::put_metadata(const TraceThread& thread, std::string_view name, std::string_view args) {
    begin_event();
    fmt::format_to(std::back_inserter(buffer_), R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{{}}}}})",
                   thread.pid, thread.tid, name, args);
}

void TraceEventWriter::put_process(const TraceThread& thread, std::string_view name, std::size_t position) {
    put_metadata(thread, "process_name", fmt::format(R"("name":{})", json_string(name)));
    put_metadata(thread, "process_sort_index", fmt::format(R"("sort_index":{})", position));
}

// Natural order: by pipeline stage, then by number of the first rank.
void TraceEventWriter::put_processes() {
    const auto key = [&](std::uint32_t i) {
        const TraceClass& row = trace_.classes[i];
        return std::tuple(row.stage, row.ranks.empty() ? 0U : row.ranks.front().first, i);
    };
    std::vector<std::uint32_t> order(trace_.classes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    for (std::size_t position = 0; position < order.size(); ++position) {
        const TraceClass& row = trace_.classes[order[position]];
        const TraceThread process{threads_.pid_of_class(order[position]), 0};
        put_process(process, process_name(trace_, row), position);
        if (row.rank_count() > 1) {
            put_metadata(process, "process_labels",
                         fmt::format(R"("labels":{})", json_string(rank_list(row))));
        }
    }
}

// As Kineto has them: the process of the threads, and one for each GPU.
void TraceEventWriter::put_recorded_processes() {
    std::set<std::uint64_t> gpus;
    for (std::size_t i = 0; i < trace_.streams.size(); ++i) {
        gpus.insert(threads_.of_stream(i).front().pid);
    }
    const std::string name = process_name(trace_, trace_.classes.front());
    std::size_t position = 0;
    put_process({threads_.host_pid(), 0}, name, position++);
    put_metadata({threads_.host_pid(), 0}, "process_labels", R"("labels":"CPU")");
    gpus.erase(threads_.host_pid());
    for (const std::uint64_t gpu : gpus) {
        put_process({gpu, 0}, name, position++);
        put_metadata({gpu, 0}, "process_labels", fmt::format(R"("labels":"GPU {}")", gpu));
    }
}

void TraceEventWriter::put_thread_names(std::size_t stream) {
    const TraceStream& row = trace_.streams[stream];
    const std::string_view name = row.name == kNoName ? to_string(row.kind) : trace_.text(row.name);
    const std::vector<TraceThread>& threads = threads_.of_stream(stream);
    for (std::size_t lane = 0; lane < threads.size(); ++lane) {
        const std::string text = lane == 0 ? std::string(name) : fmt::format("{} (overlap {})", name, lane);
        put_metadata(threads[lane], "thread_name", fmt::format(R"("name":{})", json_string(text)));
        const std::uint64_t position = stream * std::uint64_t{16} + std::min<std::size_t>(lane, 15);
        put_metadata(threads[lane], "thread_sort_index", fmt::format(R"("sort_index":{})", position));
    }
}

void TraceEventWriter::put_stream(std::size_t stream) {
    put_thread_names(stream);
    const TraceStream& row = trace_.streams[stream];
    for (std::size_t i = 0; i < row.events.size(); ++i) {
        put_event(row, row.events.row(i), threads_.of_event(stream, i));
    }
}

// With a comma behind it.
void TraceEventWriter::put_category(const TraceStream& stream, const Event& event) {
    constexpr std::array<std::string_view, 10> kWords{
        "cpu_op",    "kernel", "gpu_memcpy",   "gpu_memset",      "kernel",
        "cuda_sync", "kernel", "cuda_runtime", "user_annotation", "python_function"};
    std::string_view word;
    if (event.kind == EventKind::annotation && stream.kind != StreamKind::host) {
        word = "gpu_user_annotation";
    } else if (event.kind == EventKind::api && is_driver_call(trace_.text(event.name))) {
        word = "cuda_driver";
    } else if (static_cast<std::size_t>(event.kind) < kWords.size()) {
        word = kWords[static_cast<std::size_t>(event.kind)];
    } else if (event.ext != kNoRow) {
        fmt::format_to(std::back_inserter(buffer_), R"("cat":{},)", args_.name(NameId{event.ext}));
        return;
    } else {
        return;
    }
    fmt::format_to(std::back_inserter(buffer_), R"("cat":"{}",)", word);
}

void TraceEventWriter::put_event(const TraceStream& stream, const Event& event, const TraceThread& thread) {
    const bool point = event.kind == EventKind::instant && event.duration == 0;
    begin_event();
    fmt::format_to(std::back_inserter(buffer_), R"({{{},"pid":{},"tid":{},)",
                   point ? R"("ph":"i","s":"t")" : R"("ph":"X")", thread.pid, thread.tid);
    put_json_time(buffer_, "ts", event.start);
    if (!point) {
        put_json_time(buffer_, "dur", event.duration);
    }
    const std::string other = args_.reader_name(event);
    fmt::format_to(std::back_inserter(buffer_), R"("name":{},)",
                   other.empty() ? std::string(args_.name(event.name)) : json_string(other));
    put_category(stream, event);
    fmt::format_to(std::back_inserter(buffer_), R"("args":{{)");
    args_.put(buffer_, stream, event);
    fmt::format_to(std::back_inserter(buffer_), "}}}}");
}

void TraceEventWriter::put_counter(std::size_t row) {
    const TraceCounter& counter = trace_.counters[row];
    const std::string_view unit =
        counter.unit == kNoName ? std::string_view("\"value\"") : args_.name(counter.unit);
    for (std::size_t i = 0; i < counter.value.size(); ++i) {
        begin_event();
        fmt::format_to(std::back_inserter(buffer_), R"({{"ph":"C","pid":{},"tid":0,)",
                       threads_.pid_of_class(counter.rank_class));
        put_json_time(buffer_, "ts", counter.time_ns[i]);
        fmt::format_to(std::back_inserter(buffer_), R"("name":{},"counter":{},"args":{{{}:{}}}}})",
                       args_.name(counter.name), row, unit, counter.value[i]);
    }
}

void TraceEventWriter::write() {
    sink_(trace_events_header(trace_, threads_, dialect_));
    if (dialect_ == TraceDialect::perfetto) {
        put_processes();
    } else {
        put_recorded_processes();
    }
    for (std::size_t i = 0; i < trace_.streams.size(); ++i) {
        put_stream(i);
    }
    for (std::size_t i = 0; i < trace_.flows.size(); ++i) {
        put_flow(i);
    }
    if (dialect_ == TraceDialect::chrome) {
        put_call_arrows();
    }
    for (std::size_t i = 0; i < trace_.counters.size(); ++i) {
        put_counter(i);
    }
    fmt::format_to(std::back_inserter(buffer_), "\n]}}\n");
    flush();
}

} // namespace echosim
