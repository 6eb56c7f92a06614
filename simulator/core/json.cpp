// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/json.h"

#include "simulator/core/files.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

std::string position(std::string_view text, std::size_t offset) {
    offset = std::min(offset, text.size());
    const std::string_view before = text.substr(0, offset);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return fmt::format("{}:{}", line, offset - start + 1);
}

std::size_t end_of_string(std::string_view text, std::size_t at) {
    for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\')
            ++at;
    return at + 1;
}

std::size_t end_of_comment(std::string_view text, std::size_t at) {
    const bool line = text.substr(at, 2) == "//";
    const std::size_t end = text.find(line ? "\n" : "*/", at + (line ? 0 : 2));
    return end == std::string_view::npos ? text.size() : end + (line ? 1 : 2);
}

// Where the token begins that the parser was in when it had read `reached` characters. The library counts
// only how far it has read, which after a number or word includes one character more.
std::size_t last_token(std::string_view text, std::size_t reached) {
    constexpr std::string_view kSpace = " \t\r\n\xef\xbb\xbf";
    constexpr std::string_view kStops = " \t\r\n{}[],:\"/";
    std::size_t begin = 0;
    std::size_t at = 0;
    bool word = false;
    while (at < text.size()) {
        if (kSpace.find(text[at]) != std::string_view::npos) {
            ++at;
            continue;
        }
        if (at >= reached || (word && at + 1 == reached))
            break;
        begin = at;
        word = kStops.find(text[at]) == std::string_view::npos;
        if (text[at] == '"')
            at = end_of_string(text, at);
        else if (text[at] == '/')
            at = end_of_comment(text, at);
        else if (word)
            at = std::min(text.find_first_of(kStops, at), text.size());
        else
            ++at;
    }
    return begin;
}

// Characters of the text for the parser of nlohmann; tells how far it has read.
class CountingIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        *reached_ = ++at_;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator old = *this;
        ++*this;
        return old;
    }
    bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
    bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

  private:
    const char* at_;
    const char** reached_;
};

// Builds the document from the events of nlohmann's parser and refuses what its own builder lets pass.
class Builder {
  public:
    Builder(std::string_view text, std::string name, const char** reached)
        : text_(text), name_(std::move(name)), reached_(reached) {}

    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(Json::number_integer_t value) { return add(value); }
    bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
    bool number_float(Json::number_float_t value, const std::string&) { return add(value); }
    bool string(std::string& value) { return add(std::move(value)); }
    bool binary(Json::binary_t& value) { return add(std::move(value)); }
    bool start_object(std::size_t) { return open(Json::object()); }
    bool start_array(std::size_t) { return open(Json::array()); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }

    bool key(std::string& name) {
        if (!open_.back().keys.insert(name).second) {
            const std::size_t end = read();
            const std::size_t length = std::min(end, name.size() + 2);
            fail(end - length, fmt::format("the key \"{}\" occurs twice in this object", name));
        }
        open_.back().key = std::move(name);
        return true;
    }

    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
        // "[json.exception.parse_error.101] parse error at line 1, column 7: what; last read: 'text'" ->
        // "what"
        std::string message = error.what();
        message.erase(0, message.find("] ") + 2);
        if (message.starts_with("parse error at"))
            message.erase(0, message.find(": ") + 2);
        message.erase(std::min(message.find("; last read"), message.size()));
        const bool ended = message.find("unexpected end of input") != std::string::npos;
        fail(ended ? text_.size() : last_token(text_, read()), message);
    }

    Json result() { return std::move(root_); }

  private:
    struct Level {
        Json value;
        std::string key; // of the value that comes next
        std::unordered_set<std::string> keys;
    };

    std::size_t read() const { return static_cast<std::size_t>(*reached_ - text_.data()); }

    [[noreturn]] void fail(std::size_t offset, const std::string& message) const {
        throw InputError(fmt::format("{}:{}", name_, position(text_, offset)), message);
    }

    bool add(Json value) {
        if (open_.empty()) {
            root_ = std::move(value);
        } else if (open_.back().value.is_array()) {
            open_.back().value.push_back(std::move(value));
        } else {
            // The keys are known to differ: append without the search of operator[].
            open_.back().value.get_ref<Json::object_t&>().emplace_back(open_.back().key, std::move(value));
        }
        return true;
    }

    bool open(Json value) {
        if (open_.size() >= static_cast<std::size_t>(kMaxJsonDepth))
            fail(read() - 1, fmt::format("more than {} levels of objects and lists", kMaxJsonDepth));
        open_.push_back({std::move(value), {}, {}});
        return true;
    }

    bool close() {
        Json value = std::move(open_.back().value);
        open_.pop_back();
        return add(std::move(value));
    }

    std::string_view text_;
    std::string name_;
    const char** reached_;
    std::vector<Level> open_;
    Json root_;
};

} // namespace

nlohmann::ordered_json parse_json(std::string_view text, const std::string& name, Bytes max_bytes) {
    if (text.size() > max_bytes)
        throw InputError(name,
                         fmt::format("is larger than {}, the most that is read", format_bytes(max_bytes)));
    const char* reached = text.data();
    Builder builder(text, name, &reached);
    Json::sax_parse(CountingIterator(text.data(), &reached),
                    CountingIterator(text.data() + text.size(), &reached), &builder,
                    Json::input_format_t::json, true, true);
    return builder.result();
}

nlohmann::ordered_json read_json_file(const std::string& path, Bytes max_bytes) {
    return parse_json(read_text_file(path, max_bytes), path, max_bytes);
}

} // namespace echosim
