// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_tests_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace echosim::nccl_text {
namespace {

constexpr char kEscape = '\x1b';

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

constexpr std::array<bool, 256> make_separators() {
    std::array<bool, 256> table{};
    for (std::size_t c = 0; c <= ' '; ++c)
        table[c] = true;
    for (const char c : {'|', '`', '"', ',', '\x7f'})
        table[static_cast<unsigned char>(c)] = true;
    return table;
}
constexpr std::array<bool, 256> kSeparators = make_separators();

bool separates(char c) {
    return kSeparators[static_cast<unsigned char>(c)];
}

// Past the ANSI code that begins at `at`: ESC [ digits letter, or ESC and one more character.
std::size_t after_escape(std::string_view line, std::size_t at) {
    std::size_t i = at + 1;
    if (i >= line.size() || line[i] != '[')
        return std::min(i + 1, line.size());
    for (++i; i < line.size(); ++i)
        if (line[i] >= '@' && line[i] <= '~')
            return i + 1;
    return i;
}

void without_escapes(std::string_view line, std::string& buffer) {
    buffer.clear();
    for (std::size_t i = 0; i < line.size();) {
        if (line[i] == kEscape)
            i = after_escape(line, i);
        else
            buffer.push_back(line[i++]);
    }
}

struct Dtype {
    std::string_view name;
    double bytes;
};
constexpr Dtype kDtypes[] = {{"float", 4},  {"half", 2},    {"bfloat16", 2}, {"double", 8},   {"int8", 1},
                             {"uint8", 1},  {"int32", 4},   {"uint32", 4},   {"int64", 8},    {"uint64", 8},
                             {"f8e4m3", 1}, {"f8e5m2", 1},  {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"char", 1},
                             {"int", 4},    {"float16", 2}, {"float32", 4}};

const Dtype* dtype_of(std::string_view word) {
    if (word.empty() || std::string_view("fhbdiuc").find(word[0]) == std::string_view::npos)
        return nullptr;
    const auto* const found = std::ranges::find(kDtypes, word, &Dtype::name);
    return found == std::end(kDtypes) ? nullptr : found;
}

} // namespace

void split_words(std::string_view line, std::string& buffer, std::vector<std::string_view>& words) {
    std::string_view text = line.substr(0, kMostOfALine);
    if (text.find(kEscape) != std::string_view::npos) {
        without_escapes(text, buffer);
        text = buffer;
    }
    words.clear();
    for (std::size_t i = 0; i < text.size();) {
        while (i < text.size() && separates(text[i]))
            ++i;
        const std::size_t begin = i;
        while (i < text.size() && !separates(text[i]))
            ++i;
        if (i > begin)
            words.push_back(text.substr(begin, i - begin));
    }
}

std::optional<Bytes> whole(std::string_view word) {
    Bytes value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size())
        return std::nullopt;
    return value;
}

std::optional<Bytes> whole_at_end(std::string_view word) {
    std::size_t begin = word.size();
    while (begin > 0 && is_digit(word[begin - 1]))
        --begin;
    if (begin > 0 && std::string_view(":>])}#=").find(word[begin - 1]) == std::string_view::npos)
        return std::nullopt;
    return whole(word.substr(begin));
}

std::optional<double> number(std::string_view word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

bool is_dtype(std::string_view word) {
    return dtype_of(word) != nullptr;
}

double dtype_bytes(std::string_view word) {
    const Dtype* const dtype = dtype_of(word);
    return dtype == nullptr ? 0 : dtype->bytes;
}

bool is_redop(std::string_view word) {
    constexpr std::string_view kNames[] = {"sum", "prod", "max", "min", "avg", "mulsum", "none"};
    return std::ranges::find(kNames, word) != std::end(kNames);
}

std::optional<CollectiveKind> program_kind(std::string_view word) {
    const std::size_t end = word.find("_perf");
    if (end == std::string_view::npos)
        return std::nullopt;
    std::size_t begin = end;
    while (begin > 0 && ((word[begin - 1] >= 'a' && word[begin - 1] <= 'z') || word[begin - 1] == '_'))
        --begin;
    const std::string_view name = word.substr(begin, end - begin);
    if (name == "alltoall")
        return CollectiveKind::all_to_all;
    if (name == "sendrecv")
        return CollectiveKind::send_recv;
    return collective_from(name);
}

std::string version_of_code(Bytes code) {
    if (code < 10000) // 2.8 and older: 2708 is 2.7.8
        return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
    return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

std::optional<Columns> columns_at(const std::vector<std::string_view>& words, std::size_t at, Bytes bytes) {
    if (at + 2 >= words.size())
        return std::nullopt;
    const auto us = number(words[at]), algbw = number(words[at + 1]), busbw = number(words[at + 2]);
    if (!us || !algbw || !busbw || *us <= 0 || *algbw < 0 || *busbw < 0)
        return std::nullopt;
    const double expected = static_cast<double>(bytes) / *us * 1e-3;
    if (std::abs(expected - *algbw) > 0.006 + 0.02 * expected)
        return std::nullopt;
    return Columns{*us, *algbw, *busbw};
}

} // namespace echosim::nccl_text
