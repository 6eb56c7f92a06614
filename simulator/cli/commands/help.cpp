// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/help.h"
#include "simulator/cli/console.h"
#include "simulator/cli/parse.h"
#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <fmt/format.h>

namespace echosim {

int run_completion(const Invocation& invocation, Console& console) {
    if (invocation.arguments.empty())
        throw InputError("echosim completion", "the shell is missing", "write bash, zsh or fish");
    console.out() << completion_script(invocation.arguments[0]);
    return static_cast<int>(ExitCode::ok);
}

int run_help(const Invocation& invocation, Console& console) {
    if (invocation.has("--markdown")) {
        console.out() << markdown_reference();
    } else if (invocation.arguments.empty()) {
        console.out() << overview_text(console.style());
    } else if (const Command* command = find_command(invocation.arguments[0])) {
        console.out() << command_help(*command, console.style(), false);
    } else {
        std::vector<std::string> names;
        for (const Command& known : commands())
            names.emplace_back(known.name);
        throw InputError("echosim help", fmt::format("unknown command \"{}\"{}", invocation.arguments[0],
                                                     did_you_mean(names, invocation.arguments[0])));
    }
    return static_cast<int>(ExitCode::ok);
}

} // namespace echosim
