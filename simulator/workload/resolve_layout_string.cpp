// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/resolve.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <optional>

namespace echosim {
namespace {

constexpr std::string_view kFlag = "--pipeline-model-parallel-layout";
constexpr std::size_t kMaxSymbols = 1'000'000;

// Writes the repetitions of a layout string out: "Et*3|(tt|)*2L" -> "Ettt|tt|tt|L".
class LayoutExpander {
  public:
    explicit LayoutExpander(const std::string& text) : text_(text) {}

    std::optional<std::string> expand() {
        auto all = sequence(0);
        if (error.empty() && next_ < text_.size())
            error = "a ) without its (";
        return error.empty() ? all : std::nullopt;
    }

    std::string error;

  private:
    std::optional<std::string> sequence(int depth) {
        std::string out;
        while (next_ < text_.size() && text_[next_] != ')' && error.empty()) {
            const char c = text_[next_++];
            if (c == ',' || c == ' ' || c == '\n')
                continue;
            std::string item(1, c);
            if (c == '(') {
                if (depth > 16)
                    error = "groups nested too deep";
                item = sequence(depth + 1).value_or("");
                if (error.empty() && next_ == text_.size())
                    error = "a ( without its )";
                ++next_;
            } else if (std::string_view("EtmL|").find(c) == std::string_view::npos) {
                error = fmt::format("'{}' is none of E t m L | ( ) * ,", c);
            }
            append(out, item, repetitions());
        }
        return out;
    }

    void append(std::string& out, const std::string& item, std::size_t times) {
        if (item.size() * times + out.size() > kMaxSymbols)
            error = "the layout is too long";
        for (std::size_t i = 0; i < times && error.empty(); ++i)
            out += item;
    }

    std::size_t repetitions() {
        if (next_ >= text_.size() || text_[next_] != '*')
            return 1;
        ++next_;
        std::size_t count = 0;
        const std::size_t begin = next_;
        while (next_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[next_])) != 0 &&
               count < kMaxSymbols) {
            count = count * 10 + static_cast<std::size_t>(text_[next_++] - '0');
        }
        if (next_ == begin)
            error = "a * needs a number after it";
        return count;
    }

    const std::string& text_;
    std::size_t next_ = 0;
};

std::vector<std::string> stages_of(const std::string& layout) {
    std::vector<std::string> stages(1);
    for (const char c : layout) {
        if (c == '|')
            stages.emplace_back();
        else
            stages.back() += c;
    }
    return stages;
}

void check_mtp(const std::vector<std::string>& stages, int pp, FlagTable& flags) {
    std::vector<std::size_t> places;
    for (std::size_t s = 0; s < stages.size(); ++s) {
        if (stages[s].find('m') != std::string::npos)
            places.push_back(s);
    }
    if (places.empty())
        return;
    const auto ranks = static_cast<std::size_t>(pp);
    if (places.size() > 1)
        flags.fail(kFlag, "all m must stand in one stage");
    const std::size_t place = places[0];
    for (std::size_t s = place; s < stages.size(); ++s) {
        const std::size_t from = s == place ? stages[s].find('m') : 0;
        if (stages[s].find('t', from) != std::string::npos) {
            flags.fail(kFlag, "every m must stand after the last t");
            break;
        }
    }
    if (place % ranks == 0 && pp > 1)
        flags.fail(kFlag, "an m cannot stand on pipeline rank 0");
    if (place + ranks < stages.size())
        flags.fail(kFlag, "an m must stand in the last virtual stage of its rank");
}

} // namespace

StageLayout parse_pipeline_layout(const std::string& text, int layers, int pp, FlagTable& flags) {
    LayoutExpander expander(text);
    const auto expanded = expander.expand();
    const std::size_t before = flags.problems.size();
    if (!expanded) {
        flags.fail(kFlag, fmt::format("read \"{}\": {}", text, expander.error));
        return {};
    }
    std::string symbols = *expanded;
    symbols.erase(std::remove(symbols.begin(), symbols.end(), '|'), symbols.end());
    const auto count = [&](char c) { return std::count(symbols.begin(), symbols.end(), c); };
    if (count('E') != 1 || symbols.front() != 'E')
        flags.fail(kFlag, "needs one E, in front of everything");
    if (count('L') != 1 || symbols.empty() || symbols.back() != 'L')
        flags.fail(kFlag, "needs one L, after everything");
    if (count('t') != layers)
        flags.fail(kFlag, fmt::format("holds {} decoder layers, --num-layers is {}", count('t'), layers));
    const std::vector<std::string> stages = stages_of(*expanded);
    if (stages.size() % static_cast<std::size_t>(pp) != 0) {
        flags.fail(kFlag, fmt::format("{} stages are not divisible by pipeline size {}", stages.size(), pp));
    }
    check_mtp(stages, pp, flags);
    if (flags.problems.size() != before)
        return {};
    StageLayout layout;
    layout.mtp_layers = static_cast<int>(count('m'));
    for (const std::string& stage : stages) {
        layout.layers.push_back(static_cast<int>(std::count(stage.begin(), stage.end(), 't')));
    }
    return layout;
}

} // namespace echosim
