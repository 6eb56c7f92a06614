// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/command.h"
#include "simulator/cli/console.h"

#include <string>

namespace echosim {

// What --version prints.
std::string version_text();
// The list of commands: `echosim --help` and `echosim` alone.
std::string overview_text(const TextStyle& style);
// Help of one command: examples first, then options. `brief` (-h) leaves out the description.
std::string command_help(const Command& command, const TextStyle& style, bool brief);
// docs/cli.md.
std::string markdown_reference();

// Completion script for bash, zsh or fish; throws InputError for another shell.
std::string completion_script(const std::string& shell);

} // namespace echosim
