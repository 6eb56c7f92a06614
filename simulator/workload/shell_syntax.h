// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// The part of bash's grammar that launch scripts use, as a tree. Nothing here runs anything.
//
// Texts carry two kinds of marks in band, between control characters that no script may hold: the line that
// the text after the mark was written on (a quoted string of many lines becomes many flags, each with its own
// line), and values that cannot be known without running the script.
namespace echosim::shell {

constexpr char kLineMark = '\x03';
constexpr char kUnknownMark = '\x01';
constexpr char kMarkEnd = '\x02';

// A line of one of the files that were read: file number x kLinesPerFile + line.
constexpr int kLinesPerFile = 1'000'000;

std::string line_mark(int line);
std::string without_line_marks(std::string_view text);
inline bool has_unknown(std::string_view text) {
    return text.find(kUnknownMark) != std::string_view::npos;
}

struct Node;
using NodePtr = std::shared_ptr<const Node>;
struct Word;

// ${name[index] op argument / second}
struct Parameter {
    std::string name;
    bool length = false;   // ${#name}
    bool indirect = false; // ${!name}
    bool has_index = false;
    std::string op; // ":-" "-" ":=" "=" ":?" "?" ":+" "+" "#" "##" "%" "%%" "/" "//" "^" "^^" "," ",," ":"
    std::shared_ptr<const Word> index;
    std::shared_ptr<const Word> argument;
    std::shared_ptr<const Word> second;
};

struct WordPart {
    enum class Kind : unsigned char { literal, parameter, arithmetic, command, process };
    Kind kind = Kind::literal;
    bool quoted = false;
    std::string text; // literal
    std::shared_ptr<const Parameter> parameter;
    std::shared_ptr<const Word> expression; // arithmetic
    NodePtr command;                        // $(...); of <(...) and >(...) nothing is kept
};

struct Word {
    std::vector<WordPart> parts;
    int line = 0;
    // The text when the word is one unquoted literal, else empty.
    std::string_view plain() const;
};

struct Assignment {
    std::string name;
    std::shared_ptr<const Word> index; // name[index]=
    bool append = false;               // +=
    bool is_array = false;             // name=(...)
    Word value;
    std::vector<Assignment> elements; // of an array; the index where [key]=value is written
    int line = 0;
};

struct Redirect {
    std::string op; // "<" ">" ">>" "<<" "<<<" ...
    Word target;    // file, or the content of a here-document
    bool is_here_document = false;
};

struct CaseItem {
    std::vector<Word> patterns;
    NodePtr body;
};

struct Node {
    enum class Kind : unsigned char {
        simple,
        sequence,
        and_or,
        pipeline,
        group,
        subshell,
        if_,
        for_,
        for_arithmetic,
        while_,
        case_,
        function,
        test,
        arithmetic
    };
    Kind kind = Kind::simple;
    int line = 0;
    std::vector<Assignment> assignments; // simple: in front of the command
    std::vector<Assignment> declared;    // simple: arguments of export, local, declare ...
    std::vector<Word> words;             // simple, test; for_: the list
    std::vector<std::shared_ptr<Redirect>> redirects;
    std::vector<NodePtr>
        children; // if_: condition, body, condition, body, ..., [else]; while_: condition, body
    std::vector<std::string> operators; // and_or: between the children
    std::string name;                   // function, for_: the variable
    bool negated = false;               // pipeline: !; while_: until; for_: has no list
    std::vector<CaseItem> cases;
    std::vector<Word> expressions; // arithmetic, for_arithmetic: start, condition, step; case_: the word
};

// Throws InputError for a text that ends inside a quote, here-document or block, with the line where that
// began. `first_line` is the number of the first line in messages.
struct ScriptText {
    std::string_view text;
    std::string path;
    int first_line = 1;
    int depth = 0; // of the texts that this one is part of
};
NodePtr parse(const ScriptText& script);

} // namespace echosim::shell
