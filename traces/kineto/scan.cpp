// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/scan.h"

#include "simulator/core/error.h"
#include "traces/kineto/text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{8} << 20U;
constexpr std::size_t kReadBytes = std::size_t{1} << 20U;
constexpr std::size_t kMostPieceBytes = std::size_t{256} << 20U; // one event may not be larger
constexpr std::size_t kMostMemberBytes = std::size_t{16} << 20U; // of the document around the events
constexpr std::size_t kMostDocumentBytes = std::size_t{64} << 20U;

enum class Class : std::uint8_t { plain, quote, open, close };

constexpr std::array<Class, 256> kClasses = [] {
    std::array<Class, 256> table{};
    table['"'] = Class::quote;
    table['{'] = table['['] = Class::open;
    table['}'] = table[']'] = Class::close;
    return table;
}();
constexpr std::array<bool, 256> kInString = [] {
    std::array<bool, 256> table{};
    table['"'] = table['\\'] = true;
    return table;
}();

} // namespace

TextBuffer::TextBuffer(std::size_t capacity) {
    grow(capacity);
}

void TextBuffer::grow(std::size_t capacity) {
    std::unique_ptr<char[]> bytes(new char[capacity + kPadding]);
    if (size_ > 0) {
        std::memcpy(bytes.get(), bytes_.get(), size_);
    }
    bytes_ = std::move(bytes);
    capacity_ = capacity;
}

std::uint64_t DocumentText::offset_of(std::size_t index) const {
    std::uint64_t offset = index;
    for (const auto& [from, at] : pieces) {
        if (from <= index) {
            offset = at + (index - from);
        }
    }
    return offset;
}

TraceScanner::TraceScanner(TraceBytes& bytes, std::string path)
    : bytes_(bytes), path_(std::move(path)), buffer_(kPieceBytes + 2 * kReadBytes) {}

void TraceScanner::refuse(std::uint64_t offset, const std::string& message) const {
    throw InputError(fmt::format("{}:{}", path_, offset), message);
}

bool TraceScanner::read_more() {
    if (buffer_.size() + kReadBytes > buffer_.capacity()) {
        buffer_.grow(2 * buffer_.capacity());
    }
    const std::size_t got = bytes_.read(buffer_.data() + buffer_.size(), kReadBytes);
    buffer_.resize(buffer_.size() + got);
    ended_ = got < kReadBytes;
    return got > 0;
}

std::optional<EventText> TraceScanner::next(std::optional<TextBuffer> spare) {
    while (place_ != Place::done) {
        if (place_ == Place::events) {
            if (scan_events()) {
                place_ = document_.is_array ? Place::after : Place::document;
                return cut(at_, std::move(spare));
            }
            if (buffer_.size() >= kPieceBytes && border_ > 0) {
                return cut(border_, std::move(spare));
            }
            if (ended_ || buffer_.size() >= kMostPieceBytes || event_depth_ > kMaxJsonDepth) {
                return last_piece();
            }
        } else {
            scan_document();
            if (place_ == Place::events) {
                continue;
            }
            offset_ += buffer_.size();
            buffer_.resize(0);
            at_ = 0;
            if (ended_) {
                place_ = Place::done;
                break;
            }
        }
        read_more();
    }
    return std::nullopt;
}

// A byte-order mark and white space in front of the document.
void TraceScanner::skip_mark() {
    if (offset_ == 0 && at_ == 0 && buffer_.text().starts_with("\xef\xbb\xbf")) {
        at_ = 3;
    }
    at_ = skip_json_space(buffer_.text(), at_);
    if (at_ == buffer_.size()) {
        return;
    }
    const char first = buffer_.data()[at_];
    document_.is_array = first == '[';
    if (first != '{' && first != '[') {
        refuse(offset_ + at_, "this is no JSON document: a trace begins with '{' or '['");
    }
    document_.pieces.emplace_back(0, offset_ + at_);
    place_ = Place::document;
    if (document_.is_array) {
        enter_events();
    }
}

void TraceScanner::scan_document() {
    if (place_ == Place::before) {
        skip_mark();
    }
    while (place_ == Place::document && at_ < buffer_.size()) {
        document_byte(buffer_.data()[at_]);
    }
    if (place_ == Place::after) {
        at_ = skip_json_space(buffer_.text(), at_);
        if (at_ < buffer_.size()) {
            refuse(offset_ + at_, "text follows the end of the document");
        }
    }
}

void TraceScanner::put(char c) {
    if (omitting_ || (after_colon_ && document_.text.size() - value_begin_ > kMostMemberBytes)) {
        omitting_ = true;
        return;
    }
    if (document_.text.size() > kMostDocumentBytes) {
        refuse(offset_ + at_,
               fmt::format("more than {} MiB of text outside of traceEvents", kMostDocumentBytes >> 20U));
    }
    document_.text += c;
}

void TraceScanner::end_member() {
    if (omitting_) {
        omitting_ = false;
        document_.omitted.push_back(key_);
        document_.text.resize(value_begin_);
        document_.text += "null";
        document_.pieces.emplace_back(document_.text.size(), offset_ + at_);
    }
    after_colon_ = false;
}

