// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_tables.h"

#include "embedded/nccl_presets.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace echosim::nccl {
namespace {

using Json = nlohmann::json;
constexpr const char* kArchNames[] = {"volta", "ampere", "hopper", "blackwell"};

void read(const Json& json, const char* key, auto& value) {
    if (const auto it = json.find(key); it != json.end())
        it->get_to(value);
}

void read_latency(const Json& json, const char* key, LatencyTable& table) {
    const auto it = json.find(key);
    if (it == json.end())
        return;
    read(*it, "tree", table.tree);
    read(*it, "ring", table.ring);
    read(*it, "nvls", table.nvls);
    read(*it, "nvls_tree", table.nvls_tree);
    read(*it, "pat", table.pat);
    read(*it, "collnet_direct", table.collnet_direct);
    read(*it, "collnet_chain", table.collnet_chain);
}

void read_archs(const Json& json, const char* key, auto& table) {
    const auto it = json.find(key);
    if (it == json.end())
        return;
    for (std::size_t arch = 0; arch < kArchs; ++arch)
        read(*it, kArchNames[arch], table[arch]);
}

void read_caps(const Json& json, TuningTable& t) {
    read_latency(json, "base_latency", t.base);
    read_latency(json, "nvlink_latency", t.nvlink);
    read_latency(json, "pci_latency", t.pci);
    read_latency(json, "net_latency", t.net);
    read_archs(json, "ll_cap", t.ll_cap);
    read_archs(json, "ring_ll128_cap", t.ring_ll128_cap);
    read_archs(json, "tree_ll128_cap", t.tree_ll128_cap);
    read_archs(json, "tree_simple_cap", t.tree_simple_cap);
    read_archs(json, "nvls_tree_cap", t.nvls_tree_cap);
    read_archs(json, "nvls_efficiency", t.nvls_efficiency);
    read_archs(json, "nvls_channels", t.nvls_channels);
    read(json, "tree_correction", t.tree_correction);
}

void read_rules(const Json& json, TuningTable& t) {
    read(json, "tree_correction_entries", t.tree_correction_entries);
    read(json, "nvls_tree_corrected", t.nvls_tree_corrected);
    read(json, "max_channels", t.max_channels);
    read(json, "pat_factor", t.pat_factor);
    read(json, "ll_near_factor", t.ll_near_factor);
    read(json, "ring_ll_share", t.ring_ll_share);
    read(json, "ring_ll_share_one_way", t.ring_ll_share_one_way);
    read(json, "ring_ll128_one_gpu_share", t.ring_ll128_one_gpu_share);
    read(json, "one_gpu_uses_tree_latency", t.one_gpu_uses_tree_latency);
    read(json, "inter_steps_count_all_nodes", t.inter_steps_count_all_nodes);
    read(json, "nvls_by_efficiency", t.nvls_by_efficiency);
    read(json, "nvls_ratio", t.nvls_ratio);
    read(json, "nvls_tree_ratio", t.nvls_tree_ratio);
    read(json, "nvls_tree_node_ratio", t.nvls_tree_node_ratio);
    read(json, "nvls_gather", t.nvls_gather);
    read(json, "nvls_gather_by_peers", t.nvls_gather_by_peers);
    read(json, "collnet_gather", t.collnet_gather);
    read(json, "collnet_gather_net_share", t.collnet_gather_net_share);
    read(json, "ll128_over_c2c", t.ll128_over_c2c);
    read(json, "continuous_bytes", t.continuous_bytes);
    read(json, "function_lists", t.function_lists);
    read(json, "mnnvl_is_one_node", t.mnnvl_is_one_node);
    read(json, "ring_used_when_nothing_is_left", t.ring_used_when_nothing_is_left);
    read(json, "p2p_channel_rate", t.p2p_channel_rate);
    read(json, "p2p_chunk_arm_blackwell", t.p2p_chunk_arm_blackwell);
}

// Newest first; an entry that names another in "from" starts as a copy of it.
std::vector<TuningTable> load_tuning() {
    const Json json = Json::parse(embedded::kNcclTuning);
    std::vector<TuningTable> tables;
    for (const Json& entry : json.at("versions")) {
        TuningTable table;
        if (entry.contains("from")) {
            const int from = parse_version(entry.at("from").get<std::string>());
            const auto base = std::find_if(tables.begin(), tables.end(),
                                           [&](const TuningTable& t) { return t.version == from; });
            ECHOSIM_CHECK(base != tables.end(), "nccl_tuning.json: \"from\" names a later entry");
            table = *base;
        }
        table.version = parse_version(entry.at("version").get<std::string>());
        read_caps(entry, table);
        read_rules(entry, table);
        tables.push_back(table);
    }
    return tables;
}

const std::vector<TuningTable>& tuning() {
    static const std::vector<TuningTable> tables = load_tuning();
    return tables;
}

} // namespace

std::size_t tuning_arch(Arch arch) {
    switch (arch) {
    case Arch::volta:
        return 0;
    case Arch::hopper:
        return 2;
    case Arch::blackwell:
        return 3;
    case Arch::ampere:
    case Arch::ada:
    case Arch::cdna2:
    case Arch::cdna3:
    case Arch::cdna4:
        break;
    }
    return 1;
}

int parse_version(std::string_view text) {
    if (text.empty())
        return tuning().front().version;
    int major = 0;
    int minor = 0;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, major);
    if (first.ec == std::errc{} && first.ptr != end && *first.ptr == '.') {
        const auto second = std::from_chars(first.ptr + 1, end, minor);
        if (second.ec == std::errc{} && major == 2 && minor >= 0 && minor < 100)
            return 100 * major + minor;
    }
    throw InputError("cluster.nccl", "\"" + std::string(text) + "\" is not a version of NCCL",
                     "write major.minor of a release, \"2.0\" or later, for example \"2.21\"");
}

const TuningTable& tuning_table(int version) {
    for (const TuningTable& table : tuning())
        if (table.version <= version)
            return table;
    return tuning().back();
}

} // namespace echosim::nccl
