// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_json/args.h"

#include "traces/chrome_json/keys.h"
#include "traces/json_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

auto at_end(fmt::memory_buffer& out) {
    return std::back_inserter(out);
}

std::string label_args(const Label& label, std::string_view module) {
    std::string args = fmt::format(R"("phase":"{}",)", to_string(label.phase));
    const auto add = [&](std::string_view key, std::int32_t value) {
        if (value != -1) {
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

// As PyTorch names element types and collectives.
std::string_view torch_word(DType type) {
    constexpr std::array<std::string_view, 9> kWords{
        "Float", "TF32", "Half", "BFloat16", "Float8_e4m3fn", "Float4_e2m1fn_x2", "Char", "Int", "Long"};
    return kWords[static_cast<std::size_t>(type)];
}

std::string_view torch_word(const CommOp& op) {
    constexpr std::array<std::string_view, 9> kWords{"allreduce",  "_allgather_base", "_reduce_scatter_base",
                                                     "all_to_all", "broadcast",       "reduce",
                                                     "gather",     "scatter",         "send"};
    return op.direction == Direction::receive ? "recv" : kWords[static_cast<std::size_t>(op.kind)];
}

// PyTorch gives the first 30 ranks of a group and three dots.
std::string group_args(const Trace& trace, const TraceCommunicator& row) {
    std::string args;
    if (row.name != kNoName) {
        args += fmt::format(R"("Process Group Name":{},)", json_string(trace.text(row.name)));
    }
    if (row.description != kNoName) {
        args += fmt::format(R"("Process Group Description":{},)", json_string(trace.text(row.description)));
    }
    std::vector<std::uint32_t> ranks;
    for (const RankRange& range : row.ranks) {
        for (std::uint32_t i = 0; i < range.count && ranks.size() <= 30; ++i) {
            ranks.push_back(range.first + i * range.stride);
        }
    }
    if (!ranks.empty()) {
        const bool more = ranks.size() > 30;
        ranks.resize(std::min<std::size_t>(ranks.size(), 30));
        args +=
            fmt::format(R"("Process Group Ranks":"[{}{}]",)", fmt::join(ranks, ", "), more ? ", ..." : "");
    }
    return args;
}

bool has_row(EventKind kind) {
    return kind == EventKind::comm || kind == EventKind::kernel || kind == EventKind::memcpy ||
           kind == EventKind::memset || kind == EventKind::api || kind == EventKind::sync;
}

std::string_view kind_word(EventKind kind) {
    const bool first_of_category = kind != EventKind::comm && kind != EventKind::graph &&
                                   kind != EventKind::instant && kind != EventKind::other;
    return first_of_category ? std::string_view{} : to_string(kind);
}

} // namespace

void put_json_time(fmt::memory_buffer& out, std::string_view key, TimeNs ns) {
    const auto size =
        ns < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    fmt::format_to(at_end(out), R"("{}":{}{}.{:03},)", key, ns < 0 ? "-" : "", size / 1000, size % 1000);
}

TraceEventArgs::TraceEventArgs(const Trace& trace, TraceDialect dialect)
    : trace_(trace), dialect_(dialect), recorded_(trace.strings.size()) {
    for (std::uint32_t i = 0; i < trace.strings.size(); ++i) {
        names_.push_back(json_string(trace.strings[NameId{i}]));
    }
    for (const Label& label : trace.labels) {
        labels_.push_back(label_args(label, name(label.module)));
    }
    for (const TraceCommunicator& row : trace.communicators) {
        groups_.push_back(group_args(trace, row));
    }
}

std::string TraceEventArgs::reader_name(const Event& event) const {
    if (dialect_ != TraceDialect::chrome) {
        return {};
    }
    const std::string_view own = trace_.text(event.name);
    const auto without = [&](std::string_view word) { return own.find(word) == std::string_view::npos; };
    if (event.kind == EventKind::comm && !own.starts_with("nccl")) {
        return fmt::format("ncclKernel {}", own);
    }
    if (event.kind == EventKind::memset && without("Memset")) {
        return fmt::format("Memset {}", own);
    }
    if (event.kind == EventKind::memcpy && without("Memcpy")) {
        const CopyKind kind = event.ext == kNoRow ? CopyKind::unknown : trace_.copies[event.ext].kind;
        return fmt::format("Memcpy {} {}", to_string(kind), own);
    }
    return {};
}

void TraceEventArgs::put_comm(fmt::memory_buffer& out, const CommOp& op) {
    if (op.kind != kNoCollective) {
        fmt::format_to(at_end(out), R"("collective":"{}",)", to_string(op.kind));
    }
    fmt::format_to(at_end(out), R"("bytes":{},)", op.bytes);
    if (op.dtype != kNoDType) {
        fmt::format_to(at_end(out), R"("dtype":"{}",)", torch_word(op.dtype));
    }
    fmt::format_to(at_end(out), R"("Group size":{},"Seq":{},)", op.group_size, op.sequence);
    if (op.group != kNoName) {
        fmt::format_to(at_end(out), R"("group":{},)", name(op.group));
    }
    if (op.algorithm != kNoAlgorithm) {
        fmt::format_to(at_end(out), R"("algorithm":"{}",)", to_string(op.algorithm));
    }
    if (op.protocol != kNoProtocol) {
        fmt::format_to(at_end(out), R"("protocol":"{}",)", to_string(op.protocol));
    }
    if (op.channels > 0) {
        fmt::format_to(at_end(out), R"("channels":{},)", op.channels);
    }
    if (op.peer != -1) {
        fmt::format_to(at_end(out), R"("peer":{},)", op.peer);
    }
    if (op.direction != Direction::none) {
        fmt::format_to(at_end(out), R"("direction":"{}",)", to_string(op.direction));
    }
    if (op.in_elements > 0) {
        fmt::format_to(at_end(out), R"("In msg nelems":{},)", op.in_elements);
    }
    if (op.out_elements > 0) {
        fmt::format_to(at_end(out), R"("Out msg nelems":{},)", op.out_elements);
    }
    put_group(out, op);
}

void TraceEventArgs::put_group(fmt::memory_buffer& out, const CommOp& op) {
    if (dialect_ == TraceDialect::chrome && op.kind != kNoCollective) {
        fmt::format_to(at_end(out), R"("Collective name":"{}",)", torch_word(op));
    }
    if (op.communicator != kNoRow) {
        fmt::format_to(at_end(out), R"("communicator":{},{})", op.communicator,
                       dialect_ == TraceDialect::chrome ? groups_[op.communicator] : std::string());
    }
}

void TraceEventArgs::put_sync(fmt::memory_buffer& out, const SyncOp& op) {
    fmt::format_to(at_end(out), R"("sync":"{}",)", to_string(op.kind));
    if (op.stream != -1) {
        fmt::format_to(at_end(out), R"("wait_on_stream":{},)", op.stream);
    }
    if (op.event != 0) {
        fmt::format_to(at_end(out), R"("wait_on_cuda_event_id":{},)", op.event);
    }
    if (op.recorded_by != 0) {
        fmt::format_to(at_end(out), R"("wait_on_cuda_event_record_corr_id":{},)", op.recorded_by);
    }
}

// The row of the table of its kind.
void TraceEventArgs::put_row(fmt::memory_buffer& out, const Event& event) {
    switch (event.kind) {
    case EventKind::comm:
        return put_comm(out, trace_.comm_ops[event.ext]);
    case EventKind::api:
    case EventKind::sync:
        return put_sync(out, trace_.syncs[event.ext]);
    case EventKind::kernel: {
        const KernelLaunch& row = trace_.launches[event.ext];
        fmt::format_to(at_end(out),
                       R"("grid":[{}],"block":[{}],"registers per thread":{},"shared memory":{},)",
                       fmt::join(row.grid, ","), fmt::join(row.block, ","), row.registers, row.shared_bytes);
        return;
    }
    default: {
        const CopyOp& row = trace_.copies[event.ext];
        fmt::format_to(at_end(out), R"("copy":"{}","bytes":{},)", to_string(row.kind), row.bytes);
    }
    }
}

const TraceEventArgs::Recorded& TraceEventArgs::recorded(NameId args) {
    Recorded& entry = recorded_[args.value];
    if (!entry.known) {
        const std::string_view text = trace_.strings[args];
        entry.known = true;
        if (text.starts_with('{') && text.ends_with('}') && nlohmann::json::accept(text)) {
            const auto reserved = reserved_keys(text);
            entry.object = reserved.has_value();
            entry.members = entry.object && text != "{}";
            entry.reserved = reserved.value_or(0);
        }
    }
    return entry;
}

// No comma behind it: the last of the args.
void TraceEventArgs::put_recorded(fmt::memory_buffer& out, NameId args, EventKind kind) {
    const Recorded& how = recorded(args);
    const std::string_view text = trace_.strings[args];
    if (!how.object) {
        fmt::format_to(at_end(out), R"(,"recorded":{})", name(args));
    } else if (how.members && (how.reserved >> static_cast<unsigned>(kind) & 1U) == 0) {
        fmt::format_to(at_end(out), ",{}", text.substr(1, text.size() - 2));
    } else {
        fmt::format_to(at_end(out), R"(,"recorded":{})", text);
    }
}

void TraceEventArgs::put(fmt::memory_buffer& out, const TraceStream& stream, const Event& event) {
    const bool device = is_device_work(event.kind) || event.kind == EventKind::sync;
    if (const std::string_view word = kind_word(event.kind); !word.empty()) {
        fmt::format_to(at_end(out), R"("kind":"{}",)", word);
    }
    if (event.label != kNoRow) {
        fmt::format_to(at_end(out), "{}", labels_[event.label]);
    }
    if (event.alone > 0) {
        put_json_time(out, "alone_us", event.alone);
        // that of communication holds the wait for its peers
        if (is_device_work(event.kind) && event.kind != EventKind::comm) {
            fmt::format_to(at_end(out), R"("slowdown":{:.3f},)",
                           static_cast<double>(event.duration) / static_cast<double>(event.alone));
        }
    }
    if (device && dialect_ == TraceDialect::chrome) {
        fmt::format_to(at_end(out), R"("device":{},"stream":{},)", std::max(stream.device, 0),
                       stream.number >= 0 ? stream.number : std::int64_t{stream.id});
    }
    if (event.correlation != 0) {
        fmt::format_to(at_end(out), R"("{}":{},)",
                       device || event.kind == EventKind::api ? "correlation" : "External id",
                       event.correlation);
    }
    if (event.ext != kNoRow && has_row(event.kind)) {
        put_row(out, event);
    }
    if (!reader_name(event).empty()) {
        fmt::format_to(at_end(out), R"("own_name":{},)", name(event.name));
    }
    if (event.binding_pred != kNoEvent) {
        fmt::format_to(at_end(out), R"("binding_pred":[{},{}],)", stream_of(event.binding_pred),
                       index_of(event.binding_pred));
    }
    fmt::format_to(at_end(out), R"("provenance":"{}")", to_string(event.provenance));
    if (event.args != kNoName) {
        put_recorded(out, event.args, event.kind);
    }
}

} // namespace echosim