void TraceScanner::document_byte(char c) {
    if (in_string_) {
        string_byte(c);
    } else {
        structure_byte(c);
    }
}

void TraceScanner::string_byte(char c) {
    put(c);
    ++at_;
    if (escaped_) {
        escaped_ = false;
    } else if (c == '\\') {
        escaped_ = true;
    } else if (c == '"') {
        in_string_ = false;
        is_key_ = false;
        return;
    }
    if (is_key_ && key_.size() < 256) {
        key_ += c;
    }
}

void TraceScanner::structure_byte(char c) {
    const bool top = depth_ == 1;
    if (c == '[' && top && after_colon_ && key_ == "traceEvents") {
        enter_events();
        return;
    }
    const bool closes = c == '}' || c == ']';
    if (top && (c == ',' || closes)) {
        end_member();
    }
    put(c);
    if (c == '"') {
        in_string_ = true;
        is_key_ = top && !after_colon_;
        if (is_key_) {
            key_.clear();
        }
    } else if (c == ':' && top && !after_colon_) {
        after_colon_ = true;
        value_begin_ = document_.text.size();
    } else if (c == '{' || c == '[') {
        if (++depth_ > kMaxJsonDepth) {
            refuse(offset_ + at_, fmt::format("brackets are nested deeper than {}", kMaxJsonDepth));
        }
    } else if (closes && --depth_ == 0) {
        place_ = Place::after;
    }
    ++at_;
}

// At the '[' in front of the events, which becomes the first byte of the buffer.
void TraceScanner::enter_events() {
    document_.has_events = true;
    document_.text += "[]";
    offset_ += at_;
    std::memmove(buffer_.data(), buffer_.data() + at_, buffer_.size() - at_);
    buffer_.resize(buffer_.size() - at_);
    at_ = 1;
    place_ = Place::events;
    event_depth_ = 0;
    in_string_ = false;
    escaped_ = false;
    last_ = '[';
    border_ = 0;
}

void TraceScanner::between_events(char c) {
    if (c == '{' && last_ == ',') {
        border_ = at_;
        border_comma_ = comma_;
    }
    if (c == ',') {
        comma_ = at_;
    }
    if (!is_json_space(c)) {
        last_ = c;
    }
}

// Looks at all bytes that there are; true: at the end of the array (at_ is behind it).
bool TraceScanner::scan_events() {
    const auto* text = reinterpret_cast<const unsigned char*>(buffer_.data());
    const std::size_t size = buffer_.size();
    while (at_ < size) {
        if (in_string_) {
            at_ += escaped_ ? 1U : 0U;
            escaped_ = false;
            while (at_ < size && !kInString[text[at_]]) {
                ++at_;
            }
            if (at_ >= size) {
                break;
            }
            in_string_ = text[at_] != '"';
            escaped_ = in_string_;
            ++at_;
            continue;
        }
        if (event_depth_ > 0) {
            while (at_ < size && kClasses[text[at_]] == Class::plain) {
                ++at_;
            }
            if (at_ == size) {
                break;
            }
        }
        const auto c = static_cast<char>(text[at_]);
        const Class kind = kClasses[text[at_]];
        if (event_depth_ == 0) {
            between_events(c);
            if (c == ']') {
                ++at_;
                return true;
            }
        }
        if (kind == Class::quote) {
            in_string_ = true;
        } else if (kind == Class::open) {
            if (++event_depth_ > kMaxJsonDepth) {
                return false;
            }
        } else if (kind == Class::close && event_depth_ > 0) {
            --event_depth_;
        }
        ++at_;
    }
    return false;
}

// The piece up to `end`: behind the array's end, or at the event that begins the next piece.
EventText TraceScanner::cut(std::size_t end, std::optional<TextBuffer> spare) {
    const bool closed = place_ != Place::events;
    const std::size_t rest = buffer_.size() - end;
    const std::size_t gap = closed ? 0 : 1; // for the '[' of the next piece
    TextBuffer following = spare ? std::move(*spare) : TextBuffer(kPieceBytes + 2 * kReadBytes);
    if (following.capacity() < rest + gap + kReadBytes) {
        following.resize(0);
        following.grow(rest + gap + kReadBytes);
    }
    std::memcpy(following.data() + gap, buffer_.data() + end, rest);
    following.resize(rest + gap);
    EventText piece{std::move(buffer_), offset_, true, true};
    buffer_ = std::move(following);
    offset_ += end - gap;
    if (closed) {
        piece.buffer.resize(end);
        at_ = 0;
        document_.pieces.emplace_back(document_.text.size(), offset_);
    } else {
        piece.buffer.data()[border_comma_] = ']';
        piece.buffer.resize(border_comma_ + 1);
        buffer_.data()[0] = '[';
        at_ -= end - gap;
        comma_ = 0;
        border_ = 0;
    }
    return piece;
}

// What is left when the text ends, or cannot be cut, within the events.
std::optional<EventText> TraceScanner::last_piece() {
    EventText piece{std::move(buffer_), offset_, false, ended_};
    buffer_ = TextBuffer(0);
    place_ = Place::done;
    return piece;
}

} // namespace echosim
