// SPDX-License-Identifier: Apache-2.0
#include "clusters.h"
#include "comm_models/calibration_file.h"
#include "comm_models/nccl_model.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "tests/support/refusal.h"

#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace echosim::nccl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A file in the temporary folder; it disappears with the object.
class CalibrationOnDisk {
  public:
    explicit CalibrationOnDisk(const std::string& text)
        : path_(std::filesystem::temp_directory_path() /
                ("echosim_calibration_" + std::to_string(::getpid()) + ".json")) {
        write_file_atomically(path_, text);
    }
    ~CalibrationOnDisk() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    CalibrationOnDisk(const CalibrationOnDisk&) = delete;
    CalibrationOnDisk& operator=(const CalibrationOnDisk&) = delete;
    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

const LinkProfile& h100_preset() {
    return link_profile(preset_constants(), test::cluster_of("h100-sxm"), 229, true);
}

// The H100 profile of the presets with ten times its start of Simple.
Calibration slow_start() {
    Calibration calibration;
    calibration.constants.links = {h100_preset()};
    calibration.constants.links[0].simple.start *= 10;
    return calibration;
}

std::string refused(const std::string& text) {
    const CalibrationOnDisk file(text);
    return refusal([&] { load_constants(file.path()); });
}

TEST(CalibrationFile, ComesBackAsItWasWritten) {
    const CalibrationOnDisk file(calibration_text(slow_start(), "a.log"));
    const auto constants = load_constants(file.path());
    EXPECT_EQ(constants->links.size(), preset_constants().links.size()); // it replaces the preset of its name
    const LinkProfile& link = link_profile(*constants, test::cluster_of("h100-sxm"), 229, true);
    EXPECT_NEAR(link.simple.start, 10 * h100_preset().simple.start, 1e-3 * link.simple.start);
    EXPECT_EQ(load_constants("").get(), &preset_constants());
}

TEST(CalibrationFile, ChangesTheTimesOfTheModel) {
    const CalibrationOnDisk file(calibration_text(slow_start(), "a.log"));
    const Cluster cluster = test::cluster_of("h100-sxm");
    const GroupGeometry group = test::group_on(cluster, 1, 2);
    const Collective call{.kind = CollectiveKind::all_reduce, .bytes = 64_MiB};
    const double before = NcclModel(cluster).estimate(call, group).time;
    const double after = NcclModel(cluster, {file.path(), {}, {}}).estimate(call, group).time;
    EXPECT_NEAR((after - before) * 1e6, 9 * h100_preset().simple.start,
                0.01 * 9 * h100_preset().simple.start);
}

TEST(CalibrationFile, NewNamesGoToTheFront) {
    ModelConstants calibration;
    calibration.links = {h100_preset()};
    calibration.links[0].name = "ours";
    const ModelConstants merged = with_calibration(preset_constants(), calibration);
    EXPECT_EQ(merged.links.front().name, "ours");
    EXPECT_EQ(merged.links.size(), preset_constants().links.size() + 1);
}

TEST(CalibrationFile, ForAnotherGpuIsAWarning) {
    const ModelConstants calibration = slow_start().constants;
    EXPECT_EQ(calibration_mismatch(calibration, test::cluster_of("h100-sxm")), "");
    EXPECT_THAT(calibration_mismatch(calibration, test::cluster_of("b200-sxm")),
                AllOf(HasSubstr("h100"), HasSubstr("not for b200-sxm on infiniband")));
    const CalibrationOnDisk file(calibration_text(slow_start(), "a.log"));
    const NcclModel model(test::cluster_of("b200-sxm"), {file.path(), {}, {}});
    EXPECT_THAT(model.warnings(), testing::Contains(HasSubstr("the calibration is for h100")));
}

TEST(CalibrationFile, WhatIsNoneIsRefused) {
    EXPECT_THAT(refusal([] { load_constants("/nowhere/none.json"); }), HasSubstr("there is no such file"));
    EXPECT_THAT(refused("{"), HasSubstr(":1:"));
    EXPECT_THAT(refused("[]"), HasSubstr("expected an object"));
    EXPECT_THAT(refused("{}"), HasSubstr("the key \"schema\" is missing"));
    EXPECT_THAT(refused(R"({"schema": "echosim.cluster/1"})"),
                HasSubstr("\"echosim.cluster/1\" is not \"echosim.calibration/1\""));
    EXPECT_THAT(refused(R"({"schema": "echosim.calibration/1", "collective": {}})"),
                HasSubstr("did you mean \"collectives\"?"));
    EXPECT_THAT(refused(R"({"schema": "echosim.calibration/1", "collectives": []})"),
                HasSubstr("collectives: expected an object"));
}

// Constants that no link has: the message names the place.
TEST(CalibrationFile, ConstantsOutOfRangeAreRefused) {
    std::string text = calibration_text(slow_start(), "a.log");
    const std::size_t at = text.find("\"bandwidth\": ");
    ASSERT_NE(at, std::string::npos);
    text.insert(at + 13, "-");
    EXPECT_THAT(refused(text), AllOf(HasSubstr("collectives"), HasSubstr("bandwidth")));
}

// A rate of 0 would make times infinite, written or left out.
TEST(CalibrationFile, RatesAreAboveZero) {
    Calibration calibration = slow_start();
    calibration.constants.links[0].simple.bandwidth = 0; // left out of the text, so it stays 0
    EXPECT_THAT(refused(calibration_text(calibration, "a.log")),
                AllOf(HasSubstr("links[0].simple.bandwidth"), HasSubstr("read 0")));
    std::string text = calibration_text(slow_start(), "a.log");
    const std::size_t at = text.find("\"copy_gather\": ");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, text.find(',', at) - at, "\"copy_gather\": 0");
    EXPECT_THAT(refused(text), HasSubstr("copy_gather"));
}

// "a100-40gb-2020" is for NCCL before 2.14: with the newest NCCL the built-in entry "a100" is found.
TEST(CalibrationFile, ForAnotherNcclIsAWarning) {
    Cluster cluster = test::cluster_of("a100-sxm-40gb");
    cluster.nccl = "2.10";
    ModelConstants calibration;
    calibration.links = {link_profile(preset_constants(), cluster, 210, true)};
    const LinkProfile& entry = calibration.links[0];
    EXPECT_EQ(versions_of(entry, preset_constants(), cluster), "NCCL before 2.14");
    EXPECT_TRUE(calibration_use(calibration, cluster).links);
    EXPECT_EQ(calibration_mismatch(calibration, cluster), "");
    cluster.nccl = "";
    EXPECT_FALSE(calibration_use(calibration, cluster).links);
    EXPECT_THAT(calibration_mismatch(calibration, cluster),
                AllOf(HasSubstr("NCCL before 2.14"), HasSubstr("--nccl 2.10 would use it")));
    calibration.fabrics = {fabric_profile(preset_constants(), FabricKind::infiniband)};
    EXPECT_THAT(calibration_mismatch(calibration, cluster),
                HasSubstr("only its constants of infiniband are used"));
    EXPECT_EQ(versions_of(link_profile(preset_constants(), cluster, 230, true), preset_constants(), cluster),
              "NCCL 2.14 and later");
}

TEST(CalibrationFile, OtherSectionsAreLeftToOthers) {
    const CalibrationOnDisk file(R"({"schema": "echosim.calibration/1", "kernels": {"x": 1}})");
    EXPECT_EQ(load_constants(file.path())->links.size(), preset_constants().links.size());
}

} // namespace
} // namespace echosim::nccl
