// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "simulator/workload/shell_run.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

// Builtins and small tools whose output is known, and the files that a script reads or writes beside itself.
namespace echosim::shell {
namespace {

constexpr Bytes kMaxScript = 1_MiB;
constexpr std::size_t kMaxFiles = 100;

std::string joined(const std::vector<Field>& words, std::size_t first) {
    std::string text;
    for (std::size_t i = first; i < words.size(); ++i) {
        if (i > first)
            text += ' ';
        text += words[i].text;
    }
    return text;
}

// printf with %s, %d and %0Nd; \n in the format.
std::string print_formatted(const std::vector<Field>& words) {
    const std::string format = words.size() > 1 ? without_line_marks(words[1].text) : std::string();
    std::string out;
    std::size_t argument = 2;
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] == '\\' && i + 1 < format.size()) {
            const char c = format[++i];
            out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
        } else if (format[i] == '%' && i + 1 < format.size() && format[i + 1] != '%') {
            std::string width;
            while (i + 1 < format.size() && std::isdigit(static_cast<unsigned char>(format[i + 1])) != 0)
                width += format[++i];
            ++i;
            const std::string value = argument < words.size() ? words[argument++].text : std::string();
            const std::size_t wanted = std::min<std::size_t>(std::strtoul(width.c_str(), nullptr, 10), 1000);
            const std::size_t fill = wanted > value.size() ? wanted - value.size() : 0;
            out += std::string(fill, !width.empty() && width[0] == '0' ? '0' : ' ') + value;
        } else {
            if (format[i] == '%')
                ++i;
            out += format[i];
        }
    }
    return out;
}

std::string parent_folder(const std::string& path) {
    const std::string parent = std::filesystem::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

std::string sequence(const std::vector<Field>& words) {
    std::vector<long> numbers;
    for (std::size_t i = 1; i < words.size(); ++i)
        numbers.push_back(std::strtol(without_line_marks(words[i].text).c_str(), nullptr, 10));
    const long first = numbers.size() > 1 ? numbers.front() : 1;
    const long step = numbers.size() > 2 ? numbers[1] : 1;
    std::string out;
    for (long i = first, n = 0; step != 0 && !numbers.empty() && n < 10'000; i += step, ++n) {
        if (step > 0 ? i > numbers.back() : i < numbers.back())
            break;
        out += std::to_string(i) + '\n';
    }
    return out;
}

} // namespace

// echo, printf, pwd: into $( ), into a file, or nowhere.
std::optional<Status> Runner::run_output(const Node& node, const std::vector<Field>& words) {
    const std::string name = without_line_marks(words[0].text);
    if (name == "echo") {
        std::size_t first = 1;
        while (first < words.size() &&
               (words[first].text == "-n" || words[first].text == "-e" || words[first].text == "-ne"))
            ++first;
        write_output(node, joined(words, first) + '\n');
        return Status::success;
    }
    if (name == "printf") {
        write_output(node, print_formatted(words));
        return Status::success;
    }
    if (name == "pwd") {
        write_output(node,
                     (state_.folder.empty() ? unknown_mark("$(pwd)", node.line) : state_.folder) + '\n');
        return Status::success;
    }
    return std::nullopt;
}

void Runner::write_output(const Node& node, const std::string& output) {
    for (const auto& redirect : node.redirects) {
        if (redirect->op != ">" && redirect->op != ">>")
            continue;
        const std::string name = std::filesystem::path(plain(redirect->target)).filename().string();
        std::string& file = state_.written_files[name];
        file = redirect->op == ">>" ? file + output : output;
        return;
    }
    if (capture_ != nullptr)
        *capture_ += output;
}

// Tools whose answer follows from their arguments.
std::optional<Status> Runner::run_captured_tool(const std::vector<Field>& words) {
    const std::string name = without_line_marks(words[0].text);
    const std::string argument = words.size() > 1 ? without_line_marks(words[1].text) : std::string();
    if (name == "dirname" && words.size() == 2) {
        *capture_ += has_unknown(argument) ? argument : parent_folder(argument);
    } else if (name == "basename" && words.size() >= 2) {
        std::string file = std::filesystem::path(argument).filename().string();
        const std::string suffix = words.size() > 2 ? without_line_marks(words[2].text) : std::string();
        if (file.size() > suffix.size() &&
            file.compare(file.size() - suffix.size(), suffix.size(), suffix) == 0) {
            file.resize(file.size() - suffix.size());
        }
        *capture_ += file;
    } else if ((name == "realpath" || name == "readlink") && words.size() >= 2) {
        *capture_ += without_line_marks(words.back().text);
    } else if (name == "seq" && !has_unknown(joined(words, 1))) {
        *capture_ += sequence(words);
    } else if (name == "expr") {
        Word word;
        word.line = words[0].line;
        WordPart part;
        part.text = without_line_marks(joined(words, 1));
        word.parts.push_back(std::move(part));
        *capture_ += arithmetic(word);
    } else {
        return std::nullopt;
    }
    return Status::success;
}

Status Runner::run_source(std::vector<Field>& words) {
    if (words.size() < 2)
        fail(words[0].line, "source without a file");
    const std::string name = without_line_marks(words[1].text);
    const std::vector<Field> arguments(words.begin() + 2, words.end());
    if (!has_unknown(name) && run_file_beside(name, arguments, false))
        return Status::success;
    warnings.push_back(fmt::format("{}: {} is not read: there is no such file beside the script",
                                   place(words[1].line),
                                   has_unknown(name) ? std::string("a sourced file") : name));
    return Status::unknown;
}

// A script in the folder of the first one (or below it), or one that was written by cat > name <<EOF.
bool Runner::run_file_beside(const std::string& name, const std::vector<Field>& arguments, bool subshell) {
    namespace fs = std::filesystem;
    const std::string file_name = fs::path(name).filename().string();
    const auto written = state_.written_files.find(file_name);
    std::string content;
    std::string path = file_name;
    if (written != state_.written_files.end()) {
        content = written->second;
    } else {
        std::error_code error;
        const fs::path folder = fs::weakly_canonical(fs::path(parent_folder(path_)), error);
        fs::path wanted = fs::path(name).is_absolute() ? fs::path(name) : folder / name;
        if (!fs::is_regular_file(wanted, error))
            wanted = fs::path(name); // $(dirname $0)/env.sh
        if (!fs::is_regular_file(wanted, error))
            return false;
        const fs::path real = fs::weakly_canonical(wanted, error);
        const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), real.begin(), real.end());
        if (end != folder.end())
            return false;
        path = (fs::path(parent_folder(path_)) / fs::relative(real, folder, error)).string();
        content = read_text_file(wanted.string(), kMaxScript);
    }
    if (files_.size() > kMaxFiles || depth_ > 32)
        throw InputError(path, "scripts source each other without end");
    files_.push_back(path);
    const int line = static_cast<int>(files_.size() - 1) * kLinesPerFile + 1;
    const State before = state_;
    if (subshell || !arguments.empty()) {
        state_.positional = arguments;
        state_.positional_known = true;
    }
    ++depth_;
    run_text(content, line);
    --depth_;
    if (flow_ == Flow::return_ || (subshell && flow_ == Flow::exit_))
        flow_ = Flow::none;
    if (subshell) {
        state_ = before;
    } else {
        state_.positional = before.positional;
        state_.positional_known = before.positional_known;
    }
    return true;
}

} // namespace echosim::shell
