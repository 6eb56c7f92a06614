// SPDX-License-Identifier: Apache-2.0
#include "clusters.h"
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
    if (t.at("nccl_version").is_string())
        table.cluster.nccl = t.at("nccl_version");
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
    EXPECT_LE(mean["NVLink node"], 9);
    EXPECT_LE(mean["PCIe node"], 15);
    EXPECT_LE(mean["InfiniBand and RoCE"], 20);
}

} // namespace
} // namespace echosim
