// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The words of a line that nccl-tests printed, whatever a terminal, a launcher or a web page put around it.
namespace echosim::nccl_text {

// Longest part of a line that is looked at; nccl-tests prints less than 200 characters.
constexpr std::size_t kMostOfALine = 16384;

// Words between blanks, control characters, commas and the bars of a Markdown table; without ANSI codes,
// quotes and backticks. They point into `line`, or into `buffer` where codes had to be taken out.
void split_words(std::string_view line, std::string& buffer, std::vector<std::string_view>& words);

// nullopt when the word is no number of this kind, or something follows the number.
std::optional<Bytes> whole(std::string_view word);
std::optional<double> number(std::string_view word); // finite
// A whole number that something is glued to: "[1,0]<stdout>:1024" is 1024.
std::optional<Bytes> whole_at_end(std::string_view word);

bool is_dtype(std::string_view word); // as nccl-tests prints element types
double dtype_bytes(std::string_view word);
bool is_redop(std::string_view word);
// "build/all_reduce_perf" -> all_reduce; nullopt when the word names no program of nccl-tests.
std::optional<CollectiveKind> program_kind(std::string_view word);
// 22703 -> "2.27.3", as NCCL_VERSION_CODE counts.
std::string version_of_code(Bytes code);

// time, size and algbw of one half of a row, if they agree.
struct Columns {
    double us = 0;
    double algbw = 0; // GB/s
    double busbw = 0;
};
// `words` from `at` on: time algbw busbw. nullopt when they are missing, "N/A", or algbw is not size / time
// (to the 4 digits of the time and the 2 decimals of algbw).
std::optional<Columns> columns_at(const std::vector<std::string_view>& words, std::size_t at, Bytes bytes);

} // namespace echosim::nccl_text
