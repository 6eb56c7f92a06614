// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/fields.h"

#include "traces/json_text.h"
#include "traces/nccl_names.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace echosim {
namespace {

// NodeType and CollectiveCommType of the schema, by their numbers.
constexpr std::array<std::string_view, 11> kNodeTypes{
    "INVALID_NODE",   "METADATA_NODE",  "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE",      "COMM_SEND_NODE",
    "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE",  "BATCH_NODE",     "CHECKPOINT_NODE"};
enum Type : int { mem_load = 2, mem_store = 3, comp = 4, comm_send = 5, comm_recv = 6, comm_coll = 7 };
constexpr std::array kCollectives{CollectiveKind::all_reduce,     CollectiveKind::reduce,
                                  CollectiveKind::all_gather,     CollectiveKind::gather,
                                  CollectiveKind::scatter,        CollectiveKind::broadcast,
                                  CollectiveKind::all_to_all,     CollectiveKind::reduce_scatter,
                                  CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};
constexpr std::int64_t kBarrier = 9;

Bytes size_of(const ChakraFields& fields, std::string_view name, ImportReport& report) {
    const std::int64_t bytes = fields.number(name).value_or(0);
    if (bytes < 0) {
        report.warn("negative_size");
        return 0;
    }
    return static_cast<Bytes>(bytes);
}

std::int32_t rank_of(std::optional<std::int64_t> number) {
    return number && *number >= 0 && *number <= std::numeric_limits<std::int32_t>::max()
               ? static_cast<std::int32_t>(*number)
               : -1;
}

CollectiveKind collective(const ChakraFields& fields, ImportReport& report) {
    const std::optional<std::int64_t> type = fields.number("comm_type");
    if (!type) {
        return parse_nccl_kernel(fields.node.name).kind;
    }
    if (*type < 0 || *type >= static_cast<std::int64_t>(kCollectives.size())) {
        return kNoCollective;
    }
    if (*type == kBarrier) {
        report.warn("barrier"); // an all-reduce of nothing
    }
    return kCollectives[static_cast<std::size_t>(*type)];
}

void set_communication(ChakraFields& fields, ImportReport& report) {
    GraphComm comm;
    comm.group = fields.group;
    comm.input_bytes = true;
    comm.op.bytes = size_of(fields, "comm_size", report);
    if (const std::optional<ElementType> element = tensor_type_in(fields.input_types)) {
        comm.op.dtype = element->type;
    }
    if (fields.type == comm_coll) {
        comm.op.kind = collective(fields, report);
        comm.op.peer = rank_of(fields.number("root"));
    } else {
        const bool send = fields.type == comm_send;
        comm.op.kind = CollectiveKind::send_recv;
        comm.op.direction = send ? Direction::send : Direction::receive;
        comm.op.peer = rank_of(fields.number(send ? "comm_dst" : "comm_src"));
    }
    fields.node.comm = comm;
}

void set_other(ChakraFields& fields, ImportReport& report) {
    const bool known = fields.type >= 0 && fields.type < static_cast<int>(kNodeTypes.size());
    if (!known) {
        report.warn("unknown_node_type");
    }
    fields.node.kind = EventKind::other;
    fields.node.on_device = false;
    fields.node.lane = fields.number("tid").value_or(-1);
    fields.node.category = known ? std::string(kNodeTypes[static_cast<std::size_t>(fields.type)])
                                 : fmt::format("node type {}", fields.type);
}

} // namespace

std::optional<std::int64_t> ChakraFields::number(std::string_view name) const {
    const auto field =
        std::find_if(numbers.begin(), numbers.end(), [&](const auto& entry) { return entry.first == name; });
    return field == numbers.end() ? std::nullopt : field->second;
}

bool ChakraFields::take(std::string_view name, std::int64_t number) {
    const auto field =
        std::find_if(numbers.begin(), numbers.end(), [&](const auto& entry) { return entry.first == name; });
    if (field == numbers.end()) {
        return false;
    }
    field->second = number;
    return name != "comm_tag"; // stays among the args too
}

bool says_nothing(std::string_view name, std::optional<std::int64_t> number, bool empty_text) {
    return name == "rf_id" || (name == "seq_id" && number == -1) ||
           ((name == "fw_tid" || name == "fw_parent" || name == "scope") && number == 0) ||
           (name == "op_schema" && empty_text);
}

bool is_group_name(std::string_view attribute) {
    return attribute == "pg_name" || attribute == "comm_group";
}

void add_argument(std::string& args, std::string_view name, std::string_view json_value) {
    args += args.empty() ? '{' : ',';
    args += json_string(name);
    args += ':';
    args += json_value;
}

GraphNode chakra_node(ChakraFields&& fields, ImportReport& report) {
    GraphNode& node = fields.node;
    node.on_device = fields.number("is_cpu_op").value_or(0) == 0;
    // converters of 2023 put the stream of a kernel into tid
    const std::int64_t thread = fields.number("tid").value_or(-1);
    node.lane = node.on_device ? fields.number("stream").value_or(thread) : thread;
    const bool communication = fields.type >= comm_send && fields.type <= comm_coll;
    const bool memory = fields.type == mem_load || fields.type == mem_store;
    if (fields.type != comp && !communication && !memory) {
        set_other(fields, report);
    } else if (!node.on_device) {
        node.kind = EventKind::host; // the call of the framework, whatever it leads to
    } else if (communication) {
        node.kind = EventKind::comm;
        set_communication(fields, report);
    } else if (memory) {
        node.kind = EventKind::memcpy;
        node.copy.bytes = size_of(fields, "tensor_size", report);
        node.copy.kind = fields.type == mem_load ? CopyKind::host_to_device : CopyKind::device_to_host;
    } else {
        node.kind = EventKind::kernel;
    }
    if (!node.args.empty()) {
        node.args += '}';
    }
    return std::move(node);
}

} // namespace echosim
