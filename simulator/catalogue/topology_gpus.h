// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/topology_facts.h"

#include <string>
#include <string_view>

// Which GPU of the catalogue a file means.
namespace echosim {

// By PCI device id ("0x2330"), and by a product name anywhere in the text ("NVIDIA H100 80GB HBM3"). Notes
// the GPU, and where the catalogue has only its relative. Nothing happens when nothing is recognised.
void note_device_id(std::string_view id, int line, TopologyFacts& facts);
void note_product(std::string_view text, int line, TopologyFacts& facts);

// The likeliest one by compute capability, NVLinks and GPUs of the node.
struct GpuGuess {
    std::string name;
    std::string reason; // "sm 90 with 18 NVLinks through a switch; could also be h200-sxm or h20"
};
GpuGuess guess_gpu(const TopologyFacts& facts);

} // namespace echosim
