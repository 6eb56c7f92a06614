// SPDX-License-Identifier: Apache-2.0
// Patterns (graph.h of NCCL): 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6 CollNet direct. In "bw
// A/B" A is within a node, B between nodes, GB/s of one channel. The graphs that ranks find are merged to the
// least of all, as NCCL does (init.cc, after its third exchange).
#include "simulator/catalogue/nccl_log_communicators.h"

#include "simulator/catalogue/topology_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

constexpr int kMostChannels = 64;

void keep_least(int& value, int other) {
    if (other > 0 && other <= kMostChannels && (value == 0 || other < value))
        value = other;
}

void merge_graph(std::vector<ObservedGraph>& graphs, const ObservedGraph& graph) {
    for (ObservedGraph& known : graphs)
        if (known.pattern == graph.pattern) {
            known.channels = std::min(known.channels, graph.channels);
            known.intra = std::min(known.intra, graph.intra);
            known.inter = std::min(known.inter, graph.inter);
            return;
        }
    graphs.push_back(graph);
}

void merge(ObservedCommunicator& into, const ObservedCommunicator& from) {
    keep_least(into.collective_channels, from.collective_channels);
    keep_least(into.nvls_channels, from.nvls_channels);
    keep_least(into.p2p_channels, from.p2p_channels);
    keep_least(into.p2p_channels_per_peer, from.p2p_channels_per_peer);
    for (const ObservedGraph& graph : from.graphs)
        merge_graph(into.graphs, graph);
}

} // namespace

LogCommunicators::Printed& LogCommunicators::of(const LogSender& sender) {
    auto found = printing_.find(sender.thread);
    if (found == printing_.end())
        found = printing_.emplace(std::string(sender.thread), Printed{}).first;
    found->second.host = sender.host;
    return found->second;
}

bool LogCommunicators::take(const LogSender& sender, std::string_view m, int line) {
    if (m.starts_with("Pattern ")) {
        graph(of(sender), m);
    } else if (m.find(" coll channels") != std::string_view::npos) {
        channel_counts(of(sender), m);
    } else if ((m.starts_with("Channel ") || m.starts_with("Ring ")) &&
               m.find(" via ") != std::string_view::npos) {
        connection(m);
    } else if (m.starts_with("Channel ") && m.find("->") == std::string_view::npos) {
        keep_least(of(sender).found.collective_channels, int_after(m, "/").value_or(0));
    } else if (m.find("comm 0x") != std::string_view::npos && m.find("anks ") != std::string_view::npos) {
        rank(of(sender), m, line);
    } else {
        return false;
    }
    return true;
}

void LogCommunicators::close() {
    for (auto& [thread, printed] : printing_)
        commit(printed);
    printing_.clear();
}

// "Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0": rank and device; older versions print the bus id
// instead, which is 0x1000 at least.
void LogCommunicators::connection(std::string_view m) {
    constexpr int kMostDevices = 64;
    for (std::size_t at = m.find('['); at != std::string_view::npos; at = m.find('[', at + 1)) {
        const std::string_view inside = m.substr(at + 1, m.find(']', at) - at - 1);
        const int device = leading_int(inside).value_or(-1);
        if (device < kMostDevices && inside.find_first_not_of("0123456789") == std::string_view::npos)
            highest_device_ = std::max(highest_device_, device);
    }
}

void LogCommunicators::rank(Printed& printed, std::string_view m, int line) {
    if (m.ends_with("Init START"))
        commit(printed);
    const int ranks =
        int_after(m, m.find("nRanks ") != std::string_view::npos ? "nRanks " : "nranks ").value_or(0);
    if (ranks < 1)
        return;
    printed.ranks = ranks;
    printed.rank = int_after(m, " rank ").value_or(printed.rank);
    printed.line = printed.line == 0 ? line : printed.line;
    printed.nodes = int_after(m, "nNodes ").value_or(printed.nodes);
    printed.local_ranks = int_after(m, "localRanks ").value_or(printed.local_ranks);
    if (const auto device =
            int_after(m, m.find("nvmlDev ") != std::string_view::npos ? "nvmlDev " : "cudaDev "))
        printed.device = *device;
    if (const std::string_view id = word_after(m, "commId "); !id.empty())
        printed.key = id;
    if (m.ends_with("Init COMPLETE")) {
        commit(printed);
        complete_ = true;
    }
}

