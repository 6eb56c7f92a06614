// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/graph.h"
#include "traces/json_text.h"
#include "traces/nccl_names.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

bool digit(char c) {
    return c >= '0' && c <= '9';
}

} // namespace

std::string valid_utf8(std::string_view text) {
    if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
        return std::string(text);
    }
    std::string out;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        out += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

std::optional<ElementType> tensor_type_in(std::string_view types) {
    constexpr std::string_view kTensor = "Tensor(";
    const std::size_t begin = types.find(kTensor);
    if (begin == std::string_view::npos) {
        return std::nullopt;
    }
    types.remove_prefix(begin + kTensor.size());
    return element_type(types.substr(0, types.find(')')));
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
    std::size_t before = begin;
    for (int dots = 0; dots < 2 && before > 0 && text[before - 1] == '.'; ++dots) {
        --before;
        while (before > 0 && digit(text[before - 1])) {
            --before;
        }
    }
    const bool version = std::count(text.begin() + static_cast<std::ptrdiff_t>(before),
                                    text.begin() + static_cast<std::ptrdiff_t>(begin), '.') == 2;
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
