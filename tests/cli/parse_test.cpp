// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/parse.h"

#include "simulator/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::vector<std::string>& words) {
    try {
        parse_command_line(words);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Parse, TakesTheWordsApart) {
    const Invocation got =
        parse_command_line({"simulate", "job.sh", "--cluster", "dgx-h100", "--gpus=8", "-qo", "r.json",
                            "--set", "a=1", "--set=b=2", "--", "--bf16", "--json"});
    EXPECT_EQ(got.command->name, "simulate");
    EXPECT_THAT(got.arguments, ElementsAre("job.sh"));
    EXPECT_EQ(got.value("--cluster"), "dgx-h100");
    EXPECT_EQ(got.value("--gpus"), "8");
    EXPECT_TRUE(got.has("--quiet"));
    EXPECT_EQ(got.value("--output"), "r.json");
    EXPECT_THAT(got.values("--set"), ElementsAre("a=1", "b=2"));
    EXPECT_THAT(got.rest, ElementsAre("--bf16", "--json"));
    EXPECT_FALSE(got.has("--json"));
    EXPECT_FALSE(got.value("--timeline").has_value());
}

TEST(Parse, TakesADashAndNegativeNumbersAsValues) {
    const Invocation got = parse_command_line({"simulate", "-", "-o", "-", "--gpus", "-5"});
    EXPECT_THAT(got.arguments, ElementsAre("-"));
    EXPECT_EQ(got.value("--output"), "-");
    EXPECT_EQ(got.value("--gpus"), "-5");
}

TEST(Parse, HelpComesBeforeEveryOtherCheck) {
    const Invocation full = parse_command_line({"simulate", "--no-such", "--help"});
    EXPECT_TRUE(full.has("--help"));
    EXPECT_FALSE(full.short_help);
    EXPECT_TRUE(parse_command_line({"show", "-h"}).short_help);
    EXPECT_FALSE(parse_command_line({"simulate", "--", "--help"}).has("--help"));
}

TEST(Parse, SuggestsCommands) {
    EXPECT_THAT(refusal({"simulat"}), HasSubstr("did you mean \"simulate\"?"));
    EXPECT_THAT(refusal({"shwo"}), HasSubstr("did you mean \"show\"?"));
    EXPECT_THAT(
        refusal({"frobnicate"}),
        HasSubstr("commands: simulate, show, validate, collective, calibrate, import, export, completion"));
}

TEST(Parse, NamesCommandsThatAreNotBuiltYet) {
    for (const std::string_view name : commands_to_come())
        EXPECT_THAT(refusal({std::string(name)}), HasSubstr("is not available in this version"));
}

struct Typo {
    const char* command;
    const char* written;
    const char* meant;
};

TEST(Parse, SuggestsOptions) {
    const Typo typos[] = {
        {"simulate", "--clutser", "--cluster"},
        {"simulate", "--gpu", "--gpus"},
        {"simulate", "--ngpus", "--gpus"},
        {"simulate", "--sett", "--set"},
        {"simulate", "--timelin", "--timeline"},
        {"simulate", "--timeline-rank", "--timeline-ranks"},
        {"simulate", "--jsn", "--json"},
        {"simulate", "--ouput", "--output"},
        {"simulate", "--quite", "--quiet"},
        {"simulate", "--verbos", "--verbose"},
        {"simulate", "--calibratoin", "--calibration"},
        {"simulate", "--strickt", "--strict"},
        {"simulate", "--froce", "--force"},
        {"simulate", "--colour", "--color"},
        {"show", "--josn", "--json"},
        {"show", "--strcit", "--strict"},
        {"validate", "--dta", "--data"},
        {"validate", "--max-eror", "--max-error"},
        {"simulate", "--hlep", "--help"},
        {"validate", "--outptu", "--output"},
    };
    for (const Typo& typo : typos)
        EXPECT_THAT(refusal({typo.command, typo.written, "x"}),
                    HasSubstr(std::string("did you mean \"") + typo.meant + "\""));
}

TEST(Parse, SaysWhereMegatronFlagsGo) {
    EXPECT_THAT(refusal({"simulate", "job.sh", "--micro-batch-size", "2"}),
                HasSubstr("write those after --"));
}

TEST(Parse, RefusesWrongValues) {
    EXPECT_THAT(refusal({"simulate", "--cluster"}),
                HasSubstr("--cluster: needs a value NAME|FILE, but nothing"));
    EXPECT_THAT(refusal({"simulate", "--cluster", "--gpus", "8"}), HasSubstr("but \"--gpus\" follows"));
    EXPECT_THAT(refusal({"simulate", "--json=yes"}), HasSubstr("takes no value"));
    EXPECT_THAT(refusal({"simulate", "--gpus", "8", "--gpus", "16"}),
                HasSubstr("given twice: \"8\" and \"16\""));
    EXPECT_THAT(refusal({"simulate", "--color", "alway"}), HasSubstr("did you mean \"always\"?"));
    EXPECT_THAT(refusal({"simulate", "a.sh", "b.sh"}), HasSubstr("unexpected argument \"b.sh\""));
    EXPECT_THAT(refusal({"completion", "bash", "--", "x"}), HasSubstr("takes no words after --"));
}

TEST(CommandTable, EveryOptionNamesCommandsThatExist) {
    for (const CommandOption& option : options()) {
        EXPECT_TRUE(option.name.starts_with("--"));
        EXPECT_FALSE(option.help.empty()) << option.name;
        for (const std::string_view name : option.commands)
            EXPECT_NE(find_command(name), nullptr) << option.name << " " << name;
    }
}

} // namespace
} // namespace echosim
