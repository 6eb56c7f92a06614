// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace echosim {

// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78, initial value and final xor all ones), as iSCSI and
// ext4 use it: the CRC of "123456789" is 0xe3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes);

} // namespace echosim
