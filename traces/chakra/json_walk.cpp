// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/json_walk.h"

#include "simulator/core/error.h"
#include "traces/json_text.h"
#include "traces/kineto/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using nlohmann::json;

constexpr std::size_t kBlockBytes = std::size_t{4} << 20U;
constexpr std::size_t kMostOfNode = std::size_t{256} << 20U;

// Where and why a text stops to be JSON.
class Fault : public nlohmann::json_sax<json> {
  public:
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool key(string_t&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
        at = position == 0 ? 0 : position - 1;
        reason = error.what();
        const std::size_t text = reason.find(": "); // behind the library's number and place
        reason = text == std::string::npos ? reason : reason.substr(text + 2);
        return false;
    }
    std::size_t at = 0;
    std::string reason;
};

} // namespace

JsonWalk::JsonWalk(const std::string& path, ImportReport& report)
    : path_(path), report_(report), bytes_(open_trace_bytes(path)) {}

bool JsonWalk::refill() {
    if (ended_) {
        return false;
    }
    buffer_.erase(0, at_);
    base_ += at_;
    at_ = 0;
    const std::size_t held = buffer_.size();
    const std::size_t more = std::max(kBlockBytes, held); // a long value is looked at few times
    buffer_.resize(held + more);
    const std::size_t got = bytes_->read(buffer_.data() + held, more);
    buffer_.resize(held + got);
    ended_ = got < more;
    return got > 0;
}

char JsonWalk::peek() {
    while (true) {
        at_ = skip_json_space(buffer_, at_);
        if (at_ < buffer_.size()) {
            return buffer_[at_];
        }
        if (!refill()) {
            return '\0';
        }
    }
}

void JsonWalk::refuse(const std::string& message) {
    throw InputError(fmt::format("{}:{}", path_, offset()), message,
                     "the file is cut off or damaged; write it again");
}

void JsonWalk::refuse_value() {
    Fault fault;
    const std::string_view text = std::string_view(buffer_).substr(at_);
    json::sax_parse(text.begin(), text.end(), &fault, json::input_format_t::json, false);
    at_ += std::min(fault.at, text.size());
    refuse(fault.reason.empty() ? fmt::format("nested deeper than {}", kMaxJsonDepth) : fault.reason);
}

// Text of strings as JSON wants it; most values need nothing.
void JsonWalk::clean() {
    const auto plain = [](char c) { return c >= 0x20; };
    if (std::all_of(value_.begin(), value_.end(), plain)) {
        return;
    }
    std::string out;
    std::string_view rest = value_;
    bool invalid = false;
    bool control = false;
    while (!rest.empty()) {
        const std::size_t length = utf8_length(rest);
        const auto byte = static_cast<unsigned char>(rest.front());
        if (length == 0) {
            out += "\xef\xbf\xbd";
            invalid = true;
        } else if (byte < 0x20) {
            out += fmt::format("\\u{:04x}", byte);
            control = true;
        } else {
            out += rest.substr(0, length);
        }
        rest.remove_prefix(std::max<std::size_t>(length, 1));
    }
    report_.warn("invalid_utf8", invalid ? 1 : 0);
    report_.warn("control_character", control ? 1 : 0);
    value_ = std::move(out);
}

std::string_view JsonWalk::value() {
    while (true) {
        value_.clear();
        const std::size_t end = copy_json_value(buffer_, at_, value_);
        // a number at the end of the buffer may go on
        if (end != std::string_view::npos && (end < buffer_.size() || ended_)) {
            at_ = end;
            clean();
            return value_;
        }
        if (buffer_.size() - at_ > kMostOfNode) {
            refuse(fmt::format("a value longer than {} MiB, or not JSON", kMostOfNode >> 20U));
        }
        if (!refill()) {
            refuse_value();
        }
    }
}

bool JsonWalk::more(char closing) {
    const char c = peek();
    if (c == ',') {
        ++at_;
        if (peek() == closing) {
            report_.warn("trailing_comma");
        } else if (peek() != '\0') {
            return true;
        }
    }
    if (peek() == '\0') {
        report_.warn("missing_closing_bracket");
        return false;
    }
    if (peek() != closing) {
        refuse(fmt::format("'{}' where ',' or '{}' is allowed", peek(), closing));
    }
    ++at_;
    return false;
}

void JsonWalk::walk_list(const std::function<void(const JsonNode&)>& node) {
    ++at_;
    if (peek() == ']') {
        ++at_;
        return;
    }
    do {
        if (peek() != '{') {
            refuse("an element of the list of nodes that is no object");
        }
        const std::string where = fmt::format("{}:{}", path_, offset());
        node({value(), where});
    } while (more(']'));
}

std::string JsonWalk::run(const std::function<void(const JsonNode&)>& node) {
    std::string header;
    refill();
    if (buffer_.starts_with("\xef\xbb\xbf")) {
        at_ = 3;
    }
    if (peek() != '{') {
        refuse("no JSON object, as an execution trace is");
    }
    ++at_;
    bool go_on = peek() != '}';
    while (go_on) {
        if (peek() != '"') {
            refuse("no key where one is needed");
        }
        const std::string key(value());
        if (peek() != ':') {
            refuse("no ':' behind a key");
        }
        ++at_;
        if (peek() == '[' && (key == R"("nodes")" || key == R"("workload_graph")") && list_.empty()) {
            list_ = key.substr(1, key.size() - 2);
            walk_list(node);
        } else {
            header += (header.empty() ? "" : ",") + key + ':';
            header += value();
        }
        go_on = more('}');
    }
    return header;
}

} // namespace echosim
