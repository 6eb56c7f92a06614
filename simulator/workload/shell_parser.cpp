// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/shell_parser.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace echosim::shell {
namespace {

constexpr int kMaxNesting = 100;

bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

} // namespace

NodePtr parse(const ScriptText& script) {
    return CommandParser(script).script();
}

CommandParser::MutableNode CommandParser::node(Node::Kind kind) const {
    auto made = std::make_shared<Node>();
    made->kind = kind;
    made->line = line_;
    return made;
}

NodePtr CommandParser::script() {
    NodePtr list = list_until({}, line_, "");
    here_documents();
    if (!at_end())
        fail(line_, fmt::format("unexpected '{}'", peek()));
    return list;
}

NodePtr CommandParser::command_list(char close) {
    auto list = node(Node::Kind::sequence);
    skip_newlines();
    while (!at_end() && peek() != close) {
        list->children.push_back(and_or());
        skip_newlines();
    }
    return list;
}

NodePtr CommandParser::list_until(const std::vector<std::string_view>& ends, int begin, const char* what) {
    if (++nesting_ > kMaxNesting)
        fail(line_, "blocks are nested too deep");
    auto list = node(Node::Kind::sequence);
    skip_newlines();
    while (!at_list_end(ends)) {
        if (at_end())
            fail_truncated(begin, fmt::format("a {} is never closed", what));
        list->children.push_back(and_or());
        skip_newlines();
    }
    --nesting_;
    return list;
}

bool CommandParser::at_list_end(const std::vector<std::string_view>& ends) {
    if (ends.empty())
        return at_end();
    return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
        return end == ";;" ? starts_with(";;") : end == ")" ? peek() == ')' : peek_word() == end;
    });
}

void CommandParser::newline() {
    advance();
    here_documents();
}

void CommandParser::skip_newlines() {
    while (true) {
        skip_blanks();
        if (peek() == '\n')
            newline();
        else if (peek() == ';' && peek(1) != ';')
            advance();
        else if (peek() == '&' && peek(1) != '&' && peek(1) != '>')
            advance(); // in the background
        else
            return;
    }
}

std::string_view CommandParser::peek_word() const {
    std::size_t end = next_;
    while (end < text_.size() &&
           std::string_view(" \t\r\n;&|()<>$\"'`\\").find(text_[end]) == std::string_view::npos)
        ++end;
    if (end < text_.size() && std::string_view("$\"'`\\").find(text_[end]) != std::string_view::npos)
        return {};
    return text_.substr(next_, end - next_);
}

bool CommandParser::take_word(std::string_view word) {
    return peek_word() == word && take(word);
}

void CommandParser::expect_word(std::string_view word, int begin, const char* what) {
    skip_newlines();
    if (take_word(word))
        return;
    if (at_end())
        fail_truncated(begin, fmt::format("{} is never closed", what));
    fail(line_, fmt::format("expected \"{}\" of the {} of line {}", word, what, begin % kLinesPerFile));
}

NodePtr CommandParser::and_or() {
    auto list = node(Node::Kind::and_or);
    list->children.push_back(pipeline());
    while (true) {
        skip_blanks();
        if (!starts_with("&&") && !starts_with("||"))
            break;
        list->operators.emplace_back(text_.substr(next_, 2));
        const int begin = line_;
        take(list->operators.back());
        skip_blanks();
        while (peek() == '\n') {
            newline();
            skip_blanks();
        }
        if (at_end())
            fail_truncated(begin, list->operators.back() + " has nothing after it");
        list->children.push_back(pipeline());
    }
    if (list->children.size() == 1)
        return list->children[0];
    return list;
}

NodePtr CommandParser::pipeline() {
    auto line = node(Node::Kind::pipeline);
    skip_blanks();
    while (peek_word() == "!" || peek_word() == "time") {
        line->negated = line->negated != (peek() == '!');
        take(peek_word());
        skip_blanks();
    }
    line->children.push_back(command());
    while (true) {
        skip_blanks();
        if (peek() != '|' || peek(1) == '|')
            break;
        advance();
        if (peek() == '&')
            advance();
        skip_blanks();
        while (peek() == '\n') {
            newline();
            skip_blanks();
        }
        line->children.push_back(command());
    }
    if (line->children.size() == 1 && !line->negated)
        return line->children[0];
    return line;
}

NodePtr CommandParser::command() {
    skip_blanks();
    const std::size_t before = next_;
    MutableNode made = compound();
    if (made == nullptr)
        return simple();
    skip_blanks();
    while (redirect(*made))
        skip_blanks();
    if (next_ == before)
        fail(line_, fmt::format("unexpected '{}'", peek()));
    return made;
}

