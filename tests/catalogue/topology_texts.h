// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/topology_source.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>

// Topology files in the forms that machines write, made up for the tests.
namespace echosim {

inline ImportedCluster imported(const std::string& text, const std::string& gpu = "") {
    return cluster_from_topology(text, "box.txt", gpu);
}

inline ValueOrigin origin_of(const ImportedCluster& cluster, const std::string& key) {
    const auto found = std::find_if(cluster.origins.begin(), cluster.origins.end(),
                                    [&](const ValueOrigin& origin) { return origin.key == key; });
    return found == cluster.origins.end() ? ValueOrigin{} : *found;
}

// "box.txt:12" where it was read, "assumed" where it was not, empty where the key has no origin.
inline std::string where(const ImportedCluster& cluster, const std::string& key) {
    const ValueOrigin origin = origin_of(cluster, key);
    return origin.assumed ? "assumed" : origin.text;
}

// A dump of NCCL of eight GPUs, each behind a PCIe switch with one NIC, four on each socket.
struct Dump {
    std::string device = "0x2330";
    int sm = 90;
    std::string nvlinks = "4 5 5 4"; // links to each NVSwitch
    std::string net_class = "0x020700";
    int speed = 400000;
    int weak_gpu = -1; // has the first switch only
};

inline std::string nvlinks_of(const std::string& counts) {
    std::string out;
    for (std::size_t i = 0; i < counts.size(); i += 2)
        out += fmt::format("          <nvlink target=\"0000:0{}:00.0\" count=\"{}\" tclass=\"0x068000\"/>\n",
                           i / 2, counts[i]);
    return out;
}

inline std::string xml(const Dump& dump) {
    std::string out = "<system version=\"1\">\n";
    for (int gpu = 0; gpu < 8; ++gpu) {
        if (gpu % 4 == 0)
            out += fmt::format("  <cpu host_hash=\"0x16fe\" numaid=\"{}\" affinity=\"ff\" arch=\"x86_64\" "
                               "vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\">\n",
                               gpu / 4);
        out += fmt::format(
            "    <pci busid=\"0000:{0}6:00.0\" class=\"0x060400\" vendor=\"0x1000\" device=\"0xc030\" "
            "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
            "      <pci busid=\"0000:{0}8:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"{1}\" "
            "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
            "        <gpu dev=\"{0}\" sm=\"{2}\" rank=\"{0}\" gdr=\"1\">\n{3}        </gpu>\n      </pci>\n"
            "      <pci busid=\"0000:{0}9:00.0\" class=\"{4}\" vendor=\"0x15b3\" device=\"0x1021\" "
            "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
            "        <nic>\n          <net name=\"mlx5_{0}\" dev=\"{0}\" speed=\"{5}\" port=\"1\" "
            "latency=\"0.000000\" guid=\"0x1\" maxconn=\"131072\" gdr=\"1\"/>\n        </nic>\n"
            "      </pci>\n    </pci>\n",
            gpu, dump.device, dump.sm,
            nvlinks_of(gpu == dump.weak_gpu ? dump.nvlinks.substr(0, 1) : dump.nvlinks), dump.net_class,
            dump.speed);
        if (gpu % 4 == 3)
            out += "  </cpu>\n";
    }
    return out + "</system>\n";
}

} // namespace echosim
