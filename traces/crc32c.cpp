// SPDX-License-Identifier: Apache-2.0
#include "traces/crc32c.h"

#include <array>
#include <cstring>

namespace echosim {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: CRC of byte b followed by k zero bytes ("slicing by 8").
constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82f63b78U : 0U);
        }
        tables[0][byte] = crc;
    }
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        for (std::size_t k = 1; k < 8; ++k) {
            const std::uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8U) ^ tables[0][before & 0xffU];
        }
    }
    return tables;
}

constexpr Tables kTables = make_tables();

std::uint64_t load_word(const std::byte* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
}

std::uint32_t step(std::uint32_t crc, std::byte byte) {
    return (crc >> 8U) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(byte)) & 0xffU];
}

std::uint32_t by_tables(std::uint32_t crc, std::span<const std::byte> bytes) {
    while (bytes.size() >= 8) {
        const std::uint64_t word = load_word(bytes.data()) ^ crc;
        crc = 0;
        for (std::size_t k = 0; k < 8; ++k) {
            crc ^= kTables[7 - k][(word >> (8 * k)) & 0xffU];
        }
        bytes = bytes.subspan(8);
    }
    for (const std::byte byte : bytes) {
        crc = step(crc, byte);
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t crc,
                                                               std::span<const std::byte> bytes) {
    std::uint64_t wide = crc;
    while (bytes.size() >= 8) {
        wide = __builtin_ia32_crc32di(wide, load_word(bytes.data()));
        bytes = bytes.subspan(8);
    }
    return by_tables(static_cast<std::uint32_t>(wide), bytes);
}
#endif

} // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) {
        return ~by_instruction(0xffffffffU, bytes);
    }
#endif
    return ~by_tables(0xffffffffU, bytes);
}

} // namespace echosim
