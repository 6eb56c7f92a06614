// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/shell_run.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <utility>

// Words to fields: quotes, expansions, splitting at blanks, {1..4}.
namespace echosim::shell {
namespace {

constexpr std::size_t kMaxFields = 1'000'000;
constexpr std::size_t kMaxText = 1'048'576;
constexpr std::size_t kMaxBytes = 268'435'456;

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Builds the fields of one word from its parts.
class FieldBuilder {
  public:
    explicit FieldBuilder(int line) : line_(line), mark_(line) {}

    void quoted(const std::string& text) {
        begin();
        current_.text += text;
    }

    void split(const std::string& text) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == kLineMark) {
                const std::size_t end = std::min(text.find(kMarkEnd, i), text.size());
                mark_ = std::atoi(text.substr(i + 1, end - i - 1).c_str());
                i = end;
            } else if (is_blank(text[i])) {
                end();
            } else {
                begin();
                current_.text += text[i];
            }
        }
        mark_ = line_;
    }

    void add(const Field& field) {
        if (!open_)
            current_.line = field.line;
        open_ = true;
        current_.text += field.text;
    }

    void end() {
        if (open_)
            fields_.push_back(std::move(current_));
        open_ = false;
        current_ = {};
    }

    std::vector<Field> finish() {
        end();
        return std::move(fields_);
    }

    const std::string& open_text() const { return current_.text; }

  private:
    void begin() {
        if (!open_)
            current_.line = mark_;
        open_ = true;
    }

    int line_;
    int mark_;
    bool open_ = false;
    Field current_;
    std::vector<Field> fields_;
};

// "{1..4}" or "{a,b}" as the whole word; empty when it is neither.
std::vector<std::string> brace_list(std::string_view text) {
    std::vector<std::string> list;
    if (text.size() < 3 || text.front() != '{' || text.back() != '}')
        return list;
    const std::string inside(text.substr(1, text.size() - 2));
    const std::size_t dots = inside.find("..");
    if (dots != std::string::npos) {
        char* end = nullptr;
        const long first = std::strtol(inside.c_str(), &end, 10);
        if (end != inside.c_str() + dots)
            return list;
        const long last = std::strtol(inside.c_str() + dots + 2, &end, 10);
        if (*end != '\0' || std::abs(last - first) > 100'000)
            return list;
        for (long i = first;; i += first <= last ? 1 : -1) {
            list.push_back(std::to_string(i));
            if (i == last)
                return list;
        }
    }
    std::size_t begin = 0;
    while (inside.find(',') != std::string::npos) {
        const std::size_t comma = inside.find(',', begin);
        list.push_back(inside.substr(begin, comma - begin));
        if (comma == std::string::npos)
            break;
        begin = comma + 1;
    }
    return list;
}

} // namespace

std::string Runner::unknown_mark(std::string what, int line, bool unset) {
    for (std::size_t i = 0; i < unknowns_.size(); ++i) {
        if (unknowns_[i].what == what && unknowns_[i].line == line)
            return fmt::format("{}{}{}", kUnknownMark, i, kMarkEnd);
    }
    unknowns_.push_back({std::move(what), line, unset});
    return fmt::format("{}{}{}", kUnknownMark, unknowns_.size() - 1, kMarkEnd);
}

std::string Runner::mark_of_branches(const std::string& name, int line,
                                     std::vector<std::vector<Field>> alternatives) {
    std::string mark = unknown_mark(fmt::format("${} (set under a condition that is not known)", name), line);
    const std::size_t index = std::strtoul(mark.c_str() + 1, nullptr, 10);
    unknowns_[index].alternatives = std::move(alternatives);
    return mark;
}

const Unknown& Runner::unknown_of(std::string_view text) const {
    static const Unknown none;
    const std::size_t begin = text.find(kUnknownMark);
    if (begin == std::string_view::npos)
        return none;
    const std::size_t index = std::strtoul(std::string(text.substr(begin + 1, 12)).c_str(), nullptr, 10);
    return index < unknowns_.size() ? unknowns_[index] : none;
}

std::string Runner::without_unset(std::string_view text) const {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != kUnknownMark) {
            out += text[i];
            continue;
        }
        const std::size_t end = std::min(text.find(kMarkEnd, i) + 1, text.size());
        if (!unknown_of(text.substr(i)).unset)
            out += text.substr(i, end - i);
        i = end - 1;
    }
    return out;
}

std::vector<Field> Runner::fields(const std::vector<Word>& words) {
    std::vector<Field> all;
    for (const Word& word : words) {
        for (Field& field : fields(word)) {
            check_length(field.text, word.line);
            all.push_back(std::move(field));
        }
        if (all.size() > kMaxFields)
            fail(word.line, "the arguments are too many");
    }
    return all;
}

