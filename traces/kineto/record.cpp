// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/record.h"

#include "traces/kineto/calls.h"
#include "traces/kineto/text.h"
#include "traces/nccl_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

namespace echosim {
namespace {

struct KnownCategory {
    std::string_view text; // in lower case
    EventKind kind;
    bool on_device;
};

constexpr std::array<KnownCategory, 23> kCategories{{
    {"cpu_op", EventKind::host, false},
    {"operator", EventKind::host, false},
    {"kernel", EventKind::kernel, true},
    {"gpu_memcpy", EventKind::memcpy, true},
    {"memcpy", EventKind::memcpy, true},
    {"gpu_memset", EventKind::memset, true},
    {"memset", EventKind::memset, true},
    {"cuda_runtime", EventKind::api, false},
    {"cuda_driver", EventKind::api, false},
    {"runtime", EventKind::api, false},
    {"driver", EventKind::api, false},
    {"hip_runtime", EventKind::api, false},
    {"hip_driver", EventKind::api, false},
    {"xpu_runtime", EventKind::api, false},
    {"xpu_driver", EventKind::api, false},
    {"privateuse1_runtime", EventKind::api, false},
    {"privateuse1_driver", EventKind::api, false},
    {"user_annotation", EventKind::annotation, false},
    {"gpu_user_annotation", EventKind::annotation, true},
    {"python_function", EventKind::python, false},
    {"cuda_sync", EventKind::sync, true},
    {"cpu_instant_event", EventKind::instant, false},
    {"trace", EventKind::other, false},
}};

constexpr std::array<std::string_view, 4> kArrows{"ac2g", "async_cpu_to_gpu", "async_cpu2gpu", "async"};

bool is_string(std::string_view token) {
    return token.size() >= 2 && token.front() == '"';
}

bool is_null(std::string_view token) {
    return token.empty() || token == "null";
}

// A token that the parser let through without a look is JSON.
bool is_valid(std::string_view token) {
    return token.empty() || token.front() == '{' || token.front() == '[' || token == "null" ||
           token == "true" || token == "false" ||
           (token.front() == '"' ? json_string_end(token, 0) == token.size() : is_json_number(token));
}

std::string_view inside(std::string_view token) {
    return token.substr(1, token.size() - 2);
}

// Integers of 18 digits and more are nanoseconds: as microseconds they would be 30,000 years.
int unit_of_time(std::string_view token) {
    token = is_string(token) ? inside(token) : token;
    const bool whole = token.find_first_of(".eE") == std::string_view::npos;
    const std::size_t digits = token.size() - (token.starts_with('-') ? 1U : 0U);
    return whole && digits >= 18 ? 1 : 1000;
}

constexpr TimeNs kMostTime = 3'000'000'000'000'000'000; // year 2065: sums of two and a duration fit

} // namespace

const KinetoRecords::Category& KinetoRecords::category(std::string_view token) {
    const std::string_view text = is_string(token) ? inside(token) : std::string_view{};
    for (std::size_t i = 0; i < std::min<std::size_t>(categories_.size(), 16); ++i) {
        if (categories_[i].text == text) {
            return categories_[i];
        }
    }
    if (const auto rare = category_rows_.find(std::string(text)); rare != category_rows_.end()) {
        return categories_[rare->second];
    }
    Category row;
    row.text = text;
    row.id = is_string(token) ? this->text(token) : kNoName;
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
    for (const KnownCategory& known : kCategories) {
        if (known.text == lower) {
            row.kind = known.kind;
            row.on_device = known.on_device;
            row.known = true;
        }
    }
    if (std::find(kArrows.begin(), kArrows.end(), lower) != kArrows.end()) {
        row.use = Use::arrow;
    }
    category_rows_.emplace(row.text, categories_.size());
    categories_.push_back(std::move(row));
    return categories_.back();
}

NameId KinetoRecords::text(std::string_view token) {
    return piece_.strings.intern(is_string(token) ? json_unescaped(inside(token), scratch_) : token);
}

KinetoPlace KinetoRecords::place(std::string_view token) {
    if (is_null(token)) {
        return {};
    }
    if (const auto number = whole_number(token)) {
        return {*number, kNoName};
    }
    return {kNoNumber, text(token)};
}

std::uint32_t KinetoRecords::track(const RecordFields& fields) {
    track_key_.assign(fields.pid);
    track_key_ += '\n';
    track_key_ += fields.tid;
    if (track_key_ == last_track_key_) {
        return last_track_;
    }
    const auto [entry, added] = tracks_.try_emplace(track_key_, 0);
    if (added) {
        entry->second = static_cast<std::uint32_t>(piece_.tracks.size());
        piece_.tracks.push_back({place(fields.pid), place(fields.tid)});
    }
    last_track_ = entry->second;
    last_track_key_ = track_key_;
    return last_track_;
}

// False: the token is not JSON. `known` false: there is no usable time.
bool KinetoRecords::time(std::string_view token, TimeNs& to, bool& known) {
    const auto value = token.empty() ? std::nullopt : decimal_ns(token, unit_of_time(token));
    known = value.has_value() && *value >= -kMostTime && *value <= kMostTime;
    to = known ? *value : 0;
    return value.has_value() || is_valid(token);
}

// Name, place and time of an event; its kind from the category.
bool KinetoRecords::start_row(const RecordFields& fields, const Category& found, KinetoRow& row) {
    if (!is_valid(fields.name) || !is_valid(fields.pid) || !is_valid(fields.tid) ||
        !is_valid(fields.category)) {
        return false;
    }
    const NameId name = is_null(fields.name) ? piece_.strings.intern("") : text(fields.name);
    row.name = name;
    row.category = found.known ? kNoName : found.id;
    row.kind = found.kind;
    if (found.kind == EventKind::other || own_) { // of our own files args.kind tells the kind
        row.category = found.id;
    }
    if (row.kind == EventKind::kernel && is_nccl_kernel(piece_.strings[name])) {
        row.kind = EventKind::comm;
    }
    row.lane = !found.on_device                    ? KinetoLane::thread
               : row.kind == EventKind::annotation ? KinetoLane::annotations
                                                   : KinetoLane::device;
    row.track = track(fields);
    piece_.kineto = piece_.kineto || found.known;
    return time(fields.time, row.start, row.timed);
}

bool KinetoRecords::read_args(const RecordFields& fields, KinetoRow& row) {
    if (!fields.args.starts_with('{')) {
        args_.clear();
        if (!is_valid(fields.args)) {
            return false;
        }
        if (!is_null(fields.args)) {
            ++piece_.dropped_fields["args"];
        }
    } else {
        row_name_ = piece_.strings[row.name]; // interning moves the pool
        if (!read_event_args(fields.args, row, row_name_, piece_.strings, args_)) {
            return false;
        }
    }
    if (row.lane != KinetoLane::thread) {
        const KinetoTrack& at = piece_.tracks[row.track];
        row.device = static_cast<std::int32_t>(std::clamp<std::int64_t>(
            args_.device.value_or(at.pid.number), -1, std::numeric_limits<std::int32_t>::max()));
        row.stream = args_.stream.value_or(at.tid.number);
        if (!args_.stream && at.tid.text != kNoName) {
            const std::string_view tid = piece_.strings[at.tid.text]; // "stream 7"
            row.stream =
                whole_number(tid.substr(std::min(tid.find(' ') + 1, tid.size()))).value_or(kNoNumber);
        }
    }
    row.correlation = static_cast<std::uint32_t>(args_.correlation.value_or(args_.external_id.value_or(0)));
    return true;
}

void KinetoRecords::add_detail(KinetoRow& row) {
    switch (row.kind) {
    case EventKind::kernel:
        if (args_.has_launch) {
            row.detail = static_cast<std::uint32_t>(piece_.launches.size());
            piece_.launches.push_back(args_.launch);
        }
        break;
    case EventKind::memcpy:
    case EventKind::memset: {
        CopyOp copy{row.kind == EventKind::memset ? CopyKind::memset : copy_of_name(piece_.strings[row.name]),
                    0};
        copy.bytes = static_cast<Bytes>(std::max<std::int64_t>(args_.bytes.value_or(0), 0));
        row.detail = static_cast<std::uint32_t>(piece_.copies.size());
        piece_.copies.push_back(copy);
        break;
    }
    case EventKind::comm:
        add_comm(row);
        break;
    case EventKind::api:
    case EventKind::sync:
        add_sync(row);
        break;
    default:
        break;
    }
    row.args = args_.rest.empty() ? kNoName : piece_.strings.intern(args_.rest);
}

void KinetoRecords::add_comm(KinetoRow& row) {
    const NcclKernelName name = parse_nccl_kernel(piece_.strings[row.name]);
    KinetoComm comm = args_.comm;
    CommOp& op = comm.op;
    op.kind = args_.collective.value_or(name.kind);
    if (args_.element == 0) {
        op.dtype = name.dtype;
    }
    op.algorithm = name.algorithm;
    op.protocol = name.protocol;
    if (op.kind == CollectiveKind::send_recv && op.direction == Direction::none) {
        op.direction = Direction::both;
    }
    comm.described = args_.element > 0 && (op.in_elements > 0 || op.out_elements > 0);
    if (comm.described) {
        op.bytes = message_bytes(op.kind, op.in_elements, op.out_elements, op.group_size, args_.element);
    }
    row.detail = static_cast<std::uint32_t>(piece_.comms.size());
    piece_.comms.push_back(comm);
}

// A record on a stream says more than its call; the two are joined by correlation later.
void KinetoRecords::add_sync(KinetoRow& row) {
    const auto kind = sync_of_call(piece_.strings[row.name]);
    if (!kind && row.kind != EventKind::sync) {
        return;
    }
    SyncOp sync;
    sync.kind = kind.value_or(SyncKind::device_synchronize);
    const std::int64_t waited = args_.wait_stream.value_or(kNoNumber);
    if (row.kind == EventKind::sync) {
        sync.stream = sync.kind == SyncKind::event_synchronize ? waited : row.stream;
        if (sync.kind == SyncKind::stream_wait_event && args_.wait_stream) {
            const std::string member = "\"wait_on_stream\":" + std::to_string(waited) + "}";
            args_.rest = args_.rest.empty() ? "{" + member
                                            : args_.rest.substr(0, args_.rest.size() - 1) + "," + member;
        }
        sync.event = static_cast<std::uint64_t>(std::max<std::int64_t>(args_.wait_event.value_or(0), 0));
        const std::int64_t recorded = args_.wait_correlation.value_or(0);
        if (recorded > 0 && recorded <= std::numeric_limits<std::uint32_t>::max()) {
            sync.recorded_by = static_cast<std::uint32_t>(recorded);
        }
    }
    row.detail = static_cast<std::uint32_t>(piece_.syncs.size());
    piece_.syncs.push_back(sync);
}

bool KinetoRecords::complete(const RecordFields& fields, const Category& found) {
    KinetoRow row;
    ++piece_.report.complete_events;
    if (!start_row(fields, found, row)) {
        return false;
    }
    bool known = false;
    if (!fields.duration.empty() && !decimal_ns(fields.duration, 1000) && !is_valid(fields.duration)) {
        return false;
    }
    const auto duration = fields.duration.empty() ? std::nullopt : decimal_ns(fields.duration, 1000);
    known = duration && *duration <= kMostTime && *duration >= -kMostTime;
    if (!known) {
        piece_.report.warn("missing_duration");
    } else if (*duration < 0) {
        piece_.report.warn("negative_duration");
    }
    row.duration = known ? std::max<TimeNs>(*duration, 0) : 0;
    piece_.report.warn("missing_time", row.timed ? 0 : 1);
    if (own_) {
        return own_event(fields, row);
    }
    if (!read_args(fields, row)) {
        return false;
    }
    add_detail(row);
    piece_.report.kernels += row.kind == EventKind::kernel || row.kind == EventKind::comm ? 1U : 0U;
    piece_.rows.push_back(row);
    return true;
}

bool KinetoRecords::instant(const RecordFields& fields, const Category& found) {
    KinetoRow row;
    if (!start_row(fields, found, row)) {
        return false;
    }
    row.kind = EventKind::instant;
    row.category = found.id;
    row.lane = KinetoLane::thread;
    piece_.report.warn("missing_time", row.timed ? 0 : 1);
    if (own_) {
        return own_event(fields, row);
    }
    if (!read_args(fields, row)) {
        return false;
    }
    if (args_.bytes && piece_.strings[row.name] == "[memory]") {
        memory(row);
        return true;
    }
    row.args = args_.rest.empty() ? kNoName : piece_.strings.intern(args_.rest);
    piece_.rows.push_back(row);
    return true;
}

void KinetoRecords::memory(const KinetoRow& row) {
    piece_.memory.push_back({row.start, args_.device_type.value_or(1), args_.device.value_or(-1),
                             *args_.bytes, args_.allocated.value_or(-1), args_.reserved.value_or(-1)});
}

bool KinetoRecords::add(const RecordFields& fields) {
    ++piece_.report.events;
    if (!is_string(fields.phase) || fields.phase.size() != 3) {
        piece_.report.warn("unknown_phase");
        return is_valid(fields.phase);
    }
    piece_.recognised = true;
    const Category& found = category(fields.category);
    switch (fields.phase[1]) {
    case 'X':
        return complete(fields, found);
    case 'i':
    case 'I':
    case 'R':
    case 'n':
        return instant(fields, found);
    case 'B':
        return mark(fields, found, KinetoMarkKind::begin);
    case 'E':
        return mark(fields, found, KinetoMarkKind::end);
    case 'b':
    case 'S':
        return mark(fields, found, KinetoMarkKind::async_begin);
    case 'e':
    case 'F':
        return mark(fields, found, KinetoMarkKind::async_end);
    case 's':
        return found.use == Use::arrow ? arrow(fields, true)
                                       : mark(fields, found, KinetoMarkKind::flow_start);
    case 't':
        return mark(fields, found, KinetoMarkKind::flow_step);
    case 'f':
        return found.use == Use::arrow ? arrow(fields, false) : mark(fields, found, KinetoMarkKind::flow_end);
    case 'C':
        return sample(fields);
    case 'M':
        return metadata(fields);
    default:
        piece_.report.warn("unknown_phase");
        return true;
    }
}

} // namespace echosim
