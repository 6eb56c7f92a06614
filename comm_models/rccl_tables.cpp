// SPDX-License-Identifier: Apache-2.0
#include "comm_models/rccl_tables.h"

#include "embedded/nccl_presets.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <nlohmann/json.hpp>

// Reads the embedded presets/rccl_tuning.json.
namespace echosim::nccl {
namespace {

using Json = nlohmann::json;

struct Tables {
    PerProtocol base_tree{}, base_ring{};
    std::vector<RcclModel> models;
    std::array<RcclGpu, 3> gpus{}; // cdna2, cdna3, cdna4
    RcclTiming timing;
};

void read(const Json& json, const char* key, auto& value) {
    if (const auto it = json.find(key); it != json.end())
        it->get_to(value);
}

void read_latency(const Json& json, const char* key, PerProtocol& tree, PerProtocol& ring) {
    if (const auto it = json.find(key); it != json.end()) {
        read(*it, "tree", tree);
        read(*it, "ring", ring);
    }
}

void read_model(const Json& json, RcclModel& m) {
    read(json, "id", m.id);
    read(json, "ll128", m.ll128);
    read_latency(json, "xgmi_latency", m.tree_near, m.ring_near);
    read_latency(json, "net_latency", m.tree_far, m.ring_far);
    if (const auto it = json.find("ratio"); it != json.end())
        for (std::size_t i = 0; i < 2; ++i) {
            read(it->at(i), "tree", m.tree_ratio[i]);
            read(it->at(i), "ring", m.ring_ratio[i]);
        }
    read(json, "tree_correction", m.tree_correction);
    read(json, "ring_correction", m.ring_correction);
    if (const auto it = json.find("ranges"); it != json.end())
        for (const auto& [name, range] : it->items())
            m.ranges[static_cast<std::size_t>(collective_from(name).value())] = {range.at(0), range.at(1),
                                                                                 range.at(2)};
}

RcclTiming read_timing(const Json& json) {
    RcclTiming t;
    read(json, "start", t.start);
    read(json, "step", t.step);
    read(json, "ll_start", t.ll_start);
    read(json, "ll_step", t.ll_step);
    read(json, "ll_rate", t.ll_rate);
    read(json, "ll128_step", t.ll128_step);
    read(json, "ll128_rate", t.ll128_rate);
    read(json, "one_shot_start", t.one_shot_start);
    read(json, "one_shot_link", t.one_shot_link);
    read(json, "one_shot_to", t.one_shot_to);
    read(json, "two_shot_start", t.two_shot_start);
    read(json, "two_shot_link", t.two_shot_link);
    read(json, "mesh_from", t.mesh_from);
    read(json, "mesh_to", t.mesh_to);
    read(json, "direct_start", t.direct_start);
    read(json, "all_to_all_start", t.all_to_all_start);
    read(json, "nic_share", t.nic_share);
    read(json, "copy", t.copy);
    return t;
}

Tables load() {
    const Json json = Json::parse(embedded::kRcclTuning);
    Tables tables;
    read_latency(json, "base_latency", tables.base_tree, tables.base_ring);
    for (const Json& entry : json.at("models")) {
        RcclModel model;
        if (entry.contains("from"))
            for (const RcclModel& known : tables.models)
                if (known.id == entry.at("from"))
                    model = known;
        read_model(entry, model);
        tables.models.push_back(model);
    }
    for (std::size_t i = 0; i < tables.gpus.size(); ++i) {
        const Json& gpu = json.at("gpus").at(i);
        tables.gpus[i] = {gpu.at("model"), gpu.at("mesh"), gpu.at("link"), gpu.at("total"),
                          gpu.at("channels")};
    }
    tables.timing = read_timing(json.at("timing"));
    tables.timing.link_of_fit = tables.gpus[1].link;
    return tables;
}

const Tables& tables() {
    static const Tables result = load();
    return result;
}

} // namespace

const RcclGpu& rccl_gpu(Arch arch) {
    const auto& gpus = tables().gpus;
    return arch == Arch::cdna2 ? gpus[0] : arch == Arch::cdna4 ? gpus[2] : gpus[1];
}

const RcclModel& rccl_model(int id) {
    for (const RcclModel& model : tables().models)
        if (model.id == id)
            return model;
    return tables().models.front();
}

const RcclTiming& rccl_timing() {
    return tables().timing;
}

PerProtocol rccl_base_latency(Algorithm algorithm) {
    return algorithm == Algorithm::tree ? tables().base_tree : tables().base_ring;
}

} // namespace echosim::nccl
