// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra.h"

#include "traces/chakra/graph.h"
#include "traces/chakra/messages.h"
#include "traces/mapped_file.h"

#include <algorithm>
#include <string_view>

namespace echosim {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_json_object(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) {
        text.remove_prefix(3);
    }
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && text[first] == '{';
}

// Wire type that the field of the message has: 0 varint, 2 behind a length; -1: no such field.
int wire_type(bool node, std::uint64_t field) {
    if (!node) {
        return field == 1 || field == 2 ? 2 : -1;
    }
    switch (field) {
    case 1: // id
    case 3: // type
    case 6: // start
    case 7: // duration
        return 0;
    case 2: // name
    case 4: // dependencies
    case 5:
    case 8: // inputs, outputs
    case 9:
    case 10: // attributes
    case 11: // storage
        return 2;
    default:
        return -1;
    }
}

// Whether the bytes are fields of the message, as far as they go.
bool plausible(std::span<const std::byte> message, bool node) {
    std::size_t at = 0;
    while (at < message.size()) {
        const std::optional<std::uint64_t> tag = read_varint(message, at);
        if (!tag) {
            return at == message.size();
        }
        const int expected = wire_type(node, *tag >> 3U);
        const auto wire = static_cast<int>(*tag & 7U);
        const bool unpacked = node && wire == 0 && (*tag >> 3U == 4 || *tag >> 3U == 5);
        if (wire != expected && !unpacked) {
            return false;
        }
        const std::optional<std::uint64_t> value = read_varint(message, at);
        if (wire == 2 && value) {
            at += static_cast<std::size_t>(std::min<std::uint64_t>(*value, message.size() - at + 1));
        }
    }
    return true;
}

// A message without fields says nothing: zeros alone (a file with holes) are none.
bool is_chakra_protobuf(std::span<const std::byte> head) {
    constexpr int kMessages = 8;
    std::size_t at = 0;
    bool any = false;
    for (int i = 0; i < kMessages && at < head.size(); ++i) {
        const std::optional<std::uint64_t> length = read_varint(head, at);
        if (!length) {
            return false;
        }
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(*length, head.size() - at));
        if (!plausible(head.subspan(at, size), i > 0)) {
            return false;
        }
        any = any || size > 0;
        at += size;
    }
    return any;
}

bool is_execution_trace_json(std::string_view head) {
    const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
    return !has("\"traceEvents\"") && (has("\"workload_graph\"") || (has("\"schema\"") && has("\"nodes\"")));
}

} // namespace

bool is_chakra(std::span<const std::byte> head) {
    return is_json_object(text_of(head)) && is_execution_trace_json(text_of(head)) ? true
                                                                                   : is_chakra_protobuf(head);
}

Imported read_chakra(const std::string& path) {
    const MappedFile file(path);
    const std::string_view text = text_of(file.bytes());
    return is_json_object(text) || text.starts_with("\x1f\x8b") ? read_chakra_json(path)
                                                                : read_chakra_protobuf(path, file.bytes());
}

} // namespace echosim
