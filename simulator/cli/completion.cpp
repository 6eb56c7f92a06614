// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/cluster.h"
#include "simulator/catalogue/model.h"
#include "simulator/cli/help.h"
#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <fmt/format.h>

namespace echosim {
namespace {

std::vector<const Command*> visible() {
    std::vector<const Command*> found;
    for (const Command& command : commands())
        if (!command.hidden)
            found.push_back(&command);
    return found;
}

std::vector<std::string> cluster_names() {
    std::vector<std::string> names;
    for (const Cluster& cluster : all_clusters())
        names.push_back(cluster.name);
    return names;
}

// Fixed words that complete an argument or a value; files come on top where files are allowed.
std::vector<std::string> words_for(Completes what, const std::vector<std::string_view>& fixed) {
    std::vector<std::string> words(fixed.begin(), fixed.end());
    if (what == Completes::cluster)
        for (std::string& name : cluster_names())
            words.push_back(std::move(name));
    if (what == Completes::job)
        for (const CatalogueModel& model : all_models())
            words.push_back(model.id);
    return words;
}

std::vector<std::string> spellings(const Command& command) {
    std::vector<std::string> words;
    for (const CommandOption* option : options_of(command)) {
        if (option->hidden)
            continue;
        words.emplace_back(option->name);
        if (option->letter != 0)
            words.push_back(fmt::format("-{}", option->letter));
    }
    return words;
}

std::string bash_values() {
    std::string cases;
    for (const CommandOption& option : options()) {
        if (!option.takes_value())
            continue;
        const std::string names =
            option.letter == 0 ? std::string(option.name) : fmt::format("{}|-{}", option.name, option.letter);
        const std::string files = option.completes == Completes::nothing ? "" : " -f";
        cases += fmt::format("    {}) COMPREPLY=($(compgen{} -W \"{}\" -- \"$cur\")); return ;;\n", names,
                             files, join(words_for(option.completes, option.choices), " "));
    }
    return cases;
}

std::string bash_script() {
    std::string names;
    std::string cases;
    for (const Command* command : visible()) {
        names += (names.empty() ? "" : " ") + std::string(command->name);
        const std::string files = command->completes == Completes::nothing ? "" : " -f";
        cases += fmt::format("    {}) opts=\"{}\"; words=\"{}\"; files=\"{}\" ;;\n", command->name,
                             join(spellings(*command), " "),
                             join(words_for(command->completes, command->words), " "), files);
    }
    return fmt::format("# bash completion of echosim\n"
                       "_echosim() {{\n"
                       "  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" prev=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
                       "  local opts=\"\" words=\"\" files=\"\"\n"
                       "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                       "    COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$cur\")); return\n"
                       "  fi\n"
                       "  case \"$prev\" in\n{}  esac\n"
                       "  case \"${{COMP_WORDS[1]}}\" in\n{}  esac\n"
                       "  if [[ \"$cur\" == -* ]]; then COMPREPLY=($(compgen -W \"$opts\" -- \"$cur\"))\n"
                       "  else COMPREPLY=($(compgen $files -W \"$words\" -- \"$cur\")); fi\n"
                       "}}\n"
                       "complete -o filenames -F _echosim echosim\n",
                       names, bash_values(), cases);
}

// zsh reads the bash script through its own emulation.
std::string zsh_script() {
    return "#compdef echosim\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script();
}

std::string fish_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + "'";
}

std::string fish_option(const Command& command, const CommandOption& option) {
    std::string line = fmt::format("complete -c echosim -n '__fish_seen_subcommand_from {}' -l {}",
                                   command.name, option.name.substr(2));
    if (option.letter != 0)
        line += fmt::format(" -s {}", option.letter);
    if (option.takes_value()) {
        line += option.completes == Completes::nothing ? " -x" : " -r";
        const auto words = words_for(option.completes, option.choices);
        if (!words.empty())
            line += " -a " + fish_quoted(join(words, " "));
    }
    return line + " -d " + fish_quoted(option.help.substr(0, option.help.find_first_of(".;:("))) + "\n";
}

std::string fish_script() {
    std::string out = "# fish completion of echosim\n";
    for (const Command* command : visible()) {
        out += fmt::format("complete -c echosim -f -n __fish_use_subcommand -a {} -d {}\n", command->name,
                           fish_quoted(command->summary));
        const auto words = words_for(command->completes, command->words);
        if (!words.empty())
            out += fmt::format("complete -c echosim {} -n '__fish_seen_subcommand_from {}' -a {}\n",
                               command->completes == Completes::nothing ? "-f" : "-F", command->name,
                               fish_quoted(join(words, " ")));
        for (const CommandOption* option : options_of(*command))
            if (!option->hidden)
                out += fish_option(*command, *option);
    }
    return out;
}

} // namespace

std::string completion_script(const std::string& shell) {
    if (shell == "bash")
        return bash_script();
    if (shell == "zsh")
        return zsh_script();
    if (shell == "fish")
        return fish_script();
    const std::vector<std::string> shells = {"bash", "zsh", "fish"};
    throw InputError("", fmt::format("no completion for shell \"{}\"{}", shell, did_you_mean(shells, shell)),
                     "shells: " + join(shells));
}

} // namespace echosim
