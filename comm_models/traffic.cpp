// SPDX-License-Identifier: Apache-2.0
#include "comm_models/traffic.h"

#include "comm_models/binary_tree.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace echosim {
namespace {

using Members = std::vector<int>; // global ranks of one node

std::vector<Members> nodes_of(std::span<const int> ranks, const Cluster& cluster) {
    const int domain = cluster.node.nvlink.bandwidth > 0 ? std::max(1, cluster.nvlink_domain_nodes) : 1;
    const int gpus = std::max(1, cluster.node.gpus) * domain;
    std::vector<Members> nodes;
    std::unordered_map<int, std::size_t> known;
    for (const int rank : ranks) {
        const auto [it, added] = known.try_emplace(rank / gpus, nodes.size());
        if (added)
            nodes.emplace_back();
        nodes[it->second].push_back(rank);
    }
    return nodes;
}

class Traffic {
  public:
    Traffic(const Collective& collective, std::span<const int> ranks, FabricLinks& fabric)
        : kind_(collective.kind),
          bytes_(static_cast<double>(std::max(collective.bytes, collective.largest_rank_bytes))),
          ranks_(ranks), fabric_(fabric), nodes_(nodes_of(ranks, fabric.cluster())) {
        for (const Members& node : nodes_)
            least_ = std::min(least_, node.size());
        lanes_ = nodes_.size() > 1 ? least_ : 1;
    }

    void ring();
    void tree();
    void nvls(bool trees);
    void collnet(bool chain);
    void pat();
    void direct();
    std::vector<LinkBytes> result();

  private:
    int member(std::size_t node, std::size_t lane) const { return nodes_[node][lane % nodes_[node].size()]; }
    void put(LinkId link, double bytes);
    void send(int from, int to, double bytes);
    bool closes(int from, int to) const;
    double ring_volume() const;
    void up_and_down(int child, int parent, double bytes);
    void chains();
    void node_trees();
    void into_network();
    void all_pairs(double pair);
    void to_node(const Members& from, const Members& to, double pair);

    CollectiveKind kind_;
    double bytes_;
    std::span<const int> ranks_;
    FabricLinks& fabric_;
    std::vector<Members> nodes_;
    std::size_t least_ = SIZE_MAX;
    std::size_t lanes_ = 1;
    void merge();
    std::vector<LinkBytes> on_;   // with repetitions, which merge() adds up
    std::size_t merge_at_ = 4096; // entries
    std::vector<LinkId> path_;
};

void Traffic::put(LinkId link, double bytes) {
    on_.push_back({link, bytes});
    if (on_.size() >= merge_at_) {
        merge();
        merge_at_ = std::max<std::size_t>(4096, 2 * on_.size());
    }
}

// One entry a link, in their order. A fabric may have millions of links of which a group uses few.
void Traffic::merge() {
    std::ranges::stable_sort(on_, {}, &LinkBytes::link);
    std::size_t kept = 0;
    for (std::size_t i = 1; i < on_.size(); ++i)
        if (on_[i].link == on_[kept].link)
            on_[kept].bytes += on_[i].bytes;
        else
            on_[++kept] = on_[i];
    on_.resize(on_.empty() ? 0 : kept + 1);
}

void Traffic::send(int from, int to, double bytes) {
    if (from == to || bytes <= 0)
        return;
    path_.clear();
    fabric_.path(from, to, -1, path_);
    for (const LinkId link : path_)
        put(link, bytes);
    put(fabric_.hbm(from), bytes);
    put(fabric_.hbm(to), bytes);
}

// Broadcast and reduce leave out the hop that closes the ring.
bool Traffic::closes(int from, int to) const {
    return (kind_ == CollectiveKind::broadcast && to == ranks_.front()) ||
           (kind_ == CollectiveKind::reduce && from == ranks_.front());
}

double Traffic::ring_volume() const {
    const auto n = static_cast<double>(ranks_.size());
    if (kind_ == CollectiveKind::broadcast || kind_ == CollectiveKind::reduce)
        return bytes_;
    return (kind_ == CollectiveKind::all_reduce ? 2 : 1) * (n - 1) / n * bytes_;
}

void Traffic::ring() {
    const double part = ring_volume() / static_cast<double>(lanes_);
    for (std::size_t lane = 0; lane < lanes_; ++lane)
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            const std::size_t count = nodes_[node].size();
            for (std::size_t i = 0; i + 1 < count; ++i)
                if (!closes(member(node, lane + i), member(node, lane + i + 1)))
                    send(member(node, lane + i), member(node, lane + i + 1), part);
            const int head = member(node, lane), last = member(node, lane + count - 1);
            const int next = member((node + 1) % nodes_.size(), lane);
            if (closes(last, next))
                continue;
            send(last, head, part); // within one node that is the ring's last hop
            send(head, next, part);
        }
}

void Traffic::up_and_down(int child, int parent, double bytes) {
    if (kind_ != CollectiveKind::broadcast)
        send(child, parent, bytes);
    if (kind_ != CollectiveKind::reduce)
        send(parent, child, bytes);
}

// The members of a node hang in a chain under the one next to the NIC.
void Traffic::chains() {
    for (std::size_t node = 0; node < nodes_.size(); ++node)
        for (std::size_t lane = 0; lane < lanes_; ++lane)
            for (std::size_t i = 1; i < nodes_[node].size(); ++i)
                up_and_down(member(node, lane + i), member(node, lane + i - 1),
                            bytes_ / static_cast<double>(lanes_));
}