std::vector<Field> Runner::fields(const Word& word) {
    FieldBuilder builder(word.line);
    for (const std::string& item : brace_list(word.plain())) {
        builder.quoted(item);
        builder.end();
    }
    if (auto listed = builder.finish(); !listed.empty())
        return listed;
    bool empty_list = false;
    for (const WordPart& part : word.parts) {
        check_length(builder.open_text(), word.line);
        if (part.kind == WordPart::Kind::literal) {
            // An unquoted literal has no blanks; quoted ones keep theirs.
            builder.quoted(part.quoted ? part.text : without_line_marks(part.text));
        } else if (part.kind == WordPart::Kind::parameter) {
            const Value value = expand(*part.parameter, word.line);
            empty_list = empty_list || (part.quoted && value.list && value.items.empty());
            for (const Field& item : value.items)
                count_bytes(item.text.size() + sizeof(Field), word.line);
            if (part.quoted && value.list) {
                for (std::size_t i = 0; i < value.items.size(); ++i) {
                    if (i > 0)
                        builder.end();
                    builder.add(value.items[i]);
                }
            } else if (part.quoted) {
                builder.quoted(value.joined());
            } else {
                for (std::size_t i = 0; i < value.items.size(); ++i) {
                    if (i > 0)
                        builder.end();
                    builder.split(line_mark(value.items[i].line > 0 ? value.items[i].line : word.line) +
                                  value.items[i].text);
                }
            }
        } else {
            const std::string text = part_text(part, word.line);
            count_bytes(text.size(), word.line);
            if (part.quoted)
                builder.quoted(text);
            else
                builder.split(text);
        }
    }
    std::vector<Field> made = builder.finish();
    // "$@" and "${a[@]}" of nothing are no word at all.
    if (empty_list && made.size() == 1 && without_line_marks(made[0].text).empty())
        made.clear();
    return made;
}

void Runner::check_length(const std::string& text, int line) const {
    if (text.size() > kMaxText)
        fail(line, "a word is longer than 1 MiB after expansion", "does it double with every call or round?");
}

void Runner::count_bytes(std::size_t bytes, int line) {
    bytes_ += bytes;
    if (bytes_ > kMaxBytes)
        fail(line, "the expansions of the script take more than 256 MiB",
             "does a text grow with every call or round?");
}

std::string Runner::text(const Word& word) {
    std::string out;
    for (const WordPart& part : word.parts) {
        const std::string piece = part_text(part, word.line);
        if (part.kind != WordPart::Kind::literal)
            count_bytes(piece.size(), word.line);
        out += piece;
        if (part.kind != WordPart::Kind::literal || word.parts.size() > 1)
            check_length(out, word.line);
    }
    return out;
}

std::string Runner::plain(const Word& word) {
    return without_line_marks(text(word));
}

std::string Runner::part_text(const WordPart& part, int line) {
    switch (part.kind) {
    case WordPart::Kind::literal:
        return part.text;
    case WordPart::Kind::parameter:
        return expand(*part.parameter, line).joined();
    case WordPart::Kind::arithmetic:
        return arithmetic(*part.expression);
    case WordPart::Kind::command:
        return command_output(part.command, line);
    case WordPart::Kind::process:
        return unknown_mark("a process substitution", line);
    }
    return {};
}

ArithmeticResult Runner::evaluate(const Word& word) {
    const ArithmeticScope scope{[&](const std::string& name, const std::string& index) {
                                    const std::string value = without_line_marks(item_text(name, index));
                                    if (value.empty() && find(name) == nullptr)
                                        return unknown_mark("$" + name, word.line, true);
                                    return value;
                                },
                                [&](const std::string& name, const std::string& index, std::int64_t value) {
                                    Variable& variable = state_.variables[name];
                                    const auto key =
                                        index.empty()
                                            ? 0
                                            : std::strtoll(index_key(variable, index).c_str(), nullptr, 10);
                                    variable.items[key] = {std::to_string(value), word.line};
                                }};
    const ArithmeticResult result = evaluate_arithmetic(plain(word), scope);
    if (!result.error.empty() && result.unknown.empty())
        fail(word.line, result.error);
    return result;
}

std::string Runner::arithmetic(const Word& word) {
    const ArithmeticResult result = evaluate(word);
    return result.unknown.empty() ? std::to_string(result.value) : result.unknown;
}

// $( ... ): the output of builtins and known tools; not known when anything else would run.
std::string Runner::command_output(const NodePtr& command, int line) {
    if (++depth_ > 64)
        fail(line, "commands call each other without end");
    std::string output;
    std::string* const outer = std::exchange(capture_, &output);
    const bool outer_known = std::exchange(capture_known_, true);
    const State before = state_;
    const Flow flow_before = std::exchange(flow_, Flow::none);
    run(*command);
    state_ = before;
    flow_ = flow_before;
    capture_ = outer;
    const bool known = std::exchange(capture_known_, outer_known);
    --depth_;
    if (!known)
        return unknown_mark("$(...)", line);
    while (!output.empty() && output.back() == '\n')
        output.pop_back();
    return output;
}

} // namespace echosim::shell
