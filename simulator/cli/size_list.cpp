// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/size_list.h"

#include "simulator/core/error.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr Bytes kLargest = Bytes{1} << 50U; // 1 PiB: no buffer is larger
constexpr const char* kHint = "write 8:8GiB:x2, 1MiB:64MiB:+1MiB, 16MiB, or a list such as 1MiB,16MiB";

class SizeListParser {
  public:
    SizeListParser(const std::string& option, const std::string& text) : option_(option), text_(text) {}

    SizeList parse() {
        int parts = 0;
        for (std::size_t start = 0; start <= text_.size(); ++parts) {
            const std::size_t comma = std::min(text_.find(',', start), text_.size());
            add_part(text_.substr(start, comma - start));
            start = comma + 1;
        }
        if (parts > 1 || list_.step.empty())
            list_.step = "as listed";
        return std::move(list_);
    }

  private:
    [[noreturn]] void refuse(const std::string& why, const std::string& hint = kHint) const {
        throw InputError(option_, why, hint);
    }

    Bytes size(const std::string& text) const {
        if (text.empty())
            refuse(fmt::format("a size is missing in \"{}\"", text_));
        std::string unit = text;
        if (text.find_first_not_of("0123456789_") == std::string::npos)
            unit += "B";
        else if (std::string("kKmMgGtT").find(text.back()) != std::string::npos)
            unit.back() = static_cast<char>(std::toupper(text.back())), unit += "iB";
        Bytes bytes = 0;
        try {
            bytes = parse_bytes(unit);
        } catch (const InputError&) {
            refuse(fmt::format("\"{}\" is not a size", text));
        }
        if (bytes > kLargest)
            refuse(fmt::format("\"{}\" is more than 1 PiB", text), "no buffer is that large");
        return bytes;
    }

    void append(Bytes bytes) {
        if (list_.sizes.size() >= kMostSizes)
            refuse(fmt::format("\"{}\" gives more than {} sizes", text_, kMostSizes),
                   "take a larger step or factor");
        list_.sizes.push_back(bytes);
    }

    double factor(const std::string& text) const {
        double value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc{} || stop != end || !std::isfinite(value) || value <= 1 || value > 1e6)
            refuse(fmt::format("the factor must be above 1 and at most 1e6, read \"{}\"", text));
        return value;
    }

    void add_part(const std::string& part) {
        const std::size_t colon = part.find(':');
        if (colon == std::string::npos)
            return append(size(part));
        const std::size_t second = std::min(part.find(':', colon + 1), part.size());
        const Bytes from = size(part.substr(0, colon));
        const Bytes to = size(part.substr(colon + 1, second - colon - 1));
        const std::string step = second == part.size() ? "x2" : part.substr(second + 1);
        if (from > to)
            refuse(fmt::format("the range runs backwards: {} is above {}", part.substr(0, colon),
                               part.substr(colon + 1, second - colon - 1)),
                   "write the smaller size first");
        if (step.starts_with("x") || step.starts_with("*"))
            return add_factors(from, to, factor(step.substr(1)));
        if (step.starts_with("+"))
            return add_steps(from, to, size(step.substr(1)));
        refuse(
            fmt::format("the step is \"{}\"; it must be a factor such as x2 or a step such as +1MiB", step));
    }

    void add_factors(Bytes from, Bytes to, double factor) {
        if (from == 0)
            refuse("a range that starts at 0 never moves by a factor", "write 0,8:8GiB:x2");
        list_.step = fmt::format("{}(factor)", factor);
        double exact = static_cast<double>(from);
        for (Bytes bytes = from; bytes <= to; bytes = static_cast<Bytes>(std::llround(exact))) {
            if (list_.sizes.empty() || list_.sizes.back() != bytes)
                append(bytes);
            exact *= factor;
        }
    }

    void add_steps(Bytes from, Bytes to, Bytes step) {
        if (step == 0)
            refuse("a step of +0 never moves");
        list_.step = fmt::format("{}(bytes)", step);
        for (Bytes bytes = from; bytes <= to; bytes += step)
            append(bytes);
    }

    const std::string& option_;
    const std::string& text_;
    SizeList list_;
};

} // namespace

SizeList parse_size_list(const std::string& option, const std::string& text) {
    return SizeListParser(option, text).parse();
}

} // namespace echosim
