// SPDX-License-Identifier: Apache-2.0
#include "traces/nsys/import.h"

#include "traces/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <set>

// What the file says of itself: exporter, machine, start time, processes and threads.
namespace echosim {
namespace {

std::map<std::string, std::string> read_pairs(NsysImport& import, std::string_view table) {
    std::map<std::string, std::string> pairs;
    NsysTable rows = import.open(table, {"name", "value"});
    while (rows.next()) {
        const auto name = rows.text(0);
        const auto value = rows.text(1);
        if (name && value) {
            pairs.emplace(*name, *value);
        }
    }
    return pairs;
}

// Times count from the start of the session; with --ts-normalize from 1970; with --ts-shift they are moved.
void read_start_time(NsysImport& import, const std::map<std::string, std::string>& exported) {
    NsysTable rows = import.open("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
    if (!rows.next() || !rows.integer(0)) {
        import.report.note("the wall clock of the recording is not in the file: it cannot be aligned with "
                           "others by time of day");
        return;
    }
    const TimeNs epoch = rows.within(0, 0, std::int64_t{1} << 61U, 0);
    TimeNs moved = 0;
    if (const auto shift = exported.find("EXPORT_PARAM_TIME_SHIFT"); shift != exported.end()) {
        std::from_chars(shift->second.data(), shift->second.data() + shift->second.size(), moved);
    }
    if (moved > -epoch && moved < epoch) {
        import.shift = moved;
    }
    const auto normalized = exported.find("EXPORT_PARAM_TIME_NORMALIZE");
    if (normalized != exported.end() && normalized->second == "true") {
        import.shift += epoch;
    }
    import.builder.set_t0(epoch);
}

// Name of the machine's GPUs, in the order of the table.
std::string gpu_names(NsysImport& import) {
    NsysTable rows = import.open("TARGET_INFO_GPU", {"id", "name"});
    std::string names;
    while (rows.next()) {
        names += names.empty() ? "" : ",";
        names += json_string(rows.text(1).value_or("unknown"));
    }
    return names;
}

void set_meta(NsysImport& import, const std::map<std::string, std::string>& exported) {
    const auto value = [&](const char* key) {
        const auto found = exported.find(key);
        return found == exported.end() ? std::string("unknown version") : found->second;
    };
    NsysTable system = import.open("TARGET_INFO_SYSTEM_ENV", {"name", "value"});
    std::string host;
    std::string driver;
    while (system.next()) {
        const std::string_view name = system.text(0).value_or("");
        if (name == "Hostname") {
            host = system.text(1).value_or("");
        } else if (name == "NvDriverVersion") {
            driver = system.text(1).value_or("");
        }
    }
    const auto text = [](const std::string& what) { return json_string(what); };
    std::string meta = fmt::format(R"({{"recorder":{},"schema":{})",
                                   text("Nsight Systems " + value("EXPORT_PRODUCT_VERSION")),
                                   text(value("EXPORT_SCHEMA_VERSION")));
    const std::string gpus = gpu_names(import);
    meta += host.empty() ? "" : R"(,"host":)" + text(host);
    meta += driver.empty() ? "" : R"(,"driver":)" + text(driver);
    meta += gpus.empty() ? "" : R"(,"gpus":[)" + gpus + "]";
    import.builder.set_meta(meta + "}");
}

constexpr std::array<std::string_view, 6> kDeviceTables{
    "CUPTI_ACTIVITY_KIND_KERNEL",     "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",     "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"};

void add_ids(NsysImport& import, std::string_view table, std::string_view column,
             std::set<std::uint64_t>& ids) {
    NsysTable rows = import.open(table, {column});
    std::optional<std::int64_t> last;
    while (rows.has(0) && rows.next()) {
        const std::optional<std::int64_t> id = rows.integer(0);
        if (id && id != last) {
            ids.insert(nsys_process(*id));
            last = id;
        }
    }
}

// Processes that used a GPU; in a recording without a GPU, those that have ranges or calls of any kind.
std::set<std::uint64_t> find_processes(NsysImport& import) {
    std::set<std::uint64_t> ids;
    for (const std::string_view table : kDeviceTables) {
        add_ids(import, table, "globalPid", ids);
    }
    add_ids(import, "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid", ids);
    if (ids.empty()) {
        for (const char* table : {"NVTX_EVENTS", "OSRT_API", "CUBLAS_EVENTS", "CUDNN_EVENTS"}) {
            add_ids(import, table, "globalTid", ids);
        }
    }
    if (ids.empty()) {
        ids.insert(0);
    }
    return ids;
}

void add_processes(NsysImport& import) {
    NsysTable rows = import.open("PROCESSES", {"globalPid", "name"});
    while (rows.next()) {
        if (const std::optional<std::int64_t> id = rows.integer(0)) {
            import.process_names[nsys_process(*id)] = rows.text(1).value_or("");
        }
    }
    const std::string stem = std::filesystem::path(import.database.path()).stem().string();
    for (const std::uint64_t id : find_processes(import)) {
        const auto name = import.process_names.find(id);
        std::string text = nsys_pid(id) == 0 ? stem : fmt::format("process {}", nsys_pid(id));
        if (name != import.process_names.end() && !name->second.empty()) {
            text += " " + std::filesystem::path(name->second).filename().string();
        }
        NsysProcess process;
        process.id = id;
        process.rank_class = import.builder.add_class(text, -1, {});
        import.process_rows.emplace(id, static_cast<std::uint32_t>(import.processes.size()));
        import.processes.push_back(std::move(process));
    }
}

void read_thread_names(NsysImport& import) {
    NsysTable rows = import.open("ThreadNames", {"nameId", "globalTid"});
    while (rows.next()) {
        const std::optional<std::int64_t> id = rows.integer(1);
        const std::optional<std::string_view> name = import.strings.text(rows.integer(0));
        if (id && name) {
            import.thread_names[static_cast<std::uint64_t>(*id)] = *name;
        }
    }
}

} // namespace

void read_nsys_identity(NsysImport& import) {
    import.strings.read(import.database);
    import.tables_read.emplace_back("StringIds");
    const std::map<std::string, std::string> exported = read_pairs(import, "META_DATA_EXPORT");
    read_start_time(import, exported);
    set_meta(import, exported);
    add_processes(import);
    read_thread_names(import);
}

namespace {

// The value of one of the variables by which launchers number ranks, in the environment of the profiler.
std::optional<int> number_of(std::string_view environment, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        const std::string key = std::string(name) + "=";
        std::size_t at = environment.find(key);
        while (at != std::string_view::npos && at > 0 && environment[at - 1] != ';') {
            at = environment.find(key, at + 1);
        }
        if (at == std::string_view::npos) {
            continue;
        }
        int value = -1;
        const char* begin = environment.data() + at + key.size();
        const auto result = std::from_chars(begin, environment.data() + environment.size(), value);
        const bool whole = result.ptr == environment.data() + environment.size() || *result.ptr == ';';
        if (result.ec == std::errc{} && whole && value >= 0) {
            return value;
        }
    }
    return std::nullopt;
}

std::optional<int> rank_of_environment(NsysImport& import) {
    NsysTable rows = import.open("TARGET_INFO_SYSTEM_ENV", {"name", "value"});
    while (rows.next()) {
        if (rows.text(0) != "DeviceEnvironment") {
            continue;
        }
        const std::string environment(rows.text(1).value_or(""));
        const auto rank =
            number_of(environment, {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"});
        const auto size =
            number_of(environment, {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
        return rank && size && *rank < *size ? rank : std::nullopt;
    }
    return std::nullopt;
}

// Rank of each process in the largest communicator, where all have one of that size and differ in it.
std::vector<int> ranks_of_communicators(const NsysImport& import, const Trace& trace) {
    std::vector<int> ranks(import.processes.size(), -1);
    int largest = 1;
    for (const NsysNcclCall& call : import.nccl_calls) {
        largest = std::max(largest, call.rank >= 0 ? call.ranks : 0);
    }
    for (const NsysNcclCall& call : import.nccl_calls) {
        const std::uint32_t row = trace.streams[call.thread].rank_class;
        if (call.ranks == largest && call.rank >= 0 && call.rank < largest) {
            ranks[row] = ranks[row] == -1 || ranks[row] == call.rank ? call.rank : -2;
        }
    }
    const std::set<int> distinct(ranks.begin(), ranks.end());
    return distinct.size() == ranks.size() && *distinct.begin() >= 0 ? ranks : std::vector<int>{};
}

} // namespace

void describe_nsys_ranks(NsysImport& import, Trace& trace) {
    std::vector<int> ranks;
    if (const auto rank = rank_of_environment(import); rank && import.processes.size() == 1) {
        ranks = {*rank};
        import.report.note(
            fmt::format("rank {} is taken from the environment that the file recorded", *rank));
    } else {
        ranks = ranks_of_communicators(import, trace);
        if (!ranks.empty()) {
            import.report.note("ranks are those of the largest NCCL communicator of the file");
        }
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        TraceClass& rank_class = trace.classes[import.processes[i].rank_class];
        rank_class.name = trace.strings.intern(fmt::format("rank {}", ranks[i]));
        rank_class.ranks = compact_ranks({ranks[i]});
    }
    if (ranks.empty()) {
        import.report.note("the file does not tell the ranks of its processes");
    }
}

} // namespace echosim
