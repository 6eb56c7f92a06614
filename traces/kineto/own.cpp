// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/record.h"
#include "traces/kineto/text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

// Events of the files that we write ourselves: docs/formats.md, "Trace events: Perfetto and Kineto-compatible
// JSON".
namespace echosim {
namespace {

std::string_view unquoted(std::string_view value) {
    return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

// The enumerator of that word; `none` where there is none.
template <class Enum> Enum word_value(std::string_view word, std::size_t count, Enum none) {
    for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<Enum>(i);
        if (to_string(value) == word) {
            return value;
        }
    }
    return none;
}

DType element_of(std::string_view word) {
    constexpr std::array<std::pair<std::string_view, DType>, 9> kWords{{{"Float", DType::fp32},
                                                                        {"TF32", DType::tf32},
                                                                        {"Half", DType::fp16},
                                                                        {"BFloat16", DType::bf16},
                                                                        {"Float8_e4m3fn", DType::fp8},
                                                                        {"Float4_e2m1fn_x2", DType::fp4},
                                                                        {"Char", DType::int8},
                                                                        {"Int", DType::int32},
                                                                        {"Long", DType::int64}}};
    for (const auto& [text, type] : kWords) {
        if (text == word) {
            return type;
        }
    }
    return kNoDType;
}

template <class Number> void read(std::string_view value, Number& to) {
    const auto number = whole_number(value);
    if (number && (std::is_signed_v<Number> || *number >= 0) &&
        (sizeof(Number) == 8 || *number <= static_cast<std::int64_t>(std::numeric_limits<Number>::max()))) {
        to = static_cast<Number>(*number);
    }
}

void read_dimensions(std::string_view value, std::array<std::uint32_t, 3>& to) {
    const auto numbers = whole_numbers(value, 3);
    for (std::size_t i = 0; numbers && i < numbers->size(); ++i) {
        to[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>((*numbers)[i], 0, 0xffffffff));
    }
}

std::uint64_t read_event_ref(std::string_view value) {
    const auto numbers = whole_numbers(value, 2);
    if (!numbers || numbers->size() != 2 || (*numbers)[0] < 0 || (*numbers)[1] < 0 ||
        std::max((*numbers)[0], (*numbers)[1]) >= 0xffffffff) {
        return kNoEvent;
    }
    return event_ref(static_cast<std::uint32_t>((*numbers)[0]), static_cast<std::uint32_t>((*numbers)[1]));
}

// The args of one event, key by key.
class OwnArgs {
  public:
    OwnArgs(StringPool& strings, KinetoRow& row, OwnRow& own) : strings_(strings), row_(row), own_(own) {}

    bool run(std::string_view text) {
        JsonMembers kinds(text);
        while (kinds.next()) { // the kind says what other keys mean
            if (kinds.key() == "kind") {
                row_.kind = word_value(unquoted(kinds.value()), 12, row_.kind);
            }
        }
        JsonMembers members(text);
        while (members.next()) {
            const std::string_view key = members.key();
            const std::string_view value = members.value();
            if (!of_all(key, value) && !of_kind(key, value)) {
                rest_ += rest_.empty() ? "{\"" : ",\"";
                rest_.append(key).append("\":").append(value);
            }
        }
        if (!rest_.empty()) {
            row_.args = strings_.intern(rest_ + '}');
        }
        return members.valid();
    }

    KernelLaunch launch;
    CopyOp copy;
    SyncOp sync;
    KinetoComm comm;

  private:
    NameId name(std::string_view value) { return strings_.intern(json_unescaped(unquoted(value), scratch_)); }

    bool of_all(std::string_view key, std::string_view value) {
        if (key == "kind" || key == "slowdown") {
            return true;
        }
        if (key == "provenance") {
            own_.provenance = word_value(unquoted(value), 4, Provenance::assumed);
        } else if (key == "alone_us") {
            own_.alone = decimal_ns(value, 1000).value_or(0);
        } else if (key == "binding_pred") {
            own_.binding_pred = read_event_ref(value);
        } else if (key == "recorded") {
            row_.args = value.starts_with('"') ? name(value) : strings_.intern(value);
        } else {
            return of_label(key, value);
        }
        return true;
    }

    bool of_label(std::string_view key, std::string_view value) {
        if (key == "phase") {
            own_.has_label = true;
            own_.label.phase = word_value(unquoted(value), 9, Phase::other);
        } else if (key == "iteration") {
            read(value, own_.label.iteration);
        } else if (key == "micro_batch") {
            read(value, own_.label.micro_batch);
        } else if (key == "chunk") {
            read(value, own_.label.chunk);
        } else if (key == "layer") {
            read(value, own_.label.layer);
        } else if (key == "module") {
            own_.label.module = name(value);
        } else {
            return false;
        }
        return true;
    }

    bool of_kind(std::string_view key, std::string_view value) {
        const bool device = is_device_work(row_.kind) || row_.kind == EventKind::sync;
        if (key == (device || row_.kind == EventKind::api ? "correlation" : "External id")) {
            read(value, row_.correlation);
            return true;
        }
        if (device && (key == "device" || key == "stream")) {
            return true;
        }
        switch (row_.kind) {
        case EventKind::kernel:
            return of_kernel(key, value);
        case EventKind::comm:
            return of_comm(key, value);
        case EventKind::memcpy:
        case EventKind::memset:
            return of_copy(key, value);
        case EventKind::api:
        case EventKind::sync:
            return of_sync(key, value);
        default:
            return false;
        }
    }

