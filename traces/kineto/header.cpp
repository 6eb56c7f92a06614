// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/header.h"

#include "simulator/core/error.h"
#include "traces/kineto/mend.h"
#include "traces/kineto/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostMetaBytes = std::size_t{1} << 20U; // of one member
constexpr std::uint32_t kMostRows = 1U << 20U;

[[noreturn]] void refuse(const DocumentText& document, const std::string& path, const std::string& message,
                         const std::string& hint = {}) {
    throw InputError(fmt::format("{}:{}", path, document.offset_of(0)), message, hint);
}

std::optional<std::int64_t> integer(const Json& value) {
    if (value.is_number_integer() &&
        !(value.is_number_unsigned() && value.get<std::uint64_t>() >> 63U != 0)) {
        return value.get<std::int64_t>();
    }
    return value.is_string() ? whole_number(value.get<std::string>()) : std::nullopt;
}

const Json& member(const Json& object, const char* key) {
    static const Json kNone;
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() ? *found : kNone;
}

std::string text_of(const Json& value) {
    if (value.is_string()) {
        return value.get<std::string>();
    }
    return value.is_null() ? std::string() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Number> Number number_of(const Json& object, const char* key, Number otherwise) {
    const auto value = integer(member(object, key));
    if (!value || *value < static_cast<std::int64_t>(std::numeric_limits<Number>::min()) ||
        (sizeof(Number) < 8 && *value > static_cast<std::int64_t>(std::numeric_limits<Number>::max()))) {
        return otherwise;
    }
    return static_cast<Number>(*value);
}

// "ranks": [0, 1, 2], or the same as a text.
std::vector<RankRange> rank_list(const Json& value) {
    std::string text = text_of(value);
    const auto numbers = whole_numbers(text, kMostRows);
    std::vector<int> ranks;
    for (const std::int64_t number : numbers.value_or(std::vector<std::int64_t>{})) {
        if (number < 0 || number > std::numeric_limits<int>::max()) {
            return {};
        }
        ranks.push_back(static_cast<int>(number));
    }
    return compact_ranks(ranks);
}

// "ranks": [[first, count, stride], ...] of our own files.
std::vector<RankRange> range_list(const Json& value) {
    std::vector<RankRange> ranges;
    for (const Json& row : value.is_array() ? value : Json::array()) {
        const auto numbers = whole_numbers(row.dump(), 3);
        const auto fits = [](std::int64_t n) {
            return n >= 0 && n <= std::numeric_limits<std::int32_t>::max();
        };
        if (numbers && numbers->size() == 3 && std::all_of(numbers->begin(), numbers->end(), fits)) {
            ranges.push_back({static_cast<std::uint32_t>((*numbers)[0]),
                              static_cast<std::uint32_t>((*numbers)[1]),
                              static_cast<std::uint32_t>((*numbers)[2])});
        }
    }
    return ranges;
}

template <class Row, class Read> std::vector<Row> rows_of(const Json& list, Read read) {
    std::vector<Row> rows;
    for (const Json& entry : list.is_array() ? list : Json::array()) {
        if (rows.size() < kMostRows) {
            rows.push_back(read(entry));
        }
    }
    return rows;
}

HeaderStream own_stream(const Json& row) {
    HeaderStream stream;
    stream.rank_class = number_of(row, "class", 0U);
    stream.id = number_of(row, "id", 0U);
    stream.name = text_of(member(row, "name"));
    stream.device = number_of(row, "device", -1);
    stream.number = number_of(row, "number", std::int64_t{-1});
    const std::string kind = text_of(member(row, "kind"));
    for (int i = 0; i < 10; ++i) {
        if (to_string(static_cast<StreamKind>(i)) == kind) {
            stream.kind = static_cast<StreamKind>(i);
        }
    }
    for (const Json& thread : member(row, "threads").is_array() ? member(row, "threads") : Json::array()) {
        const auto numbers = whole_numbers(thread.dump(), 2);
        if (numbers && numbers->size() == 2) {
            stream.threads.push_back({(*numbers)[0], (*numbers)[1]});
        }
    }
    return stream;
}

HeaderGroup own_group(const Json& row) {
    return {text_of(member(row, "name")), text_of(member(row, "description")),
            range_list(member(row, "ranks"))};
}

void read_own(const Json& document, KinetoHeader& header) {
    const Json& other = member(document, "otherData");
    const Json& tables = member(other, "echosim_trace");
    if (!tables.is_object()) {
        return;
    }
    OwnTables& own = header.own.emplace();
    own.t0 = number_of(tables, "t0_ns", header.base);
    own.timed = !member(tables, "timed").is_boolean() || member(tables, "timed").get<bool>();
    own.classes = rows_of<HeaderClass>(member(tables, "classes"), [](const Json& row) {
        return HeaderClass{text_of(member(row, "name")), number_of(row, "stage", -1),
                           range_list(member(row, "ranks"))};
    });
    own.streams = rows_of<HeaderStream>(member(tables, "streams"), own_stream);
    own.counters = rows_of<HeaderCounter>(member(tables, "counters"), [](const Json& row) {
        return HeaderCounter{number_of(row, "class", 0U), text_of(member(row, "name")),
                             text_of(member(row, "unit"))};
    });
    header.groups = rows_of<HeaderGroup>(member(tables, "communicators"), own_group);
    header.meta = text_of(member(other, "echosim"));
}

void read_recorder(const Json& document, KinetoHeader& header, ImportReport& report) {
    const Json& job = member(document, "distributedInfo");
    if (const auto rank = integer(member(job, "rank")); rank && *rank >= 0 && *rank < kMostRows) {
        header.rank = static_cast<int>(*rank);
    }
    header.groups = rows_of<HeaderGroup>(member(job, "pg_config"), [](const Json& row) {
        return HeaderGroup{text_of(member(row, "pg_name")), text_of(member(row, "pg_desc")),
                           rank_list(member(row, "ranks"))};
    });
    header.kineto = document.contains("schemaVersion") || document.contains("deviceProperties") ||
                    document.contains("distributedInfo");
    Json meta = Json::object();
    for (const auto& [key, value] : document.items()) {
        const std::string text = text_of(value);
        if (key == "traceEvents" || value.is_null()) {
            continue;
        }
        if (text.size() > kMostMetaBytes) {
            report.note_counts("{} bytes of a member of the document are not kept: \"" + key + "\"",
                               {text.size()});
            continue;
        }
        meta[key] = value;
    }
    header.meta = meta.empty() ? std::string() : meta.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Members of one object beside the events. Profilers write tens; the time to read them grows with the square.
constexpr std::size_t kMostMembers = 10'000;

// Json::parse, which refuses objects with too many members; discarded when the text is not JSON.
Json parse_bounded(const std::string& text, const DocumentText& document, const std::string& path) {
    std::vector<std::size_t> members; // of the objects that are open
    const auto count = [&](int, Json::parse_event_t event, Json&) {
        if (event == Json::parse_event_t::object_start)
            members.push_back(0);
        else if (event == Json::parse_event_t::object_end && !members.empty())
            members.pop_back();
        else if (event == Json::parse_event_t::key && ++members.back() > kMostMembers)
            refuse(document, path,
                   fmt::format("an object beside the events has more than {} members", kMostMembers));
        return true;
    };
    return Json::parse(text, count, false);
}

// Valid JSON, mended if need be.
Json parse_document(const DocumentText& document, const std::string& path, ImportReport& report) {
    Json value = parse_bounded(document.text, document, path);
    if (value.is_discarded()) {
        const MendPlace place{path, [&](std::size_t index) { return document.offset_of(index); }, true};
        const MendedText mended = mend_json(document.text, place);
        for (const auto& [word, count] : mended.counts) {
            report.warn(word, count);
        }
        value = parse_bounded(mended.text, document, path);
    }
    if (value.is_discarded()) {
        refuse(document, path, "the document around the events is not JSON");
    }
    return value;
}

std::string keys_of(const Json& document) {
    std::string keys;
    int count = 0;
    for (const auto& [key, value] : document.items()) {
        if (++count > 4) {
            return keys + ", ...";
        }
        keys += fmt::format("{}\"{}\"", keys.empty() ? "" : ", ", key.substr(0, 40));
    }
    return keys.empty() ? "nothing" : keys;
}

} // namespace

bool is_own_document(const DocumentText& document) {
    return document.text.find("\"echosim_trace\"") != std::string::npos;
}

KinetoHeader read_kineto_header(const DocumentText& document, const std::string& path, ImportReport& report) {
    KinetoHeader header;
    if (document.text.empty()) {
        refuse(document, path, "there is nothing but white space in the file");
    }
    const Json value = parse_document(document, path, report);
    if (!document.has_events) {
        refuse(document, path,
               fmt::format("this JSON is no trace: it has {} but no list \"traceEvents\"", keys_of(value)),
               "give a trace of the PyTorch profiler, a Chrome trace, or a file that `export` wrote");
    }
    for (const std::string& key : document.omitted) {
        report.note(fmt::format("member \"{}\" of the document is too large to be kept", key.substr(0, 80)));
    }
    if (document.is_array) {
        return header;
    }
    header.base = integer(member(value, "baseTimeNanoseconds")).value_or(0);
    constexpr TimeNs kMostTime = 3'000'000'000'000'000'000;
    if (header.base > kMostTime || header.base < -kMostTime) {
        refuse(document, path, "baseTimeNanoseconds is beyond the year 2065");
    }
    read_own(value, header);
    if (!header.own) {
        read_recorder(value, header, report);
    }
    return header;
}

} // namespace echosim
