// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/topology_text.h"

#include <charconv>

namespace echosim {
namespace {

constexpr std::string_view kBlanks = " \t\r";

template <class T> std::optional<T> number_at_begin(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc())
        return std::nullopt;
    return value;
}

std::optional<std::string_view> behind(std::string_view text, std::string_view label) {
    const std::size_t at = text.find(label);
    if (at == std::string_view::npos)
        return std::nullopt;
    return text.substr(at + label.size());
}

} // namespace

bool LineReader::next(std::string_view& line) {
    if (rest_.empty())
        return false;
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    ++number_;
    return true;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    std::size_t begin = text.find_first_not_of(kBlanks);
    while (begin != std::string_view::npos) {
        const std::size_t end = text.find_first_of(kBlanks, begin);
        words.push_back(text.substr(begin, end - begin));
        begin = text.find_first_not_of(kBlanks, end);
    }
    return words;
}

std::string without_ansi(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\x1b') {
            out += text[i];
            continue;
        }
        if (i + 1 < text.size() && text[i + 1] == '[')
            for (++i; i + 1 < text.size() && (text[i + 1] < '@' || text[i + 1] > '~');)
                ++i;
        ++i; // the letter that ends the sequence
    }
    return out;
}

std::optional<double> leading_number(std::string_view text) {
    return number_at_begin<double>(text);
}

std::optional<int> leading_int(std::string_view text) {
    return number_at_begin<int>(text);
}

std::optional<double> number_after(std::string_view text, std::string_view label) {
    const auto rest = behind(text, label);
    return rest ? leading_number(trimmed(*rest)) : std::nullopt;
}

std::optional<int> int_after(std::string_view text, std::string_view label) {
    const auto rest = behind(text, label);
    return rest ? leading_int(trimmed(*rest)) : std::nullopt;
}

std::string_view word_after(std::string_view text, std::string_view label) {
    const auto rest = behind(text, label);
    if (!rest)
        return {};
    const std::string_view word = trimmed(*rest);
    return word.substr(0, word.find_first_of(kBlanks));
}

} // namespace echosim
