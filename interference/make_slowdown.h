// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/slowdown.h"
#include "simulator/catalogue/gpu.h"

#include <cstdint>
#include <memory>
#include <string>

namespace echosim {

// What `--set interference=TEXT` asks for.
struct InterferenceChoice {
    enum class Kind : std::uint8_t { off, constant, prior, file } kind = Kind::off;
    double factor = 1;     // of constant
    std::string path = {}; // of file, relative to the working directory
};

// Reads off, constant:F with F from 1 to 10, prior, or the path of a file that exists. `where` starts error
// messages. Throws InputError: neither a word nor a file (with a suggestion), a factor out of range.
InterferenceChoice read_interference(const std::string& text, const std::string& where);

// The model of the choice; empty text = off. A file, which `echosim calibrate interference` wrote or XGBoost,
// is read and checked against the GPU here. Throws InputError.
std::unique_ptr<SlowdownModel> make_slowdown(const std::string& text, const Gpu& gpu);

} // namespace echosim
