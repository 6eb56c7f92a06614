// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/mend.h"

#include "simulator/core/error.h"
#include "traces/json_text.h"
#include "traces/kineto/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <vector>

namespace echosim {
namespace {

constexpr std::size_t npos = std::string_view::npos;

// A container that is open.
struct Open {
    char bracket = '[';
    bool any = false;   // it has a member that was kept
    std::size_t at = 0; // of the bracket in the text
};

bool is_word_byte(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.' || c == '_' ||
           c == '#';
}

// nan, -nan, nan(ind), inf, +Infinity, 1.#INF, 1.#QNAN ...
bool is_non_finite(std::string_view word) {
    std::string lower;
    for (const char c : word) {
        lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    std::string_view rest = lower;
    if (rest.starts_with('+') || rest.starts_with('-')) {
        rest.remove_prefix(1);
    }
    constexpr std::array<std::string_view, 7> kWords{"nan",    "inf",     "infinity", "1.#inf",
                                                     "1.#ind", "1.#qnan", "1.#snan"};
    return std::find(kWords.begin(), kWords.end(), rest) != kWords.end();
}

class Mender {
  public:
    Mender(std::string_view text, const MendPlace& place) : text_(text), place_(place) {}

    MendedText run() {
        at_ = skip_json_space(text_, 0);
        if (at_ == text_.size()) {
            refuse(at_, "there is no JSON value");
        }
        value(false);
        while (!open_.empty()) {
            member();
        }
        at_ = skip_json_space(text_, at_);
        if (at_ < text_.size()) {
            refuse(at_, "text follows the end of the document");
        }
        return std::move(mended_);
    }

  private:
    [[noreturn]] void refuse(std::size_t at, const std::string& message) const {
        throw InputError(fmt::format("{}:{}", place_.path, place_.offset(at)), message,
                         "the text must be JSON; a trace that was cut off must be recorded or copied again");
    }

    [[noreturn]] void refuse_byte(std::size_t at, std::string_view expected) const {
        if (at >= text_.size()) {
            refuse_end();
        }
        refuse(at, fmt::format("{} is read where {} is expected",
                               json_string(text_.substr(at, std::min<std::size_t>(text_.size() - at, 1))),
                               expected));
    }

    [[noreturn]] void refuse_end() const {
        const std::size_t begin = open_.size() > 1 ? open_[1].at : 0;
        refuse(text_.size(),
               place_.ended
                   ? fmt::format("the file ends inside the {} that begins at byte {}: it was cut off",
                                 open_.size() > 1 ? "value" : "document", place_.offset(begin))
                   : fmt::format("the event that begins at byte {} is too large, or its brackets "
                                 "are nested deeper than {}",
                                 place_.offset(begin), kMaxJsonDepth));
    }

    void count(const char* word) { ++mended_.counts[word]; }
    std::string& out() { return mended_.text; }

    // Between the members of the innermost container: its next member, or its end.
    void member() {
        at_ = skip_json_space(text_, at_);
        bool comma = false;
        if (at_ < text_.size() && text_[at_] == ',' && seen_) {
            comma = true;
            at_ = skip_json_space(text_, at_ + 1);
        }
        const char closing = open_.back().bracket == '{' ? '}' : ']';
        if (at_ >= text_.size()) {
            if (open_.size() > 1 || !place_.ended) {
                refuse_end();
            }
            count("missing_closing_bracket");
            close(closing);
            return;
        }
        if (text_[at_] == closing) {
            if (comma) {
                count("trailing_comma");
            }
            ++at_;
            close(closing);
            return;
        }
        if (seen_ && !comma) {
            refuse_byte(at_, fmt::format("',' or '{}'", closing));
        }
        const std::size_t begin = out().size();
        if (open_.back().any) {
            out() += ',';
        }
        if (open_.back().bracket == '{') {
            key();
        }
        open_.back().any = true;
        seen_ = true;
        value(open_.back().bracket == '{', begin);
    }

    void close(char closing) {
        out() += closing;
        open_.pop_back();
        seen_ = true;
    }

    void key() {
        if (text_[at_] != '"') {
            refuse_byte(at_, "the name of a member in quotes, or '}',");
        }
        string();
        at_ = skip_json_space(text_, at_);
        if (at_ >= text_.size() || text_[at_] != ':') {
            refuse_byte(at_, "':'");
        }
        out() += ':';
        at_ = skip_json_space(text_, at_ + 1);
    }

    // `begin`: where the member begins in the output, for one that goes.
    void value(bool in_object, std::size_t begin = 0) {
        if (at_ >= text_.size()) {
            refuse_end();
        }
        const char c = text_[at_];
        if (c == '"') {
            string();
        } else if (c == '{' || c == '[') {
            if (open_.size() >= kMaxJsonDepth) {
                refuse(at_, fmt::format("brackets are nested deeper than {}", kMaxJsonDepth));
            }
            open_.push_back({c, false, at_});
            out() += c;
            seen_ = false;
            ++at_;
        } else {
            word(in_object, begin);
        }
    }

    void word(bool in_object, std::size_t begin) {
        std::size_t end = at_;
        while (end < text_.size() && is_word_byte(text_[end])) {
            ++end;
        }
        const std::string_view token = text_.substr(at_, end - at_);
        if (is_json_number(token) || token == "true" || token == "false" || token == "null") {
            out() += token;
        } else if (is_non_finite(token)) {
            count("non_finite_number");
            if (text_.substr(end).starts_with("(ind)") || text_.substr(end).starts_with("(snan)")) {
                end = text_.find(')', end) + 1;
            }
            if (in_object) {
                drop(begin);
            } else {
                out() += "null";
            }
        } else if (end == text_.size() && place_.ended) {
            refuse_end();
        } else {
            refuse_byte(at_, "a JSON value");
        }
        at_ = end;
    }

    // Takes back the member that begins there.
    void drop(std::size_t begin) {
        out().resize(begin);
        open_.back().any = out().back() != '{';
    }

    void string() {
        const std::size_t begin = at_;
        bool bad_utf8 = false;
        bool control = false;
        bool bad_escape = false;
        out() += '"';
        for (++at_; at_ < text_.size() && text_[at_] != '"';) {
            const char c = text_[at_];
            if (c == '\\') {
                bad_escape = !escape() || bad_escape;
            } else if (static_cast<unsigned char>(c) < 0x20) {
                control = true;
                out() += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
                ++at_;
            } else {
                bad_utf8 = !character() || bad_utf8;
            }
        }
        if (at_ >= text_.size()) {
            refuse(text_.size(), fmt::format("the file ends inside the string that begins at byte {}: it was "
                                             "cut off, or a quote is missing",
                                             place_.offset(begin)));
        }
        out() += '"';
        ++at_;
        for (const auto& [found, name] :
             {std::pair(bad_utf8, "invalid_utf8"), std::pair(control, "control_character"),
              std::pair(bad_escape, "invalid_escape")}) {
            if (found) {
                count(name);
            }
        }
    }

    // At a backslash; false: it begins no escape and was doubled.
    bool escape() {
        const std::string probe =
            '"' + std::string(text_.substr(at_, text_.substr(at_, 2) == "\\u" ? 6 : 2)) + '"';
        if (json_string_end(probe, 0) == npos) {
            out() += "\\\\";
            ++at_;
            return false;
        }
        out().append(probe, 1, probe.size() - 2);
        at_ += probe.size() - 2;
        return true;
    }

    // One character of UTF-8; false: a byte that is none.
    bool character() {
        const std::size_t length = utf8_length(text_.substr(at_, 4));
        out() += length == 0 ? std::string_view("\xef\xbf\xbd") : text_.substr(at_, length);
        at_ += std::max<std::size_t>(length, 1);
        return length > 0;
    }

    std::string_view text_;
    const MendPlace& place_;
    MendedText mended_;
    std::vector<Open> open_;
    std::size_t at_ = 0;
    bool seen_ = false; // a member of the innermost container, kept or not
};

} // namespace

MendedText mend_json(std::string_view text, const MendPlace& place) {
    return Mender(text, place).run();
}

} // namespace echosim
