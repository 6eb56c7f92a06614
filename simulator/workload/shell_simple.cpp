// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/shell_parser.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <utility>

// Simple commands: assignments, words, redirections, here-documents; tests and arithmetic commands.
namespace echosim::shell {
namespace {

bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_declaration(std::string_view word) {
    static constexpr std::array<std::string_view, 5> names = {"export", "readonly", "local", "declare",
                                                              "typeset"};
    return std::find(names.begin(), names.end(), word) != names.end();
}

} // namespace

CommandParser::MutableNode CommandParser::simple() {
    auto made = node(Node::Kind::simple);
    bool declaration = false;
    while (true) {
        skip_blanks();
        const std::size_t before = next_;
        if (redirect(*made))
            continue;
        if (made->words.empty() && assignment_ahead()) {
            made->assignments.push_back(assignment());
        } else if (declaration && assignment_ahead()) {
            made->declared.push_back(assignment());
        } else {
            if (at_end() || std::string_view("\n;&|()").find(peek()) != std::string_view::npos)
                break;
            Word next = word();
            if (next.parts.empty() && next_ == before)
                fail(line_, fmt::format("unexpected '{}'", peek()));
            if (made->words.empty())
                declaration = is_declaration(next.plain());
            if (!next.parts.empty())
                made->words.push_back(std::move(next));
        }
    }
    if (made->words.empty() && made->assignments.empty() && made->redirects.empty()) {
        if (at_end())
            fail_truncated(line_, "a command is missing");
        fail(line_, fmt::format("unexpected '{}'", peek()));
    }
    return made;
}

// name= name+= name[...]=
bool CommandParser::assignment_ahead() const {
    std::size_t end = next_;
    if (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0)
        return false;
    while (end < text_.size() && is_name_char(text_[end]))
        ++end;
    if (end == next_ || end >= text_.size())
        return false;
    if (text_[end] == '[') {
        end = text_.find(']', end);
        if (end == std::string_view::npos)
            return false;
        ++end;
    }
    if (end < text_.size() && text_[end] == '+')
        ++end;
    return end < text_.size() && text_[end] == '=';
}

Assignment CommandParser::assignment() {
    Assignment made;
    made.line = line_;
    while (is_name_char(peek()))
        made.name += advance();
    if (take("[")) {
        made.index = std::make_shared<Word>(text_word("]", true));
        take("]");
    }
    made.append = take("+");
    take("=");
    if (peek() == '(') {
        made.is_array = true;
        array_elements(made);
    } else {
        made.value = word();
    }
    return made;
}

void CommandParser::array_elements(Assignment& assignment) {
    const int begin = line_;
    take("(");
    while (true) {
        skip_blanks();
        if (peek() == '\n') {
            newline();
            continue;
        }
        if (at_end())
            fail_truncated(begin, fmt::format("the array {}=( is never closed", assignment.name));
        if (take(")"))
            return;
        Assignment element;
        element.line = line_;
        if (peek() == '[') {
            const std::size_t end = text_.find(']', next_);
            if (end != std::string_view::npos && end + 1 < text_.size() && text_[end + 1] == '=') {
                take("[");
                element.index = std::make_shared<Word>(text_word("]", true));
                take("]=");
            }
        }
        element.value = word();
        if (element.value.parts.empty() && element.index == nullptr) {
            fail(line_, fmt::format("unexpected '{}' in the array {}", peek(), assignment.name));
        }
        assignment.elements.push_back(std::move(element));
    }
}

bool CommandParser::redirect(Node& node) {
    std::size_t ahead = 0;
    while (std::isdigit(static_cast<unsigned char>(peek(ahead))) != 0)
        ++ahead;
    if (peek(ahead) == '&' && peek(ahead + 1) == '>' && ahead == 0) {
        // &> file
    } else if (peek(ahead) != '<' && peek(ahead) != '>') {
        return false;
    }
    if (peek(ahead) != '&' && peek(ahead + 1) == '(')
        return false; // process substitution: a word
    for (std::size_t i = 0; i < ahead; ++i)
        advance();
    auto made = std::make_shared<Redirect>();
    for (const std::string_view op :
         {"<<<", "<<-", "<<", "<&", ">&", "<>", ">>", ">|", "&>>", "&>", "<", ">"}) {
        if (!take(op))
            continue;
        made->op = std::string(op);
        break;
    }
    skip_blanks();
    const int begin = line_;
    made->target = word();
    if (made->target.parts.empty())
        fail(begin, fmt::format("{} needs a name after it", made->op));
    if (made->op == "<<" || made->op == "<<-") {
        Pending pending;
        pending.redirect = made;
        pending.delimiter = plain_text(made->target);
        pending.quoted = made->target.plain().empty();
        pending.strip_tabs = made->op == "<<-";
        pending.line = begin;
        pending_.push_back(std::move(pending));
        made->is_here_document = true;
    }
    node.redirects.push_back(std::move(made));
    return true;
}

// The here-documents whose operators stood on the line that just ended.
void CommandParser::here_documents() {
    for (const Pending& pending : std::exchange(pending_, {})) {
        const int begin = line_;
        std::string body;
        while (true) {
            if (at_end()) {
                fail_truncated(pending.line,
                               fmt::format("the here-document << {} is never closed", pending.delimiter));
            }
            std::string line;
            while (!at_end() && peek() != '\n')
                line += advance();
            if (!at_end())
                advance();
            if (!line.empty() && line.back() == '\r')
                line.pop_back();
            if (pending.strip_tabs)
                line.erase(0, line.find_first_not_of('\t') == std::string::npos
                                  ? line.size()
                                  : line.find_first_not_of('\t'));
            if (without_line_marks(line) == pending.delimiter)
                break;
            body += line + '\n';
        }
        if (pending.quoted) {
            WordPart part;
            part.quoted = true;
            part.text = line_mark(begin) + body;
            pending.redirect->target = Word{{part}, begin};
        } else {
            pending.redirect->target = CommandParser({body, script_.path, begin, depth_ + 1}).here_text();
        }
    }
}

// [[ ... ]]: its words, with < > ( ) as words of their own.
CommandParser::MutableNode CommandParser::test_command() {
    const int begin = line_;
    auto made = node(Node::Kind::test);
    take("[[");
    while (true) {
        skip_blanks();
        while (peek() == '\n') {
            newline();
            skip_blanks();
        }
        if (at_end())
            fail_truncated(begin, "a [[ is never closed");
        if (take_word("]]"))
            return made;
        Word piece;
        piece.line = line_;
        for (const std::string_view op : {"&&", "||", "<", ">", "(", ")"}) {
            if (!take(op))
                continue;
            WordPart part;
            part.text = std::string(op);
            piece.parts.push_back(std::move(part));
            break;
        }
        if (piece.parts.empty())
            piece = word();
        if (piece.parts.empty())
            fail(line_, fmt::format("unexpected '{}' inside [[", peek()));
        made->words.push_back(std::move(piece));
    }
}

CommandParser::MutableNode CommandParser::arithmetic_command() {
    const int begin = line_;
    auto made = node(Node::Kind::arithmetic);
    take("((");
    made->expressions = arithmetic_expressions(begin);
    return made;
}

// Up to "))", cut at semicolons.
std::vector<Word> CommandParser::arithmetic_expressions(int begin) {
    std::vector<Word> expressions;
    int open = 0;
    std::vector<std::string> texts(1);
    while (!at_end() && !(open == 0 && starts_with("))"))) {
        const char c = advance();
        open += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c == ';')
            texts.emplace_back();
        else
            texts.back() += c;
    }
    if (!take("))"))
        fail_truncated(begin, "a (( is never closed");
    for (const std::string& text : texts) {
        expressions.push_back(CommandParser({text, script_.path, begin, depth_ + 1}).here_text());
    }
    return expressions;
}

} // namespace echosim::shell
