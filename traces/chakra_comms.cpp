// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra_comms.h"

#include "traces/chakra_json.h"

#include <fmt/format.h>
#include <limits>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

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
std::size_t place_of_word(const CommRecord& record) {
    for (std::size_t i = 0; i < record.inputs.size() && i < record.input_types.size(); ++i) {
        if (record.input_types[i] == "String" && record.inputs[i].is_string()) {
            return i;
        }
    }
    return record.inputs.size();
}

std::int64_t whole_at(const CommRecord& record, std::size_t place, std::int64_t otherwise) {
    return place < record.inputs.size() ? whole_number(record.inputs[place]).value_or(otherwise) : otherwise;
}

// What the inputs say and no attribute did.
void complete(CommRecord& record, std::size_t word) {
    if (record.word.empty()) {
        record.word = record.inputs[word].get<std::string>();
    }
    if (record.group.empty() && word >= 2) {
        const Json& group = record.inputs[word - 2];
        if (group.is_array() && group.size() == 2 && group[0].is_string() && group[1].is_string()) {
            record.group = group[0].get<std::string>();
            record.description = group[1].get<std::string>();
        } else if (whole_number(group).value_or(0) != 0) {
            record.group = group.dump(); // the address of the group
        }
    }
    if (record.rank_stride == 0 && record.inputs.size() > word + 5) {
        record.rank_start = whole_at(record, word + 3, -1);
        record.rank_stride = whole_at(record, word + 4, 0);
        record.group_size = static_cast<std::uint64_t>(std::max<std::int64_t>(whole_at(record, word + 5, 0), 0));
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
    return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce || kind == CollectiveKind::gather ||
           kind == CollectiveKind::scatter || kind == CollectiveKind::send_recv;
}

std::optional<DType> dtype_of(const CommRecord& record) {
    const std::optional<DType> listed =
        record.input_types.empty() ? std::nullopt : tensor_type_in(record.input_types[0].dump());
    if (listed) {
        return listed;
    }
    for (const auto& [word, type] : {std::pair("Float", DType::fp32), std::pair("BFloat16", DType::bf16),
                                     std::pair("Half", DType::fp16), std::pair("Int", DType::int32),
                                     std::pair("Long", DType::int64), std::pair("Char", DType::int8),
                                     std::pair("Byte", DType::int8)}) {
        if (record.dtype == word) {
            return type;
        }
    }
    return std::nullopt;
}

std::uint64_t bytes_of(DType type) {
    switch (type) {
    case DType::fp32:
    case DType::tf32:
    case DType::int32:
        return 4;
    case DType::fp16:
    case DType::bf16:
        return 2;
    case DType::int64:
        return 8;
    default:
        return 1;
    }
}

// The message as nccl-tests counts it: of an all-gather what comes out, else what goes in.
void set_sizes(const CommRecord& record, CommOp& op) {
    Size in = record.inputs.empty() ? Size{} : size_of(record.inputs[0]);
    Size out = record.outputs.empty() ? Size{} : size_of(record.outputs[0]);
    const auto fill = [&](Size& size, std::uint64_t elements) {
        if (size.elements == 0 && elements < (std::uint64_t{1} << 40U)) {
            size = {elements, elements * bytes_of(op.dtype)};
        }
    };
    fill(in, record.in_elements);
    fill(out, record.out_elements);
    op.in_elements = in.elements;
    op.out_elements = out.elements;
    const bool gathers = op.kind == CollectiveKind::all_gather || op.direction == Direction::receive;
    op.bytes = gathers && out.bytes > 0 ? out.bytes : in.bytes;
}

} // namespace

bool take_comm_attribute(CommRecord& record, const std::string& key, const Json& value) {
    const auto text = [&](std::string& field) {
        field = value.is_string() ? value.get<std::string>() : value.dump();
        return true;
    };
    const auto number = [&](auto& field) {
        const std::optional<std::int64_t> whole = whole_number(value);
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

std::optional<GraphComm> recorded_comm(CommRecord& record, GraphBuilder& graph) {
    const std::size_t word = place_of_word(record);
    if (word < record.inputs.size()) {
        complete(record, word);
    }
    const std::optional<CollectiveKind> kind = collective_named(record.word);
    if (!kind) {
        return std::nullopt;
    }
    GraphComm comm;
    CommOp& op = comm.op;
    op.kind = *kind;
    op.dtype = dtype_of(record).value_or(op.dtype);
    if (op.kind == CollectiveKind::send_recv) {
        op.direction = record.word.find("send") != std::string::npos ? Direction::send : Direction::receive;
    }
    set_sizes(record, op);
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
    op.sequence = placed && word >= 3 ? static_cast<std::uint64_t>(std::max<std::int64_t>(
                                            whole_at(record, word - 3, 0), 0))
                                      : 0;
    op.group_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(record.group_size, 1U << 24U));
    comm.group = record.group;
    if (!comm.group.empty()) {
        graph.add_group({kNoName, kNoName, ranks}, comm.group, record.description);
    }
    return comm;
}

} // namespace echosim
