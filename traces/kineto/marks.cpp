// SPDX-License-Identifier: Apache-2.0
#include "traces/json_text.h"
#include "traces/kineto/record.h"
#include "traces/kineto/text.h"

#include <charconv>
#include <cmath>

// Records that are not whole events: begins and ends, arrows, samples of counters, names.
namespace echosim {
namespace {

bool is_string(std::string_view token) {
    return token.size() >= 2 && token.front() == '"';
}

std::string_view unquoted(std::string_view token) {
    return is_string(token) ? token.substr(1, token.size() - 2) : token;
}

bool read_double(std::string_view token, double& to) {
    const std::string_view digits = unquoted(token);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return error == std::errc{} && end == digits.data() + digits.size() && std::isfinite(to);
}

} // namespace

bool KinetoRecords::mark(const RecordFields& fields, const Category& found, KinetoMarkKind kind) {
    if (own_ && (kind == KinetoMarkKind::flow_start || kind == KinetoMarkKind::flow_end)) {
        return kind == KinetoMarkKind::flow_end || own_flow(fields);
    }
    KinetoMark mark;
    mark.kind = kind;
    if (!start_row(fields, found, mark.row) || !read_args(fields, mark.row)) {
        return false;
    }
    if (!mark.row.timed) {
        piece_.report.warn("missing_time");
        return true;
    }
    if (kind == KinetoMarkKind::begin || kind == KinetoMarkKind::async_begin) {
        add_detail(mark.row);
        const bool kernel = mark.row.kind == EventKind::kernel || mark.row.kind == EventKind::comm;
        piece_.report.kernels += kernel ? 1U : 0U;
    } else {
        mark.row.args = args_.rest.empty() ? kNoName : piece_.strings.intern(args_.rest);
    }
    mark.id = fields.id.empty() ? kNoName : piece_.strings.intern(unquoted(fields.id));
    mark.next_slice = kind == KinetoMarkKind::flow_end && fields.bind != "\"e\"";
    piece_.marks.push_back(mark);
    return true;
}

// From a call to its device work: the correlation says the same.
bool KinetoRecords::arrow(const RecordFields& fields, bool begins) {
    if (own_) {
        return !begins || own_flow(fields);
    }
    const auto id = whole_number(fields.id);
    if (!id) {
        piece_.report.warn("unmatched_flow");
        return true;
    }
    (begins ? piece_.launched : piece_.arrived).push_back(static_cast<std::uint64_t>(*id));
    return true;
}

bool KinetoRecords::sample(const RecordFields& fields) {
    KinetoSample row;
    bool known = false;
    if (!time(fields.time, row.time, known)) {
        return false;
    }
    row.track = track(fields);
    std::string name(fields.name.empty() ? std::string_view{} : unquoted(fields.name));
    if (!fields.id.empty()) {
        name += '[' + std::string(unquoted(fields.id)) + ']'; // counters of one name are told apart by id
    }
    std::string plain;
    row.name = piece_.strings.intern(json_unescaped(name, plain));
    piece_.report.warn("missing_time", known ? 0 : 1);
    if (!fields.args.starts_with('{')) {
        return true;
    }
    JsonMembers members(fields.args);
    if (const auto counter = whole_number(fields.counter); counter && *counter >= 0 && *counter < kNoRow) {
        row.counter = static_cast<std::uint32_t>(*counter);
    }
    while (members.next()) {
        if (!read_double(members.value(), row.value)) {
            piece_.report.warn("non_numeric_sample");
        } else if (known) {
            row.series = piece_.strings.intern(json_unescaped(members.key(), plain));
            piece_.samples.push_back(row);
        }
    }
    return members.valid();
}

bool KinetoRecords::metadata(const RecordFields& fields) {
    if (!fields.args.starts_with('{')) {
        return true;
    }
    KinetoName row;
    row.what = text(fields.name);
    row.track = track(fields);
    JsonMembers members(fields.args);
    while (members.next()) {
        if (is_string(members.value())) {
            row.text = text(members.value());
        }
    }
    if (row.text != kNoName) {
        piece_.names.push_back(row);
    }
    return members.valid();
}

} // namespace echosim
