// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/attributes.h"

#include "simulator/core/error.h"
#include "traces/json_text.h"

#include <chakra.pb.h>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <type_traits>

namespace echosim::chakra {
namespace {

template <class Value> void put(std::string& out, const Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
        out += value ? "true" : "false";
    } else if constexpr (std::is_floating_point_v<Value>) {
        // JSON has no word for what is not finite
        out += std::isfinite(value) ? fmt::format("{}", value) : fmt::format(R"("{}")", value);
    } else if constexpr (std::is_arithmetic_v<Value>) {
        fmt::format_to(std::back_inserter(out), "{}", value);
    } else {
        out += json_string(value);
    }
}

void put_bytes(std::string& out, const std::string& bytes) {
    out += '"';
    for (const char byte : bytes) {
        fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(byte));
    }
    out += '"';
}

template <class List> void put_list(std::string& out, const List& list) {
    out += '[';
    for (int i = 0; i < list.values_size(); ++i) {
        out += i == 0 ? "" : ",";
        if constexpr (std::is_same_v<List, BytesList>) {
            put_bytes(out, list.values(i));
        } else {
            put(out, list.values(i));
        }
    }
    out += ']';
}

// False: the attribute is no scalar.
bool append_scalar(std::string& out, const AttributeProto& attribute) {
    switch (attribute.value_case()) {
    case AttributeProto::kDoubleVal:
        return put(out, attribute.double_val()), true;
    case AttributeProto::kFloatVal:
        return put(out, attribute.float_val()), true;
    case AttributeProto::kUint64Val:
        return put(out, attribute.uint64_val()), true;
    case AttributeProto::kFixed64Val:
        return put(out, attribute.fixed64_val()), true;
    case AttributeProto::kBoolVal:
        return put(out, attribute.bool_val()), true;
    case AttributeProto::kStringVal:
        return put(out, attribute.string_val()), true;
    case AttributeProto::kBytesVal:
        return put_bytes(out, attribute.bytes_val()), true;
    default:
        break;
    }
    const std::optional<std::int64_t> number = whole_number(attribute);
    if (number) {
        put(out, *number);
    }
    return number.has_value();
}

} // namespace

std::optional<std::int64_t> whole_number(const AttributeProto& attribute) {
    const auto fits = [](std::uint64_t value) {
        return value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                   ? std::optional(static_cast<std::int64_t>(value))
                   : std::nullopt;
    };
    switch (attribute.value_case()) {
    case AttributeProto::kInt32Val:
        return attribute.int32_val();
    case AttributeProto::kInt64Val:
        return attribute.int64_val();
    case AttributeProto::kUint32Val:
        return attribute.uint32_val();
    case AttributeProto::kUint64Val:
        return fits(attribute.uint64_val());
    case AttributeProto::kSint32Val:
        return attribute.sint32_val();
    case AttributeProto::kSint64Val:
        return attribute.sint64_val();
    case AttributeProto::kFixed32Val:
        return attribute.fixed32_val();
    case AttributeProto::kFixed64Val:
        return fits(attribute.fixed64_val());
    case AttributeProto::kSfixed32Val:
        return attribute.sfixed32_val();
    case AttributeProto::kSfixed64Val:
        return attribute.sfixed64_val();
    case AttributeProto::kBoolVal:
        return attribute.bool_val() ? 1 : 0;
    default:
        return std::nullopt;
    }
}

void append_json(std::string& out, const AttributeProto& attribute) {
    switch (attribute.value_case()) {
    case AttributeProto::kDoubleList:
        return put_list(out, attribute.double_list());
    case AttributeProto::kFloatList:
        return put_list(out, attribute.float_list());
    case AttributeProto::kInt32List:
        return put_list(out, attribute.int32_list());
    case AttributeProto::kInt64List:
        return put_list(out, attribute.int64_list());
    case AttributeProto::kUint32List:
        return put_list(out, attribute.uint32_list());
    case AttributeProto::kUint64List:
        return put_list(out, attribute.uint64_list());
    case AttributeProto::kSint32List:
        return put_list(out, attribute.sint32_list());
    case AttributeProto::kSint64List:
        return put_list(out, attribute.sint64_list());
    case AttributeProto::kFixed32List:
        return put_list(out, attribute.fixed32_list());
    case AttributeProto::kFixed64List:
        return put_list(out, attribute.fixed64_list());
    case AttributeProto::kSfixed32List:
        return put_list(out, attribute.sfixed32_list());
    case AttributeProto::kSfixed64List:
        return put_list(out, attribute.sfixed64_list());
    case AttributeProto::kBoolList:
        return put_list(out, attribute.bool_list());
    case AttributeProto::kStringList:
        return put_list(out, attribute.string_list());
    case AttributeProto::kBytesList:
        return put_list(out, attribute.bytes_list());
    default:
        if (!append_scalar(out, attribute)) {
            out += "null";
        }
    }
}

void parse_node(Node& node, const DelimitedMessages::Message& message, const std::string& path) {
    if (!node.ParseFromArray(message.bytes.data(), static_cast<int>(message.bytes.size()))) {
        throw InputError(fmt::format("{}:{}", path, message.offset),
                         fmt::format("{} bytes that are no Node of Chakra", message.bytes.size()),
                         "the file is damaged, or of another schema than et_def.proto of MLCommons Chakra");
    }
}

} // namespace echosim::chakra
