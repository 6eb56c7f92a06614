// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/topology_facts.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

// The elements of NCCL's topology XML. Part of its reading.
namespace echosim {

struct GpuElement {
    int line = 0;
    int sm = 0;
    std::map<std::string, int> links; // target -> count
    bool to_switch = false;
    bool c2c = false;
    std::string gcn;
};

struct PciElement {
    int line = 0;
    int parent = -1; // index; -1 = hangs on the CPU
    std::string host;
    std::string pci_class, vendor, device, speed, width;
    std::vector<GpuElement> gpus;
    std::vector<SeenNic> nics;
};

struct CpuElement {
    int line = 0;
    std::string host, numa, arch, vendor;
    int family = 0;
    int model = 0;
};

struct Machine {
    std::vector<CpuElement> cpus;
    std::vector<PciElement> pcis;
    std::vector<SeenNic> loose_nics; // of the CPU itself
};

// Throws InputError with file and line when the XML is damaged or holds no cpu.
Machine parse_nccl_topology(std::string_view text, const std::string& name);

} // namespace echosim
