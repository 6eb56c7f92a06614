// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's analytical network: one entry a dimension, the innermost first.
//
//     topology:   [ Switch, Ring ]   # Ring, Switch, FullyConnected
//     npus_count: [ 8, 4 ]           # NPUs of one group of the dimension: 32 in all
//     bandwidth:  [ 400, 50 ]        # GB/s (1e9) of one link, one direction
//     latency:    [ 936.25, 1000 ]   # ns of one link
//
// (astra-network-analytical: a ring is bidirectional, two links an NPU; fully connected is a link to each
// other; a switch is one link an NPU, and two links from NPU to NPU.) Dimension 1 becomes the node,
// dimension 2 its NICs, one for each GPU on the rail of its own, each further dimension a level of switches
// above.
#include "simulator/catalogue/network_facts.h"
#include "simulator/catalogue/topology_text.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <yaml-cpp/yaml.h>

namespace echosim {
namespace {

constexpr std::size_t kMaxText = 1U << 20U;
constexpr std::size_t kMaxDimensions = 8;
constexpr std::int64_t kMaxNodes = 1 << 20;
constexpr std::array<std::string_view, 3> kShapes = {"Ring", "Switch", "FullyConnected"};

struct Dimension {
    std::string shape;
    int npus = 0;
    double bandwidth = 0; // bytes/s of a link
    double latency = 0;   // seconds of a link
};

class NetworkReader {
  public:
    NetworkReader(const YAML::Node& root, const std::string& name) : root_(root), name_(name) {}
    std::vector<Dimension> dimensions();
    int line(const char* key) const { return root_[key].Mark().line + 1; }

  private:
    void fail(int line, std::string message, std::string hint = {}) {
        problems_.push_back({fmt::format("{}:{}", name_, line), std::move(message), std::move(hint)});
    }
    std::vector<YAML::Node> list(const char* key);
    std::optional<double> number(const char* key, std::size_t dimension, const char* unit);

