// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/command.h"
#include "simulator/cli/commands/export_folder.h"
#include "simulator/cli/commands/export_format.h"
#include "simulator/cli/commands/import_figures.h"
#include "simulator/cli/commands/import_options.h"
#include "simulator/cli/job_input.h"
#include "simulator/cli/output.h"
#include "simulator/core/error.h"
#include "simulator/core/suggest.h"
#include "traces/chrome_json.h"
#include "traces/import/notes.h"
#include "traces/merge.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace echosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Request {
    ExportFormat format = ExportFormat::perfetto;
    std::string output;
    std::optional<std::vector<int>> ranks; // --ranks; empty list: all
    std::uint64_t max_events = 0;
};

Request read_request(const Invocation& invocation) {
    if (invocation.arguments.empty()) {
        throw InputError("echosim export", "the file is missing",
                         "write: echosim export FILE --format perfetto|chrome|chakra|sqlite|csv -o OUT");
    }
    Request request;
    if (!invocation.has("--format")) {
        throw InputError("--format", "is missing", "formats: perfetto, chrome, chakra, sqlite, csv");
    }
    request.format = *export_format_from(*invocation.value("--format"));
    if (!invocation.has("--output")) {
        throw InputError("--output", "is missing", "write: -o OUT");
    }
    request.output = *invocation.value("--output");
    if (request.output.empty() || request.output == "-") {
        throw InputError("--output", "export writes files; give a name");
    }
    if (const auto ranks = invocation.value("--ranks")) {
        request.ranks.emplace();
        if (*ranks != "all") {
            *request.ranks =
                parse_ranks_in_order("--ranks", *ranks, "write all, or a list such as 0,8,16-23");
        }
    }
    constexpr int most = 2'000'000'000;
    request.max_events = PerfettoOptions{}.max_events;
    if (const auto events = invocation.value("--max-events")) {
        request.max_events = static_cast<std::uint64_t>(parse_whole_number("--max-events", *events, 1, most));
    }
    if (invocation.has("--force")) {
        request.max_events = ~std::uint64_t{0};
    }
    return request;
}

