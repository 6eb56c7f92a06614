// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/help.h"

#include "simulator/cli/cli.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace echosim {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Help, ReferenceInTheDocumentationIsUpToDate) {
    EXPECT_EQ(read_text_file("docs/cli.md"), markdown_reference())
        << "run: echosim help --markdown > docs/cli.md";
}

TEST(Help, ShowsExamplesBeforeOptions) {
    for (const Command& command : commands()) {
        const std::string text = command_help(command, TextStyle{}, false);
        EXPECT_LT(text.find("\nExamples\n"), text.find("\nOptions\n")) << command.name;
    }
}

TEST(Help, KeepsToTheWidth) {
    const TextStyle style{.width = 80};
    std::string all = overview_text(style);
    for (const Command& command : commands())
        all += command_help(command, style, false);
    std::istringstream lines(all);
    for (std::string line; std::getline(lines, line);) {
        if (line.find("echosim ") == std::string::npos) { // command lines are not broken
            EXPECT_LE(line.size(), 80U) << line;
        }
    }
}

TEST(Help, BriefHelpLeavesOutTheDescription) {
    const Command& simulate = *find_command("simulate");
    EXPECT_THAT(command_help(simulate, TextStyle{}, false), HasSubstr("never executed"));
    EXPECT_THAT(command_help(simulate, TextStyle{}, true), Not(HasSubstr("never executed")));
}

TEST(Help, DoesNotListWhatIsHidden) {
    EXPECT_THAT(markdown_reference(), Not(HasSubstr("## echosim help")));
    EXPECT_THAT(overview_text(TextStyle{}), Not(HasSubstr("doctor")));
}

TEST(Help, NoArgumentsIsWrongInputWithTheOverview) {
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(run_cli({}, out, err), 2);
    EXPECT_THAT(err.str(), HasSubstr("Commands"));
    EXPECT_EQ(out.str(), "");
    EXPECT_EQ(run_cli({"--help"}, out, err), 0);
    EXPECT_THAT(out.str(), HasSubstr("Commands"));
}

TEST(Help, ReportsAnOutputThatCannotBeWritten) {
    std::ostringstream out;
    std::ostringstream err;
    out.setstate(std::ios::badbit);
    EXPECT_EQ(run_cli({"--help"}, out, err), 1);
    EXPECT_THAT(err.str(), HasSubstr("stdout cannot be written"));
}

TEST(Completion, OffersCommandsOptionsAndNames) {
    for (const char* shell : {"bash", "zsh", "fish"}) {
        const std::string script = completion_script(shell);
        EXPECT_THAT(script, HasSubstr("simulate"));
        EXPECT_THAT(script, HasSubstr("timeline-ranks"));
        EXPECT_THAT(script, HasSubstr("dgx-h100"));
        EXPECT_THAT(script, HasSubstr("gpt3-175b"));
        EXPECT_THAT(script, Not(HasSubstr("--markdown")));
    }
    EXPECT_THROW(completion_script("tcsh"), InputError);
}

} // namespace
} // namespace echosim
