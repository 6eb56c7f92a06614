// SPDX-License-Identifier: Apache-2.0
#include "comm_models/tree_shares.h"

#include <algorithm>
#include <cmath>

// Flows count in rates of a port. Ring: host i of a node sends to host i of the next node, over every port.
// All pairs: every port sends 1 / (hosts - 1) of its rate to the same port of every other host, so a group
// with a of the n hosts sends and receives a (n - a) / (n - 1) a port; to another group with b hosts a b /
// (n - 1).
namespace echosim {
namespace {

constexpr double kEcmpCollisions = 0.05; // assumed: few large flows, hashed to uplinks
constexpr std::int64_t kMostLinks = 1 << 22;

struct Load { // on one up- or downlink, or on all of a group
    std::int64_t link = 0;
    double flows = 0;
};

struct Hop {
    int from = 0;
    int to = 0;
};

// The largest sum of flows on one link. Links are numbered densely, so that counting them takes no more than
// twice their number; where a placement leaves wide gaps they are sorted.
double heaviest(std::vector<Load>& loads) {
    std::int64_t last = 0;
    for (const Load& load : loads)
        last = std::max(last, load.link);
    double most = 0;
    if (last < kMostLinks) {
        std::vector<double> sums(static_cast<std::size_t>(last) + 1, 0.0);
        for (const Load& load : loads)
            most = std::max(most, sums[static_cast<std::size_t>(load.link)] += load.flows);
        return most;
    }
    std::sort(loads.begin(), loads.end(), [](const Load& a, const Load& b) { return a.link < b.link; });
    double sum = 0;
    for (std::size_t i = 0; i < loads.size(); ++i) {
        sum = i > 0 && loads[i - 1].link == loads[i].link ? sum + loads[i].flows : loads[i].flows;
        most = std::max(most, sum);
    }
    return most;
}

double share(double capacity, double flows) {
    return flows > capacity ? capacity / flows : 1.0;
}

// Hops between nodes in the order of the ring; hosts of a domain side by side.
std::vector<Hop> ring_hops(const GroupPlaces& group) {
    std::vector<Hop> hops;
    const std::size_t nodes = group.node_ends.size();
    const auto begin = [&](std::size_t node) { return node == 0 ? 0U : group.node_ends[node - 1]; };
    for (std::size_t node = 0; node < nodes; ++node) {
        const std::size_t next = (node + 1) % nodes;
        const std::uint32_t width =
            std::min(group.node_ends[node] - begin(node), group.node_ends[next] - begin(next));
        for (std::uint32_t i = 0; i < width; ++i)
            hops.push_back({group.places[begin(node) + i], group.places[begin(next) + i]});
    }
    return hops;
}

// Ports of a node whose traffic meets on the links of a group of this level.
int ports_together(const FatTree& tree, int level) {
    return level == 0 && tree.rails() ? 1 : tree.ports();
}

int ports_below(const FatTree& tree, int level, Routing routing) {
    return routing == Routing::fixed ? ports_together(tree, level) : 1;
}

// The hops that cross this level: what they put on its uplinks and on its downlinks.
struct LevelLoads {
    std::vector<Load> up, down;
};

void add_hop(const FatTree& tree, int level, Routing routing, const Hop& hop, LevelLoads& loads) {
    const std::int64_t choices = tree.levels()[static_cast<std::size_t>(level)].choices;
    const int together = ports_together(tree, level);
    const int counted = ports_below(tree, level, routing);
    for (int port = 0; port < counted; ++port) {
        const Port from{hop.from, port}, to{hop.to, port};
        const std::int64_t choice = routing == Routing::fixed ? tree.fixed_choice(level, to) : 0;
        const double flows = static_cast<double>(together) / counted;
        loads.up.push_back({tree.group(level, from) * choices + choice, flows});
        loads.down.push_back({tree.group(level, to) * choices + choice, flows});
    }
}

double link_capacity(const FatTreeLevel& level, Routing routing) {
    return routing == Routing::fixed ? level.capacity / static_cast<double>(level.choices) : level.capacity;
}

double ring_share(const std::vector<Hop>& hops, const FatTree& tree, Routing routing) {
    double lowest = 1;
    for (int level = 0; level < static_cast<int>(tree.levels().size()); ++level) {
        LevelLoads loads;
        const std::size_t most = hops.size() * static_cast<std::size_t>(ports_below(tree, level, routing));
        loads.up.reserve(most);
        loads.down.reserve(most);
        for (const Hop& hop : hops)
            if (tree.climb({hop.from, 0}, {hop.to, 0}) > level)
                add_hop(tree, level, routing, hop, loads);
        if (loads.up.empty())
            break; // what crosses a level crosses those below
        const double capacity = link_capacity(tree.levels()[static_cast<std::size_t>(level)], routing);
        lowest =
            std::min({lowest, share(capacity, heaviest(loads.up)), share(capacity, heaviest(loads.down))});
    }
    return lowest;
}

// Ports that each link of a group of this level leads to, of the places given.
void count_ports(std::span<const int> places, const FatTree& tree, int level, Routing routing,
                 std::vector<double>& ports) {
    const int counted = ports_below(tree, level, routing);
    const double weight = static_cast<double>(ports_together(tree, level)) / counted;
    for (const int place : places)
        for (int port = 0; port < counted; ++port) {
            const std::int64_t choice =
                routing == Routing::fixed ? tree.fixed_choice(level, {place, port}) : 0;
            ports[static_cast<std::size_t>(choice)] += weight;
        }
}

// Most flows on a link of this level, over its groups; `places` ascend, and are those of at least two groups.
double heaviest_of_all_pairs(std::span<const int> places, int others, const FatTree& tree, int level,
                             Routing routing) {
    const FatTreeLevel& here = tree.levels()[static_cast<std::size_t>(level)];
    const auto links = static_cast<std::size_t>(routing == Routing::fixed ? here.choices : 1);
    std::vector<double> all(links, 0), inside(links);
    count_ports(places, tree, level, routing, all);
    const auto hosts = static_cast<double>(places.size());
    double most = 0;
    for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
        while (end < places.size() && places[end] / here.places == places[begin] / here.places)
            ++end;
        std::fill(inside.begin(), inside.end(), 0.0);
        count_ports(places.subspan(begin, end - begin), tree, level, routing, inside);
        const auto own = static_cast<double>(end - begin);
        for (std::size_t link = 0; link < links; ++link)
            most = std::max({most, own * (all[link] - inside[link]), (hosts - own) * inside[link]});
    }
    return most / others;
}

double all_pairs_share(const GroupPlaces& group, const FatTree& tree, Routing routing) {
    std::vector<int> places = group.places;
    std::sort(places.begin(), places.end());
    std::uint32_t least = group.node_ends.front(); // hosts of one node: they talk over NVLink
    for (std::size_t node = 1; node < group.node_ends.size(); ++node)
        least = std::min(least, group.node_ends[node] - group.node_ends[node - 1]);
    const int others = std::max(1, static_cast<int>(places.size() - least));
    double lowest = 1;
    for (int level = 0; level < static_cast<int>(tree.levels().size()); ++level) {
        const FatTreeLevel& here = tree.levels()[static_cast<std::size_t>(level)];
        if (places.front() / here.places == places.back() / here.places)
            break;
        // a group with so many uplinks is not told apart link by link
        const Routing counted = here.choices > kMostLinks ? Routing::adaptive : routing;
        lowest = std::min(lowest, share(link_capacity(here, counted),
                                        heaviest_of_all_pairs(places, others, tree, level, counted)));
    }
    return lowest;
}

int levels_of(const std::vector<Hop>& hops, const FatTree& tree) {
    int most = 0;
    for (const Hop& hop : hops)
        most = std::max(most, tree.climb({hop.from, 0}, {hop.to, 0}));
    return 1 + most;
}

// Two hosts: what each sends to the other is both the ring and all pairs. Without memory of its own, since a
// job has thousands of pairs.
double pair_share(int from, int to, int levels, const FatTree& tree, Routing routing) {
    double lowest = 1;
    for (int level = 0; level < levels; ++level) {
        const int together = ports_together(tree, level);
        int most = routing == Routing::fixed ? 1 : together;
        for (int port = 0; routing == Routing::fixed && port < together; ++port) {
            int same = 1;
            for (int other = 0; other < port; ++other)
                same += tree.fixed_choice(level, {to, port}) == tree.fixed_choice(level, {to, other}) ||
                        tree.fixed_choice(level, {from, port}) == tree.fixed_choice(level, {from, other});
            most = std::max(most, same);
        }
        lowest = std::min(
            lowest, share(link_capacity(tree.levels()[static_cast<std::size_t>(level)], routing), most));
    }
    return lowest;
}

double rounded(double share) {
    return std::round(share * 1e6) / 1e6;
}

} // namespace

TreeShares tree_shares(const GroupPlaces& group, const FatTree& tree, Routing routing) {
    TreeShares result;
    const double collisions = routing == Routing::ecmp ? 1 - kEcmpCollisions : 1;
    if (group.places.size() == 2) {
        const int from = group.places[0], to = group.places[1];
        const int levels = tree.climb({from, 0}, {to, 0});
        result.levels = levels + 1;
        if (levels > 0)
            result.ring = rounded(collisions * pair_share(from, to, levels, tree, routing));
        result.all_pairs = result.ring;
        return result;
    }
    const std::vector<Hop> hops = ring_hops(group);
    result.levels = levels_of(hops, tree);
    if (result.levels == 1)
        return result;
    result.ring = rounded(collisions * ring_share(hops, tree, routing));
    result.all_pairs = rounded(collisions * all_pairs_share(group, tree, routing));
    return result;
}

} // namespace echosim