std::vector<int> all_ranks(const Trace& trace) {
    std::vector<int> ranks;
    for (const TraceClass& cls : trace.classes) {
        const std::vector<int> more = expand_ranks(cls.ranks);
        ranks.insert(ranks.end(), more.begin(), more.end());
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

bool has(const RankRange& range, int rank) {
    const std::int64_t behind = std::int64_t{rank} - range.first;
    return behind >= 0 && behind % range.stride == 0 && behind / range.stride < range.count;
}

// The events that the file will hold, counted before anything is copied.
std::uint64_t events_of(const Trace& trace, const std::vector<int>& ranks) {
    std::vector<std::uint64_t> by_class(trace.classes.size(), 0);
    for (const TraceStream& stream : trace.streams) {
        by_class.at(stream.rank_class) += stream.events.size();
    }
    std::uint64_t sum = 0;
    for (std::size_t cls = 0; cls < trace.classes.size(); ++cls) {
        for (const RankRange& range : trace.classes[cls].ranks) {
            const auto picked =
                std::count_if(ranks.begin(), ranks.end(), [&](int rank) { return has(range, rank); });
            sum += by_class[cls] * static_cast<std::uint64_t>(picked);
        }
    }
    return sum;
}

void check_size(const std::string& source, std::uint64_t events, std::uint64_t most) {
    if (events > most) {
        const auto text = [](std::uint64_t value) { return with_separators(static_cast<long long>(value)); };
        throw InputError(source,
                         fmt::format("{} events would be written; more than {}", text(events), text(most)),
                         "--ranks picks ranks, --max-events N or --force writes them all the same");
    }
}

// Each rank gets streams of its own, which cost as much memory as hundreds of events.
void check_ranks(const std::string& source, std::size_t ranks, std::uint64_t most_events) {
    constexpr std::uint64_t events_of_a_rank = 300;
    const std::uint64_t most = std::max<std::uint64_t>(1024, most_events / events_of_a_rank);
    if (ranks > most) {
        const auto text = [](std::uint64_t value) { return with_separators(static_cast<long long>(value)); };
        throw InputError(source,
                         fmt::format("the events of {} ranks would be written one by one; more than {}",
                                     text(ranks), text(most)),
                         "--ranks picks ranks, --force writes them all the same");
    }
}

// The trace as it is to be written: the picked ranks, or all classes as they stand.
Trace pick(Trace trace, const Request& request, const std::string& source) {
    if (!request.ranks) {
        check_size(source, trace.event_count(), request.max_events);
        return trace;
    }
    const std::vector<int> known = all_ranks(trace);
    const std::vector<int>& ranks = request.ranks->empty() ? known : *request.ranks;
    for (const int rank : ranks) {
        if (!std::binary_search(known.begin(), known.end(), rank)) {
            throw InputError("--ranks", fmt::format("{} has no rank {}", source, rank),
                             known.empty() ? "the ranks of this recording are not known"
                                           : fmt::format("ranks: {} to {}", known.front(), known.back()));
        }
    }
    if (ranks.empty()) {
        throw InputError("--ranks", fmt::format("the ranks of {} are not known", source),
                         "leave out --ranks: everything is written");
    }
    check_ranks(source, ranks.size(), request.max_events);
    check_size(source, events_of(trace, ranks), request.max_events);
    return select_ranks(trace, ranks);
}

// Without times all events would lie on each other at time 0.
void check_time_axis(const std::string& source, ExportFormat format) {
    if (format == ExportFormat::perfetto || format == ExportFormat::chrome) {
        throw InputError(source, "has no times: nothing is to be seen on a time axis",
                         "export chakra or sqlite; --force writes it all the same");
    }
}

// Kernels in are kernels out: the file is read again.
std::uint64_t check_kernels(const std::string& path, ExportFormat format, std::uint64_t expected) {
    const std::uint64_t found = kernels_in_file(path, format);
    if (found != expected) {
        throw std::runtime_error(
            fmt::format("{} holds {} kernels where {} were written", path, found, expected));
    }
    return found;
}

struct WrittenFile {
    std::string path;
    std::vector<int> ranks; // that it has, one of each class; none: not known
    std::uint64_t events = 0;
    std::uint64_t kernels = 0;
};

WrittenFile write_checked(const Trace& trace, const std::string& path, ExportFormat format) {
    write_export(trace, path, format);
    WrittenFile file{"", {}, trace.event_count(), check_kernels(path, format, count_kernels(trace))};
    for (const TraceClass& cls : trace.classes) {
        if (!cls.ranks.empty()) {
            file.ranks.push_back(static_cast<int>(cls.ranks.front().first));
        }
    }
    return file;
}

// The class as a trace of its own, with its first rank; a class without ranks gets a number for the moment.
Trace trace_of_class(Trace& trace, std::uint32_t cls) {
    const std::vector<RankRange> ranks = trace.classes[cls].ranks;
    if (!ranks.empty()) {
        return select_ranks(trace, {static_cast<int>(ranks.front().first)});
    }
    const std::vector<int> known = all_ranks(trace);
    const int unused = known.empty() ? 0 : known.back() + 1;
    trace.classes[cls].ranks = compact_ranks({unused});
    Trace alone = select_ranks(trace, {unused});
    alone.classes.front().ranks.clear();
    alone.classes.front().name = alone.strings.intern(trace.text(trace.classes[cls].name));
    trace.classes[cls].ranks = ranks;
    return alone;
}

std::vector<WrittenFile> write_all(Trace trace, const Request& request) {
    std::vector<WrittenFile> written;
    const bool folder = is_one_rank_a_file(request.format) && trace.classes.size() > 1;
    if (!folder) {
        check_path_of_rank(request.output, request.format);
    }
    StagedOutput staged(request.output, folder);
    if (!folder) {
        written.push_back(write_checked(trace, staged.path(), request.format));
        written.back().path = request.output;
    } else {
        mark_one_clock(trace);
        for (std::uint32_t cls = 0; cls < trace.classes.size(); ++cls) {
            const std::vector<RankRange>& ranks = trace.classes[cls].ranks;
            const std::uint32_t number = ranks.empty() ? cls : ranks.front().first;
            const std::string name = file_name_of(request.format, number, !ranks.empty());
            written.push_back(write_checked(trace_of_class(trace, cls), staged.path(name), request.format));
            written.back().path = (fs::path(request.output) / name).string();
        }
    }
    staged.commit();
    return written;
}

std::string export_text(const std::vector<WrittenFile>& files, const Request& request) {
    std::uint64_t events = 0;
    std::uint64_t kernels = 0;
    for (const WrittenFile& file : files) {
        events += file.events;
        kernels += file.kernels;
    }
    return fmt::format("{}: {} ({} event{}, {} kernel{}){}\n", request.output,
                       files.size() == 1 ? std::string("1 file") : fmt::format("{} files", files.size()),
                       with_separators(static_cast<long long>(events)), events == 1 ? "" : "s",
                       with_separators(static_cast<long long>(kernels)), kernels == 1 ? "" : "s",
                       usage_of(request.format, request.output));
}

Json export_document(const std::vector<WrittenFile>& files, const Invocation& invocation) {
    Json rows = Json::array();
    for (const WrittenFile& file : files) {
        rows.push_back(
            {{"path", file.path}, {"ranks", file.ranks}, {"events", file.events}, {"kernels", file.kernels}});
    }
    return {{"schema", "echosim.export/1"},
            {"input", invocation.arguments[0]},
            {"format", *invocation.value("--format")},
            {"files", rows}};
}

} // namespace

int run_export(const Invocation& invocation, Console& console) {
    const Request request = read_request(invocation);
    check_export_path(request.output, request.format);
    if (std::error_code error; !request.output.ends_with('/') && !fs::is_directory(request.output, error)) {
        check_output(invocation); // a folder is checked when it is made
    }
    Imported imported = import_trace(invocation.arguments, import_options(invocation));
    for (const auto& [word, count] : imported.report.warnings) {
        const std::string_view meaning = warning_text(word);
        console.detail(fmt::format("{} {}{}{}", count, word, meaning.empty() ? "" : ": ", meaning));
    }
    refuse_to_overwrite(request.output, imported.report.files);
    if (!imported.trace.timed && !invocation.has("--force")) {
        check_time_axis(invocation.arguments[0], request.format);
    }
    Trace trace = pick(std::move(imported.trace), request, invocation.arguments[0]);
    const HoldSignals held;
    const std::vector<WrittenFile> written = write_all(std::move(trace), request);
    if (invocation.has("--json")) {
        console.out() << document_text(export_document(written, invocation));
    } else {
        console.print(export_text(written, request));
    }
    return static_cast<int>(ExitCode::ok);
}

} // namespace echosim
