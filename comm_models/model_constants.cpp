// SPDX-License-Identifier: Apache-2.0
#include "comm_models/model_constants.h"

#include "embedded/nccl_presets.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace echosim::nccl {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kArchNames[] = {"volta", "ampere", "hopper", "blackwell"};

void read(const Json& json, const char* key, auto& value) {
    if (const auto it = json.find(key); it != json.end())
        it->get_to(value);
}

void read_low_latency(const Json& json, const char* key, LowLatencyLink& link) {
    const auto& v = json.at(key);
    link = {v[0], v[1], v[2]};
}

LinkProfile read_link(const Json& json) {
    LinkProfile p;
    json.at("name").get_to(p.name);
    json.at("gpus").get_to(p.gpus);
    const std::string arch = json.at("arch");
    p.arch = static_cast<std::size_t>(std::find(kArchNames, kArchNames + kArchs, arch) - kArchNames);
    if (json.contains("before"))
        p.before_version = parse_version(json.at("before").get<std::string>());
    read(json, "nvlink", p.nvlink);
    read(json, "pcie_shares", p.pcie_shares);
    read(json, "ll_per_rank", p.ll_per_rank);
    read(json, "ll_network", p.ll_network);
    read(json, "hop_offset", p.hop_offset);
    read_low_latency(json, "ll", p.ll);
    read_low_latency(json, "ll128", p.ll128);
    const Json& s = json.at("simple");
    p.simple = {s[0], s[1], s[2], s[3], s[4], s[5]};
    if (const auto it = json.find("nvls"); it != json.end())
        p.nvls = {(*it)[0], (*it)[1], (*it)[2], (*it)[3], (*it)[4]};
    const Json& a = json.at("alltoall");
    p.all_to_all = {a[0], a[1], a[2], a[3], a[4], a[5]};
    p.pair = {json.at("pair")[0], json.at("pair")[1]};
    p.fitted = json.at("provenance") == "fitted";
    return p;
}

FabricKind fabric_kind(const std::string& name) {
    constexpr const char* kNames[] = {"none", "infiniband", "roce",     "omnipath", "efa",
                                      "tcpx", "tcpxo",      "ethernet", "slingshot"};
    for (std::uint8_t i = 0; i < std::size(kNames); ++i)
        if (name == kNames[i])
            return static_cast<FabricKind>(i);
    ECHOSIM_CHECK(false, "nccl_links.json: unknown fabric " + name);
    return FabricKind::none;
}

FabricProfile read_fabric(const Json& json) {
    FabricProfile f;
    f.kind = fabric_kind(json.at("kind").get<std::string>());
    read(json, "efficiency", f.efficiency);
    read(json, "hop", f.hop);
    read(json, "start", f.start);
    read(json, "ll_rate_per_nic", f.ll_rate_per_nic);
    read(json, "ll_growth", f.ll_growth);
    read(json, "nic_latency", f.nic_latency_tuner);
    read(json, "ll128", f.ll128);
    f.fitted = json.at("provenance") == "fitted";
    return f;
}

ModelConstants load_presets() {
    ModelConstants result;
    for (const Json& entry : Json::parse(embedded::kNcclLinks).at("links"))
        result.links.push_back(read_link(entry));
    for (const Json& entry : Json::parse(embedded::kNcclFabrics).at("fabrics"))
        result.fabrics.push_back(read_fabric(entry));
    return result;
}

} // namespace

const ModelConstants& preset_constants() {
    static const ModelConstants constants = load_presets();
    return constants;
}

bool fits(const LinkProfile& profile, std::string_view gpu) {
    return std::any_of(profile.gpus.begin(), profile.gpus.end(),
                       [&](const std::string& name) { return gpu.substr(0, name.size()) == name; });
}

const LinkProfile& link_profile(const ModelConstants& constants, const Cluster& cluster, int version,
                                bool nvlink) {
    const std::size_t arch = tuning_arch(cluster.gpu.arch);
    for (const LinkProfile& p : constants.links) {
        if (p.before_version > 0 && version >= p.before_version)
            continue;
        if (nvlink ? p.nvlink > 0 && p.arch == arch : p.nvlink <= 0 && fits(p, cluster.gpu.name))
            return p;
    }
    return constants.links.back();
}

const FabricProfile& fabric_profile(const ModelConstants& constants, FabricKind kind) {
    for (const FabricProfile& f : constants.fabrics)
        if (f.kind == kind)
            return f;
    return constants.fabrics.back();
}

} // namespace echosim::nccl
