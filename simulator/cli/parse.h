// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/command.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echosim {

// A command line taken apart.
struct Invocation {
    const Command* command = nullptr;
    std::vector<std::string> arguments;
    std::vector<std::string> rest; // after --
    std::map<std::string_view, std::vector<std::string>>
        given;               // long name -> values; a switch has one empty value
    bool short_help = false; // -h

    bool has(std::string_view option) const { return given.count(option) != 0; }
    // The value of an option that is not repeatable, if it was given.
    std::optional<std::string> value(std::string_view option) const;
    const std::vector<std::string>& values(std::string_view option) const;
};

// Words after the program's name, the first one being the command. Throws InputError: unknown command or
// option (with the nearest names), missing or superfluous value, option given twice, too many arguments. With
// --help among the words nothing else is checked.
Invocation parse_command_line(const std::vector<std::string>& words);

} // namespace echosim
