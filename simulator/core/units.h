// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// Units of the whole program. Timestamps and durations inside the engine are whole nanoseconds (TimeNs: 292
// years fit); equal times keep insertion order. Models answer in Seconds (double) and are rounded to
// nanoseconds once, where the graph is annotated. GB is 1e9 bytes, GiB is 2^30; network bandwidths that users
// write in bits (400Gbps) become bytes per second here, at the border.
namespace echosim {

using TimeNs = std::int64_t;
using Seconds = double;
using Bytes = std::uint64_t;
using BytesPerSecond = double;
using Flops = double; // floating-point operations
using FlopsPerSecond = double;

constexpr Bytes operator""_KiB(unsigned long long v) {
    return v << 10U;
}
constexpr Bytes operator""_MiB(unsigned long long v) {
    return v << 20U;
}
constexpr Bytes operator""_GiB(unsigned long long v) {
    return v << 30U;
}
constexpr Seconds operator""_us(long double v) {
    return static_cast<Seconds>(v) * 1e-6;
}
constexpr Seconds operator""_us(unsigned long long v) {
    return static_cast<Seconds>(v) * 1e-6;
}
constexpr BytesPerSecond operator""_GBps(long double v) {
    return static_cast<BytesPerSecond>(v) * 1e9;
}
constexpr BytesPerSecond operator""_GBps(unsigned long long v) {
    return static_cast<BytesPerSecond>(v) * 1e9;
}
constexpr BytesPerSecond operator""_Gbps(unsigned long long v) {
    return static_cast<BytesPerSecond>(v) * 0.125e9;
}

constexpr TimeNs to_ns(Seconds t) {
    return static_cast<TimeNs>(t * 1e9 + 0.5);
}
constexpr Seconds to_seconds(TimeNs t) {
    return static_cast<Seconds>(t) * 1e-9;
}

// Texts with a unit, as users write them. Each throws InputError (without a file or path: the caller adds
// them) that names what was read and what is allowed; a number without a unit is refused.
Bytes parse_bytes(std::string_view text);              // "80GiB" "80GB" "512MiB" "4096B"
BytesPerSecond parse_bandwidth(std::string_view text); // "400Gbps" "50GB/s" "3.35TB/s"
Seconds parse_time(std::string_view text);             // "3.5us" "20ms" "1.2s"
FlopsPerSecond parse_flops(std::string_view text);     // "989TFLOPS"
double parse_count(std::string_view text);             // "1.5T" tokens, "300B", "9_765_625"

// Texts for people: 3-4 significant digits, the unit scaled to the value.
std::string format_time(Seconds t);             // "8.91 s" "145 us"
std::string format_bytes(Bytes b);              // "71.2 GiB"
std::string format_bandwidth(BytesPerSecond b); // "48.1 GB/s"
std::string format_count(double v);             // "174.6 B"

} // namespace echosim
