// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/import_figures.h"

#include <algorithm>
#include <array>
#include <utility>

namespace echosim {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 46> kTexts{{
    {"non_finite_number", "numbers that are NaN or infinite were dropped"},
    {"trailing_comma", "superfluous commas were passed over"},
    {"control_character", "line feeds and tabs within strings became escapes"},
    {"missing_closing_bracket", "the file ends before its last bracket"},
    {"invalid_utf8", "texts with bytes that are no UTF-8: replaced by U+FFFD"},
    {"negative_duration", "negative durations were set to 0"},
    {"negative_size", "negative sizes were set to 0"},
    {"duplicate_event", "records that occur twice, byte for byte, were dropped once"},
    {"duplicate_id", "nodes with the number of another one"},
    {"missing_duration", "events without a duration got 0"},
    {"missing_time", "events without a time"},
    {"missing_name", "events without a name"},
    {"time_out_of_range", "times too large to be true"},
    {"size_out_of_range", "sizes too large to be true"},
    {"unclosed_begin", "begun events without an end"},
    {"unmatched_end", "ends without a beginning were dropped"},
    {"unmatched_correlation", "work of the GPU whose call is not in the file"},
    {"correlation_out_of_range", "numbers of calls beyond 32 bits: not joined"},
    {"unmatched_flow", "arrows with one end only were dropped"},
    {"unmatched_sample", "samples of no counter were dropped"},
    {"non_numeric_sample", "samples of counters that are no number were dropped"},
    {"overlapping_kernels", "kernels that overlap on one stream: kept as they are"},
    {"unknown_phase", "records of a kind that the format does not know were dropped"},
    {"not_an_event", "entries that are no event were dropped"},
    {"incomplete_file", "the file was cut off: what is whole was read"},
    {"missing_dependency", "dependencies on nodes that are not in the file"},
    {"unmatched_dependency", "dependencies on nodes that are not in the file"},
    {"self_dependency", "nodes that depend on themselves"},
    {"dependency_cycle", "nodes that wait for each other in a circle"},
    {"barrier", "barriers, taken for all-reduces of nothing"},
    {"empty_collective", "collectives of no bytes"},
    {"unknown_header_key", "words of the header that are not known"},
    {"unknown_node_type", "nodes of a type that the format does not know"},
    {"unknown_collective", "collectives of a kind that is not known"},
    {"unknown_field", "fields that the format does not know"},
    {"unknown_string", "names that the file's table of texts lacks"},
    {"unknown_synchronization", "synchronisation of a type that is not known"},
    {"unknown_nvtx_event", "NVTX events of a type that is not known"},
    {"unreadable_attribute", "attributes that could not be read"},
    {"unreadable_process_groups", "lists of process groups that could not be read"},
    {"ambiguous_process", "events that may be of several processes: given to the first"},
    {"ambiguous_collective", "communication kernels that fit several calls"},
    {"event_without_process", "rows of the host without a process were left out"},
    {"event_of_process_without_gpu", "rows of processes without a GPU were left out"},
    {"unmatched_collective", "communication kernels that met none of another rank"},
    {"inconsistent_collective", "calls of one number that differ in kind or size: not matched"},
}};

} // namespace

std::string_view warning_text(std::string_view word) {
    const auto known =
        std::find_if(kTexts.begin(), kTexts.end(), [&](const auto& entry) { return entry.first == word; });
    return known == kTexts.end() ? std::string_view{} : known->second;
}

} // namespace echosim
