// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// A cluster from what people have of their own machine: the topology XML of NCCL (NCCL_TOPO_DUMP_FILE, or the
// file that a cloud ships), the matrix of `nvidia-smi topo -m`, or a log of NCCL_DEBUG=INFO. None of the
// three says everything; what is missing is taken from the catalogue and listed as assumed.
namespace echosim {

enum class TopologyKind : std::uint8_t { nccl_xml, nvidia_smi, nccl_log };

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
};

constexpr Bytes kMaxTopologyFile = 512_MiB;

// Reads the file; `gpu` names the GPU type when the file does not (empty: the file, or an assumption). Throws
// InputError with file and line: none of the three kinds, malformed, truncated, or nothing to read in it.
ImportedCluster read_topology_file(const std::string& path, const std::string& gpu = "");

// The same for a text; `name` stands for the file in messages and gives the cluster its name.
ImportedCluster cluster_from_topology(std::string_view text, const std::string& name, const std::string& gpu);

std::string_view to_string(TopologyKind kind);

} // namespace echosim
