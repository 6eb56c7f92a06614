// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <string>

// Values as the texts of a catalogue file, exact: reading the text gives back the very same value.
namespace echosim {

std::string exact_bytes(Bytes value);              // "81559MiB"
std::string exact_bandwidth(BytesPerSecond value); // "3.35TB/s"
std::string exact_bit_rate(BytesPerSecond value);  // "400Gbps", as NICs are named
std::string exact_flops(FlopsPerSecond value);     // "989TFLOPS"
std::string exact_time(Seconds value);             // "1.2us"

} // namespace echosim