CommandParser::MutableNode CommandParser::compound() {
    const int begin = line_;
    if (starts_with("(("))
        return arithmetic_command();
    if (peek() == '(')
        return brackets();
    const std::string_view word = peek_word();
    if (word == "{")
        return brackets();
    if (word == "if")
        return if_command();
    if (word == "for" || word == "select")
        return for_command();
    if (word == "while" || word == "until")
        return while_command();
    if (word == "case")
        return case_command();
    if (word == "[[")
        return test_command();
    if (word == "function") {
        take(word);
        skip_blanks();
        std::string name(peek_word());
        take(name);
        skip_blanks();
        if (take("(")) {
            skip_blanks();
            take(")");
        }
        return function(name, begin);
    }
    const std::string name = function_name();
    if (name.empty())
        return nullptr;
    take(name);
    skip_blanks();
    take("(");
    skip_blanks();
    take(")");
    return function(name, begin);
}

// The name when "name ()" stands here, else empty.
std::string CommandParser::function_name() const {
    std::size_t end = next_;
    while (end < text_.size() && (is_name_char(text_[end]) || text_[end] == '-' || text_[end] == '.'))
        ++end;
    const std::string name(text_.substr(next_, end - next_));
    while (end < text_.size() && text_[end] == ' ')
        ++end;
    if (name.empty() || end >= text_.size() || text_[end] != '(')
        return {};
    ++end;
    while (end < text_.size() && text_[end] == ' ')
        ++end;
    return end < text_.size() && text_[end] == ')' ? name : std::string();
}

CommandParser::MutableNode CommandParser::function(std::string name, int begin) {
    if (++nesting_ > kMaxNesting)
        fail(line_, "functions are nested too deep");
    auto made = node(Node::Kind::function);
    made->name = std::move(name);
    made->line = begin;
    skip_newlines();
    if (at_end())
        fail_truncated(begin, "function " + made->name + " has no body");
    made->children.push_back(command());
    --nesting_;
    return made;
}

// ( ... ) and { ...; }
CommandParser::MutableNode CommandParser::brackets() {
    const int begin = line_;
    const bool subshell = advance() == '(';
    auto made = node(subshell ? Node::Kind::subshell : Node::Kind::group);
    made->children.push_back(
        list_until({subshell ? std::string_view(")") : std::string_view("}")}, begin, subshell ? "(" : "{"));
    advance();
    return made;
}

CommandParser::MutableNode CommandParser::if_command() {
    const int begin = line_;
    auto made = node(Node::Kind::if_);
    take("if");
    while (true) {
        made->children.push_back(list_until({"then"}, begin, "if without then and fi, it"));
        take("then");
        made->children.push_back(list_until({"elif", "else", "fi"}, begin, "if without fi, it"));
        if (take_word("elif"))
            continue;
        if (take_word("else"))
            made->children.push_back(list_until({"fi"}, begin, "if without fi, it"));
        take("fi");
        return made;
    }
}

CommandParser::MutableNode CommandParser::while_command() {
    const int begin = line_;
    auto made = node(Node::Kind::while_);
    made->negated = peek() == 'u';
    take(made->negated ? "until" : "while");
    made->children.push_back(list_until({"do"}, begin, "while without do and done, it"));
    take("do");
    made->children.push_back(list_until({"done"}, begin, "while without done, it"));
    take("done");
    return made;
}

CommandParser::MutableNode CommandParser::for_command() {
    const int begin = line_;
    auto made = node(Node::Kind::for_);
    take(peek_word());
    skip_blanks();
    if (take("((")) {
        made->kind = Node::Kind::for_arithmetic;
        made->expressions = arithmetic_expressions(begin);
        if (made->expressions.size() != 3)
            fail(begin, "for (( needs three expressions");
    } else {
        made->name = std::string(peek_word());
        take(made->name);
        skip_newlines();
        made->negated = !take_word("in");
        skip_blanks();
        while (!made->negated && !at_end() && peek() != '\n' && peek() != ';') {
            const std::size_t before = next_;
            made->words.push_back(word());
            skip_blanks();
            if (next_ == before)
                fail(line_, fmt::format("unexpected '{}'", peek()));
        }
    }
    expect_word("do", begin, "for");
    made->children.push_back(list_until({"done"}, begin, "for without done, it"));
    take("done");
    return made;
}

CommandParser::MutableNode CommandParser::case_command() {
    const int begin = line_;
    auto made = node(Node::Kind::case_);
    take("case");
    skip_blanks();
    made->expressions.push_back(word());
    expect_word("in", begin, "case");
    skip_newlines();
    while (!take_word("esac")) {
        if (at_end())
            fail_truncated(begin, "a case without esac is never closed");
        CaseItem item;
        take("(");
        while (!at_end()) {
            skip_blanks();
            item.patterns.push_back(word());
            skip_blanks();
            if (!take("|"))
                break;
        }
        if (!take(")"))
            fail(line_, "a pattern of case needs a ) after it");
        item.body = list_until({";;", "esac"}, begin, "case without esac, it");
        for (const std::string_view end : {";;&", ";;", ";&"}) {
            if (take(end))
                break;
        }
        made->cases.push_back(std::move(item));
        skip_newlines();
    }
    return made;
}

} // namespace echosim::shell
