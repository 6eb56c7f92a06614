// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/workload/shell_syntax.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echosim::shell {

// A place in the text, with the words of bash: blanks, quotes, expansions.
class WordParser {
  public:
    explicit WordParser(const ScriptText& script);

  protected:
    bool at_end() const { return next_ >= text_.size(); }
    char peek(std::size_t ahead = 0) const {
        return next_ + ahead < text_.size() ? text_[next_ + ahead] : '\0';
    }
    bool starts_with(std::string_view text) const { return text_.substr(next_, text.size()) == text; }
    char advance();
    bool take(std::string_view text);
    void skip_blanks(); // blanks, continuations, comments
    [[noreturn]] void fail(int line, const std::string& message, const std::string& hint = {}) const;
    [[noreturn]] void fail_truncated(int line, const std::string& what) const;

    Word word();                                        // up to an unquoted blank or operator
    Word text_word(std::string_view stop, bool quoted); // up to one of the characters, expansions included
    Word here_document();                               // the whole text: expansions, but no quotes
    static std::string plain_text(const Word& word);

    virtual NodePtr command_list(char close) = 0; // of $( ... )

    std::string_view text_;
    const ScriptText& script_;
    std::size_t next_ = 0;
    int line_ = 1;
    int depth_ = 0;

  private:
    void parts_until(Word& word, std::string_view stop, bool quoted);
    void literal(Word& word, std::string text, bool quoted);
    void single_quotes(Word& word);
    void double_quotes(Word& word);
    void ansi_quotes(Word& word);
    void escaped(Word& word, bool quoted);
    void dollar(Word& word, bool quoted);
    void parameter(Word& word, bool quoted);
    void parameter_operator(Parameter& parameter, bool quoted);
    std::string parameter_name();
    void arithmetic(Word& word, bool quoted);
    void backticks(Word& word, bool quoted);
    bool process_ahead() const { return starts_with("<(") || starts_with(">("); }
    void process(Word& word);

  protected:
    ~WordParser() = default;
};

// Commands: lists, pipelines, compound commands, redirections, assignments.
class CommandParser final : public WordParser {
  public:
    using WordParser::WordParser;
    NodePtr script(); // the whole text
    Word here_text() { return here_document(); }

  private:
    using MutableNode = std::shared_ptr<Node>;

    NodePtr command_list(char close) override;
    NodePtr list_until(const std::vector<std::string_view>& ends, int begin, const char* what);
    void newline();
    void skip_newlines();
    bool at_list_end(const std::vector<std::string_view>& ends);
    std::string_view peek_word() const;
    bool take_word(std::string_view word);
    void expect_word(std::string_view word, int begin, const char* what);

    NodePtr and_or();
    NodePtr pipeline();
    NodePtr command();
    MutableNode compound();
    MutableNode simple();
    MutableNode brackets();
    MutableNode if_command();
    MutableNode for_command();
    MutableNode while_command();
    MutableNode case_command();
    MutableNode function(std::string name, int begin);
    MutableNode test_command();
    MutableNode arithmetic_command();
    std::vector<Word> arithmetic_expressions(int begin);
    bool redirect(Node& node);
    void here_documents();
    std::string function_name() const;
    bool assignment_ahead() const;
    Assignment assignment();
    void array_elements(Assignment& assignment);
    MutableNode node(Node::Kind kind) const;

    struct Pending {
        std::shared_ptr<Redirect> redirect;
        std::string delimiter;
        bool quoted = false;
        bool strip_tabs = false;
        int line = 0;
    };
    std::vector<Pending> pending_;
    int nesting_ = 0;
};

} // namespace echosim::shell
