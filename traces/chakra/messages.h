// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace echosim {

// Messages behind their lengths (varints), one at a time: no length is believed beyond the end of the bytes.
class DelimitedMessages {
  public:
    struct Message {
        std::size_t offset = 0; // of its first byte, behind the length
        std::span<const std::byte> bytes;
    };
    DelimitedMessages(const std::string& path, std::span<const std::byte> bytes)
        : path_(path), bytes_(bytes) {}
    std::optional<Message> next(); // nothing: the end. Throws InputError "FILE:OFFSET"

  private:
    std::string path_;
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

// The base-128 number at `at`, which moves behind it; empty: cut off, or longer than 10 bytes.
std::optional<std::uint64_t> read_varint(std::span<const std::byte> bytes, std::size_t& at);

} // namespace echosim
