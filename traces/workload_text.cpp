// SPDX-License-Identifier: Apache-2.0
#include "traces/workload_text.h"

#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "traces/workloads/aicb_list.h"
#include "traces/workloads/lines.h"
#include "traces/workloads/simai_table.h"

namespace echosim {
namespace {

constexpr Bytes kMostText = 1_GiB;

std::string_view first_line(std::string_view text) {
    TextLines lines(text);
    std::string_view line;
    return lines.next_filled(line) ? without_blanks(line) : std::string_view{};
}

bool is_aicb(std::string_view line) {
    return is_aicb_ranks_line(line) || is_aicb_header(line);
}

// A policy, or a word that could only be a mistyped one. "DATA" and "MODEL" begin other texts too.
bool is_layer_table(std::string_view text) {
    TextLines lines(text);
    std::string_view line;
    if (!lines.next_filled(line))
        return false;
    const auto words = blank_separated(line.substr(0, 256));
    if (words.front().starts_with("HYBRID_"))
        return true;
    return layer_policy(words.front()) && lines.next_filled(line) &&
           whole_number(without_blanks(line), ~0ULL);
}

} // namespace

bool is_workload_text(std::string_view head) {
    return is_aicb(first_line(head)) || is_layer_table(head);
}

Imported read_workload_text(const std::string& path) {
    const std::string text = read_text_file(path, kMostText);
    const std::string_view line = first_line(text);
    if (is_aicb(line))
        return graph_of_aicb(read_aicb_list(text, path), path);
    if (is_layer_table(text))
        return graph_of_layers(read_layer_table(text, path), path);
    throw InputError(
        path + ":1",
        "neither a layer table of SimAI or ASTRA-sim 1 (its first word is MICRO, DATA, HYBRID_...) nor "
        "an operation list of AICB (comm_type,comm_group,...): " +
            quoted(line));
}

} // namespace echosim