void Traffic::node_trees() {
    if (nodes_.size() < 2)
        return;
    const double part = bytes_ / 2 / static_cast<double>(lanes_);
    for (const BinaryTree& tree : double_binary_tree(static_cast<int>(nodes_.size())))
        for (std::size_t node = 0; node < nodes_.size(); ++node)
            for (std::size_t lane = 0; lane < lanes_ && tree.parent[node] >= 0; ++lane)
                up_and_down(member(node, lane), member(static_cast<std::size_t>(tree.parent[node]), lane),
                            part);
}

void Traffic::tree() {
    chains();
    node_trees();
}

// Switches of the network reduce and copy: each node sends its data once and gets the result once.
void Traffic::into_network() {
    if (nodes_.size() < 2)
        return;
    const double part = bytes_ / static_cast<double>(lanes_), own = part / static_cast<double>(nodes_.size());
    for (std::size_t node = 0; node < nodes_.size(); ++node)
        for (std::size_t lane = 0; lane < lanes_; ++lane) {
            put(fabric_.nic(member(node, lane), true), kind_ == CollectiveKind::all_gather ? own : part);
            put(fabric_.nic(member(node, lane), false), kind_ == CollectiveKind::reduce_scatter ? own : part);
        }
}

void Traffic::nvls(bool trees) {
    for (const Members& node : nodes_) {
        const double part = bytes_ / static_cast<double>(node.size());
        const double out = kind_ == CollectiveKind::all_gather ? 0 : bytes_;
        const double in = kind_ == CollectiveKind::reduce_scatter ? 0 : bytes_;
        for (const int rank : node) {
            put(fabric_.nvlink(rank, true), out + (in > 0 ? part : 0));
            put(fabric_.nvlink(rank, false), in + (out > 0 ? part : 0));
            put(fabric_.hbm(rank), out + in);
        }
    }
    trees ? node_trees() : into_network();
}

void Traffic::collnet(bool chain) {
    if (chain)
        chains();
    else
        for (const Members& node : nodes_)
            for (const int from : node)
                for (const int to : node)
                    send(from, to, 2 * bytes_ / static_cast<double>(node.size()));
    into_network();
}

void Traffic::pat() {
    const std::size_t n = ranks_.size();
    for (std::size_t reach = 1; reach < n; reach *= 2)
        for (std::size_t i = 0; i < n; ++i)
            send(ranks_[i], ranks_[(i + reach) % n],
                 bytes_ * static_cast<double>(std::min(reach, n - reach)) / static_cast<double>(n));
}

void Traffic::all_pairs(double pair) {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        for (const int from : nodes_[node])
            for (const int to : nodes_[node])
                send(from, to, pair);
        for (std::size_t other = 0; other < nodes_.size(); ++other)
            if (other != node)
                to_node(nodes_[node], nodes_[other], pair);
    }
}

// From every member of a node to every member of another one: together over the member of the same rail.
void Traffic::to_node(const Members& from, const Members& to, double pair) {
    const Node& hardware = fabric_.cluster().node;
    const int gpus = std::max(1, hardware.gpus);
    const auto rail = [&](int rank) { return port_of(hardware, rank % gpus); };
    for (const int target : to) {
        const auto proxy = std::ranges::find(from, rail(target), rail);
        if (proxy == from.end()) {
            for (const int rank : from)
                send(rank, target, pair);
            continue;
        }
        for (const int rank : from)
            if (rail(rank) != rail(target))
                send(rank, *proxy, pair);
            else if (rank != *proxy)
                send(rank, target, pair);
        const auto others = std::ranges::count_if(
            from, [&](int rank) { return rank == *proxy || rail(rank) != rail(target); });
        send(*proxy, target, pair * static_cast<double>(others));
    }
}

void Traffic::direct() {
    const auto n = static_cast<double>(ranks_.size());
    const int root = ranks_.front();
    switch (kind_) {
    case CollectiveKind::send_recv:
        return send(root, ranks_[1], bytes_);
    case CollectiveKind::gather:
    case CollectiveKind::reduce:
        for (const int rank : ranks_)
            send(rank, root, kind_ == CollectiveKind::gather ? bytes_ / n : bytes_);
        return;
    case CollectiveKind::scatter:
    case CollectiveKind::broadcast:
        for (const int rank : ranks_)
            send(root, rank, kind_ == CollectiveKind::scatter ? bytes_ / n : bytes_);
        return;
    case CollectiveKind::all_reduce:
        return all_pairs(2 * bytes_ / n);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
        return all_pairs(bytes_ / n);
    }
}

std::vector<LinkBytes> Traffic::result() {
    merge();
    std::erase_if(on_, [](const LinkBytes& load) { return load.bytes <= 0; });
    return std::move(on_);
}

} // namespace

std::vector<LinkBytes> traffic_of(const Collective& collective, Algorithm algorithm,
                                  std::span<const int> ranks, FabricLinks& fabric) {
    if (ranks.size() < 2)
        return {};
    Traffic traffic(collective, ranks, fabric);
    switch (algorithm) {
    case Algorithm::ring:
        traffic.ring();
        break;
    case Algorithm::tree:
        traffic.tree();
        break;
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
        traffic.nvls(algorithm == Algorithm::nvls_tree);
        break;
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
        traffic.collnet(algorithm == Algorithm::collnet_chain);
        break;
    case Algorithm::pat:
        traffic.pat();
        break;
    case Algorithm::direct:
        traffic.direct();
        break;
    }
    return traffic.result();
}

} // namespace echosim
