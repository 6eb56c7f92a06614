// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/suggest.h"

#include <algorithm>
#include <utility>

namespace echosim {
namespace {

constexpr std::size_t kMostSuggestions = 3;

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return out;
}

} // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1); // row i - 2
    std::vector<std::size_t> above(b.size() + 1);  // row i - 1
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::swap(before, above);
        std::swap(above, row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped)
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

std::vector<std::string> nearest(const std::vector<std::string>& candidates, std::string_view text,
                                 std::size_t max_distance) {
    const std::string wanted = lower(text);
    const std::size_t limit = wanted.size() <= 3 ? std::min<std::size_t>(1, max_distance) : max_distance;
    std::vector<std::pair<std::size_t, std::string>> close;
    std::vector<std::string> longer;
    for (const std::string& candidate : candidates) {
        const std::string name = lower(candidate);
        const std::size_t gap =
            name.size() > wanted.size() ? name.size() - wanted.size() : wanted.size() - name.size();
        if (gap <= limit) {
            const std::size_t distance = edit_distance(wanted, name);
            if (distance <= limit)
                close.emplace_back(distance, candidate);
        }
        if (wanted.size() >= 2 && name.starts_with(wanted))
            longer.push_back(candidate);
    }
    std::stable_sort(close.begin(), close.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool typo = !close.empty() && close.front().first <= 1;
    if (!typo && !longer.empty() && longer.size() <= kMostSuggestions)
        return longer;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(close.size(), kMostSuggestions); ++i)
        names.push_back(close[i].second);
    return names;
}

std::string did_you_mean(const std::vector<std::string>& candidates, std::string_view text) {
    std::string sentence;
    for (const std::string& name : nearest(candidates, text))
        sentence += (sentence.empty() ? "; did you mean \"" : " or \"") + name + '"';
    return sentence.empty() ? sentence : sentence + '?';
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
    std::string text;
    for (const std::string& part : parts) {
        if (!text.empty())
            text += separator;
        text += part;
    }
    return text;
}

} // namespace echosim
