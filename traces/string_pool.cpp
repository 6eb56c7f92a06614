// SPDX-License-Identifier: Apache-2.0
#include "traces/string_pool.h"

#include <functional>
#include <stdexcept>

namespace echosim {

std::string_view StringPool::operator[](NameId id) const {
    const std::uint64_t end = ends_.at(id.value);
    const std::uint64_t begin = id.value == 0 ? 0 : ends_[id.value - 1];
    return std::string_view(bytes_).substr(begin, end - begin);
}

// The slot that holds `text`, or the free slot where it belongs.
std::size_t StringPool::slot_of(std::string_view text) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = std::hash<std::string_view>{}(text)&mask;
    while (slots_[slot] != 0 && (*this)[NameId{slots_[slot] - 1}] != text) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

void StringPool::grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
    for (std::uint32_t i = 0; i < ends_.size(); ++i) {
        slots_[slot_of((*this)[NameId{i}])] = i + 1;
    }
}

NameId StringPool::intern(std::string_view text) {
    if (ends_.size() * 2 >= slots_.size()) {
        grow();
    }
    const std::size_t slot = slot_of(text);
    if (slots_[slot] != 0) {
        return NameId{slots_[slot] - 1};
    }
    if (ends_.size() >= 0xfffffff0U) {
        throw std::length_error("more than 2^32 different names");
    }
    bytes_.append(text);
    ends_.push_back(bytes_.size());
    slots_[slot] = static_cast<std::uint32_t>(ends_.size());
    return NameId{slots_[slot] - 1};
}

} // namespace echosim
