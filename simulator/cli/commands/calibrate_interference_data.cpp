// SPDX-License-Identifier: Apache-2.0
#include "interference/trace_samples.h"
#include "simulator/catalogue/cluster.h"
#include "simulator/catalogue/gpu.h"
#include "simulator/cli/commands/calibrate_interference.h"
#include "simulator/cli/commands/import_options.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace echosim {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMaxCsv = 1_GiB;
constexpr std::size_t kFewest = 25; // four fifths of them are 20
constexpr std::size_t kMost = 2000; // a Gaussian process costs their third power
constexpr std::size_t kHead = 4096;

// The GPU that --gpu or --cluster names; null without them.
const Gpu* named_gpu(const Invocation& invocation) {
    const auto gpu = invocation.value("--gpu"), cluster = invocation.value("--cluster");
    if (gpu && cluster) {
        throw InputError("--gpu", "is given beside --cluster", "leave one of them out");
    }
    if (gpu) {
        return &find_gpu(*gpu);
    }
    return cluster ? &find_gpu(find_cluster(*cluster).gpu.name) : nullptr;
}

// A table, not a trace: traces are JSON, compressed, SQLite or .etr.
bool is_table(const std::string& path) {
    if (path.ends_with(".csv")) {
        return true;
    }
    std::ifstream file(path, std::ios::binary);
    std::string head(kHead, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    const std::size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    const bool text = head.find('\0') == std::string::npos && !head.starts_with("\x1f\x8b");
    return text && first != std::string::npos && head[first] != '{' && head[first] != '[' &&
           head.substr(0, head.find('\n')).find(',') != std::string::npos;
}

// The tables of a folder in order of their names; none: the folder holds a trace.
std::vector<std::string> tables_in(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.is_regular_file() && entry.path().extension() == ".csv") {
            files.push_back(entry.path().string());
        }
    }
    std::ranges::sort(files);
    return files;
}

bool overlaps(const InterferenceSample& sample) {
    return sample.overlap > 0;
}

void add(std::vector<InterferenceSample>&& samples, InterferenceSource source, InterferenceData& data) {
    source.samples = samples.size();
    source.overlapped = static_cast<std::size_t>(std::ranges::count_if(samples, overlaps));
    data.sources.push_back(std::move(source));
    std::ranges::copy_if(samples, std::back_inserter(data.samples), overlaps);
}

void add_table(const std::string& path, const Gpu* gpu, InterferenceData& data) {
    InterferenceSamples read = read_interference_csv(read_text_file(path, kMaxCsv), path, gpu);
    std::ranges::move(read.notes, std::back_inserter(data.notes));
    add(std::move(read.samples), {.path = path, .what = "CSV"}, data);
}

// Clocks of different ranks do not matter: pairs are of one GPU.
void add_trace(const std::string& path, const Gpu* gpu, ImportOptions options, InterferenceData& data) {
    options.align = AlignMode::off;
    const Imported imported = import_trace({path}, options);
    TracePairs pairs = find_pairs(imported.trace, path, gpu);
    std::ranges::move(pairs.notes, std::back_inserter(data.notes));
    InterferenceSource source{.path = path, .what = imported.report.format};
    source.remark =
        fmt::format("{} kernels, {} communications; {} kernels overlapped, {} of them never alone",
                    pairs.kernels, pairs.communications, pairs.kernels_overlapped, pairs.without_partner);
    add(std::move(pairs.samples), std::move(source), data);
}

// Evenly over the list, so that every file and family keeps its share.
void thin(InterferenceData& data) {
    const std::size_t all = data.samples.size();
    if (all <= kMost) {
        return;
    }
    std::vector<InterferenceSample> kept;
    for (std::size_t i = 0; i < kMost; ++i) {
        kept.push_back(std::move(data.samples[i * all / kMost]));
    }
    data.samples = std::move(kept);
    data.notes.push_back(fmt::format("{} of {} samples are used, evenly over the files", kMost, all));
}

} // namespace

InterferenceData read_interference_data(const Invocation& invocation) {
    const Gpu* gpu = named_gpu(invocation);
    InterferenceData data;
    for (std::size_t i = 1; i < invocation.arguments.size(); ++i) {
        const std::string& path = invocation.arguments[i];
        std::error_code error;
        const std::vector<std::string> tables =
            fs::is_directory(path, error) ? tables_in(path) : std::vector<std::string>();
        for (const std::string& table : tables) {
            add_table(table, gpu, data);
        }
        if (tables.empty() && fs::is_regular_file(path, error) && is_table(path)) {
            add_table(path, gpu, data);
        } else if (tables.empty()) {
            add_trace(path, gpu, import_options(invocation), data);
        }
    }
    if (data.samples.size() < kFewest) {
        std::vector<Problem> problems{
            {"echosim calibrate interference",
             fmt::format(
                 "{} kernels overlap communication and were measured alone too; a fit takes {} or more",
                 data.samples.size(), kFewest),
             "measure with interference_bench, or record more steps; --set interference=prior needs no "
             "data"}};
        for (const std::string& note : data.notes) {
            problems.push_back({{}, note, {}});
        }
        throw InputError(problems);
    }
    thin(data);
    return data;
}

} // namespace echosim
