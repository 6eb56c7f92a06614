// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace echosim {

// A 4-byte index that cannot be mixed up with another kind of index.
template <class Tag> struct Id {
    std::uint32_t value = 0;
    constexpr auto operator<=>(const Id&) const = default;
};

using Rank = Id<struct RankTag>;           // global rank of the job, 0 .. world size - 1
using RankClass = Id<struct RankClassTag>; // ranks that are provably identical
using NameId = Id<struct NameTag>;         // interned string
using BlockId = Id<struct BlockTag>;       // block of an execution graph

} // namespace echosim

template <class Tag> struct std::hash<echosim::Id<Tag>> {
    std::size_t operator()(echosim::Id<Tag> id) const noexcept { return id.value; }
};
