// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/parse.h"

#include "simulator/core/error.h"
#include "traces/kineto/mend.h"
#include "traces/kineto/record.h"
#include "traces/kineto/text.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <simdjson.h>

namespace echosim {
namespace {

namespace od = simdjson::ondemand;

// The token of a scalar goes on to the next structural byte.
std::string_view trimmed(std::string_view token) {
    while (!token.empty() && is_json_space(token.back())) {
        token.remove_suffix(1);
    }
    return token;
}

// The member of the fields that the key names; null: none.
std::string_view* field_of(std::string_view key, RecordFields& fields, bool own) {
    switch (key.size()) {
    case 2:
        return key == "ph"   ? &fields.phase
               : key == "ts" ? &fields.time
               : key == "id" ? &fields.id
               : key == "bp" ? &fields.bind
                             : nullptr;
    case 3:
        return key == "cat"   ? &fields.category
               : key == "pid" ? &fields.pid
               : key == "tid" ? &fields.tid
               : key == "dur" ? &fields.duration
                              : nullptr;
    case 4:
        return key == "name" ? &fields.name : key == "args" ? &fields.args : nullptr;
    case 7:
        return own && key == "counter" ? &fields.counter : nullptr;
    default:
        return nullptr;
    }
}

} // namespace

struct PieceParser::State {
    std::string path;
    bool own = false;
    od::parser parser;
    std::string scratch;
    std::string id_text; // of an id with brackets

    bool read_event(od::object& event, const char* end, KinetoRecords& records);
    bool read_other(std::string_view key, std::string_view token, const char* end, KinetoRecords& records);
    bool read(TextBuffer& buffer, KinetoRecords& records);
    KinetoPiece mended(EventText& text);
};

// A member that is not kept must be JSON all the same. "s" is how wide an instant is drawn.
bool PieceParser::State::read_other(std::string_view key, std::string_view token, const char* end,
                                    KinetoRecords& records) {
    scratch.clear();
    const std::string_view rest(token.data(), static_cast<std::size_t>(end - token.data()));
    if (copy_json_value(rest, 0, scratch) == std::string_view::npos) {
        return false;
    }
    if (key != "s") {
        ++records.piece().dropped_fields[std::string(key)];
    }
    return true;
}

bool PieceParser::State::read_event(od::object& event, const char* end, KinetoRecords& records) {
    RecordFields fields;
    for (auto entry : event) {
        od::field field;
        if (std::move(entry).get(field) != simdjson::SUCCESS) {
            return false;
        }
        const char* key_begin = field.key().raw();
        const auto* key_end =
            static_cast<const char*>(std::memchr(key_begin, '"', static_cast<std::size_t>(end - key_begin)));
        const std::string_view key(key_begin,
                                   key_end == nullptr ? 0 : static_cast<std::size_t>(key_end - key_begin));
        const std::string_view token = field.value().raw_json_token();
        std::string_view* to = field_of(key, fields, own);
        const bool brackets = token.starts_with('{') || token.starts_with('[');
        if (key == "id2") {
            id_text.clear();
            if (copy_json_value({token.data(), static_cast<std::size_t>(end - token.data())}, 0, id_text) ==
                std::string_view::npos) {
                return false;
            }
            fields.id = id_text;
        } else if (to == nullptr || (brackets && to != &fields.args)) {
            if (!read_other(key, token, end, records)) {
                return false;
            }
        } else if (brackets) {
            *to = std::string_view(token.data(), static_cast<std::size_t>(end - token.data()));
        } else {
            *to = trimmed(token);
        }
    }
    return records.add(fields);
}

// False: not JSON.
bool PieceParser::State::read(TextBuffer& buffer, KinetoRecords& records) {
    std::memset(buffer.data() + buffer.size(), ' ', TextBuffer::kPadding);
    const char* end = buffer.data() + buffer.size();
    od::document document;
    od::array events;
    if (parser.iterate(buffer.data(), buffer.size(), buffer.size() + TextBuffer::kPadding).get(document) !=
            simdjson::SUCCESS ||
        document.get_array().get(events) != simdjson::SUCCESS) {
        return false;
    }
    for (auto element : events) {
        od::object event;
        od::value value;
        if (std::move(element).get(value) != simdjson::SUCCESS) {
            return false;
        }
        const char* at = value.raw_json_token().data();
        if (at != nullptr && *at != '{') {
            scratch.clear();
            if (copy_json_value({at, static_cast<std::size_t>(end - at)}, 0, scratch) ==
                std::string_view::npos) {
                return false;
            }
            ++records.piece().report.events;
            records.piece().report.warn("not_an_event");
            continue;
        }
        if (value.get_object().get(event) != simdjson::SUCCESS || !read_event(event, end, records)) {
            return false;
        }
    }
    const char* behind = nullptr; // there must be nothing
    return document.current_location().get(behind) != simdjson::SUCCESS;
}

KinetoPiece PieceParser::State::mended(EventText& text) {
    const MendPlace place{path, [&](std::size_t index) { return text.offset + index; },
                          text.whole || text.ended};
    MendedText mended = mend_json(text.buffer.text(), place);
    TextBuffer buffer(mended.text.size());
    std::memcpy(buffer.data(), mended.text.data(), mended.text.size());
    buffer.resize(mended.text.size());
    KinetoRecords records(own);
    if (!read(buffer, records)) {
        throw InputError(fmt::format("{}:{}", path, text.offset),
                         "the events from this byte on cannot be read as JSON");
    }
    for (const auto& [word, count] : mended.counts) {
        records.piece().report.warn(word, count);
    }
    return std::move(records.piece());
}

PieceParser::PieceParser(std::string path, bool own) : state_(new State) {
    state_->path = std::move(path);
    state_->own = own;
}

PieceParser::~PieceParser() = default;

KinetoPiece PieceParser::parse(EventText& text) {
    KinetoRecords records(state_->own);
    if (text.whole && state_->read(text.buffer, records)) {
        return std::move(records.piece());
    }
    return state_->mended(text);
}

} // namespace echosim
