// SPDX-License-Identifier: Apache-2.0
// Decimal prefixes (k, M, G, T, P) are powers of 1000, binary ones (Ki, Mi, Gi, Ti) powers of 1024 (IEC
// 80000-13); a bit is 1/8 byte. "b" is a bit and "B" a byte, so that case matters everywhere but in counts.
#include "simulator/core/units.h"

#include "simulator/core/error.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <span>
#include <system_error>

namespace echosim {
namespace {

struct Unit {
    std::string_view name;
    double scale;
};

constexpr double kKi = 1024.0;
constexpr std::array<Unit, 12> kByteUnits = {{{"B", 1},
                                              {"kB", 1e3},
                                              {"KB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12},
                                              {"PB", 1e15},
                                              {"KiB", kKi},
                                              {"MiB", kKi* kKi},
                                              {"GiB", kKi* kKi* kKi},
                                              {"TiB", kKi* kKi* kKi* kKi},
                                              {"PiB", kKi* kKi* kKi* kKi* kKi}}};
constexpr std::array<Unit, 22> kBandwidthUnits = {{{"B/s", 1},
                                                   {"kB/s", 1e3},
                                                   {"KB/s", 1e3},
                                                   {"MB/s", 1e6},
                                                   {"GB/s", 1e9},
                                                   {"TB/s", 1e12},
                                                   {"PB/s", 1e15},
                                                   {"KiB/s", kKi},
                                                   {"MiB/s", kKi* kKi},
                                                   {"GiB/s", kKi* kKi* kKi},
                                                   {"TiB/s", kKi* kKi* kKi* kKi},
                                                   {"bps", 0.125},
                                                   {"kbps", 0.125e3},
                                                   {"Kbps", 0.125e3},
                                                   {"Mbps", 0.125e6},
                                                   {"Gbps", 0.125e9},
                                                   {"Tbps", 0.125e12},
                                                   {"Gb/s", 0.125e9},
                                                   {"Tb/s", 0.125e12},
                                                   {"Mbit/s", 0.125e6},
                                                   {"Gbit/s", 0.125e9},
                                                   {"Tbit/s", 0.125e12}}};
constexpr std::array<Unit, 7> kTimeUnits = {
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};
constexpr std::array<Unit, 12> kFlopsUnits = {{{"FLOPS", 1},
                                               {"MFLOPS", 1e6},
                                               {"GFLOPS", 1e9},
                                               {"TFLOPS", 1e12},
                                               {"PFLOPS", 1e15},
                                               {"EFLOPS", 1e18},
                                               {"FLOP/s", 1},
                                               {"MFLOP/s", 1e6},
                                               {"GFLOP/s", 1e9},
                                               {"TFLOP/s", 1e12},
                                               {"PFLOP/s", 1e15},
                                               {"EFLOP/s", 1e18}}};
constexpr std::array<Unit, 11> kCountUnits = {{{"", 1},
                                               {"k", 1e3},
                                               {"K", 1e3},
                                               {"m", 1e6},
                                               {"M", 1e6},
                                               {"b", 1e9},
                                               {"B", 1e9},
                                               {"G", 1e9},
                                               {"g", 1e9},
                                               {"t", 1e12},
                                               {"T", 1e12}}};

// What one kind of text may be: its units, the largest value, and how it is described to people.
struct Grammar {
    std::span<const Unit> units;
    double max;
    std::string_view what;    // "a size"
    std::string_view example; // "80GiB, 512MiB or 4096B"
};

constexpr double kMaxBytes = 9.2e18; // below 2^63
constexpr Grammar kBytes{kByteUnits, kMaxBytes, "a size", "80GiB, 80GB, 512MiB or 4096B"};
constexpr Grammar kBandwidth{kBandwidthUnits, 1e18, "a bandwidth", "400Gbps, 50GB/s or 3.35TB/s"};
constexpr Grammar kTime{kTimeUnits, 9.2e9, "a time", "3.5us, 20ms, 1.2s or 60d"}; // TimeNs holds 292 years
constexpr Grammar kFlops{kFlopsUnits, 1e24, "a rate of floating-point operations", "989TFLOPS or 4.5PFLOPS"};
constexpr Grammar kCount{kCountUnits, 1e18, "a number", "2048, 9_765_625, 300B or 1.5T"};

[[noreturn]] void refuse(std::string_view text, const Grammar& grammar, std::string_view why) {
    throw InputError("",
                     fmt::format("\"{}\" is not {}: {}; write {}", text, grammar.what, why, grammar.example));
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

// "9_765_625" -> "9765625"; an underscore is allowed between two digits only.
std::string without_separators(std::string_view text, const Grammar& grammar) {
    std::string digits;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '_') {
            digits += text[i];
            continue;
        }
        const bool between = i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
        if (!between)
            refuse(text, grammar, "an underscore stands between two digits");
    }
    return digits;
}

double parse(std::string_view text, const Grammar& grammar) {
    const std::string_view body = trimmed(text);
    if (body.empty())
        refuse(text, grammar, "it is empty");
    if (body.front() == '-')
        refuse(text, grammar, "it is negative");
    if (!is_digit(body.front()) && body.front() != '.')
        refuse(text, grammar, "it does not start with a digit");
    double number = 0;
    const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), number);
    if (error == std::errc::result_out_of_range)
        refuse(text, grammar, "it is too large or too small");
    if (error != std::errc())
        refuse(text, grammar, "the number cannot be read");
    const std::string_view unit = trimmed(body.substr(static_cast<std::size_t>(end - body.data())));
    for (const Unit& known : grammar.units) {
        if (known.name != unit)
            continue;
        const double value = number * known.scale;
        if (!std::isfinite(value) || value > grammar.max)
            refuse(text, grammar, "it is too large");
        return value;
    }
    if (unit.empty())
        refuse(text, grammar, "the unit is missing");
    refuse(text, grammar, fmt::format("the unit \"{}\" is not known (case matters)", unit));
}

