// SPDX-License-Identifier: Apache-2.0
#include "interference/make_slowdown.h"

#include "interference/learned_slowdown.h"
#include "simulator/core/files.h"
#include "tests/interference/made_samples.h"
#include "tests/support/refusal.h"

#include <array>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using testing::HasSubstr;
using Kind = InterferenceChoice::Kind;

// A file in the temporary folder, removed at the end.
class ModelPath {
  public:
    explicit ModelPath(const std::string& content)
        : path_(testing::TempDir() + "echosim_make_slowdown_" +
                testing::UnitTest::GetInstance()->current_test_info()->name() + ".json") {
        write_file_atomically(path_, content);
    }
    ~ModelPath() { std::filesystem::remove(path_); }
    ModelPath(const ModelPath&) = delete;
    ModelPath& operator=(const ModelPath&) = delete;
    const std::string& text() const { return path_; }

  private:
    std::string path_;
};

const std::string& model_text() {
    static const std::string text =
        fit_slowdown(made_samples(40, [](const auto&, const auto&) { return 0.3; }),
                     {.fitter = Fitter::ridge})
            ->to_json_text();
    return text;
}

// Rate of a kernel with u = 0.3 beside a communication of 24 CTAs.
double rate_of(const SlowdownModel& model) {
    KernelFootprint kernel;
    kernel.kernel_class = KernelClass::gemm;
    kernel.time = 200e-6;
    kernel.hbm_share = 0.2;
    kernel.compute_share = 0.8;
    kernel.occupancy_ratio = 0.9;
    CommFootprint comm;
    comm.ctas = 24;
    comm.hbm_share = 0.05;
    const std::array running{Running{.kind = OpKind::collective, .comm = &comm},
                             Running{.kind = OpKind::compute, .kernel = &kernel}};
    std::array<double, 2> rate{};
    model.rates(running, rate);
    return rate[1];
}

TEST(ReadInterference, Words) {
    EXPECT_EQ(read_interference("off", "x").kind, Kind::off);
    EXPECT_EQ(read_interference("prior", "x").kind, Kind::prior);
    const InterferenceChoice constant = read_interference("constant:1.25", "x");
    EXPECT_EQ(constant.kind, Kind::constant);
    EXPECT_EQ(constant.factor, 1.25);
}

TEST(ReadInterference, RefusesOtherWords) {
    const auto text = [](const char* value) {
        return refusal([&] { read_interference(value, "--set interference"); });
    };
    EXPECT_THAT(text("prio"),
                HasSubstr("--set interference: read \"prio\"; allowed: off, constant:F, prior, or a "
                          "file"));
    EXPECT_THAT(text("prio"), HasSubstr("did you mean \"prior\"?"));
    EXPECT_THAT(text("Prior"), HasSubstr("did you mean \"prior\"?"));
    for (const char* value : {"constant:", "constant:0.99", "constant:10.5", "constant:1.2x", "constant:nan",
                              "constant:inf", "constant:-2", "constant: 2"})
        EXPECT_THAT(text(value), HasSubstr("constant:F takes a factor from 1 to 10")) << value;
    EXPECT_THAT(text("models/gone.json"), HasSubstr("there is no file \"models/gone.json\""));
    EXPECT_THAT(text("models/gone.json"), HasSubstr("an earlier result names the file"));
    EXPECT_THAT(text("gone.json"), HasSubstr("there is no file"));
}

TEST(MakeSlowdown, OfWords) {
    const Gpu& gpu = find_gpu("a100-sxm-80gb");
    EXPECT_TRUE(make_slowdown("off", gpu)->identity());
    EXPECT_TRUE(make_slowdown("", gpu)->identity());
    EXPECT_EQ(rate_of(*make_slowdown("constant:1.25", gpu)), 0.8);
    EXPECT_EQ(rate_of(*make_slowdown("prior", gpu)), rate_of(PriorSlowdown(limits_of(gpu))));
    EXPECT_LT(rate_of(*make_slowdown("prior", gpu)), 1);
}

// The fit knows e^0.3 = 1.35 times the prior.
TEST(MakeSlowdown, OfAFile) {
    const ModelPath file(model_text());
    const Gpu& gpu = find_gpu("a100-sxm-80gb");
    const auto model = make_slowdown(file.text(), gpu);
    EXPECT_NEAR(rate_of(*model) / rate_of(*make_slowdown("prior", gpu)), std::exp(-0.3), 0.01);
}

TEST(MakeSlowdown, RefusesAFileOfAnotherGpuOrAnotherKind) {
    const ModelPath file(model_text());
    const std::string text = refusal([&] { make_slowdown(file.text(), find_gpu("h100-sxm")); });
    EXPECT_THAT(text, HasSubstr(file.text() + ": was fitted to a100-sxm-80gb with 108 SMs"));
    write_file_atomically(file.text(), "{\"schema\": \"echosim.calibration/1\"}");
    EXPECT_THAT(refusal([&] { make_slowdown(file.text(), find_gpu("a100-sxm-80gb")); }),
                HasSubstr("is not \"echosim.interference/1\""));
    write_file_atomically(file.text(), "not JSON");
    EXPECT_THAT(refusal([&] { make_slowdown(file.text(), find_gpu("a100-sxm-80gb")); }),
                HasSubstr(file.text() + ":1:1"));
    EXPECT_THAT(refusal([&] { make_slowdown(testing::TempDir(), find_gpu("a100-sxm-80gb")); }),
                HasSubstr("folder"));
}

} // namespace
} // namespace echosim
