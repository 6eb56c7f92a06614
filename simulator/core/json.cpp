// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/json.h"

#include "simulator/core/files.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <cmath>
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

std::string_view type_of(const Json& json) {
    if (json.is_null())
        return "null";
    if (json.is_boolean())
        return "true or false";
    if (json.is_number())
        return "a number";
    if (json.is_string())
        return "a text";
    return json.is_array() ? "a list" : "an object";
}

// The value as the user wrote it, shortened.
std::string shown(const Json& json) {
    if (json.is_object() || json.is_array())
        return std::string(type_of(json));
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 60)
        text = text.substr(0, 57) + "...";
    return text;
}

std::string show_number(double value) {
    return fmt::format("{}", value);
}
std::string show_bytes(double value) {
    return format_bytes(static_cast<Bytes>(value));
}

std::string show_flops(double value) {
    return fmt::format("{:.4g} TFLOPS", value * 1e-12);
}

struct QuantityInfo {
    double (*parse)(std::string_view);
    std::string (*show)(double);
    std::string_view expected;
};

QuantityInfo info_of(Quantity quantity) {
    switch (quantity) {
    case Quantity::bandwidth:
        return {parse_bandwidth, format_bandwidth, "a text such as \"400Gbps\" or \"50GB/s\""};
    case Quantity::time:
        return {parse_time, format_time, "a text such as \"1.2us\" or \"20ms\""};
    case Quantity::flops:
        break;
    }
    return {parse_flops, show_flops, "a text such as \"989TFLOPS\""};
}

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

ObjectReader::ObjectReader(const nlohmann::ordered_json& json, std::string file, std::string path,
                           std::vector<Problem>& problems)
    : json_(json), file_(std::move(file)), path_(std::move(path)), problems_(problems) {
    if (!json_.is_object())
        fail("", fmt::format("expected an object, found {}", shown(json_)));
}

std::string ObjectReader::path_of(std::string_view key) const {
    if (key.empty())
        return path_;
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::string ObjectReader::where(std::string_view path) const {
    if (path.empty() || file_.empty())
        return file_ + std::string(path);
    return fmt::format("{}: {}", file_, path);
}

void ObjectReader::fail(std::string_view key, std::string message) {
    problems_.push_back({where(path_of(key)), std::move(message), {}});
}

void ObjectReader::wrong_type(const Field& field, std::string_view expected,
                              const nlohmann::ordered_json& found) {
    fail(field.key, fmt::format("expected {}, found {}", expected, shown(found)));
}

bool ObjectReader::in_range(const Field& field, double value, std::string (*show)(double)) {
    if (value >= field.min && value <= field.max)
        return true;
    if (field.max == std::numeric_limits<double>::max())
        fail(field.key, fmt::format("{} is out of range: at least {}", show(value), show(field.min)));
    else
        fail(field.key,
             fmt::format("{} is out of range: {} to {}", show(value), show(field.min), show(field.max)));
    return false;
}

const nlohmann::ordered_json* ObjectReader::any(const Field& field) {
    known_.emplace_back(field.key);
    if (!json_.is_object())
        return nullptr;
    const auto found = json_.find(std::string(field.key));
    if (found != json_.end())
        return &*found;
    if (field.required)
        fail("", fmt::format("the key \"{}\" is missing", field.key));
    return nullptr;
}

const nlohmann::ordered_json* ObjectReader::object(const Field& field) {
    const Json* json = any(field);
    if (json == nullptr || json->is_object())
        return json;
    wrong_type(field, "an object", *json);
    return nullptr;
}

const nlohmann::ordered_json* ObjectReader::array(const Field& field) {
    const Json* json = any(field);
    if (json == nullptr || json->is_array())
        return json;
    wrong_type(field, "a list", *json);
    return nullptr;
}

void ObjectReader::read(const Field& field, std::string& value) {
    const Json* json = any(field);
    if (json == nullptr)
        return;
    if (!json->is_string())
        return wrong_type(field, "a text", *json);
    value = json->get<std::string>();
}

void ObjectReader::read(const Field& field, bool& value) {
    const Json* json = any(field);
    if (json == nullptr)
        return;
    if (!json->is_boolean())
        return wrong_type(field, "true or false", *json);
    value = json->get<bool>();
}

void ObjectReader::read(const Field& field, int& value) {
    const Json* json = any(field);
    if (json == nullptr)
        return;
    if (!json->is_number())
        return wrong_type(field, "a whole number", *json);
    const double number = json->get<double>();
    if (number != std::floor(number))
        return wrong_type(field, "a whole number", *json);
    Field limited = field;
    limited.min = std::max(field.min, static_cast<double>(std::numeric_limits<int>::min()));
    limited.max = std::min(field.max, static_cast<double>(std::numeric_limits<int>::max()));
    if (in_range(limited, number, show_number))
        value = static_cast<int>(number);
}

void ObjectReader::read(const Field& field, double& value) {
    const Json* json = any(field);
    if (json == nullptr)
        return;
    if (!json->is_number())
        return wrong_type(field, "a number", *json);
    const double number = json->get<double>();
    if (in_range(field, number, show_number))
        value = number;
}

void ObjectReader::read(const Field& field, Bytes& value) {
    const Json* json = any(field);
    if (json == nullptr)
        return;
    if (!json->is_string())
        return wrong_type(field, "a text such as \"80GiB\" or \"512MiB\"", *json);
    try {
        const Bytes bytes = parse_bytes(json->get_ref<const std::string&>());
        if (in_range(field, static_cast<double>(bytes), show_bytes))
            value = bytes;
    } catch (const InputError& error) {
        fail(field.key, error.problems().front().message);
    }
}

void ObjectReader::read_quantity(const Field& field, Quantity quantity, double& value) {
    const Json* json = any(field);
    if (json == nullptr)
        return;
    const QuantityInfo info = info_of(quantity);
    if (!json->is_string())
        return wrong_type(field, info.expected, *json);
    try {
        const double number = info.parse(json->get_ref<const std::string&>());
        if (in_range(field, number, info.show))
            value = number;
    } catch (const InputError& error) {
        fail(field.key, error.problems().front().message);
    }
}

void ObjectReader::finish() {
    if (!json_.is_object())
        return;
    for (const auto& [key, value] : json_.items()) {
        if (std::find(known_.begin(), known_.end(), key) != known_.end())
            continue;
        std::string hint = did_you_mean(known_, key);
        if (hint.empty())
            hint = "; known keys: " + join(known_);
        fail("", fmt::format("unknown key \"{}\"{}", key, hint));
    }
}

} // namespace echosim
