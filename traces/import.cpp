// SPDX-License-Identifier: Apache-2.0
#include "traces/import.h"

#include "simulator/core/error.h"
#include "traces/align/spread.h"
#include "traces/chakra.h"
#include "traces/echo_json.h"
#include "traces/etr.h"
#include "traces/import/detect.h"
#include "traces/import/notes.h"
#include "traces/import/ranks.h"
#include "traces/kineto.h"
#include "traces/match.h"
#include "traces/merge.h"
#include "traces/nsys.h"
#include "traces/sqlite_file.h"
#include "traces/unknown_comms.h"
#include "traces/workload_text.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace echosim {
namespace {

namespace fs = std::filesystem;

Imported read_own(const std::string& path) {
    Imported imported;
    std::vector<std::string> warnings;
    imported.trace = read_etr(path, &warnings);
    imported.report.format = ".etr";
    imported.report.files = {path};
    imported.report.events = imported.trace.event_count();
    imported.report.complete_events = imported.report.events;
    for (const TraceStream& stream : imported.trace.streams) {
        for (const EventKind kind : stream.events.kind) {
            imported.report.kernels += kind == EventKind::kernel || kind == EventKind::comm ? 1 : 0;
        }
    }
    imported.report.warn("incomplete_file", warnings.size());
    for (std::string& warning : warnings) {
        imported.report.note(std::move(warning));
    }
    return imported;
}

Imported read_one(const std::string& path, TraceFormat format) {
    switch (format) {
    case TraceFormat::etr:
        return read_own(path);
    case TraceFormat::trace_events:
        return read_trace_events(path);
    case TraceFormat::nsys:
        return read_nsys(path);
    case TraceFormat::own_sqlite:
        return read_sqlite(path);
    case TraceFormat::chakra:
        return read_chakra(path);
    case TraceFormat::workload_text:
        return read_workload_text(path);
    case TraceFormat::echo_json:
        return read_echo_json(path);
    }
    return {};
}

std::vector<TraceFormat> formats_of(const std::vector<std::string>& files) {
    std::vector<TraceFormat> formats;
    for (const std::string& file : files) {
        formats.push_back(detect_format(file));
    }
    const auto other = std::find_if(formats.begin(), formats.end(),
                                    [&](TraceFormat format) { return format != formats.front(); });
    if (other == formats.end()) {
        const bool whole_jobs = !formats.empty() && (formats.front() == TraceFormat::workload_text ||
                                                     formats.front() == TraceFormat::echo_json);
        if (whole_jobs && files.size() > 1) {
            throw InputError(files[1],
                             fmt::format("is a workload, as {} is: each describes a whole job, not a rank",
                                         fs::path(files[0]).filename().string()),
                             fmt::format("import one of the {} files", files.size()));
        }
        return formats;
    }
    constexpr std::size_t most = 12;
    std::string list;
    for (std::size_t i = 0; i < std::min(most, files.size()); ++i) {
        list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", fs::path(files[i]).filename().string(),
                            to_string(formats[i]));
    }
    list += files.size() > most ? fmt::format(" and {} more", files.size() - most) : std::string();
    throw InputError(files[static_cast<std::size_t>(other - formats.begin())],
                     "is of another format than the files before it: " + list,
                     "the files of a folder are the ranks of one job, in one format");
}

// As many files at once as the machine has processors, fewer when they would not fit in half of its memory: a
// reader takes up to eight times the size of its file, ten times more where that is compressed.
unsigned threads_for(const std::vector<std::string>& files, unsigned wanted) {
    std::uint64_t largest = 0;
    for (const std::string& file : files) {
        std::error_code error;
        const std::uint64_t size = fs::file_size(file, error);
        largest = error ? largest : std::max(largest, file.ends_with(".gz") ? size * 10 : size);
    }
    const auto pages = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_PHYS_PAGES)));
    const auto page = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_PAGESIZE)));
    const std::uint64_t fitting = pages * page / 2 / std::max<std::uint64_t>(1, largest * 8);
    const std::uint64_t processors = wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
    return static_cast<unsigned>(std::max<std::uint64_t>(
        1, std::min({processors, fitting, static_cast<std::uint64_t>(files.size())})));
}

