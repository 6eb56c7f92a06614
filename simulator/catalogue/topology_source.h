// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A cluster from what people have of their own machine: the topology XML of NCCL (NCCL_TOPO_DUMP_FILE, or the
// file that a cloud ships), the matrix of `nvidia-smi topo -m`, or a log of NCCL_DEBUG=INFO; or from the
// network that they gave to another simulator: ASTRA-sim's analytical network (.yml), SimAI's topology. None
// of them says everything; what is missing is taken from the catalogue and listed as assumed.
namespace echosim {

enum class TopologyKind : std::uint8_t { nccl_xml, nvidia_smi, nccl_log, astra_network, simai_topology };

// Where one value of the cluster file comes from; a key covers all that is below it ("fabric.levels").
struct ValueOrigin {
    std::string key;  // "node.nics.count"
    std::string text; // read: "topo.xml:12"; assumed: the reason
    bool assumed = false;
};

struct ImportedCluster {
    TopologyKind kind = TopologyKind::nccl_xml;
    Cluster cluster;
    std::vector<ValueOrigin> origins;  // in the order of the cluster file
    std::vector<std::string> warnings; // what contradicts itself or was left out
    int nodes = 0;                     // that the file describes; 0: it shows one node of a kind
};

constexpr Bytes kMaxTopologyFile = 512_MiB;

// Reads the file; `gpu` names the GPU type when the file does not (empty: the file, or an assumption). Throws
// InputError with file and line: none of these kinds, malformed, truncated, or nothing to read in it.
ImportedCluster read_topology_file(const std::string& path, const std::string& gpu = "");

// The same for a text; `name` stands for the file in messages and gives the cluster its name.
ImportedCluster cluster_from_topology(std::string_view text, const std::string& name, const std::string& gpu);

// The kind by what only it holds; nullopt: none of them. Reads the whole text where nothing is found early:
// ask last. ASTRA-sim networks and SimAI topologies show within the first KiB.
std::optional<TopologyKind> topology_kind(std::string_view text);

std::string_view to_string(TopologyKind kind);

} // namespace echosim
