// SPDX-License-Identifier: Apache-2.0
#include "interference/make_slowdown.h"

#include "interference/learned_slowdown.h"
#include "interference/prior.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "simulator/core/suggest.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>

namespace echosim {
namespace {

constexpr std::string_view kConstant = "constant:";
constexpr double kLargest = 10; // factor of a constant

double factor_in(std::string_view text, const std::string& where) {
    double factor = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, factor);
    if (error == std::errc{} && stop == end && factor >= 1 && factor <= kLargest)
        return factor;
    throw InputError(where, fmt::format("constant:F takes a factor from 1 to 10, read \"{}\"", text),
                     "1.2 makes overlapping kernels 20 % slower");
}

} // namespace

InterferenceChoice read_interference(const std::string& text, const std::string& where) {
    using Kind = InterferenceChoice::Kind;
    if (text == "off")
        return {};
    if (text == "prior")
        return {.kind = Kind::prior};
    if (text.starts_with(kConstant))
        return {.kind = Kind::constant, .factor = factor_in(std::string_view(text).substr(9), where)};
    std::error_code error;
    if (std::filesystem::exists(text, error))
        return {.kind = Kind::file, .path = text};
    const bool path = text.find('/') != std::string::npos || text.ends_with(".json");
    throw InputError(
        where,
        path ? fmt::format("there is no file \"{}\"", text)
             : fmt::format("read \"{}\"; allowed: off, constant:F, prior, or a file of `echosim calibrate "
                           "interference`{}",
                           text, did_you_mean({"off", "prior", "constant:1.2"}, text)),
        path ? "the path is relative to the folder where echosim runs; an earlier result names the file that "
               "it was simulated with"
             : "for example --set interference=prior");
}

std::unique_ptr<SlowdownModel> make_slowdown(const std::string& text, const Gpu& gpu) {
    const InterferenceChoice choice = read_interference(text.empty() ? "off" : text, "interference");
    switch (choice.kind) {
    case InterferenceChoice::Kind::off:
        break;
    case InterferenceChoice::Kind::constant:
        return std::make_unique<ConstantSlowdown>(choice.factor);
    case InterferenceChoice::Kind::prior:
        return std::make_unique<PriorSlowdown>(limits_of(gpu));
    case InterferenceChoice::Kind::file: {
        auto model =
            LearnedSlowdown::from_json_text(read_text_file(choice.path), choice.path, limits_of(gpu));
        check_gpu(model->facts(), gpu, choice.path);
        return model;
    }
    }
    return std::make_unique<NoSlowdown>();
}

} // namespace echosim
