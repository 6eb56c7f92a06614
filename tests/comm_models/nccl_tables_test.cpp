// SPDX-License-Identifier: Apache-2.0
#include "clusters.h"
#include "comm_models/calibrate.h"
#include "comm_models/log_samples.h"
#include "comm_models/nccl_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

// The measured nccl-tests tables beside the project, when they are there.
namespace echosim {
namespace {

constexpr const char* kData = "../shared/data/nccl_tests.json";
using Json = nlohmann::json;

struct Table {
    std::string name;
    std::string group;
    Cluster cluster;
    GroupGeometry geometry;
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::unique_ptr<CollectiveModel> model;
    std::vector<double> errors;
    double mean() const {
        double sum = 0;
        for (const double e : errors)
            sum += e;
        return errors.empty() ? 0 : sum / static_cast<double>(errors.size());
    }
};

FabricKind fabric_of(const Json& json) {
    if (json.is_null())
        return FabricKind::none;
    const std::map<std::string, FabricKind> kinds = {
        {"ib", FabricKind::infiniband}, {"roce", FabricKind::roce},   {"efa", FabricKind::efa},
        {"tcpx", FabricKind::tcpx},     {"tcpxo", FabricKind::tcpxo}, {"ethernet", FabricKind::ethernet},
        {"none", FabricKind::none}};
    return kinds.at(json.get<std::string>());
}

Table table_of(const Json& t) {
    Table table;
    table.name = t.at("table");
    const std::string gpu = t.at("gpu");
    const std::string kind = t.at("collective");
    table.kind = kind == "alltoall" ? CollectiveKind::all_to_all : collective_from(kind).value();
    const int nics = t.at("nics_per_node").is_null() ? 8 : t.at("nics_per_node").get<int>();
    const double gbits = t.at("nic_gbits").is_null() ? 200 : t.at("nic_gbits").get<double>();
    table.cluster = test::cluster_of(gpu, t.at("gpus_per_node"), nics, gbits);
    table.cluster.fabric.kind = fabric_of(t.at("fabric"));
    table.cluster.nccl = t.at("nccl_version").is_string()
                             ? t.at("nccl_version").get<std::string>()
                             : std::string(nccl::likely_nccl(table.cluster.gpu.arch));
    const int nodes = t.at("nodes");
    table.geometry = test::group_on(table.cluster, nodes, t.at("gpus").get<int>() / nodes);
    table.model = std::make_unique<NcclModel>(table.cluster);
    const bool classic =
        table.cluster.fabric.kind == FabricKind::infiniband || table.cluster.fabric.kind == FabricKind::roce;
    if (gpu.rfind("mi", 0) == 0)
        table.group = "AMD";
    else if (nodes > 1)
        table.group = classic ? "InfiniBand and RoCE" : "other networks";
    else
        table.group = table.geometry.nvlink ? "NVLink node" : "PCIe node";
    return table;
}

std::map<std::string, Table> evaluate() {
    std::ifstream file(kData);
    const Json json = Json::parse(file);
    std::map<std::string, Table> tables;
    for (const Json& t : json.at("tables"))
        if (!t.at("degraded").get<bool>())
            tables.emplace(t.at("table"), table_of(t));
    for (const Json& row : json.at("rows")) {
        const auto it = tables.find(row.at("table"));
        if (it == tables.end())
            continue;
        Table& table = it->second;
        const Collective c{.kind = table.kind, .bytes = row.at("bytes"), .in_place = false};
        const double us = table.model->estimate(c, table.geometry).time * 1e6;
        table.errors.push_back(std::abs(us / row.at("time_us").get<double>() - 1));
    }
    return tables;
}

TEST(NcclTablesData, ErrorsStayWithinTheirBands) {
    if (!std::filesystem::exists(kData))
        GTEST_SKIP() << kData << " is not there";
    const auto tables = evaluate();
    std::map<std::string, std::vector<double>> groups;
    std::vector<const Table*> worst;
    for (const auto& [name, table] : tables) {
        auto& errors = groups[table.group];
        errors.insert(errors.end(), table.errors.begin(), table.errors.end());
        worst.push_back(&table);
    }
    std::map<std::string, double> mean;
    for (const auto& [name, errors] : groups) {
        for (const double e : errors)
            mean[name] += 100 * e / static_cast<double>(errors.size());
        std::printf("%-20s %5zu rows  mean |error| %5.1f %%\n", name.c_str(), errors.size(), mean[name]);
    }
    std::sort(worst.begin(), worst.end(),
              [](const Table* a, const Table* b) { return a->mean() > b->mean(); });
    for (std::size_t i = 0; i < std::min<std::size_t>(12, worst.size()); ++i)
        std::printf("worst: %s %s x%d %s %.0f %%\n", worst[i]->name.c_str(),
                    worst[i]->cluster.gpu.name.c_str(), worst[i]->geometry.ranks,
                    std::string(to_string(worst[i]->kind)).c_str(), 100 * worst[i]->mean());
    ASSERT_GT(groups["NVLink node"].size(), 1000U);
    ASSERT_GT(groups["InfiniBand and RoCE"].size(), 100U);
    EXPECT_LE(mean["NVLink node"], 4.5);
    EXPECT_LE(mean["PCIe node"], 11.5);
    EXPECT_LE(mean["InfiniBand and RoCE"], 20);
}

// The presets are what calibrate() makes of the single-node tables, starting from data sheets.
TEST(NcclTablesData, PresetsAreReproducible) {
    if (!std::filesystem::exists(kData))
        GTEST_SKIP() << kData << " is not there";
    std::ifstream file(kData);
    const Json json = Json::parse(file);
    nccl::CalibrationData data;
    std::map<std::string, Table> tables;
    std::map<std::string, std::size_t> index;
    for (const Json& t : json.at("tables")) {
        if (t.at("degraded").get<bool>() || t.at("nodes") != 1)
            continue;
        Table table = table_of(t);
        index[table.name] = data.clusters.size();
        data.clusters.push_back(table.cluster);
        tables.emplace(table.name, std::move(table));
    }
    for (const Json& row : json.at("rows")) {
        const auto it = tables.find(row.at("table"));
        if (it == tables.end())
            continue;
        const Collective call{.kind = it->second.kind, .bytes = row.at("bytes"), .in_place = false};
        it->second.errors.push_back(0);
        data.samples.push_back(
            {index[it->first], call, it->second.geometry, row.at("time_us").get<double>(), 1});
    }
    for (nccl::CollectiveSample& sample : data.samples)
        for (const auto& [name, table] : tables)
            if (index[name] == sample.cluster)
                sample.weight = 1.0 / static_cast<double>(table.errors.size());
    const auto fitted = nccl::calibrate(data, nccl::derived_constants()).constants;
    ASSERT_EQ(fitted.links.size(), 7U);
    for (nccl::LinkProfile made : fitted.links) {
        const auto& links = nccl::preset_constants().links;
        nccl::LinkProfile shipped = *std::ranges::find(links, made.name, &nccl::LinkProfile::name);
        const auto now = nccl::link_constants(made);
        const auto then = nccl::link_constants(shipped);
        for (std::size_t i = 0; i < now.size(); ++i)
            EXPECT_NEAR(*now[i].value, *then[i].value, 0.02 * std::abs(*then[i].value))
                << made.name << " " << now[i].group << "." << now[i].key;
    }
}

} // namespace
} // namespace echosim
