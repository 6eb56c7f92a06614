// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_json.h"

#include "simulator/core/error.h"
#include "traces/chrome_json/writer.h"
#include "traces/gzip.h"
#include "traces/output_file.h"

#include <fmt/format.h>
#include <ostream>

namespace echosim {
namespace {

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

void check_one_rank(const Trace& trace, const std::string& path) {
    const std::uint64_t ranks = trace.classes.size() == 1 ? trace.classes.front().rank_count() : 0;
    if (trace.classes.size() == 1 && ranks <= 1) {
        return;
    }
    const std::string has = ranks > 1 ? fmt::format("stands for {} ranks", ranks)
                                      : fmt::format("has {} of them", trace.classes.size());
    throw InputError(path, "a file in this format holds one rank, the timeline " + has,
                     "choose one rank for each file, or write the perfetto format");
}

void check(const Trace& trace, TraceDialect dialect, const std::string& where,
           const PerfettoOptions& options) {
    check_size(trace, where, options);
    check_trace(trace, "trace");
    if (dialect == TraceDialect::chrome) {
        check_one_rank(trace, where);
    }
}

void write_file(const Trace& trace, TraceDialect dialect, const std::string& path,
                const PerfettoOptions& options) {
    const bool gzip = std::string_view(path).ends_with(".json.gz");
    if (!gzip && !std::string_view(path).ends_with(".json")) {
        throw InputError(path, "trace events are written to files that end in .json or .json.gz");
    }
    check(trace, dialect, path, options);
    OutputFile file(path);
    if (gzip) {
        Gzip compressor(file);
        const TextSink sink = [&](std::string_view text) { compressor.write(text); };
        TraceEventWriter(trace, dialect, sink).write();
        compressor.finish();
    } else {
        const TextSink sink = [&](std::string_view text) { file.write(std::as_bytes(std::span(text))); };
        TraceEventWriter(trace, dialect, sink).write();
    }
    file.commit();
}

void write_stream(const Trace& trace, TraceDialect dialect, std::ostream& out,
                  const PerfettoOptions& options) {
    check(trace, dialect, "trace", options);
    const TextSink sink = [&](std::string_view text) {
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
    };
    TraceEventWriter(trace, dialect, sink).write();
    if (!out) {
        throw InputError("trace", "the output stream cannot be written");
    }
}

} // namespace

void write_perfetto(const Trace& trace, const std::string& path, const PerfettoOptions& options) {
    write_file(trace, TraceDialect::perfetto, path, options);
}

void write_perfetto(const Trace& trace, std::ostream& out, const PerfettoOptions& options) {
    write_stream(trace, TraceDialect::perfetto, out, options);
}

void write_chrome(const Trace& trace, const std::string& path, const PerfettoOptions& options) {
    write_file(trace, TraceDialect::chrome, path, options);
}

void write_chrome(const Trace& trace, std::ostream& out, const PerfettoOptions& options) {
    write_stream(trace, TraceDialect::chrome, out, options);
}

} // namespace echosim
