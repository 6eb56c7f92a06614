// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/shell_parser.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace echosim::shell {
namespace {

constexpr int kMaxDepth = 100;

bool is_name_start(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool ends_word(char c) {
    return std::string_view(" \t\r\n;&|()<>").find(c) != std::string_view::npos;
}

} // namespace

std::string line_mark(int line) {
    return fmt::format("{}{}{}", kLineMark, line, kMarkEnd);
}

std::string without_line_marks(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == kLineMark)
            i = std::min(text.find(kMarkEnd, i), text.size());
        else
            out += text[i];
    }
    return out;
}

std::string_view Word::plain() const {
    if (parts.size() != 1 || parts[0].kind != WordPart::Kind::literal || parts[0].quoted)
        return {};
    return parts[0].text;
}

WordParser::WordParser(const ScriptText& script)
    : text_(script.text), script_(script), line_(script.first_line), depth_(script.depth) {}

char WordParser::advance() {
    const char c = text_[next_++];
    if (c == '\n')
        ++line_;
    return c;
}

bool WordParser::take(std::string_view text) {
    if (!starts_with(text))
        return false;
    for (std::size_t i = 0; i < text.size(); ++i)
        advance();
    return true;
}

void WordParser::fail(int line, const std::string& message, const std::string& hint) const {
    throw InputError(fmt::format("{}:{}", script_.path, line % kLinesPerFile), message, hint);
}

void WordParser::fail_truncated(int line, const std::string& what) const {
    fail(line, what, "the script ends before it is closed: is the file complete?");
}

void WordParser::skip_blanks() {
    while (!at_end()) {
        if (peek() == kLineMark) {
            const std::size_t end = std::min(text_.find(kMarkEnd, next_), text_.size() - 1);
            line_ = std::atoi(std::string(text_.substr(next_ + 1, end - next_ - 1)).c_str());
            next_ = end + 1;
        } else if (peek() == ' ' || peek() == '\t' || peek() == '\r' || starts_with("\\\n")) {
            if (advance() == '\\')
                advance();
        } else if (starts_with("\\\r\n")) {
            take("\\\r\n");
        } else if (peek() == '#') {
            while (!at_end() && peek() != '\n')
                advance();
        } else {
            return;
        }
    }
}

std::string WordParser::plain_text(const Word& word) {
    std::string text;
    for (const WordPart& part : word.parts)
        text += part.text;
    return without_line_marks(text);
}

Word WordParser::word() {
    Word word;
    word.line = line_;
    while (!at_end()) {
        if (peek() == kLineMark || (ends_word(peek()) && !process_ahead()))
            break;
        if (starts_with("\\\n")) {
            take("\\\n");
            continue;
        }
        parts_until(word, {}, false);
    }
    return word;
}

Word WordParser::here_document() {
    Word word;
    word.line = line_;
    literal(word, line_mark(line_), true);
    while (!at_end())
        parts_until(word, "\"", true);
    return word;
}

Word WordParser::text_word(std::string_view stop, bool quoted) {
    Word word;
    word.line = line_;
    while (!at_end() && stop.find(peek()) == std::string_view::npos)
        parts_until(word, stop, quoted);
    return word;
}

// One part: a quote, an expansion, or a run of plain characters.
void WordParser::parts_until(Word& word, std::string_view stop, bool quoted) {
    if (++depth_ > kMaxDepth)
        fail(line_, "quotes and expansions are nested too deep");
    const char c = peek();
    if (c == '\\')
        escaped(word, quoted);
    else if (c == '\'' && !quoted)
        single_quotes(word);
    else if (c == '"' && stop != "\"")
        double_quotes(word);
    else if (c == '$')
        dollar(word, quoted);
    else if (c == '`')
        backticks(word, quoted);
    else if (!quoted && stop.empty() && process_ahead())
        process(word);
    else
        literal(word, std::string(1, advance()), quoted);
    --depth_;
}

void WordParser::literal(Word& word, std::string text, bool quoted) {
    if (text == "\n")
        text += line_mark(line_); // what follows stands on the next line
    if (!word.parts.empty() && word.parts.back().kind == WordPart::Kind::literal &&
        word.parts.back().quoted == quoted) {
        word.parts.back().text += text;
        return;
    }
    WordPart part;
    part.quoted = quoted;
    part.text = std::move(text);
    word.parts.push_back(std::move(part));
}

void WordParser::escaped(Word& word, bool quoted) {
    advance();
    if (at_end())
        return literal(word, "\\", quoted);
    const char c = advance();
    if (c == '\n')
        return literal(word, line_mark(line_), quoted);
    if (c == '\r' && peek() == '\n') {
        advance();
        return literal(word, line_mark(line_), quoted);
    }
    const bool special = !quoted || std::string_view("$`\"\\").find(c) != std::string_view::npos;
    literal(word, special ? std::string(1, c) : std::string{'\\', c}, true);
}

void WordParser::single_quotes(Word& word) {
    const int begin = line_;
    advance();
    literal(word, line_mark(line_), true);
    while (!at_end() && peek() != '\'')
        literal(word, std::string(1, advance()), true);
    if (at_end())
        fail_truncated(begin, "a ' quote is never closed");
    advance();
}

void WordParser::double_quotes(Word& word) {
    const int begin = line_;
    advance();
    literal(word, line_mark(line_), true);
    while (!at_end() && peek() != '"')
        parts_until(word, "\"", true);
    if (at_end())
        fail_truncated(begin, "a \" quote is never closed");
    advance();
}

