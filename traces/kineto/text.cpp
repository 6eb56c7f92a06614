// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/text.h"

#include <charconv>
#include <cstring>

namespace echosim {
namespace {

constexpr std::size_t npos = std::string_view::npos;
constexpr std::string_view kReplacement = "\xef\xbf\xbd"; // U+FFFD

// Value of the four hexadecimal digits at text[at]; negative: there are none.
int hex4(std::string_view text, std::size_t at) {
    unsigned value = 0;
    if (at + 4 > text.size()) {
        return -1;
    }
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 4, value, 16);
    return error == std::errc{} && end == text.data() + at + 4 ? static_cast<int>(value) : -1;
}

// Bytes of the escape at text[at] == '\\'; 0: not one of JSON's.
std::size_t escape_length(std::string_view text, std::size_t at) {
    if (at + 1 >= text.size()) {
        return 0;
    }
    if (text[at + 1] == 'u') {
        return hex4(text, at + 2) >= 0 ? 6 : 0;
    }
    return std::strchr("\"\\/bfnrt", text[at + 1]) != nullptr && text[at + 1] != '\0' ? 2 : 0;
}

void append_utf8(std::string& out, unsigned code) {
    const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xc0U | (code >> 6U));
        put(0x80U | (code & 0x3fU));
    } else if (code < 0x10000) {
        put(0xe0U | (code >> 12U));
        put(0x80U | ((code >> 6U) & 0x3fU));
        put(0x80U | (code & 0x3fU));
    } else {
        put(0xf0U | (code >> 18U));
        put(0x80U | ((code >> 12U) & 0x3fU));
        put(0x80U | ((code >> 6U) & 0x3fU));
        put(0x80U | (code & 0x3fU));
    }
}

// Appends the character of the \u escape at text[at]; returns the index behind it (behind both of a pair).
std::size_t append_unicode(std::string_view text, std::size_t at, std::string& out) {
    const int first = hex4(text, at + 2);
    if (first < 0xd800 || first > 0xdfff) {
        append_utf8(out, static_cast<unsigned>(first < 0 ? 0xfffd : first));
        return at + 6;
    }
    const bool pair = first < 0xdc00 && text.substr(at + 6, 2) == "\\u";
    const int second = pair ? hex4(text, at + 8) : -1;
    if (second < 0xdc00 || second > 0xdfff) {
        out += kReplacement;
        return at + 6;
    }
    append_utf8(out, 0x10000U + ((static_cast<unsigned>(first) & 0x3ffU) << 10U) +
                         (static_cast<unsigned>(second) & 0x3ffU));
    return at + 12;
}

char plain_escape(char c) {
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c;
    }
}

// Index behind the number or word at text[at]; npos: neither.
std::size_t scalar_end(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && !is_json_space(text[end]) &&
           std::memchr(",:]}[{\"", text[end], 7) == nullptr) {
        ++end;
    }
    const std::string_view token = text.substr(at, end - at);
    return is_json_number(token) || token == "true" || token == "false" || token == "null" ? end : npos;
}

// The walk of copy_json_value over one value: containers that are open are on the stack.
class CompactCopy {
  public:
    CompactCopy(std::string_view text, std::string& out) : text_(text), out_(out) {}

    std::size_t run(std::size_t at) {
        at = value(at);
        while (at != npos && !open_.empty()) {
            at = skip_json_space(text_, at);
            if (at >= text_.size()) {
                return npos;
            }
            at = after_value(at);
        }
        return at;
    }

  private:
    // A value, or the opening of one with its first member.
    std::size_t value(std::size_t at) {
        at = skip_json_space(text_, at);
        if (at >= text_.size()) {
            return npos;
        }
        const char c = text_[at];
        if (c == '{' || c == '[') {
            return open(at);
        }
        const std::size_t end = c == '"' ? json_string_end(text_, at) : scalar_end(text_, at);
        if (end != npos) {
            out_.append(text_.substr(at, end - at));
        }
        return end;
    }

