// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/topology_facts.h"
#include "simulator/catalogue/topology_source.h"

#include <string>
#include <string_view>
#include <vector>

// What a network description of another simulator says, and the cluster that comes of it. Part of the reading
// of topology files.
namespace echosim {

struct NetworkFacts {
    Seen<std::string> gpu; // as the file names it: "H100"
    Seen<int> gpus;        // of a node
    int nodes = 1;
    Seen<double> nvlink;    // bytes/s of one GPU to all peers of its node together, one direction
    std::string nvlink_how; // "2 links of 50 GB/s"
    bool nvswitch = false;
    int nvlink_peers = 0;     // GPUs that direct links lead to; 0 = a switch
    Seen<int> nics;           // of a node
    Seen<double> nic_rate;    // bytes/s
    Seen<double> nic_latency; // seconds from GPU to GPU below one leaf
    Seen<std::vector<FabricLevel>> levels;
    bool rails = true;
    FabricKind fabric = FabricKind::none; // none: as in the catalogue
    std::string fabric_reason;            // why it is assumed
    std::vector<std::string> warnings;
};

constexpr int kMaxGpusOfNode = 256;

// `name` stands for the file in messages. Both throw InputError with file and line.
NetworkFacts read_astra_network(std::string_view text, const std::string& name);
NetworkFacts read_simai_topology(std::string_view text, const std::string& name);

// Whether a text begins like one.
bool is_astra_network(std::string_view text);
bool is_simai_topology(std::string_view text);

// The whole cluster. What the file does not say comes from the catalogue's cluster of the same GPU, marked as
// assumed; `gpu` overrules the file. Throws InputError when there is no such GPU.
ImportedCluster assemble_network(TopologyKind kind, const NetworkFacts& facts, const std::string& name,
                                 const std::string& gpu);

} // namespace echosim
