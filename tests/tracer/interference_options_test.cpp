// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/options.h"

#include "simulator/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

BenchOptions parse(const std::vector<const char*>& arguments) {
    return parse_bench_options(arguments);
}

std::string error_of(const std::vector<const char*>& arguments) {
    try {
        parse_bench_options(arguments);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(InterferenceOptions, DefaultsAreThoseOfTheHelp) {
    const BenchOptions options = parse({});
    EXPECT_THAT(options.ctas, ElementsAre(1, 2, 4, 8, 16, 24, 32));
    EXPECT_EQ(options.repeats, 30);
    EXPECT_TRUE(options.kernels.empty());
    EXPECT_EQ(options.orders.size(), 2U);
    EXPECT_THAT(bench_help(), HasSubstr("default: 1,2,4,8,16,24,32"));
    EXPECT_THAT(bench_help(), HasSubstr("default: .003,.012"));
}

TEST(InterferenceOptions, ListsAndBothSpellingsOfValues) {
    const BenchOptions options =
        parse({"--kernels", "gemm,copy", "--ctas=4,24", "--orders", "kernel_first",
               "--collectives=all_gather", "--hbm-per-cta", "0.005", "--repeats=7", "--gpus", "2", "-o",
               "out.csv", "-q", "--stand-in", "--high-priority"});
    EXPECT_THAT(options.kernels, ElementsAre("gemm", "copy"));
    EXPECT_THAT(options.ctas, ElementsAre(4, 24));
    EXPECT_THAT(options.orders, ElementsAre(LaunchOrder::kernel_first));
    EXPECT_THAT(options.collectives, ElementsAre(CollectiveKind::all_gather));
    EXPECT_THAT(options.hbm_per_cta, ElementsAre(.005));
    EXPECT_EQ(options.repeats, 7);
    EXPECT_EQ(options.gpus, 2);
    EXPECT_EQ(options.output, "out.csv");
    EXPECT_TRUE(options.quiet && options.stand_in && options.high_priority);
    EXPECT_FALSE(options.dry_run || options.list || options.help);
}

TEST(InterferenceOptions, ErrorsNameTheOptionAndWhatIsAllowed) {
    EXPECT_THAT(error_of({"--ctas", "4,x"}), HasSubstr("--ctas: \"x\" is not a number from 1 to 64"));
    EXPECT_THAT(error_of({"--ctas", "0"}), HasSubstr("1 to 64"));
    EXPECT_THAT(error_of({"--ctas", "4,,8"}), HasSubstr("\"\" is not a number"));
    EXPECT_THAT(error_of({"--hbm-per-cta", "nan"}), HasSubstr("\"nan\" is not a number from 0.0001 to 0.1"));
    EXPECT_THAT(error_of({"--repeats", "30.5"}), HasSubstr("3 to 10000"));
    EXPECT_THAT(error_of({"--orders", "both"}), HasSubstr("comm_first or kernel_first"));
    EXPECT_THAT(error_of({"--collectives", "broadcast"}), HasSubstr("reduce_scatter"));
    EXPECT_THAT(error_of({"--kernel", "gemm"}), HasSubstr("did you mean \"--kernels\"?"));
    EXPECT_THAT(error_of({"-o"}), HasSubstr("-o: needs a value"));
    EXPECT_THAT(error_of({"--ctas="}), HasSubstr("--ctas: needs a value"));
}

TEST(InterferenceOptions, AllErrorsAreCollected) {
    const std::string error = error_of({"--repeats", "1", "--orders=x", "--nonsense"});
    EXPECT_THAT(error, HasSubstr("--repeats"));
    EXPECT_THAT(error, HasSubstr("--orders"));
    EXPECT_THAT(error, HasSubstr("--nonsense"));
}

TEST(InterferenceOptions, HelpIsGivenWhateverElseIsWrong) {
    EXPECT_TRUE(parse({"--nonsense", "x", "--help"}).help);
}

} // namespace
} // namespace echosim
