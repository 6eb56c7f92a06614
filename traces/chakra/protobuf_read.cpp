// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/chakra/attributes.h"
#include "traces/chakra/fields.h"
#include "traces/chakra/graph.h"
#include "traces/chakra/tables.h"
#include "traces/json_text.h"

#include <chakra.pb.h>
#include <fmt/format.h>

namespace echosim {
namespace {

using chakra::AttributeProto;
using chakra::GlobalMetadata;
using chakra::Node;

// A message as the file has it: files of 2023 hold the attributes where the version is now.
GlobalMetadata metadata_of(const DelimitedMessages::Message& message, const std::string& path) {
    GlobalMetadata metadata;
    const auto size = static_cast<int>(message.bytes.size());
    // an attribute begins with the tag of its name, 0x0a: no version does
    if (metadata.ParseFromArray(message.bytes.data(), size) && !metadata.version().starts_with('\n')) {
        return metadata;
    }
    chakra::EarlyGlobalMetadata early;
    if (!early.ParseFromArray(message.bytes.data(), size)) {
        throw InputError(fmt::format("{}:{}", path, message.offset),
                         "the first message is no GlobalMetadata of Chakra",
                         "read is Chakra ET as MLCommons defines it (et_def.proto)");
    }
    metadata.Clear();
    *metadata.mutable_attr() = std::move(*early.mutable_attr());
    return metadata;
}

std::string meta_json(const GlobalMetadata& metadata) {
    std::string out = R"({"format":"Chakra ET","version":)" + json_string(metadata.version());
    for (const AttributeProto& attribute : metadata.attr()) {
        out += ',' + json_string(attribute.name()) + ':';
        chakra::append_json(out, attribute);
    }
    return out + '}';
}

// False: no field of an event holds it.
bool take(const AttributeProto& attribute, ChakraFields& fields) {
    const std::optional<std::int64_t> number = chakra::whole_number(attribute);
    if (is_group_name(attribute.name())) {
        const bool named = attribute.value_case() == AttributeProto::kStringVal;
        fields.group = named    ? valid_utf8(attribute.string_val())
                       : number ? fmt::format("{}", *number)
                                : fields.group;
        return named || number;
    }
    const bool no_text =
        attribute.value_case() == AttributeProto::kStringVal && attribute.string_val().empty();
    return (number && fields.take(attribute.name(), *number)) ||
           says_nothing(attribute.name(), number, no_text);
}

void keep_io(const char* name, const chakra::IOInfo& io, GraphNode& node) {
    const auto empty = [](const std::string& text) { return text.empty() || text == "[]"; };
    if (!empty(io.values()) || !empty(io.shapes()) || !empty(io.types())) {
        add_argument(node.args, name,
                     fmt::format(R"({{"values":{},"shapes":{},"types":{}}})", json_string(io.values()),
                                 json_string(io.shapes()), json_string(io.types())));
    }
}

// Text in UTF-8.
std::string text_of(const std::string& bytes, ImportReport& report) {
    std::string text = valid_utf8(bytes);
    report.warn("invalid_utf8", text == bytes ? 0 : 1);
    return text;
}

GraphNode node_of(const Node& node, ImportReport& report) {
    ChakraFields fields;
    fields.type = node.type();
    fields.input_types = node.inputs().types();
    GraphNode& out = fields.node;
    out.id = node.id();
    out.name = text_of(node.name(), report);
    out.control.assign(node.ctrl_deps().begin(), node.ctrl_deps().end());
    out.data.assign(node.data_deps().begin(), node.data_deps().end());
    if (node.start_time_micros() != 0) {
        out.start = nanoseconds(node.start_time_micros(), report);
    }
    if (node.duration_micros() != 0) {
        out.duration = nanoseconds(node.duration_micros(), report);
    }
    std::string value;
    for (const AttributeProto& attribute : node.attr()) {
        if (!take(attribute, fields)) {
            value.clear();
            chakra::append_json(value, attribute);
            add_argument(out.args, attribute.name(), value);
            report.warn("invalid_utf8", attribute.string_val() == valid_utf8(attribute.string_val()) ? 0 : 1);
        }
    }
    keep_io("inputs", node.inputs(), out);
    keep_io("outputs", node.outputs(), out);
    return chakra_node(std::move(fields), report);
}

// Fields of a later schema, or with another wire type than the schema says.
bool has_unknown_fields(const google::protobuf::Message& message) {
    return !message.GetReflection()->GetUnknownFields(message).empty();
}

void count_unknown_fields(const Node& node, ImportReport& report) {
    std::uint64_t unknown = has_unknown_fields(node) ? 1 : 0;
    for (const AttributeProto& attribute : node.attr()) {
        unknown += has_unknown_fields(attribute) ? 1 : 0;
    }
    report.warn("unknown_field", unknown);
}

} // namespace

Imported read_chakra_protobuf(const std::string& path, std::span<const std::byte> bytes) {
    DelimitedMessages messages(path, bytes);
    const std::optional<DelimitedMessages::Message> first = messages.next();
    if (!first) {
        throw InputError(path + ":0", "empty file", "a Chakra trace begins with its GlobalMetadata");
    }
    const GlobalMetadata metadata = metadata_of(*first, path);
    if (has_trace_tables(metadata)) {
        return read_own_chakra(metadata, messages, path);
    }
    GraphBuilder graph(path, "Chakra ET");
    graph.set_meta(meta_json(metadata));
    Node node;
    while (const std::optional<DelimitedMessages::Message> message = messages.next()) {
        chakra::parse_node(node, *message, path);
        count_unknown_fields(node, graph.report);
        graph.add(node_of(node, graph.report));
        if (node.type() == chakra::METADATA_NODE) {
            read_process_groups(node.inputs().values(), graph);
        }
    }
    return graph.finish();
}

} // namespace echosim
