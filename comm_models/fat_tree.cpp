// SPDX-License-Identifier: Apache-2.0
#include "comm_models/fat_tree.h"

#include <algorithm>
#include <cmath>

namespace echosim {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;

// Ports come whole, and at least one.
std::int64_t whole(double value) {
    return std::clamp<std::int64_t>(std::llround(value), 1, kMost);
}

double ports_down(const FabricLevel& level) {
    return level.radix * level.oversubscription / (1 + level.oversubscription);
}

std::uint64_t mix(std::uint64_t x) { // SplitMix64's finaliser
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
}

std::uint64_t key_of(const Port& port) {
    return (static_cast<std::uint64_t>(port.place) << 16U) | static_cast<std::uint64_t>(port.port);
}

} // namespace

int ports_of(const Node& node) {
    return std::max(1, std::min(node.nics.count, node.gpus));
}

int port_of(const Node& node, int gpu) {
    return gpu * ports_of(node) / std::max(1, node.gpus);
}

int gpu_next_to(const Node& node, int port) {
    const int ports = ports_of(node);
    return (port * std::max(1, node.gpus) + ports - 1) / ports;
}

FatTree::FatTree(const Cluster& cluster)
    : ports_(ports_of(cluster.node)), rails_(cluster.fabric.rail_optimised) {
    const int nics = std::max(1, cluster.node.nics.count);
    levels_.reserve(cluster.fabric.levels.size());
    FatTreeLevel below; // one node
    for (const FabricLevel& listed : cluster.fabric.levels) {
        const bool leaf = levels_.empty();
        // how many NICs of a node, or rails, the switch's ports down are divided by
        const int divided = leaf == rails_ || levels_.size() > 1 ? 1 : nics;
        const std::int64_t wide = std::max<std::int64_t>(1, whole(ports_down(listed)) / divided);
        const double groups = static_cast<double>(wide * (divided > 1 ? ports_ : 1));
        const double up = groups / listed.oversubscription;
        FatTreeLevel level;
        level.hop = listed.hop_latency;
        level.places = std::min(kMost, below.places * wide);
        level.choices = std::min(kMost, below.choices * whole(up));
        level.capacity = below.capacity * (up < 0.5 ? up : static_cast<double>(whole(up)));
        levels_.push_back(level);
        below = level;
    }
}

std::int64_t FatTree::group(int level, const Port& port) const {
    const std::int64_t row = port.place / levels_[static_cast<std::size_t>(level)].places;
    return level == 0 && rails_ ? row * ports_ + port.port : row;
}

int FatTree::climb(const Port& a, const Port& b) const {
    int level = 0;
    while (level < static_cast<int>(levels_.size()) && group(level, a) != group(level, b))
        ++level;
    return level;
}

std::int64_t FatTree::fixed_choice(int level, const Port& destination) const {
    const std::int64_t leaf = levels_.front().choices;
    const std::int64_t above = levels_[static_cast<std::size_t>(level)].choices / leaf;
    if (!rails_) {
        const std::int64_t index = std::int64_t{destination.place} * ports_ + destination.port;
        return index % (leaf * above);
    }
    const std::int64_t row = destination.place / leaf;
    return destination.place % leaf + leaf * ((row * ports_ + destination.port) % above);
}

std::int64_t FatTree::hashed_choice(int level, const Port& source, const Port& destination) const {
    const std::uint64_t hash = mix(mix(key_of(source)) ^ key_of(destination));
    return static_cast<std::int64_t>(hash >> 1U) % levels_[static_cast<std::size_t>(level)].choices;
}

} // namespace echosim
