// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/cli.h"

#include "simulator/cli/console.h"
#include "simulator/cli/help.h"
#include "simulator/cli/parse.h"
#include "simulator/core/error.h"

#include <exception>
#include <new>

namespace echosim {
namespace {

ColourChoice colour_choice(const Invocation& invocation) {
    const auto when = invocation.value("--color");
    if (!when || *when == "auto")
        return ColourChoice::automatic;
    return *when == "always" ? ColourChoice::always : ColourChoice::never;
}

int dispatch(const std::vector<std::string>& words, Console& console) {
    if (words[0] == "--help" || words[0] == "-h") {
        console.out() << overview_text(console.style());
        return static_cast<int>(ExitCode::ok);
    }
    if (words[0] == "--version") {
        console.out() << version_text();
        return static_cast<int>(ExitCode::ok);
    }
    const Invocation invocation = parse_command_line(words);
    console.set_style(detect_style(colour_choice(invocation)));
    console.set_level(invocation.has("--quiet"), invocation.has("--verbose"));
    if (invocation.has("--help")) {
        console.out() << command_help(*invocation.command, console.style(), invocation.short_help);
        return static_cast<int>(ExitCode::ok);
    }
    return invocation.command->run(invocation, console);
}

} // namespace

int run_cli(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
    if (words.empty()) {
        err << overview_text({});
        return static_cast<int>(ExitCode::wrong_input);
    }
    Console console(out, err, detect_style(ColourChoice::automatic));
    try {
        const int code = dispatch(words, console);
        out.flush();
        if (out)
            return code;
        console.error("stdout cannot be written");
    } catch (const InputError& error) {
        console.error(error.what());
        return static_cast<int>(ExitCode::wrong_input);
    } catch (const std::bad_alloc&) {
        console.error("not enough memory");
    } catch (const std::exception& error) {
        console.error(error.what());
    }
    return static_cast<int>(ExitCode::internal_error);
}

} // namespace echosim