    std::size_t open(std::size_t at) {
        const char c = text_[at];
        out_ += c;
        if (open_.size() >= kMaxJsonDepth) {
            return npos;
        }
        open_ += c;
        const std::size_t next = skip_json_space(text_, at + 1);
        if (next < text_.size() && text_[next] == (c == '{' ? '}' : ']')) {
            return next; // empty: after_value closes it
        }
        return c == '{' ? member(next) : value(next);
    }

    std::size_t member(std::size_t at) {
        at = skip_json_space(text_, at);
        if (at >= text_.size() || text_[at] != '"') {
            return npos;
        }
        const std::size_t end = json_string_end(text_, at);
        if (end == npos) {
            return npos;
        }
        out_.append(text_.substr(at, end - at));
        at = skip_json_space(text_, end);
        if (at >= text_.size() || text_[at] != ':') {
            return npos;
        }
        out_ += ':';
        return value(at + 1);
    }

    std::size_t after_value(std::size_t at) {
        const char closing = open_.back() == '{' ? '}' : ']';
        if (text_[at] == closing) {
            out_ += closing;
            open_.pop_back();
            return at + 1;
        }
        if (text_[at] != ',') {
            return npos;
        }
        out_ += ',';
        return open_.back() == '{' ? member(at + 1) : value(at + 1);
    }

    std::string_view text_;
    std::string& out_;
    std::string open_;
};

} // namespace

std::size_t skip_json_space(std::string_view text, std::size_t at) {
    while (at < text.size() && is_json_space(text[at])) {
        ++at;
    }
    return at;
}

std::size_t json_string_end(std::string_view text, std::size_t at) {
    ++at;
    while (at < text.size()) {
        if (text[at] == '"') {
            return at + 1;
        }
        const std::size_t length = text[at] == '\\' ? escape_length(text, at) : 1;
        if (length == 0) {
            return npos;
        }
        at += length;
    }
    return npos;
}

std::string_view json_unescaped(std::string_view inside, std::string& scratch) {
    if (inside.find('\\') == npos) {
        return inside;
    }
    scratch.clear();
    std::size_t at = 0;
    while (at < inside.size()) {
        if (inside[at] != '\\' || at + 1 >= inside.size()) {
            scratch += inside[at++];
        } else if (inside[at + 1] == 'u') {
            at = append_unicode(inside, at, scratch);
        } else {
            scratch += plain_escape(inside[at + 1]);
            at += 2;
        }
    }
    return scratch;
}

std::size_t copy_json_value(std::string_view text, std::size_t at, std::string& out) {
    return CompactCopy(text, out).run(at);
}

JsonMembers::JsonMembers(std::string_view text) : text_(text) {
    valid_ = text_.starts_with('{');
}

bool JsonMembers::fail() {
    valid_ = false;
    return false;
}

bool JsonMembers::next() {
    if (!valid_) {
        return false;
    }
    at_ = skip_json_space(text_, at_);
    if (at_ < text_.size() && text_[at_] == '}') {
        return false;
    }
    if (!first_) {
        if (at_ >= text_.size() || text_[at_] != ',') {
            return fail();
        }
        at_ = skip_json_space(text_, at_ + 1);
    }
    first_ = false;
    const std::size_t key_end = at_ < text_.size() && text_[at_] == '"' ? json_string_end(text_, at_) : npos;
    if (key_end == npos) {
        return fail();
    }
    key_ = text_.substr(at_ + 1, key_end - at_ - 2);
    at_ = skip_json_space(text_, key_end);
    if (at_ >= text_.size() || text_[at_] != ':') {
        return fail();
    }
    at_ = skip_json_space(text_, at_ + 1);
    if (at_ >= text_.size()) {
        return fail();
    }
    const std::size_t begin = at_;
    const bool brackets = text_[at_] == '{' || text_[at_] == '[';
    copy_.clear();
    at_ = brackets            ? copy_json_value(text_, at_, copy_)
          : text_[at_] == '"' ? json_string_end(text_, at_)
                              : scalar_end(text_, at_);
    if (at_ == npos) {
        return fail();
    }
    value_ = brackets ? std::string_view(copy_) : text_.substr(begin, at_ - begin);
    return true;
}

} // namespace echosim
