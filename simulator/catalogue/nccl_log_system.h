// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/topology_facts.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The topology tree that NCCL prints with NCCL_DEBUG_SUBSYS=GRAPH. Part of the reading of a log.
namespace echosim {

struct LogSystem {
    int line = 0;
    int gpus = 0;                     // per node
    int nodes = 1;                    // in the tree: more than one where they share an NVLink domain
    std::vector<double> nvlink_rates; // of each GPU, GB/s to all peers together, as NCCL counts them
    int nvlink_peers = 0;
    bool nvswitch = false;
    bool c2c = false;
    double pcie_rate = 0; // GB/s of the GPU's link
    std::string cpu;      // "1/1/3": architecture, vendor, model
    int cpus = 0;         // per node
    std::vector<SeenNic> nics;
};

// Follows the trees of all threads, whose lines come interleaved, and keeps the one with the most GPUs.
class LogSystems {
  public:
    // A message of one thread, without its prefix.
    void take(std::string_view thread, std::string_view message, int line);
    void close_all(); // the end of the log: trees that are cut off count as well
    const LogSystem* largest() const { return best_.gpus > 0 ? &best_ : nullptr; }

  private:
    struct Tree {
        LogSystem system;
        std::vector<std::pair<std::size_t, std::string>> above; // indentation and name of the PCI switches
        std::set<std::string> above_gpus;
        std::vector<std::set<std::string>> above_nics; // one entry a NIC
        std::map<std::string, int> gpus;               // by node of the domain
        std::map<std::string, int> cpus;
        std::set<std::string> peers;
    };
    static void top(Tree& tree, std::string_view node);
    static void branch(Tree& tree, std::string_view link, std::string_view node, int line);
    void close(Tree& tree);

    std::map<std::string, Tree, std::less<>> open_; // by thread
    LogSystem best_;
};

void note_system(const LogSystem& system, TopologyFacts& facts);

} // namespace echosim
