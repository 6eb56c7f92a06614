// SPDX-License-Identifier: Apache-2.0
#include "comm_models/node_placement.h"

#include "comm_models/fat_tree.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <numeric>
#include <random>

namespace echosim {
namespace {

constexpr int kLastPlace = 10'000'000;
constexpr const char* kWhere = "--placement";
constexpr const char* kAllowed =
    "allowed: packed, spread, shuffled:SEED, or a list of places such as 3,1,2,0";

template <class Number> bool read_number(std::string_view text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

std::vector<int> in_order(int nodes) {
    std::vector<int> places(static_cast<std::size_t>(nodes));
    std::iota(places.begin(), places.end(), 0);
    return places;
}

// Fisher-Yates with a generator that the standard fixes, so that every build shuffles alike.
std::vector<int> shuffled(int nodes, std::uint64_t seed) {
    std::vector<int> places = in_order(nodes);
    std::mt19937_64 random(seed);
    for (std::size_t i = places.size(); i > 1; --i)
        std::swap(places[i - 1], places[random() % i]);
    return places;
}

std::vector<int> spread(int nodes, const Cluster& cluster) {
    const FatTree tree(cluster);
    const int leaf = tree.levels().empty() ? nodes : static_cast<int>(tree.levels().front().places);
    const int leaves = std::max(2, (nodes + leaf - 1) / leaf);
    std::vector<int> places = in_order(nodes);
    if (nodes > 1 && !tree.levels().empty())
        for (int node = 0; node < nodes; ++node)
            places[static_cast<std::size_t>(node)] = node % leaves * leaf + node / leaves;
    return places;
}

std::vector<int> listed(std::string_view text, int nodes) {
    std::vector<int> places;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        int place = -1;
        if (!read_number(text.substr(begin, end - begin), place) || place < 0 || place > kLastPlace)
            throw InputError(kWhere, fmt::format("read \"{}\"; {}", text, kAllowed));
        places.push_back(place);
        begin = end + 1;
    }
    if (places.size() != static_cast<std::size_t>(nodes))
        throw InputError(kWhere, fmt::format("{} places for {} nodes", places.size(), nodes),
                         "give one place for each node of the job");
    std::vector<int> sorted = places;
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice != sorted.end())
        throw InputError(kWhere, fmt::format("place {} is given to two nodes", *twice),
                         "a place holds one node");
    return places;
}

} // namespace

NodePlacement placement_from(std::string_view text, int nodes, const Cluster& cluster) {
    constexpr std::string_view kShuffled = "shuffled:";
    NodePlacement placement;
    placement.nodes = nodes;
    if (text == "packed")
        return placement;
    if (text == "spread") {
        placement.node_of = spread(nodes, cluster);
        return placement;
    }
    if (text.starts_with(kShuffled)) {
        std::uint64_t seed = 0;
        if (!read_number(text.substr(kShuffled.size()), seed))
            throw InputError(kWhere, fmt::format("read \"{}\"; {}", text, kAllowed),
                             "SEED is a whole number, for example shuffled:1");
        placement.node_of = shuffled(nodes, seed);
        return placement;
    }
    placement.node_of = listed(text, nodes);
    return placement;
}

int place_of(const NodePlacement& placement, int node) {
    const auto index = static_cast<std::size_t>(node);
    return index < placement.node_of.size() ? placement.node_of[index] : node;
}

int site_of(const Cluster& cluster, const NodePlacement& placement, int place) {
    if (cluster.sites.count <= 1 || placement.nodes <= 0)
        return 0;
    const int run = (placement.nodes + cluster.sites.count - 1) / cluster.sites.count;
    return std::min(place / run, cluster.sites.count - 1);
}

} // namespace echosim
