// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// The wire format of protocol buffers by hand: what the library writes and reads is checked against it.
namespace echosim::test {

inline std::string varint(std::uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7U) {
        out += static_cast<char>((value & 0x7fU) | 0x80U);
    }
    return out + static_cast<char>(value);
}
inline std::string number(unsigned field, std::uint64_t value) {
    return varint(field * 8U) + varint(value);
}
inline std::string text(unsigned field, std::string_view bytes) {
    return varint(field * 8U + 2U) + varint(bytes.size()) + std::string(bytes);
}
inline std::string delimited(std::string_view message) {
    return varint(message.size()) + std::string(message);
}

// Attributes: name is field 1; int32 7, int64 9, uint64 13, bool 27, string 29.
inline std::string attribute(std::string_view name, unsigned field, std::uint64_t value) {
    return text(10, text(1, name) + number(field, value));
}
inline std::string attribute(std::string_view name, std::string_view value) {
    return text(10, text(1, name) + text(29, value));
}

struct WireField {
    unsigned number = 0;
    unsigned wire = 0;
    std::uint64_t value = 0;
    std::string bytes;
};

inline std::uint64_t take_varint(std::string_view bytes, std::size_t& at) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (at >= bytes.size()) {
            throw std::out_of_range("a varint is cut off");
        }
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        value |= std::uint64_t{byte & 0x7fU} << shift;
        if (byte < 0x80) {
            return value;
        }
    }
}

// Wire types 0 and 2 and, as raw bytes, 1 and 5. Throws std::out_of_range when cut off.
inline std::vector<WireField> fields_of(std::string_view bytes) {
    std::vector<WireField> fields;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::uint64_t tag = take_varint(bytes, at);
        WireField field{static_cast<unsigned>(tag >> 3U), static_cast<unsigned>(tag & 7U), 0, {}};
        if (field.wire == 0) {
            field.value = take_varint(bytes, at);
        } else {
            const std::size_t size = field.wire == 1 ? 8 : field.wire == 5 ? 4 : take_varint(bytes, at);
            field.bytes = std::string(bytes.substr(at, size));
            at += size;
        }
        fields.push_back(field);
    }
    return fields;
}
inline std::vector<std::string> messages_of(std::string_view bytes) {
    std::vector<std::string> messages;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t size = take_varint(bytes, at);
        messages.emplace_back(bytes.substr(at, size));
        at += size;
    }
    return messages;
}
inline std::vector<std::uint64_t> packed(std::string_view bytes) {
    std::vector<std::uint64_t> values;
    for (std::size_t at = 0; at < bytes.size();) {
        values.push_back(take_varint(bytes, at));
    }
    return values;
}

} // namespace echosim::test
