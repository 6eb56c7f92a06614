// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto.h"

#include "simulator/core/error.h"
#include "traces/kineto/build.h"
#include "traces/kineto/header.h"
#include "traces/kineto/pipeline.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

namespace echosim {
namespace {

constexpr unsigned kMostThreads = 4;

// Empty: the file is of our own, which is found out behind its events only.
std::optional<Imported> read_once(const std::string& path, bool assume_own) {
    const auto bytes = open_trace_bytes(path);
    TraceScanner scanner(*bytes, path);
    const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
    ParsedTrace parsed = parse_pieces(scanner, path, assume_own, threads);
    ImportReport& report = parsed.table.report;
    const KinetoHeader header = read_kineto_header(scanner.document(), path, report);
    const std::uint64_t begin = scanner.document().offset_of(0);
    if (report.events > 0 && !parsed.table.recognised) {
        throw InputError(
            fmt::format("{}:{}", path, begin),
            fmt::format("this JSON is no trace: none of the {} entries of its list has a phase \"ph\"",
                        report.events),
            "give a trace of the PyTorch profiler, a Chrome trace, or a file that `export` wrote");
    }
    if (!header.own) {
        if (parsed.own) {
            throw InputError(fmt::format("{}:{}", path, begin), "otherData.echosim_trace is not an object");
        }
        return build_recorded(parsed.table, header, path);
    }
    return parsed.own ? std::optional<Imported>(build_own(parsed.table, header, path)) : std::nullopt;
}

} // namespace

Imported read_trace_events(const std::string& path) {
    std::optional<Imported> imported = read_once(path, false);
    return imported ? std::move(*imported) : *read_once(path, true);
}

} // namespace echosim
