// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a topology file says of one node, before anything is assumed. Part of the reading of such files.
namespace echosim {

// A value and the line that states it.
template <class T> struct Seen {
    T value{};
    int line = 0; // 0 = the file does not say
    explicit operator bool() const { return line > 0; }
    void note(T v, int at) { // the first statement counts
        if (line == 0)
            *this = {std::move(v), at};
    }
};

struct SeenNic {
    std::string name{};
    BytesPerSecond bandwidth = 0;       // 0 = not stated
    bool near_gpu = false;              // shares a PCIe switch with a GPU
    FabricKind kind = FabricKind::none; // none = not to be told
    int line = 0;
};

struct TopologyFacts {
    Seen<int> gpus; // per node
    int gpus_at_least = 0;
    Seen<Gpu> gpu;           // from a PCI device id or a product name
    std::string unknown_gpu; // a device id or product that the catalogue lacks
    std::string gpu_note;    // where the catalogue's GPU differs from the one that is named
    Seen<int> sm;            // compute capability: 90
    bool sm_derived = false; // from links or multicast, not stated
    Seen<int> cuda;          // 1108 = 11.8
    Seen<int> nvlinks;       // of a GPU, to all peers together; 0 = the file shows that there are none
    int nvlink_peers = 0;    // GPUs that they lead to directly
    Seen<bool> nvswitch;
    Seen<bool> superchip; // GPU and CPU joined by NVLink-C2C
    Seen<int> domain_nodes;
    Seen<Pcie> pcie;
    std::vector<SeenNic> nics;
    Seen<int> nic_count; // where they are counted, not listed
    Seen<FabricKind> fabric;
    Seen<std::string> cpu;
    Seen<int> sockets;
    Seen<std::string> nccl;
    Seen<std::vector<ObservedCommunicator>> observed; // nodes 0 = not to be told
    std::vector<std::string> warnings;
};

// `name` stands for the file in messages. Each throws InputError with file and line.
TopologyFacts read_nccl_topology_xml(std::string_view text, const std::string& name);
TopologyFacts read_nvidia_smi_topology(std::string_view text, const std::string& name);
TopologyFacts read_nccl_log(std::string_view text, const std::string& name);

} // namespace echosim
