// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/comms.h"

#include "traces/chakra/json.h"
#include "traces/kineto/text.h"
#include "traces/nccl_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace echosim {
namespace {

using Json = nlohmann::json;

// The record with its lists parsed.
struct ParsedRecord : CommRecord {
    Json inputs = Json::array();
    Json input_types = Json::array();
    Json outputs = Json::array();
};

Json list_in(std::string_view text) {
    Json list = Json::parse(text, nullptr, false);
    return list.is_array() ? list : Json::array();
}

struct Size {
    std::uint64_t elements = 0;
    Bytes bytes = 0;
};

// Sum of the tensors in a value: [tensor, storage, offset, elements, bytes of one, device], or lists of such.
// Sizes beyond 2^40 elements are not believed.
Size size_of(const Json& value) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    Size sum;
    if (!value.is_array()) {
        return sum;
    }
    if (value.size() == 6 && value[3].is_number_unsigned() && value[4].is_number_unsigned() &&
        value[5].is_string()) {
        const auto elements = value[3].get<std::uint64_t>();
        const auto one = value[4].get<std::uint64_t>();
        return elements <= kMost && one <= 64 ? Size{elements, elements * one} : sum;
    }
    for (const Json& part : value) {
        const Size size = size_of(part);
        sum.elements += size.elements;
        sum.bytes += size.bytes;
    }
    return sum;
}

// Place of the word ("allreduce") among the inputs; the number of inputs: it is not there.
std::size_t place_of_word(const ParsedRecord& record) {
    for (std::size_t i = 0; i < record.inputs.size() && i < record.input_types.size(); ++i) {
        if (record.input_types[i] == "String" && record.inputs[i].is_string()) {
            return i;
        }
    }
    return record.inputs.size();
}

std::optional<std::int64_t> whole_in(const Json& value) {
    return value.is_number_integer() ? whole_number(value.dump()) : std::nullopt;
}

std::int64_t whole_at(const ParsedRecord& record, std::size_t place, std::int64_t otherwise) {
    return place < record.inputs.size() ? whole_in(record.inputs[place]).value_or(otherwise) : otherwise;
}

// What the inputs say and no attribute did.
void complete(ParsedRecord& record, std::size_t word) {
    if (record.word.empty()) {
        record.word = record.inputs[word].get<std::string>();
    }
    if (record.group.empty() && word >= 2) {
        const Json& group = record.inputs[word - 2];
        if (group.is_array() && group.size() == 2 && group[0].is_string() && group[1].is_string()) {
            record.group = group[0].get<std::string>();
            record.description = group[1].get<std::string>();
        } else if (whole_in(group).value_or(0) != 0) {
            record.group = group.dump(); // the address of the group
        }
    }
    if (record.rank_stride == 0 && record.inputs.size() > word + 5) {
        record.rank_start = whole_at(record, word + 3, -1);
        record.rank_stride = whole_at(record, word + 4, 0);
        record.group_size =
            static_cast<std::uint64_t>(std::max<std::int64_t>(whole_at(record, word + 5, 0), 0));
    }
}

std::vector<RankRange> ranks_of(const CommRecord& record) {
    constexpr std::int64_t kMost = 1 << 24;
    const auto size = static_cast<std::int64_t>(std::min<std::uint64_t>(record.group_size, kMost + 1));
    const bool known = record.rank_start >= 0 && record.rank_start < kMost && record.rank_stride > 0 &&
                       record.rank_stride < kMost && size > 0 && size <= kMost &&
                       record.rank_start + (size - 1) * record.rank_stride < kMost;
    if (!known) {
        return {};
    }
    const auto stride = static_cast<std::uint32_t>(size == 1 ? 1 : record.rank_stride);
    return {{static_cast<std::uint32_t>(record.rank_start), static_cast<std::uint32_t>(size), stride}};
}

bool has_other_end(CollectiveKind kind) {
    return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ||
           kind == CollectiveKind::gather || kind == CollectiveKind::scatter ||
           kind == CollectiveKind::send_recv;
}

