// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/parse.h"

#include "simulator/core/error.h"
#include "simulator/core/suggest.h"
#include "simulator/workload/megatron_options.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim {
namespace {

std::vector<std::string> visible_commands() {
    std::vector<std::string> names;
    for (const Command& command : commands())
        if (!command.hidden)
            names.emplace_back(command.name);
    return names;
}

const Command& command_named(const std::string& word) {
    if (const Command* command = find_command(word))
        return *command;
    const std::vector<std::string> names = visible_commands();
    const auto& later = commands_to_come();
    if (std::find(later.begin(), later.end(), word) != later.end())
        throw InputError("", fmt::format("command \"{}\" is not available in this version", word),
                         "commands of this version: " + join(names));
    if (word.starts_with("-"))
        throw InputError(
            "", fmt::format("unknown option \"{}\" before the command", word),
            "write the command first: echosim COMMAND [OPTIONS]; echosim --help lists the commands");
    throw InputError("", fmt::format("unknown command \"{}\"{}", word, did_you_mean(names, word)),
                     "commands: " + join(names) + "; echosim --help explains them");
}

// "-5" and "-" are values.
bool looks_like_option(std::string_view word) {
    return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9');
}

// Walks over the words of one command.
class CommandLine {
  public:
    CommandLine(const Command& command, const std::vector<std::string>& words) : words_(words) {
        result_.command = &command;
    }

    Invocation parse() {
        for (next_ = 1; next_ < words_.size(); ++next_) {
            const std::string& word = words_[next_];
            if (word == "--") {
                take_rest();
                break;
            }
            if (word.starts_with("--"))
                long_option(word);
            else if (looks_like_option(word))
                letters(word);
            else
                argument(word);
        }
        return std::move(result_);
    }

  private:
    std::string where() const { return fmt::format("echosim {}", result_.command->name); }

    void argument(const std::string& word) {
        result_.arguments.push_back(word);
        if (result_.arguments.size() <= result_.command->most_arguments)
            return;
        throw InputError(
            where(), fmt::format("unexpected argument \"{}\"", word),
            fmt::format("usage: echosim {} {}", result_.command->name, result_.command->arguments));
    }

    void take_rest() {
        result_.rest.assign(words_.begin() + static_cast<std::ptrdiff_t>(next_) + 1, words_.end());
        if (!result_.command->takes_rest && !result_.rest.empty())
            throw InputError(where(), fmt::format("takes no words after --, read \"{}\"", result_.rest[0]));
    }

    void long_option(const std::string& word) {
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const CommandOption* option = find_option(*result_.command, name);
        if (option == nullptr)
            unknown(name);
        if (equals == std::string::npos)
            return accept(*option, name);
        if (!option->takes_value())
            throw InputError(name, fmt::format("takes no value, read \"{}\"", word.substr(equals + 1)));
        store(*option, word.substr(equals + 1));
    }

    // -q, -qv, -o FILE, -oFILE
    void letters(const std::string& word) {
        for (std::size_t i = 1; i < word.size(); ++i) {
            const CommandOption* option = find_option(*result_.command, word[i]);
            if (option == nullptr)
                unknown(std::string("-") + word[i]);
            if (word[i] == 'h')
                result_.short_help = true;
            if (option->takes_value() && i + 1 < word.size())
                return store(*option, word.substr(i + 1));
            accept(*option, std::string("-") + word[i]);
        }
    }

    void accept(const CommandOption& option, const std::string& name) {
        if (!option.takes_value())
            return store(option, "");
        const bool last = next_ + 1 >= words_.size();
        const std::string value = last ? "" : words_[next_ + 1];
        if (last || looks_like_option(value)) {
            const std::string read = last ? "nothing follows" : fmt::format("\"{}\" follows", value);
            throw InputError(name, fmt::format("needs a value {}, but {}", option.value, read),
                             fmt::format("write {} {}", option.name, option.value));
        }
        ++next_;
        store(option, value);
    }

    void store(const CommandOption& option, std::string value) {
        const auto& allowed = option.choices;
        if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
            const std::vector<std::string> names(allowed.begin(), allowed.end());
            throw InputError(std::string(option.name), fmt::format("\"{}\" is not one of {}{}", value,
                                                                   join(names), did_you_mean(names, value)));
        }
        if (option.takes_value() && value.empty())
            throw InputError(std::string(option.name),
                             fmt::format("needs a value {}, but it is empty", option.value));
        auto& values = result_.given[option.name];
        if (!values.empty() && option.takes_value() && !option.repeatable)
            throw InputError(std::string(option.name),
                             fmt::format("given twice: \"{}\" and \"{}\"", values[0], value),
                             "keep one of them");
        values.push_back(std::move(value));
    }

    [[noreturn]] void unknown(const std::string& name) const {
        std::vector<std::string> names;
        for (const CommandOption* option : options_of(*result_.command))
            if (!option->hidden)
                names.emplace_back(option->name);
        const std::string similar = did_you_mean(names, name);
        std::string hint = fmt::format("echosim {} --help lists the options", result_.command->name);
        if (similar.empty() && result_.command->takes_rest && find_option(name) != nullptr)
            hint =
                fmt::format("{} is a Megatron-LM flag: write those after --, as in echosim {} JOB -- {} ...",
                            name, result_.command->name, name);
        throw InputError(where(), fmt::format("unknown option \"{}\"{}", name, similar), hint);
    }

    const std::vector<std::string>& words_;
    std::size_t next_ = 1;
    Invocation result_;
};

bool asks_for_help(const std::vector<std::string>& words) {
    const auto end = std::find(words.begin(), words.end(), "--");
    return std::find_if(words.begin(), end, [](const auto& w) { return w == "--help" || w == "-h"; }) != end;
}

} // namespace

std::optional<std::string> Invocation::value(std::string_view option) const {
    const auto found = given.find(option);
    return found == given.end() ? std::nullopt : std::optional(found->second.front());
}

const std::vector<std::string>& Invocation::values(std::string_view option) const {
    static const std::vector<std::string> none;
    const auto found = given.find(option);
    return found == given.end() ? none : found->second;
}

Invocation parse_command_line(const std::vector<std::string>& words) {
    const Command& command = command_named(words.empty() ? "" : words.front());
    if (asks_for_help(words)) {
        Invocation help;
        help.command = &command;
        help.given["--help"] = {""};
        help.short_help = std::find(words.begin(), words.end(), "--help") == words.end();
        return help;
    }
    return CommandLine(command, words).parse();
}

} // namespace echosim