// `digits` significant digits without an exponent: 8.906 -> "8.91", 145.3 -> "145".
std::string significant(double value, int digits) {
    const double rounding = 1 + 0.5 * std::pow(10.0, -digits); // 0.9999 has the places of 1.00
    const int magnitude =
        value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value) * rounding)));
    return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - magnitude));
}

std::string trim_zeros(std::string text) {
    if (text.find('.') == std::string::npos)
        return text;
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
        text.pop_back();
    return text;
}

// The largest of the units (ascending) whose value is at least 1 after rounding to three digits.
std::string scaled(double value, std::span<const Unit> units) {
    if (!std::isfinite(value))
        return fmt::format("{}", value);
    const Unit* chosen = &units.front();
    for (const Unit& unit : units)
        if (std::abs(value) >= unit.scale * 0.9995)
            chosen = &unit;
    return fmt::format("{} {}", significant(value / chosen->scale, 3), chosen->name);
}

} // namespace

Bytes parse_bytes(std::string_view text) {
    const double value = parse(text, kBytes);
    if (value != std::floor(value) && value < 1e3)
        refuse(text, kBytes, "it is not a whole number of bytes");
    return static_cast<Bytes>(std::llround(value));
}

BytesPerSecond parse_bandwidth(std::string_view text) {
    return parse(text, kBandwidth);
}
Seconds parse_time(std::string_view text) {
    return parse(text, kTime);
}
FlopsPerSecond parse_flops(std::string_view text) {
    return parse(text, kFlops);
}

double parse_count(std::string_view text) {
    const std::string digits = without_separators(text, kCount);
    const double value = parse(digits, kCount);
    const double whole = std::round(value);
    if (std::abs(value - whole) > 1e-12 * value)
        refuse(text, kCount, "it is not a whole number");
    return whole;
}

std::string format_time(Seconds t) {
    constexpr std::array<Unit, 7> kUnits = {
        {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};
    if (t == 0)
        return "0 s";
    if (std::abs(t) >= 60 && std::abs(t) < 300)
        return significant(t, 3) + " s"; // a long step stays in seconds
    return scaled(t, kUnits);
}

std::string format_bytes(Bytes b) {
    constexpr std::array<Unit, 6> kUnits = {{{"B", 1},
                                             {"KiB", kKi},
                                             {"MiB", kKi * kKi},
                                             {"GiB", kKi * kKi * kKi},
                                             {"TiB", kKi * kKi * kKi * kKi},
                                             {"PiB", kKi * kKi * kKi * kKi * kKi}}};
    if (b < 1024)
        return fmt::format("{} B", b);
    return scaled(static_cast<double>(b), kUnits);
}

std::string format_bandwidth(BytesPerSecond b) {
    constexpr std::array<Unit, 6> kUnits = {
        {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}, {"PB/s", 1e15}}};
    if (b == 0)
        return "0 B/s";
    return scaled(b, kUnits);
}

std::string format_count(double v) {
    constexpr std::array<Unit, 4> kUnits = {{{"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}}};
    if (!std::isfinite(v))
        return fmt::format("{}", v);
    const Unit* chosen = nullptr;
    for (const Unit& unit : kUnits)
        if (std::abs(v) >= unit.scale * 0.99995)
            chosen = &unit;
    if (chosen == nullptr)
        return trim_zeros(significant(v, 4));
    return fmt::format("{} {}", trim_zeros(significant(v / chosen->scale, 4)), chosen->name);
}

} // namespace echosim