std::optional<ElementType> element_of(const ParsedRecord& record) {
    const std::optional<ElementType> listed =
        record.input_types.empty() ? std::nullopt : tensor_type_in(record.input_types[0].dump());
    return listed ? listed : element_type(record.dtype);
}

void set_sizes(const ParsedRecord& record, GraphComm& comm) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    const Size in = record.inputs.empty() ? Size{} : size_of(record.inputs[0]);
    const Size out = record.outputs.empty() ? Size{} : size_of(record.outputs[0]);
    const std::optional<ElementType> element = element_of(record);
    CommOp& op = comm.op;
    if (element) {
        op.dtype = element->type;
    }
    op.in_elements = in.elements > 0 ? in.elements : std::min(record.in_elements, kMost);
    op.out_elements = out.elements > 0 ? out.elements : std::min(record.out_elements, kMost);
    const Bytes one = in.elements > 0    ? in.bytes / in.elements
                      : out.elements > 0 ? out.bytes / out.elements
                      : element          ? element->bytes
                                         : 0;
    op.bytes = message_bytes(op.kind, op.in_elements, op.out_elements, op.group_size, one);
}

} // namespace

bool take_comm_attribute(CommRecord& record, std::string_view key, std::string_view json_value) {
    const auto text = [&](std::string& field) {
        field = text_of(json_value);
        return true;
    };
    const auto number = [&](auto& field) {
        const std::optional<std::int64_t> whole = whole_number(json_value);
        if (whole && *whole >= 0) {
            field = static_cast<std::remove_reference_t<decltype(field)>>(*whole);
        }
        return whole && *whole >= 0;
    };
    return key == "collective_name"      ? text(record.word)
           : key == "dtype"              ? text(record.dtype)
           : key == "pg_name"            ? text(record.group)
           : key == "pg_desc"            ? text(record.description)
           : key == "in_msg_nelems"      ? number(record.in_elements)
           : key == "out_msg_nelems"     ? number(record.out_elements)
           : key == "pg_size"            ? number(record.group_size)
           : key == "global_rank_start"  ? number(record.rank_start)
           : key == "global_rank_stride" ? number(record.rank_stride)
                                         : false;
}

std::optional<GraphComm> recorded_comm(CommRecord attributes, const CommTexts& texts, GraphBuilder& graph) {
    ParsedRecord record{std::move(attributes), list_in(texts.inputs), list_in(texts.types),
                        list_in(texts.outputs)};
    const std::size_t word = place_of_word(record);
    if (word < record.inputs.size()) {
        complete(record, word);
    }
    const std::optional<CollectiveName> name = collective_named(record.word);
    if (!name) {
        return std::nullopt;
    }
    GraphComm comm;
    CommOp& op = comm.op;
    op.kind = name->kind;
    op.direction = name->direction;
    op.group_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(record.group_size, 1U << 24U));
    set_sizes(record, comm);
    const bool placed = word < record.inputs.size() && word >= 1;
    const std::int64_t rank = placed ? whole_at(record, word - 1, -1) : -1;
    const std::vector<RankRange> ranks = ranks_of(record);
    if (rank >= 0 && rank < (1 << 24)) {
        const std::int64_t global =
            ranks.empty() ? rank : ranks[0].first + rank * static_cast<std::int64_t>(ranks[0].stride);
        if (has_other_end(op.kind)) {
            op.peer = static_cast<std::int32_t>(global);
        } else if (!ranks.empty() || record.description == "default_pg") {
            graph.suggest_rank(static_cast<int>(global));
        }
    }
    op.sequence = placed && word >= 3
                      ? static_cast<std::uint64_t>(std::max<std::int64_t>(whole_at(record, word - 3, 0), 0))
                      : 0;
    comm.group = record.group;
    if (!comm.group.empty()) {
        graph.add_group({kNoName, kNoName, ranks}, comm.group, record.description);
    }
    return comm;
}

} // namespace echosim