    const YAML::Node& root_;
    const std::string& name_;
    std::vector<Problem> problems_;
};

std::string text_of(const YAML::Node& node) {
    if (node.IsScalar())
        return node.Scalar().substr(0, 64);
    return node.IsNull() ? "nothing" : node.IsMap() ? "a map" : "a list";
}

// The entries of a key; a single value counts as a list of one.
std::vector<YAML::Node> NetworkReader::list(const char* key) {
    const YAML::Node node = root_[key];
    std::vector<YAML::Node> entries;
    if (!node || node.IsNull())
        fail(root_.Mark().line + 1, fmt::format("the key \"{}\" is missing", key),
             "topology, npus_count, bandwidth (GB/s) and latency (ns), each a list with one entry a "
             "dimension");
    else if (node.IsScalar())
        entries.push_back(node);
    else if (!node.IsSequence() || node.size() == 0 || node.size() > kMaxDimensions)
        fail(node.Mark().line + 1,
             fmt::format("\"{}\" holds {} entries; a list of 1 to {}", key, node.size(), kMaxDimensions));
    else
        for (const YAML::Node& entry : node)
            entries.push_back(entry);
    return entries;
}

std::optional<double> NetworkReader::number(const char* key, std::size_t dimension, const char* unit) {
    const YAML::Node node = root_[key];
    const YAML::Node entry = node.IsScalar() ? node : node[dimension];
    const std::string text = text_of(entry);
    const std::optional<double> value = leading_number(text);
    const bool whole = value && text.find_first_not_of("0123456789.eE+-") == text.npos;
    if (!whole || !std::isfinite(*value) || *value < 0 || *value > 1e9) {
        fail(entry.Mark().line + 1, fmt::format("{} of dimension {}: \"{}\" is not a number ({}, 0 to 1e9)",
                                                key, dimension + 1, text, unit));
        return std::nullopt;
    }
    return value;
}

std::vector<Dimension> NetworkReader::dimensions() {
    const std::vector<YAML::Node> shapes = list("topology");
    for (const char* key : {"npus_count", "bandwidth", "latency"}) {
        const std::size_t entries = list(key).size();
        if (entries != 0 && !shapes.empty() && entries != shapes.size())
            fail(line(key), fmt::format("\"{}\" has {} entries, topology has {}: one for each dimension", key,
                                        entries, shapes.size()));
    }
    if (!problems_.empty())
        throw InputError(problems_);
    std::vector<Dimension> result;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        Dimension dimension{.shape = text_of(shapes[i])};
        if (std::find(kShapes.begin(), kShapes.end(), dimension.shape) == kShapes.end())
            fail(shapes[i].Mark().line + 1,
                 fmt::format("topology of dimension {}: unknown \"{}\"; Ring, Switch or FullyConnected",
                             i + 1, dimension.shape));
        const auto npus = number("npus_count", i, "NPUs");
        const auto bandwidth = number("bandwidth", i, "GB/s");
        const auto latency = number("latency", i, "ns");
        if (npus && (*npus < 1 || *npus > 1 << 20 || *npus != std::floor(*npus)))
            fail(line("npus_count"),
                 fmt::format("npus_count of dimension {}: {} is not a whole number from 1 "
                             "to 1048576",
                             i + 1, *npus));
        if (bandwidth && *bandwidth < 1e-3)
            fail(line("bandwidth"),
                 fmt::format("bandwidth of dimension {}: {} GB/s; at least 0.001", i + 1, *bandwidth));
        dimension.npus = npus ? static_cast<int>(std::min(*npus, 1048576.0)) : 0;
        dimension.bandwidth = bandwidth.value_or(0) * 1e9;
        dimension.latency = latency.value_or(0) * 1e-9;
        result.push_back(dimension);
    }
    if (!problems_.empty())
        throw InputError(problems_);
    return result;
}

// Links of one NPU in its dimension.
int links_of(const Dimension& dimension) {
    if (dimension.shape == "Switch")
        return 1;
    const int others = dimension.npus - 1;
    return dimension.shape == "Ring" ? std::min(2, others) : others;
}

void note_node(const Dimension& inner, const NetworkReader& in, const std::string& name,
               NetworkFacts& facts) {
    if (inner.npus > kMaxGpusOfNode)
        throw InputError(
            fmt::format("{}:{}", name, in.line("npus_count")),
            fmt::format("npus_count of dimension 1 is {}; dimension 1 is the node, at most {} GPUs",
                        inner.npus, kMaxGpusOfNode),
            "write a node and the nodes as two dimensions: npus_count: [ 8, 64 ]");
    facts.gpus.note(inner.npus, in.line("npus_count"));
    if (inner.npus == 1)
        return;
    const int links = links_of(inner);
    facts.nvlink.note(links * inner.bandwidth, in.line("bandwidth"));
    facts.nvlink_how = fmt::format("{} of {} {}", links == 1 ? "one link" : fmt::format("{} links", links),
                                   format_bandwidth(inner.bandwidth),
                                   inner.shape == "Switch" ? "to a switch" : "to other GPUs");
    facts.nvswitch = inner.shape == "Switch";
    facts.nvlink_peers = facts.nvswitch ? 0 : inner.npus - 1;
    if (inner.shape == "Ring" && inner.npus > 3)
        facts.warnings.push_back("dimension 1 is a ring: taken as direct links from each GPU to all others "
                                 "of the same bandwidth in all; "
                                 "the detour between GPUs that are no neighbours is not modelled");
    if (inner.latency > 0)
        facts.warnings.push_back(fmt::format("latency of dimension 1 ({:.6g} ns a link) is not used: the "
                                             "collective model has latencies of its own "
                                             "within a node",
                                             inner.latency * 1e9));
}

void note_network(const std::vector<Dimension>& all, const NetworkReader& in, const std::string& name,
                  NetworkFacts& facts) {
    std::int64_t nodes = 1;
    for (std::size_t i = 1; i < all.size(); ++i)
        nodes = std::min<std::int64_t>(nodes * all[i].npus, kMaxNodes + 1);
    if (nodes > kMaxNodes)
        throw InputError(fmt::format("{}:{}", name, in.line("npus_count")),
                         fmt::format("more than {} nodes: the dimensions above the first", kMaxNodes));
    facts.nodes = static_cast<int>(nodes);
    const Dimension& outer = all[1];
    facts.nics.note(facts.gpus.value, in.line("npus_count"));
    facts.nic_rate.note(outer.bandwidth, in.line("bandwidth"));
    facts.nic_latency.note((outer.shape == "Switch" ? 2 : 1) * outer.latency, in.line("latency"));
    if (links_of(outer) > 1)
        facts.warnings.push_back(fmt::format(
            "dimension 2 is a {} with {} links of {} for each GPU; one NIC of that rate is taken for each, "
            "as "
            "a ring of NCCL sends to one neighbour; --set cluster.node.nics.bandwidth=... for more",
            outer.shape, links_of(outer), format_bandwidth(outer.bandwidth)));
    std::vector<FabricLevel> levels;
    for (std::size_t i = 1; i < all.size(); ++i) {
        const bool top = i + 1 == all.size();
        const double ratio = top ? 1.0 : std::clamp(all[i].bandwidth / all[i + 1].bandwidth, 0.1, 1000.0);
        const double ports = all[i].npus + all[i].npus / ratio;
        // a level's hop latency is counted at each end of the way through it
        const Seconds hop = i == 1 ? 0 : all[i].latency;
        levels.push_back({static_cast<int>(std::clamp(std::round(ports), 2.0, 65536.0)), ratio, hop});
    }
    facts.levels.note(levels, in.line("npus_count"));
    facts.rails = true;
}

} // namespace

bool is_astra_network(std::string_view text) {
    LineReader lines(text.substr(0, 1U << 16U));
    for (std::string_view line; lines.next(line);)
        if (const std::size_t key = line.find_first_not_of(" \t{\"'"); // flow style has quotes and braces
            key != std::string_view::npos && line.substr(key).starts_with("npus_count"))
            return true;
    return false;
}

NetworkFacts read_astra_network(std::string_view text, const std::string& name) {
    if (text.size() > kMaxText)
        throw InputError(name, fmt::format("{} of an ASTRA-sim network; at most 1 MiB",
                                           format_bytes(static_cast<Bytes>(text.size()))));
    NetworkFacts facts;
    try {
        const YAML::Node root = YAML::Load(std::string(text));
        if (!root.IsMap())
            throw InputError(name + ":1", "not a map of keys",
                             "topology, npus_count, bandwidth and latency, each a list");
        NetworkReader reader(root, name);
        const std::vector<Dimension> all = reader.dimensions();
        note_node(all.front(), reader, name, facts);
        if (all.size() > 1)
            note_network(all, reader, name, facts);
    } catch (const YAML::Exception& error) {
        throw InputError(fmt::format("{}:{}:{}", name, error.mark.line + 1, error.mark.column + 1),
                         "not YAML: " + error.msg);
    }
    return facts;
}

} // namespace echosim
