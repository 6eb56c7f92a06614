// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/ids.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace echosim {

// Strings stored once, end to end, and named by a 4-byte index in order of first use. A value: copies are
// independent. Views stay valid until the next intern().
class StringPool {
  public:
    NameId intern(std::string_view text);
    std::string_view operator[](NameId id) const; // throws std::out_of_range
    std::size_t size() const { return ends_.size(); }
    std::string_view bytes() const { return bytes_; }
    const std::vector<std::uint64_t>& ends() const { return ends_; } // end of each string in bytes()
    bool operator==(const StringPool& other) const { return bytes_ == other.bytes_ && ends_ == other.ends_; }

  private:
    void grow();
    std::size_t slot_of(std::string_view text) const;
    std::string bytes_;
    std::vector<std::uint64_t> ends_;
    std::vector<std::uint32_t> slots_; // open addressing, a power of two; 0 = free, else index + 1
};

} // namespace echosim
