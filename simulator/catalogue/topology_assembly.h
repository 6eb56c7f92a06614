// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/topology_facts.h"
#include "simulator/catalogue/topology_source.h"

namespace echosim {

// The whole cluster from what a file says of a node. `name` stands for the file in the origins and gives the
// cluster its name; `gpu` overrules the file. Throws InputError when there is no such GPU.
ImportedCluster assemble_cluster(TopologyKind kind, TopologyFacts facts, const std::string& name,
                                 const std::string& gpu);

} // namespace echosim
