// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

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
