// SPDX-License-Identifier: Apache-2.0
#include "interference/make_slowdown.h"

#include "simulator/core/error.h"

#include <charconv>
#include <fmt/format.h>

namespace echosim {

std::unique_ptr<SlowdownModel> make_slowdown(const std::string& text, const Gpu&) {
    if (text.empty() || text == "off")
        return std::make_unique<NoSlowdown>();
    constexpr std::string_view prefix = "constant:";
    if (text.starts_with(prefix)) {
        double factor = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data() + prefix.size(), end, factor);
        if (error == std::errc{} && stop == end && factor >= 1.0 && factor <= 10.0)
            return std::make_unique<ConstantSlowdown>(factor);
    }
    throw InputError("interference",
                     fmt::format("read \"{}\"; allowed: off, constant:F with F from 1 to 10", text));
}

} // namespace echosim
