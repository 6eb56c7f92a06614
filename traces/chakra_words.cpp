// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra_graph.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

bool digit(char c) {
    return c >= '0' && c <= '9';
}

template <class Value, std::size_t n> using Words = std::array<std::pair<std::string_view, Value>, n>;

template <class Value, std::size_t n>
std::optional<Value> first_in(std::string_view text, const Words<Value, n>& words) {
    for (const auto& [word, value] : words) {
        if (text.find(word) != std::string_view::npos) {
            return value;
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<CollectiveKind> collective_named(std::string_view name) {
    // longer words first: "gather" lies in "allgather", "reduce" in "allreduce"
    constexpr Words<CollectiveKind, 11> kWords{{{"allreduce", CollectiveKind::all_reduce},
                                                {"reducescatter", CollectiveKind::reduce_scatter},
                                                {"allgather", CollectiveKind::all_gather},
                                                {"alltoall", CollectiveKind::all_to_all},
                                                {"broadcast", CollectiveKind::broadcast},
                                                {"send", CollectiveKind::send_recv},
                                                {"recv", CollectiveKind::send_recv},
                                                {"scatter", CollectiveKind::scatter},
                                                {"gather", CollectiveKind::gather},
                                                {"reduce", CollectiveKind::reduce},
                                                {"barrier", CollectiveKind::all_reduce}}};
    std::string plain;
    for (const char c : name.substr(0, 256)) {
        if (c != '_' && c != '-') {
            plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return first_in(plain, kWords);
}

std::optional<DType> tensor_type_in(std::string_view types) {
    constexpr Words<DType, 16> kWords{{{"Tensor(float)", DType::fp32},
                                       {"Tensor(c10::BFloat16)", DType::bf16},
                                       {"Tensor(c10::Half)", DType::fp16},
                                       {"Tensor(long", DType::int64},
                                       {"Tensor(int)", DType::int32},
                                       {"Tensor(signed char)", DType::int8},
                                       {"Tensor(unsigned char)", DType::int8},
                                       {"Tensor(bool)", DType::int8},
                                       {"Tensor(c10::Float8", DType::fp8},
                                       {"Tensor(bfloat16)", DType::bf16},
                                       {"Tensor(half)", DType::fp16},
                                       {"Tensor(float16)", DType::fp16},
                                       {"Tensor(float32)", DType::fp32},
                                       {"Tensor(int32)", DType::int32},
                                       {"Tensor(int64)", DType::int64},
                                       {"Tensor(int8)", DType::int8}}};
    const std::size_t at = types.find("Tensor(");
    return at == std::string_view::npos ? std::nullopt : first_in(types.substr(at, 32), kWords);
}

std::optional<TimeNs> nanoseconds(std::uint64_t micros, ImportReport& report) {
    // half of the range: a start and a duration can be added
    constexpr std::uint64_t kLimit = std::numeric_limits<TimeNs>::max() / 2 / 1000;
    if (micros > kLimit) {
        report.warn("time_out_of_range");
        return std::nullopt;
    }
    return static_cast<TimeNs>(micros) * 1000;
}

int rank_of_name(const std::string& path) {
    std::filesystem::path name = std::filesystem::path(path).filename();
    for (const char* ending : {".gz", ".json", ".et"}) {
        if (name.extension() == ending) {
            name = name.stem();
        }
    }
    const std::string text = name.string();
    std::size_t begin = text.size();
    while (begin > 0 && digit(text[begin - 1])) {
        --begin;
    }
    // "et_1.0.4": the end of a version, not a rank
    const bool version = begin >= 2 && text[begin - 1] == '.' && digit(text[begin - 2]);
    const bool set_off = begin > 0 && std::string_view("._-").find(text[begin - 1]) != std::string_view::npos;
    const bool named = begin >= 4 && text.substr(begin - 4, 4) == "rank";
    int rank = -1;
    if (text.size() - begin > 7 || version || !(set_off || named)) {
        return -1;
    }
    std::from_chars(text.data() + begin, text.data() + text.size(), rank);
    return rank;
}

void read_process_groups(std::string_view text, GraphBuilder& graph) {
    using nlohmann::json;
    const std::size_t begin = text.find("[{");
    const std::size_t end = text.rfind("}]");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
        return;
    }
    const json groups = json::parse(text.substr(begin, end + 2 - begin), nullptr, false);
    if (groups.is_discarded()) {
        graph.report.warn("unreadable_process_groups");
        return;
    }
    for (const json& group : groups) {
        if (!group.is_object() || !group.contains("pg_name") || !group["pg_name"].is_string()) {
            graph.report.warn("unreadable_process_groups");
            continue;
        }
        std::vector<int> ranks;
        const json listed = group.value("ranks", json::array());
        for (const json& rank : listed.is_array() ? listed : json::array()) {
            if (rank.is_number_unsigned() && rank.get<std::uint64_t>() <= 0x7fffffffU) {
                ranks.push_back(rank.get<int>());
            }
        }
        const json description = group.value("pg_desc", json());
        graph.add_group({kNoName, kNoName, compact_ranks(ranks)}, group["pg_name"].get<std::string>(),
                        description.is_string() ? description.get<std::string>() : std::string());
    }
}

} // namespace echosim
