// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/help.h"

#include "simulator/run/version.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim {
namespace {

std::string usage_of(const Command& command) {
    return fmt::format("echosim {} {}", command.name, command.arguments);
}

std::string spelling(const CommandOption& option) {
    std::string text = option.letter == 0 ? "    " : fmt::format("-{}, ", option.letter);
    text += option.name;
    if (option.takes_value())
        text += fmt::format(" {}", option.value);
    return text;
}

std::string paragraphs(std::string_view text, int width) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        out += wrap(text.substr(0, end), width, 0) + '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::string examples_text(const Command& command, const TextStyle& style) {
    std::string out;
    for (const CommandExample& example : command.examples) {
        if (!example.comment.empty())
            out += style.dim(fmt::format("  # {}", example.comment)) + '\n';
        out += fmt::format("  {}\n", example.line);
    }
    return out;
}

std::string options_text(const Command& command, const TextStyle& style) {
    constexpr int kColumn = 28;
    std::string out;
    for (const CommandOption* option : options_of(command)) {
        if (option->hidden)
            continue;
        const std::string head = "  " + spelling(*option);
        out += fmt::format("{:<{}}", head, kColumn);
        if (head.size() + 2 > kColumn)
            out += '\n' + std::string(kColumn, ' ');
        out += wrap(option->help, style.width, kColumn) + '\n';
    }
    return out;
}

constexpr std::string_view kExitCodes[][2] = {
    {"0", "ok"},
    {"1", "internal error"},
    {"2", "the input is wrong, including what Megatron-LM itself refuses"},
    {"3", "valid, but does not fit in memory; the result is complete all the same"},
    {"4", "a gate failed (validate --max-error)"},
    {"130", "interrupted"},
};

std::string markdown_cell(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '|')
            out += '\\';
        out += c;
    }
    return out;
}

std::string markdown_command(const Command& command) {
    std::string out = fmt::format("\n## echosim {}\n\n", command.name);
    out += fmt::format("```\n{}\n```\n\n{}\n\nExamples:\n\n```\n", usage_of(command), command.description);
    for (const CommandExample& example : command.examples)
        out += example.comment.empty() ? fmt::format("{}\n", example.line)
                                       : fmt::format("{}    # {}\n", example.line, example.comment);
    out += "```\n\n| option | meaning |\n|---|---|\n";
    for (const CommandOption* option : options_of(command)) {
        if (option->hidden)
            continue;
        const std::string head = spelling(*option);
        out += fmt::format("| `{}` | {} |\n", markdown_cell(head.substr(option->letter == 0 ? 4 : 0)),
                           markdown_cell(option->help));
    }
    return out;
}

} // namespace

std::string version_text() {
    return fmt::format("echosim {}\nsimulator of large-scale LLM training\nresult documents: {}\n", version(),
                       kSimulateSchema);
}

std::string overview_text(const TextStyle& style) {
    std::string out = "echosim: how long a training step of a Megatron-LM job takes, and why\n\n";
    out += style.bold("Examples") + "\n" + examples_text(commands().front(), style) + "\n" +
           style.bold("Commands") + "\n";
    for (const Command& command : commands())
        if (!command.hidden)
            out += fmt::format("  {:<12} {}\n", command.name, wrap(command.summary, style.width, 15));
    out += "\n" + style.bold("Exit codes") + "\n";
    for (const auto& [code, meaning] : kExitCodes)
        out += fmt::format("  {:<12} {}\n", code, wrap(meaning, style.width, 15));
    out += "\nechosim COMMAND --help explains a command, echosim --version prints the version.\n";
    return out;
}

std::string command_help(const Command& command, const TextStyle& style, bool brief) {
    std::string out = fmt::format("echosim {}: {}\n\n", command.name, command.summary);
    out += style.bold("Examples") + "\n" + examples_text(command, style) + "\n";
    out += style.bold("Usage") + "\n  " + usage_of(command) + "\n";
    if (!brief)
        out += "\n" + paragraphs(command.description, style.width);
    out += "\n" + style.bold("Options") + "\n" + options_text(command, style);
    return out;
}

std::string markdown_reference() {
    std::string out =
        "# Command line\n\n"
        "Made by `echosim help --markdown` from the table in `simulator/cli/command.cpp`; a test compares "
        "the two.\n\n"
        "The result goes to stdout, everything else to stderr. Option values may be written "
        "`--option VALUE` or `--option=VALUE`.\n\n"
        "| exit code | meaning |\n|---|---|\n";
    for (const auto& [code, meaning] : kExitCodes)
        out += fmt::format("| {} | {} |\n", code, meaning);
    for (const Command& command : commands())
        if (!command.hidden)
            out += markdown_command(command);
    return out;
}

} // namespace echosim
