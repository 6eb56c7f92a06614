// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/args.h"

#include "traces/kineto/arg_keys.h"
#include "traces/kineto/text.h"
#include "traces/nccl_names.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>

namespace echosim {
namespace {

std::string_view inside_quotes(std::string_view value) {
    return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : std::string_view{};
}

bool take(std::string_view value, std::optional<std::int64_t>& to) {
    to = whole_number(value);
    return to.has_value();
}

template <class Number> bool take_unsigned(std::string_view value, Number& to) {
    const auto number = whole_number(value);
    if (!number || *number < 0 || static_cast<std::uint64_t>(*number) > std::numeric_limits<Number>::max()) {
        return false;
    }
    to = static_cast<Number>(*number);
    return true;
}

bool take_rank(std::string_view value, std::int32_t& to) {
    const auto number = whole_number(value);
    if (!number || *number < 0 || *number > std::numeric_limits<std::int32_t>::max() || to >= 0) {
        return false;
    }
    to = static_cast<std::int32_t>(*number);
    return true;
}

bool take_dimensions(std::string_view value, std::array<std::uint32_t, 3>& to) {
    const auto numbers = whole_numbers(value, 3);
    if (!numbers || numbers->size() != 3) {
        return false;
    }
    for (std::size_t i = 0; i < 3; ++i) {
        if ((*numbers)[i] < 0 || (*numbers)[i] > std::numeric_limits<std::uint32_t>::max()) {
            return false;
        }
        to[i] = static_cast<std::uint32_t>((*numbers)[i]);
    }
    return true;
}

class ArgsReader {
  public:
    ArgsReader(const KinetoRow& row, std::string_view name, StringPool& strings, EventArgs& out)
        : row_(row), name_(name), strings_(strings), out_(out) {}

    bool run(std::string_view text) {
        JsonMembers members(text);
        while (members.next()) {
            const ArgKey key = arg_key(members.key());
            if (!takes(key, members.value())) {
                keep(members.key(), members.value());
            }
        }
        finish();
        return members.valid();
    }

  private:
    bool on_device() const { return is_device_work(row_.kind) || row_.kind == EventKind::sync; }

    void keep(std::string_view key, std::string_view value) {
        out_.rest += out_.rest.empty() ? "{\"" : ",\"";
        out_.rest += key;
        out_.rest += "\":";
        out_.rest += value;
    }

    bool takes(ArgKey key, std::string_view value) {
        switch (key) {
        case ArgKey::other:
            return false;
        case ArgKey::bookkeeping:
            return true;
        case ArgKey::external_id:
            return external_id(value);
        case ArgKey::correlation:
            return (on_device() || row_.kind == EventKind::api) && correlation(value);
        case ArgKey::device:
            return on_device() && take(value, out_.device);
        case ArgKey::stream:
            return on_device() && take(value, out_.stream);
        default:
            return takes_of_kind(key, value);
        }
    }

    bool takes_of_kind(ArgKey key, std::string_view value) {
        switch (row_.kind) {
        case EventKind::kernel:
            return takes_launch(key, value);
        case EventKind::comm:
            return takes_comm(key, value);
        case EventKind::memcpy:
        case EventKind::memset:
            return (key == ArgKey::bytes && take(value, out_.bytes)) ||
                   (key == ArgKey::copy_kind && !inside_quotes(value).empty() &&
                    name_.find(inside_quotes(value)) != std::string_view::npos);
        case EventKind::sync:
            return takes_sync(key, value);
        case EventKind::instant:
            return takes_memory(key, value);
        default:
            return false;
        }
    }

    // Kineto repeats the correlation where it knows no operator.
    bool external_id(std::string_view value) {
        const auto number = whole_number(value);
        if (row_.kind == EventKind::host && number && *number >= 0 &&
            *number <= std::numeric_limits<std::uint32_t>::max()) {
            out_.external_id = number;
            return true;
        }
        if (!number || !(on_device() || row_.kind == EventKind::api) || !external_.empty()) {
            return false;
        }
        if (out_.correlation) {
            return number == out_.correlation;
        }
        external_ = value;
        external_at_ = out_.rest.size();
        return true;
    }

    bool correlation(std::string_view value) {
        const auto number = whole_number(value);
        if (!number || *number < 0 || *number > std::numeric_limits<std::uint32_t>::max()) {
            return false;
        }
        out_.correlation = number;
        return true;
    }

