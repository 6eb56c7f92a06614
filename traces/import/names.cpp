// SPDX-License-Identifier: Apache-2.0
#include "traces/import/names.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>

namespace echosim {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Texts and numbers in turn: "job.0.et" -> "job.", "0", ".et".
std::vector<std::string_view> parts_of(std::string_view name) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin < name.size();) {
        std::size_t end = begin + 1;
        while (end < name.size() && is_digit(name[end]) == is_digit(name[begin])) {
            ++end;
        }
        parts.push_back(name.substr(begin, end - begin));
        begin = end;
    }
    return parts;
}

std::optional<int> number_of(std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

std::string_view without_zeros(std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

// The number behind "rank", "rank-", "rank_" or "rank.".
std::optional<int> number_behind_rank(const std::vector<std::string_view>& parts) {
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        std::string text(parts[i]);
        std::transform(text.begin(), text.end(), text.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        while (!text.empty() && (text.back() == '-' || text.back() == '_' || text.back() == '.')) {
            text.pop_back();
        }
        if (text.ends_with("rank") && is_digit(parts[i + 1].front())) {
            return number_of(parts[i + 1]);
        }
    }
    return std::nullopt;
}

bool same_shape(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
    if (a.size() != b.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        const bool number = is_digit(a[i].front());
        if (number != is_digit(b[i].front()) || (!number && a[i] != b[i])) {
            return false;
        }
    }
    return true;
}

// The numbers at one place of all names, if they are ranks: all different.
std::vector<int> numbers_at(const std::vector<std::vector<std::string_view>>& names, std::size_t place) {
    std::vector<int> numbers;
    for (const auto& parts : names) {
        const std::optional<int> number = number_of(parts[place]);
        if (!number) {
            return {};
        }
        numbers.push_back(*number);
    }
    const std::set<int> different(numbers.begin(), numbers.end());
    return different.size() == numbers.size() ? numbers : std::vector<int>{};
}

} // namespace

bool natural_less(std::string_view a, std::string_view b) {
    const std::vector<std::string_view> x = parts_of(a);
    const std::vector<std::string_view> y = parts_of(b);
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
        if (x[i] == y[i]) {
            continue;
        }
        if (is_digit(x[i].front()) && is_digit(y[i].front())) {
            const std::string_view u = without_zeros(x[i]);
            const std::string_view v = without_zeros(y[i]);
            if (u != v) {
                return u.size() != v.size() ? u.size() < v.size() : u < v;
            }
        }
        return x[i] < y[i];
    }
    return x.size() < y.size();
}

std::vector<int> ranks_of_names(const std::vector<std::string>& paths) {
    std::vector<std::string> texts;
    for (const std::string& path : paths) {
        texts.push_back(std::filesystem::path(path).filename().string());
    }
    std::vector<std::vector<std::string_view>> names;
    std::vector<int> ranks;
    for (const std::string& text : texts) {
        names.push_back(parts_of(text));
        if (const std::optional<int> rank = number_behind_rank(names.back())) {
            ranks.push_back(*rank);
        }
    }
    if (names.empty() || ranks.size() == names.size()) {
        return ranks;
    }
    for (const auto& parts : names) {
        if (!same_shape(names.front(), parts)) {
            return {};
        }
    }
    for (std::size_t place = 0; place < names.front().size(); ++place) {
        std::vector<int> numbers =
            is_digit(names.front()[place].front()) ? numbers_at(names, place) : std::vector<int>{};
        if (!numbers.empty()) {
            return numbers;
        }
    }
    return {};
}

} // namespace echosim