void WordParser::ansi_quotes(Word& word) {
    const int begin = line_;
    take("$'");
    while (!at_end() && peek() != '\'') {
        char c = advance();
        if (c == '\\' && !at_end()) {
            c = advance();
            if (c == 'n')
                c = '\n';
            if (c == 't')
                c = '\t';
        }
        literal(word, std::string(1, c), true);
    }
    if (at_end())
        fail_truncated(begin, "a $' quote is never closed");
    advance();
}

void WordParser::dollar(Word& word, bool quoted) {
    const char c = peek(1);
    if (starts_with("$(("))
        return arithmetic(word, quoted);
    if (c == '\'' && !quoted)
        return ansi_quotes(word);
    if (c == '{')
        return parameter(word, quoted);
    WordPart part;
    part.quoted = quoted;
    if (c == '(') {
        const int begin = line_;
        take("$(");
        part.kind = WordPart::Kind::command;
        part.command = command_list(')');
        if (!take(")"))
            fail_truncated(begin, "a $( is never closed");
        word.parts.push_back(std::move(part));
        return;
    }
    const bool special = std::string_view("@*#?$!-").find(c) != std::string_view::npos && c != '\0';
    if (!is_name_start(c) && !is_digit(c) && !special)
        return literal(word, std::string(1, advance()), quoted);
    advance();
    auto parameter = std::make_shared<Parameter>();
    if (special || is_digit(c))
        parameter->name = std::string(1, advance());
    else
        while (is_name_char(peek()))
            parameter->name += advance();
    part.kind = WordPart::Kind::parameter;
    part.parameter = std::move(parameter);
    word.parts.push_back(std::move(part));
}

std::string WordParser::parameter_name() {
    std::string name;
    if (is_name_start(peek())) {
        while (is_name_char(peek()))
            name += advance();
    } else if (is_digit(peek())) {
        while (is_digit(peek()))
            name += advance();
    } else if (std::string_view("@*#?$!-").find(peek()) != std::string_view::npos && !at_end()) {
        name = std::string(1, advance());
    }
    return name;
}

void WordParser::parameter(Word& word, bool quoted) {
    const int begin = line_;
    take("${");
    auto parameter = std::make_shared<Parameter>();
    if (peek() == '#' && peek(1) != '}' && peek(1) != ':' && peek(1) != '-')
        parameter->length = take("#");
    if (peek() == '!' && peek(1) != '}')
        parameter->indirect = take("!");
    parameter->name = parameter_name();
    if (parameter->name.empty())
        fail(begin, "a ${ without a variable name");
    if (peek() == '[') {
        advance();
        parameter->has_index = true;
        parameter->index = std::make_shared<Word>(text_word("]", true));
        if (!take("]"))
            fail_truncated(begin, "a ${" + parameter->name + "[ is never closed");
    }
    if (peek() != '}')
        parameter_operator(*parameter, quoted);
    if (!take("}"))
        fail_truncated(begin, "a ${" + parameter->name + " is never closed");
    WordPart part;
    part.kind = WordPart::Kind::parameter;
    part.quoted = quoted;
    part.parameter = std::move(parameter);
    word.parts.push_back(std::move(part));
}

void WordParser::parameter_operator(Parameter& parameter, bool quoted) {
    static constexpr std::string_view operators[] = {":-", ":=", ":?", ":+", "##", "%%", "//",
                                                     "^^", ",,", "-",  "=",  "?",  "+",  "#",
                                                     "%",  "/",  "^",  ",",  ":",  "@"};
    const auto* found = std::find_if(std::begin(operators), std::end(operators),
                                     [&](std::string_view op) { return starts_with(op); });
    if (found == std::end(operators)) {
        if (at_end() || peek() == '\n')
            fail_truncated(line_, "a ${" + parameter.name + " is never closed");
        fail(line_, fmt::format("${{{}{}...}} is not understood", parameter.name, peek()));
    }
    parameter.op = std::string(*found);
    take(*found);
    const bool replaces = parameter.op[0] == '/';
    parameter.argument = std::make_shared<Word>(text_word(replaces ? "/}" : "}", quoted));
    if (replaces && take("/"))
        parameter.second = std::make_shared<Word>(text_word("}", quoted));
}

void WordParser::arithmetic(Word& word, bool quoted) {
    const int begin = line_;
    take("$((");
    auto expression = std::make_shared<Word>();
    expression->line = line_;
    int open = 0;
    while (!at_end() && !(open == 0 && starts_with("))"))) {
        if (peek() == '(')
            ++open;
        if (peek() == ')')
            --open;
        parts_until(*expression, {}, true);
    }
    if (!take("))"))
        fail_truncated(begin, "a $(( is never closed");
    WordPart part;
    part.kind = WordPart::Kind::arithmetic;
    part.quoted = quoted;
    part.expression = std::move(expression);
    word.parts.push_back(std::move(part));
}

void WordParser::backticks(Word& word, bool quoted) {
    const int begin = line_;
    advance();
    std::string inside;
    while (!at_end() && peek() != '`') {
        if (peek() == '\\' && std::string_view("`$\\").find(peek(1)) != std::string_view::npos)
            advance();
        inside += advance();
    }
    if (at_end())
        fail_truncated(begin, "a ` quote is never closed");
    advance();
    WordPart part;
    part.kind = WordPart::Kind::command;
    part.quoted = quoted;
    part.command = parse({inside, script_.path, begin, depth_});
    word.parts.push_back(std::move(part));
}

// <( ... ) and >( ... ): the name of a pipe. What runs behind it starts no training.
void WordParser::process(Word& word) {
    const int begin = line_;
    advance();
    advance();
    command_list(')');
    if (!take(")"))
        fail_truncated(begin, "a <( or >( is never closed");
    WordPart part;
    part.kind = WordPart::Kind::process;
    word.parts.push_back(std::move(part));
}

} // namespace echosim::shell