    bool takes_launch(ArgKey key, std::string_view value) {
        bool taken = false;
        switch (key) {
        case ArgKey::registers:
            taken = take_unsigned(value, out_.launch.registers);
            break;
        case ArgKey::shared_memory:
            taken = take_unsigned(value, out_.launch.shared_bytes);
            break;
        case ArgKey::grid:
            taken = take_dimensions(value, out_.launch.grid);
            break;
        case ArgKey::block:
            taken = take_dimensions(value, out_.launch.block);
            break;
        default:
            return false;
        }
        out_.has_launch = out_.has_launch || taken;
        return taken;
    }

    bool takes_comm(ArgKey key, std::string_view value) {
        CommOp& op = out_.comm.op;
        switch (key) {
        case ArgKey::in_elements:
            return take_unsigned(value, op.in_elements);
        case ArgKey::out_elements:
            return take_unsigned(value, op.out_elements);
        case ArgKey::group_size:
            return take_unsigned(value, op.group_size);
        case ArgKey::sequence:
            return take_unsigned(value, op.sequence);
        case ArgKey::source:
            return take_rank(value, op.peer);
        case ArgKey::destination:
            return take_rank(value, op.peer);
        case ArgKey::collective:
            return takes_collective(inside_quotes(value));
        case ArgKey::element:
            return takes_element(inside_quotes(value));
        case ArgKey::group:
            return takes_name(value, out_.comm.group);
        case ArgKey::description:
            return takes_name(value, out_.comm.description);
        case ArgKey::ranks:
            return takes_ranks(value);
        default:
            return false;
        }
    }

    bool takes_collective(std::string_view name) {
        const auto found = collective_named(name);
        if (!found) {
            return false;
        }
        out_.collective = found->kind;
        out_.comm.op.direction = found->direction;
        return found->plain;
    }

    bool takes_element(std::string_view name) {
        const auto type = element_type(name);
        if (!type) {
            return false;
        }
        out_.comm.op.dtype = type->type;
        out_.element = type->bytes;
        return type->exact;
    }

    bool takes_name(std::string_view value, NameId& to) {
        if (!value.starts_with('"')) {
            return false;
        }
        to = strings_.intern(json_unescaped(inside_quotes(value), scratch_));
        return true;
    }

    // "[0, 1, 2]" as a text, or a list. An abbreviated one ("[0, 1, ..., 63]") stays.
    bool takes_ranks(std::string_view value) {
        const std::string_view list = value.starts_with('"') ? inside_quotes(value) : value;
        if (!whole_numbers(list, std::size_t{1} << 20U)) {
            return false;
        }
        out_.comm.ranks = strings_.intern(list);
        return true;
    }

    bool takes_sync(ArgKey key, std::string_view value) {
        switch (key) {
        case ArgKey::sync_kind:
            return inside_quotes(value) == name_;
        case ArgKey::wait_stream:
            return take(value, out_.wait_stream);
        case ArgKey::wait_event:
            return take(value, out_.wait_event);
        case ArgKey::wait_correlation:
            return take(value, out_.wait_correlation);
        default:
            return false;
        }
    }

    bool takes_memory(ArgKey key, std::string_view value) {
        if (name_ != "[memory]") {
            return false;
        }
        switch (key) {
        case ArgKey::bytes:
            return take(value, out_.bytes);
        case ArgKey::allocated:
            return take(value, out_.allocated);
        case ArgKey::reserved:
            return take(value, out_.reserved);
        case ArgKey::memory_device:
            return take(value, out_.device);
        case ArgKey::device_type:
            return take(value, out_.device_type);
        default:
            return false;
        }
    }

    void finish() {
        if (!external_.empty() && (!out_.correlation || whole_number(external_) != out_.correlation)) {
            const bool first = external_at_ == 0;
            const std::string text = fmt::format("{}\"External id\":{}", first ? "{" : ",", external_);
            if (first && !out_.rest.empty()) {
                out_.rest[0] = ',';
            }
            out_.rest.insert(external_at_, text);
        }
        if (!out_.rest.empty()) {
            out_.rest += '}';
        }
    }

    const KinetoRow& row_;
    std::string_view name_;
    StringPool& strings_;
    EventArgs& out_;
    std::string_view external_; // seen before the correlation
    std::size_t external_at_ = 0;
    std::string scratch_;
};

} // namespace

void EventArgs::clear() {
    rest.clear();
    external_id = correlation = device = stream = bytes = std::nullopt;
    wait_stream = wait_event = wait_correlation = std::nullopt;
    allocated = reserved = device_type = std::nullopt;
    launch = {};
    has_launch = false;
    comm = {};
    collective = std::nullopt;
    element = 0;
}

bool read_event_args(std::string_view text, const KinetoRow& row, std::string_view name, StringPool& strings,
                     EventArgs& out) {
    out.clear();
    return ArgsReader(row, name, strings, out).run(text);
}

} // namespace echosim
