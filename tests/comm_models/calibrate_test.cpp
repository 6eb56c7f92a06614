// SPDX-License-Identifier: Apache-2.0
#include "comm_models/calibrate.h"

#include "clusters.h"
#include "comm_models/log_samples.h"
#include "comm_models/nccl_model.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

namespace echosim::nccl {
namespace {

constexpr auto kKinds = {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                         CollectiveKind::reduce_scatter, CollectiveKind::all_to_all};

std::shared_ptr<const ModelConstants> shared(const ModelConstants& constants) {
    return std::make_shared<const ModelConstants>(constants);
}

LinkProfile& link_of(ModelConstants& constants, const std::string& name) {
    return *std::ranges::find(constants.links, name, &LinkProfile::name);
}

// What a machine with these constants would measure with 2, 4 and 8 GPUs of each of `nodes` nodes.
CalibrationData measured(const ModelConstants& truth, const std::string& gpu, int nodes = 1) {
    CalibrationData data;
    Cluster cluster = test::cluster_of(gpu);
    cluster.nccl = "2.29";
    data.clusters = {cluster};
    const NcclModel model(cluster, {{}, {}, shared(truth)});
    for (const int ranks : {2, 4, 8}) {
        for (const CollectiveKind kind : kKinds) {
            for (Bytes bytes = 1024; bytes <= Bytes{1} << 30; bytes *= 4) {
                const Collective call{.kind = kind, .bytes = bytes, .in_place = false};
                const GroupGeometry group = test::group_on(cluster, nodes, ranks);
                data.samples.push_back({0, call, group, model.estimate(call, group).time * 1e6, 1});
            }
        }
    }
    return data;
}

// Presets of which one GPU is slower and later than they say.
ModelConstants other_machine() {
    ModelConstants truth = derived_constants();
    LinkProfile& link = link_of(truth, "h100");
    link.ll.step *= 1.5;
    link.ll.start *= 0.8;
    link.simple.bandwidth *= 0.7;
    link.simple.hop *= 1.3;
    link.nvls.slot *= 1.2;
    link.all_to_all.bandwidth *= 0.8;
    return truth;
}

// Largest error in percent of what `fitted` says of groups that no sample had: 6 GPUs, other sizes.
double error_elsewhere(const ModelConstants& truth, const ModelConstants& fitted) {
    const Cluster cluster = test::cluster_of("h100-sxm");
    const NcclModel real(cluster, {{}, {}, shared(truth)});
    const NcclModel model(cluster, {{}, {}, shared(fitted)});
    const GroupGeometry group = test::group_on(cluster, 1, 6);
    double largest = 0;
    for (const CollectiveKind kind : kKinds)
        for (const Bytes bytes : {Bytes{3000}, Bytes{700000}, Bytes{50000000}, Bytes{900000000}}) {
            const Collective call{.kind = kind, .bytes = bytes, .in_place = false};
            const double ratio = model.estimate(call, group).time / real.estimate(call, group).time;
            largest = std::max(largest, 100 * std::abs(ratio - 1));
        }
    return largest;
}

TEST(Calibrate, RecoversKnownConstants) {
    const ModelConstants truth = other_machine();
    const Calibration result = calibrate(measured(truth, "h100-sxm"), derived_constants());
    ASSERT_EQ(result.constants.links.size(), 1U);
    EXPECT_TRUE(result.constants.fabrics.empty());
    const LinkProfile& link = result.constants.links[0];
    EXPECT_EQ(link.name, "h100");
    EXPECT_TRUE(link.fitted);
    // starts: 0.8, 382.5 and 6
    EXPECT_NEAR(link.ll.step, 1.2, 0.06);
    EXPECT_NEAR(link.simple.bandwidth, 267.75, 8);
    EXPECT_NEAR(link.all_to_all.bandwidth, 259.2, 8);
    ModelConstants fitted = derived_constants();
    link_of(fitted, "h100") = link;
    EXPECT_LT(error_elsewhere(truth, fitted), 2);
    for (const SizeRangeError& range : result.errors) {
        EXPECT_GT(range.before, 5) << range.from;
        EXPECT_LT(range.after, 1) << range.from;
    }
    EXPECT_EQ(result.errors.size(), 4U);
}

TEST(Calibrate, TenPercentOfOutliersDoNotPull) {
    const ModelConstants truth = other_machine();
    CalibrationData data = measured(truth, "h100-sxm");
    for (std::size_t i = 3; i < data.samples.size(); i += 10)
        data.samples[i].us *= i % 20 == 3 ? 4 : 0.4;
    ModelConstants fitted = derived_constants();
    link_of(fitted, "h100") = calibrate(data, fitted).constants.links.at(0);
    EXPECT_LT(error_elsewhere(truth, fitted), 5);
}

TEST(Calibrate, KeepsWhatSamplesDoNotShow) {
    CalibrationData data = measured(other_machine(), "h100-sxm");
    std::erase_if(data.samples, [](const CollectiveSample& s) {
        return s.collective.kind != CollectiveKind::all_gather || s.collective.bytes < (Bytes{1} << 28);
    });
    const ModelConstants start = derived_constants();
    const LinkProfile link = calibrate(data, start).constants.links.at(0);
    ModelConstants copy = start;
    const LinkProfile& before = link_of(copy, "h100");
    EXPECT_DOUBLE_EQ(link.all_to_all.start, before.all_to_all.start);
    EXPECT_DOUBLE_EQ(link.ll.step, before.ll.step);
    EXPECT_DOUBLE_EQ(link.nvls.slot, before.nvls.slot);
    // a start of a few microseconds hardly shows in a millisecond
    EXPECT_NEAR(link.simple.start, before.simple.start, 0.1 * before.simple.start);
    EXPECT_NEAR(link.simple.bandwidth, 267.75, 12);
}

// Four times of one table, all of them wrong by a factor: no constant goes further than its prior lets it.
TEST(Calibrate, FewSamplesDoNotGoWild) {
    CalibrationData data = measured(derived_constants(), "b200-sxm");
    data.samples.resize(4);
    for (CollectiveSample& sample : data.samples)
        sample.us *= 10;
    const ModelConstants start = derived_constants();
    LinkProfile link = calibrate(data, start).constants.links.at(0);
    ModelConstants copy = start;
    const auto now = link_constants(link);
    const auto then = link_constants(link_of(copy, "b200"));
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (*then[i].value > 0) {
            EXPECT_LT(std::abs(std::log(*now[i].value / *then[i].value)), 4.5) << now[i].group << now[i].key;
        }
    }
}

TEST(Calibrate, AnotherGpuGetsItsOwnProfile) {
    Cluster cluster = test::cluster_of("h800-sxm");
    cluster.node.nvlink = {200e9, 8, true};
    CalibrationData data = measured(derived_constants(), "h100-sxm");
    data.clusters = {cluster};
    const Calibration result = calibrate(data, derived_constants());
    ASSERT_EQ(result.constants.links.size(), 1U);
    EXPECT_EQ(result.constants.links[0].name, "h800-sxm");
    EXPECT_EQ(result.constants.links[0].gpus, std::vector<std::string>{"h800-sxm"});
}

TEST(Calibrate, FabricOfSeveralNodes) {
    ModelConstants truth = derived_constants();
    for (FabricProfile& fabric : truth.fabrics)
        if (fabric.kind == FabricKind::infiniband)
            fabric.efficiency = 0.6;
    const Calibration result = calibrate(measured(truth, "h100-sxm", 2), derived_constants());
    EXPECT_TRUE(result.constants.links.empty());
    ASSERT_EQ(result.constants.fabrics.size(), 1U);
    EXPECT_EQ(result.constants.fabrics[0].kind, FabricKind::infiniband);
    EXPECT_NEAR(result.constants.fabrics[0].efficiency, 0.6, 0.02);
}

TEST(Calibrate, IsDeterministic) {
    const CalibrationData data = measured(other_machine(), "a100-sxm-80gb");
    const ModelConstants start = derived_constants();
    EXPECT_EQ(constants_to_json(calibrate(data, start).constants).dump(),
              constants_to_json(calibrate(data, start).constants).dump());
}

TEST(Calibrate, RefusesWhatHoldsNoTime) {
    EXPECT_THROW(calibrate({}, preset_constants()), InputError);
    CalibrationData data = measured(derived_constants(), "h100-sxm");
    for (CollectiveSample& sample : data.samples)
        sample.us = 0;
    EXPECT_THROW(calibrate(data, preset_constants()), InputError);
}

// The single-node tables beside the project, each with the same weight.
CalibrationData published(const char* path) {
    std::ifstream file(path);
    const nlohmann::json json = nlohmann::json::parse(file);
    CalibrationData data;
    std::map<std::string, CollectiveSample> tables;
    for (const auto& t : json.at("tables")) {
        if (t.at("degraded").get<bool>() || t.at("nodes") != 1)
            continue;
        Cluster cluster = test::cluster_of(t.at("gpu").get<std::string>(), t.at("gpus_per_node"));
        cluster.nccl = t.at("nccl_version").is_string() ? t.at("nccl_version").get<std::string>()
                                                        : std::string(likely_nccl(cluster.gpu.arch));
        const std::string kind = t.at("collective");
        CollectiveSample sample{data.clusters.size(), {}, test::group_on(cluster, 1, t.at("gpus")), 0, 0};
        sample.collective.kind =
            kind == "alltoall" ? CollectiveKind::all_to_all : collective_from(kind).value();
        sample.collective.in_place = false;
        sample.weight = 1.0 / t.at("rows").get<double>();
        data.clusters.push_back(cluster);
        tables.emplace(t.at("table").get<std::string>(), sample);
    }
    for (const auto& row : json.at("rows")) {
        const auto table = tables.find(row.at("table").get<std::string>());
        if (table == tables.end())
            continue;
        data.samples.push_back(table->second);
        data.samples.back().collective.bytes = row.at("bytes");
        data.samples.back().us = row.at("time_us");
    }
    return data;
}

// The presets are what calibrate() makes of these tables, starting from data sheets.
TEST(Calibrate, MakesThePresets) {
    constexpr const char* kData = "../shared/data/nccl_tests.json";
    if (!std::filesystem::exists(kData))
        GTEST_SKIP() << kData << " is not there";
    ModelConstants fitted = calibrate(published(kData), derived_constants()).constants;
    ASSERT_EQ(fitted.links.size(), 7U);
    ModelConstants presets = preset_constants();
    for (LinkProfile& made : fitted.links) {
        const auto now = link_constants(made);
        const auto then = link_constants(link_of(presets, made.name));
        for (std::size_t i = 0; i < now.size(); ++i)
            EXPECT_NEAR(*now[i].value, *then[i].value, 0.02 * std::abs(*then[i].value))
                << made.name << " " << now[i].group << "." << now[i].key;
    }
}

TEST(ConstantsJson, PresetsSurviveWritingAndReading) {
    const auto json = constants_to_json(preset_constants());
    EXPECT_EQ(constants_to_json(constants_from_json(json, "test")).dump(), json.dump());
    EXPECT_EQ(json.at("links").size(), preset_constants().links.size());
}

TEST(ConstantsJson, SaysWhatIsWrong) {
    auto json = constants_to_json(preset_constants());
    json["links"][0]["ll"]["stat"] = 3;
    json["links"][1]["arch"] = "pascal";
    json["fabrics"][0]["hop"] = {1, 2};
    try {
        constants_from_json(json, "mine.json");
        FAIL() << "nothing was refused";
    } catch (const InputError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("mine.json: links[0].ll: unknown key \"stat\""), std::string::npos) << text;
        EXPECT_NE(text.find("\"pascal\" is not one of volta, ampere, hopper, blackwell"), std::string::npos);
        EXPECT_NE(text.find("fabrics[0].hop"), std::string::npos);
    }
}

} // namespace
} // namespace echosim::nccl