void LogCommunicators::graph(Printed& printed, std::string_view m) {
    const int pattern = int_after(m, "Pattern ").value_or(0);
    const std::string_view label = m.find(", bw ") != std::string_view::npos ? ", bw " : ", speed ";
    ObservedGraph graph;
    graph.channels = int_after(m, "nChannels ").value_or(0);
    graph.intra = number_after(m, label).value_or(0);
    const std::size_t slash = m.find('/', m.find(label));
    graph.inter = slash == std::string_view::npos ? 0 : leading_number(m.substr(slash + 1)).value_or(0);
    const bool tree = pattern >= 1 && pattern <= 3;
    graph.pattern = pattern == 4 ? "ring" : pattern == 5 ? "nvls" : pattern == 6 ? "collnet" : "tree";
    if (tree && printed.tree_seen)
        graph.pattern = "collnet";
    printed.tree_seen = printed.tree_seen || tree;
    if (graph.channels >= 1 && graph.channels <= kMostChannels && pattern >= 1 && pattern <= 6)
        merge_graph(printed.found.graphs, graph);
}

void LogCommunicators::channel_counts(Printed& printed, std::string_view m) {
    ObservedCommunicator counts;
    for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
        end = m.find(',', begin);
        const std::string_view item = trimmed(m.substr(begin, end - begin));
        const int count = leading_int(item).value_or(0);
        if (item.ends_with(" coll channels"))
            counts.collective_channels = count;
        else if (item.ends_with(" nvls channels"))
            counts.nvls_channels = count;
        else if (item.ends_with(" p2p channels"))
            counts.p2p_channels = count;
        else if (item.ends_with(" p2p channels per peer"))
            counts.p2p_channels_per_peer = count;
    }
    printed.found.collective_channels = 0; // the last word on it
    merge(printed.found, counts);
}

void LogCommunicators::commit(Printed& printed) {
    const std::string host = printed.host;
    if (printed.ranks > 0) {
        Communicator& comm =
            communicators_[printed.key.empty() ? fmt::format("{} ranks", printed.ranks) : printed.key];
        comm.found.ranks = printed.ranks;
        comm.found.nodes = std::max(comm.found.nodes, printed.nodes);
        comm.line = comm.line == 0 ? printed.line : std::min(comm.line, printed.line);
        comm.local_ranks = std::max(comm.local_ranks, printed.local_ranks);
        comm.ranks_seen.insert(printed.rank);
        comm.hosts.insert(host);
        if (printed.device >= 0)
            devices_[host].insert(printed.device);
        merge(comm.found, printed.found);
    }
    printed = {};
    printed.host = host;
}

void LogCommunicators::note_gpus(TopologyFacts& facts) const {
    Seen<int> most;
    bool exact = false;
    for (const auto& [key, comm] : communicators_) {
        int here = comm.local_ranks;
        exact = exact || comm.local_ranks > 0 || (comm.all_seen() && comm.found.ranks > 1);
        if (comm.hosts.size() == 1 && comm.all_seen())
            here = std::max(here, comm.found.ranks);
        for (const std::string& host : comm.hosts)
            if (const auto found = devices_.find(host); found != devices_.end())
                here = std::max(here, static_cast<int>(found->second.size()));
        if (here > most.value)
            most = {here, comm.line};
    }
    facts.gpus_at_least = std::max({facts.gpus_at_least, most.value, highest_device_ + 1});
    if (exact && most.value > facts.gpus.value)
        facts.gpus = most;
    if (!complete_)
        facts.warnings.push_back("no communicator of the log reached \"Init COMPLETE\": it is cut off, or "
                                 "the job hung");
}

void LogCommunicators::note_observed(TopologyFacts& facts) {
    std::map<std::pair<int, int>, ObservedCommunicator> kept; // by ranks and nodes
    int line = 0;
    for (auto& [key, comm] : communicators_) {
        ObservedCommunicator& found = comm.found;
        if (found.nodes == 0 && comm.all_seen())
            found.nodes = static_cast<int>(comm.hosts.size());
        const bool says_something = found.collective_channels > 0 || !found.graphs.empty();
        if (found.ranks < 2 || !says_something)
            continue;
        line = line == 0 ? comm.line : std::min(line, comm.line);
        ObservedCommunicator& place = kept[{-found.ranks, found.nodes}];
        place.ranks = found.ranks;
        place.nodes = found.nodes;
        merge(place, found);
    }
    std::vector<ObservedCommunicator> list;
    for (auto& [key, found] : kept)
        list.push_back(std::move(found));
    if (!list.empty())
        facts.observed.note(std::move(list), line);
}

} // namespace echosim
