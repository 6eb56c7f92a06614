// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/text.h"

#include <algorithm>
#include <charconv>
#include <limits>

// Numbers of JSON text, from their digits.
namespace echosim {
namespace {

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::size_t skip_digits(std::string_view text, std::size_t at) {
    while (at < text.size() && is_digit(text[at])) {
        ++at;
    }
    return at;
}

} // namespace

bool is_json_number(std::string_view token) {
    std::size_t at = !token.empty() && token[0] == '-' ? 1 : 0;
    const std::size_t whole = at;
    at = skip_digits(token, at);
    if (at == whole || (token[whole] == '0' && at > whole + 1)) {
        return false;
    }
    if (at < token.size() && token[at] == '.') {
        const std::size_t fraction = at + 1;
        at = skip_digits(token, fraction);
        if (at == fraction) {
            return false;
        }
    }
    if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
        ++at;
        at += at < token.size() && (token[at] == '+' || token[at] == '-') ? 1U : 0U;
        const std::size_t exponent = at;
        at = skip_digits(token, at);
        if (at == exponent) {
            return false;
        }
    }
    return at == token.size();
}

std::optional<std::vector<std::int64_t>> whole_numbers(std::string_view compact, std::size_t most) {
    if (compact.size() < 2 || compact.front() != '[' || compact.back() != ']') {
        return std::nullopt;
    }
    compact = compact.substr(1, compact.size() - 2);
    std::vector<std::int64_t> values;
    while (!compact.empty()) {
        const std::size_t end = std::min(compact.find(','), compact.size());
        const auto value = whole_number(compact.substr(0, end));
        if (!value || values.size() == most) {
            return std::nullopt;
        }
        values.push_back(*value);
        compact.remove_prefix(std::min(end + 1, compact.size()));
    }
    return values;
}

namespace {

std::string_view without_quotes(std::string_view token) {
    if (token.size() >= 2 && token.front() == '"' && token.back() == '"') {
        token = token.substr(1, token.size() - 2);
    }
    while (!token.empty() && is_json_space(token.front())) {
        token.remove_prefix(1);
    }
    while (!token.empty() && is_json_space(token.back())) {
        token.remove_suffix(1);
    }
    return token;
}

// Digits of a decimal number: mantissa x 10^scale, of the first 19 digits.
struct Decimal {
    std::uint64_t mantissa = 0;
    int scale = 0;
    bool negative = false;
};

Decimal decimal_of(std::string_view number) {
    Decimal value;
    std::size_t at = 0;
    if (number[0] == '-') {
        value.negative = true;
        at = 1;
    }
    bool fraction = false;
    int digits = 0;
    for (; at < number.size() && number[at] != 'e' && number[at] != 'E'; ++at) {
        if (number[at] == '.') {
            fraction = true;
            continue;
        }
        if (digits < 19) {
            value.mantissa = value.mantissa * 10 + static_cast<std::uint64_t>(number[at] - '0');
            digits += value.mantissa > 0 ? 1 : 0;
            value.scale -= fraction ? 1 : 0;
        } else {
            value.scale += fraction ? 0 : 1;
        }
    }
    if (at < number.size()) {
        ++at;
        at += number[at] == '+' ? 1U : 0U;
        int exponent = 0;
        const auto [end, error] =
            std::from_chars(number.data() + at, number.data() + number.size(), exponent);
        const bool large = error != std::errc{} || exponent > 1000 || exponent < -1000;
        value.scale += large ? (number[at] == '-' ? -1000 : 1000) : exponent;
    }
    return value;
}

} // namespace

std::optional<TimeNs> decimal_ns(std::string_view number, int unit) {
    number = without_quotes(number);
    if (!is_json_number(number)) {
        return std::nullopt;
    }
    Decimal value = decimal_of(number);
    value.scale += unit == 1000 ? 3 : 0;
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<TimeNs>::max());
    for (; value.scale > 0 && value.mantissa > 0; --value.scale) {
        if (value.mantissa > kMost / 10) {
            return std::nullopt;
        }
        value.mantissa *= 10;
    }
    for (; value.scale < -1 && value.mantissa > 0; ++value.scale) {
        value.mantissa /= 10;
    }
    if (value.scale == -1) {
        value.mantissa = (value.mantissa + 5) / 10;
    }
    if (value.mantissa > kMost) {
        return std::nullopt;
    }
    const auto ns = static_cast<TimeNs>(value.mantissa);
    return value.negative ? -ns : ns;
}

std::optional<std::int64_t> whole_number(std::string_view token) {
    token = without_quotes(token);
    int base = 10;
    if (token.starts_with("0x") || token.starts_with("0X")) {
        token.remove_prefix(2);
        base = 16;
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value, base);
    if (token.empty() || error != std::errc{} || end != token.data() + token.size()) {
        return std::nullopt;
    }
    return value;
}

} // namespace echosim
