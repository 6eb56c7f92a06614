// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/messages.h"

#include "simulator/core/error.h"

#include <fmt/format.h>
#include <limits>

namespace echosim {

std::optional<std::uint64_t> read_varint(std::span<const std::byte> bytes, std::size_t& at) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
        const auto byte = static_cast<std::uint64_t>(bytes[at++]);
        value |= (byte & 0x7fU) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    return std::nullopt;
}

std::optional<DelimitedMessages::Message> DelimitedMessages::next() {
    if (at_ == bytes_.size()) {
        return std::nullopt;
    }
    const std::size_t begin = at_;
    const std::optional<std::uint64_t> length = read_varint(bytes_, at_);
    if (!length) {
        throw InputError(fmt::format("{}:{}", path_, begin),
                         "the length of a message is cut off or no varint",
                         "the file is damaged, or not a Chakra trace");
    }
    const std::size_t left = bytes_.size() - at_;
    if (*length > left || *length > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
        throw InputError(
            fmt::format("{}:{}", path_, begin),
            fmt::format("a message of {} bytes; {} are left (a message has at most 2 GiB)", *length, left),
            "the file is cut off or damaged, or not a Chakra trace");
    }
    const Message message{at_, bytes_.subspan(at_, static_cast<std::size_t>(*length))};
    at_ += message.bytes.size();
    return message;
}

} // namespace echosim