    bool of_kernel(std::string_view key, std::string_view value) {
        if (key == "grid") {
            own_.has_row = true;
            read_dimensions(value, launch.grid);
        } else if (key == "block") {
            read_dimensions(value, launch.block);
        } else if (key == "registers per thread") {
            read(value, launch.registers);
        } else if (key == "shared memory") {
            read(value, launch.shared_bytes);
        } else {
            return false;
        }
        return true;
    }

    bool of_copy(std::string_view key, std::string_view value) {
        if (key == "copy") {
            own_.has_row = true;
            copy.kind = word_value(unquoted(value), 7, CopyKind::unknown);
        } else if (key == "bytes") {
            read(value, copy.bytes);
        } else if (key == "own_name") {
            row_.name = name(value);
        } else {
            return false;
        }
        return true;
    }

    bool of_sync(std::string_view key, std::string_view value) {
        if (key == "sync") {
            own_.has_row = true;
            sync.kind = word_value(unquoted(value), 5, SyncKind::device_synchronize);
        } else if (key == "wait_on_stream") {
            read(value, sync.stream);
        } else if (key == "wait_on_cuda_event_id") {
            read(value, sync.event);
        } else if (key == "wait_on_cuda_event_record_corr_id") {
            read(value, sync.recorded_by);
        } else {
            return false;
        }
        return true;
    }

    bool of_comm(std::string_view key, std::string_view value) {
        CommOp& op = comm.op;
        if (key == "collective") {
            op.kind = collective_from(unquoted(value)).value_or(kNoCollective);
        } else if (key == "dtype") {
            op.dtype = element_of(unquoted(value));
        } else if (key == "algorithm") {
            op.algorithm = word_value(unquoted(value), 8, kNoAlgorithm);
        } else if (key == "protocol") {
            op.protocol = word_value(unquoted(value), 3, kNoProtocol);
        } else if (key == "direction") {
            op.direction = word_value(unquoted(value), 4, Direction::none);
        } else if (key == "group") {
            own_.group = name(value);
        } else if (key == "own_name") {
            row_.name = name(value);
        } else {
            return comm_number(key, value);
        }
        return true;
    }

    bool comm_number(std::string_view key, std::string_view value) {
        CommOp& op = comm.op;
        if (key == "bytes") {
            own_.has_row = true;
            read(value, op.bytes);
        } else if (key == "In msg nelems") {
            read(value, op.in_elements);
        } else if (key == "Out msg nelems") {
            read(value, op.out_elements);
        } else if (key == "Group size") {
            read(value, op.group_size);
        } else if (key == "Seq") {
            read(value, op.sequence);
        } else if (key == "channels") {
            read(value, op.channels);
        } else if (key == "peer") {
            read(value, op.peer);
        } else if (key == "communicator") {
            read(value, op.communicator);
        } else {
            return key == "Collective name" || key == "Process Group Name" ||
                   key == "Process Group Description" || key == "Process Group Ranks";
        }
        return true;
    }

    StringPool& strings_;
    KinetoRow& row_;
    OwnRow& own_;
    std::string rest_;
    std::string scratch_;
};

} // namespace

bool KinetoRecords::own_event(const RecordFields& fields, KinetoRow& row) {
    OwnRow own;
    OwnArgs args(piece_.strings, row, own);
    if (row.kind == EventKind::comm) {
        row.kind = EventKind::kernel; // until the args say so: not by its name
    }
    if (fields.args.starts_with('{') && !args.run(fields.args)) {
        return false;
    }
    const auto add = [&](auto& table, const auto& detail) {
        row.detail = static_cast<std::uint32_t>(table.size());
        table.push_back(detail);
    };
    if (own.has_row) {
        switch (row.kind) {
        case EventKind::kernel:
            add(piece_.launches, args.launch);
            break;
        case EventKind::comm:
            add(piece_.comms, args.comm);
            break;
        case EventKind::memcpy:
        case EventKind::memset:
            add(piece_.copies, args.copy);
            break;
        default:
            add(piece_.syncs, args.sync);
            break;
        }
    }
    piece_.report.kernels += row.kind == EventKind::kernel || row.kind == EventKind::comm ? 1U : 0U;
    piece_.rows.push_back(row);
    piece_.own.push_back(own);
    return true;
}

// The beginning of an arrow names both of its events.
bool KinetoRecords::own_flow(const RecordFields& fields) {
    if (!fields.args.starts_with('{')) {
        return true;
    }
    Flow flow;
    bool ours = false;
    JsonMembers members(fields.args);
    while (members.next()) {
        if (members.key() == "flow") {
            ours = true;
            flow.kind = word_value(unquoted(members.value()), 9, FlowKind::other);
        } else if (members.key() == "from") {
            flow.from = read_event_ref(members.value());
        } else if (members.key() == "to") {
            flow.to = read_event_ref(members.value());
        }
    }
    if (ours && flow.from != kNoEvent && flow.to != kNoEvent) {
        piece_.flows.push_back(flow);
    } else if (ours) {
        piece_.report.warn("unmatched_flow");
    }
    return members.valid();
}

} // namespace echosim