// Every file by its reader, several at once. The error of the first file that has one is thrown.
std::vector<Imported> read_all(const std::vector<std::string>& files, const std::vector<TraceFormat>& formats,
                               const ImportOptions& options) {
    std::vector<Imported> found(files.size());
    std::vector<std::exception_ptr> errors(files.size());
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex announcing;
    const auto work = [&] {
        for (std::size_t i = next++; i < files.size() && !failed; i = next++) {
            if (options.on_file) {
                const std::scoped_lock lock(announcing);
                options.on_file(files[i]);
            }
            try {
                found[i] = read_one(files[i], formats[i]);
            } catch (...) {
                errors[i] = std::current_exception();
                failed = true;
            }
        }
    };
    std::vector<std::thread> threads;
    for (unsigned t = 1; t < threads_for(files, options.threads); ++t) {
        threads.emplace_back(work);
    }
    work();
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const std::exception_ptr& error : errors) {
        if (error) {
            std::rethrow_exception(error);
        }
    }
    return found;
}

Imported merged(std::vector<Imported>& parts) {
    Imported all;
    std::vector<Trace> traces;
    all.report.format = parts.front().report.format;
    for (Imported& part : parts) {
        all.report.add(part.report);
        traces.push_back(std::move(part.trace));
    }
    parts.clear();
    all.trace = merge(std::move(traces));
    return all;
}

void tell(const Matching& matching, ImportReport& report) {
    report.warn("inconsistent_collective", matching.inconsistent);
    report.warn("unmatched_collective", matching.alone);
    for (const std::string& note : matching.notes) {
        report.note("collectives: " + note);
    }
}

// Puts the recordings on one clock, or says that it cannot be done.
void align(Imported& all, const std::vector<std::uint32_t>& clocks, const Matching& matching,
           const std::string& where, AlignMode mode) {
    Alignment alignment = measure_alignment(all.trace, clocks);
    if (mode == AlignMode::automatic && !alignment.trusted) {
        std::string reason = alignment.reason;
        for (const std::string& note : matching.notes) {
            reason += "; " + note;
        }
        throw InputError(where, "the ranks cannot be put on one clock: " + reason,
                         "--align off keeps the times as they were recorded; times of different ranks can "
                         "then not be compared");
    }
    if (mode == AlignMode::automatic && needs_alignment(alignment)) {
        apply_alignment(all.trace, alignment);
    } else if (mode == AlignMode::off) {
        all.report.note("the clocks of the ranks are as recorded (--align off)" +
                        (alignment.trusted ? std::string() : ": " + alignment.reason));
    }
    all.report.alignment = std::move(alignment);
}

} // namespace

Imported import_trace(const std::vector<std::string>& paths, const ImportOptions& options) {
    if (paths.empty()) {
        throw InputError("", "no file or folder is given");
    }
    std::vector<std::string> notes;
    std::vector<std::string> files = trace_files(paths, notes);
    const std::vector<TraceFormat> formats = formats_of(files);
    std::vector<Imported> parts = read_all(files, formats, options);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (formats[i] == TraceFormat::etr || formats[i] == TraceFormat::own_sqlite) {
            recall_notes(parts[i]);
        }
    }
    const bool one_clock = take_one_clock(parts);
    Imported all;
    if (parts.size() == 1) {
        all = std::move(parts.front());
        const bool recorded =
            formats.front() == TraceFormat::nsys || formats.front() == TraceFormat::trace_events;
        if (recorded && all.trace.classes.size() > 1) {
            tell(match_collectives(all.trace), all.report);
        }
    } else {
        const std::vector<std::uint32_t> clocks = arrange_ranks(files, parts, notes);
        all = merged(parts);
        const Matching matching = match_collectives(all.trace);
        tell(matching, all.report);
        if (all.trace.timed && !one_clock) {
            align(all, clocks, matching, paths.front(), options.align);
        }
    }
    note_unknown_communication(all.trace, all.report);
    for (std::string& note : notes) {
        all.report.note(std::move(note));
    }
    return all;
}

} // namespace echosim
