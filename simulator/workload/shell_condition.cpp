// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/shell_run.h"

#include <algorithm>
#include <array>
#include <cctype>

// [ ... ] and [[ ... ]]. What depends on files or on unknown values is unknown.
namespace echosim::shell {
namespace {

constexpr int kMaxNesting = 100;

Status from(bool truth) {
    return truth ? Status::success : Status::failure;
}

Status negated(Status status) {
    if (status == Status::unknown)
        return status;
    return from(status == Status::failure);
}

Status both(Status a, Status b) {
    if (a == Status::failure || b == Status::failure)
        return Status::failure;
    return a == Status::unknown || b == Status::unknown ? Status::unknown : Status::success;
}

std::optional<std::int64_t> integer(const std::string& text) {
    if (text.empty())
        return std::nullopt;
    char* end = nullptr;
    const std::int64_t value = std::strtoll(text.c_str(), &end, 10);
    if (*end != '\0')
        return std::nullopt;
    return value;
}

bool is_number_operator(const std::string& op) {
    static constexpr std::array<std::string_view, 6> ops = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool is_binary(const std::string& op) {
    return op == "=" || op == "==" || op == "!=" || op == "=~" || op == "<" || op == ">" || op == "-nt" ||
           op == "-ot" || op == "-ef" || is_number_operator(op);
}

} // namespace

// Recursive descent over the words of one test.
class TestReader {
  public:
    TestReader(Runner& runner, std::vector<std::string> words, bool patterns, int line)
        : runner_(runner), words_(std::move(words)), patterns_(patterns), line_(line) {}

    Status run() {
        if (words_.empty())
            return Status::failure;
        const Status status = any();
        return next_ == words_.size() ? status : Status::unknown;
    }

  private:
    bool at(std::string_view word) const { return next_ < words_.size() && words_[next_] == word; }
    bool take(std::string_view word) {
        if (!at(word))
            return false;
        ++next_;
        return true;
    }

    Status any() {
        Status status = all();
        while (take("||") || take("-o"))
            status = negated(both(negated(status), negated(all())));
        return status;
    }

    Status all() {
        Status status = one();
        while (take("&&") || take("-a"))
            status = both(status, one());
        return status;
    }

    Status one() {
        if (next_ >= words_.size())
            return Status::unknown;
        const bool binary = next_ + 1 < words_.size() && is_binary(words_[next_ + 1]);
        if (!binary && (at("!") || at("(")))
            return nested();
        if (binary) {
            const std::string left = words_[next_];
            const std::string op = words_[next_ + 1];
            const std::string right = next_ + 2 < words_.size() ? words_[next_ + 2] : std::string();
            next_ = std::min(next_ + 3, words_.size());
            return compare(left, op, right);
        }
        const std::string word = words_[next_++];
        if (word.size() == 2 && word[0] == '-' && next_ < words_.size())
            return unary(word[1], words_[next_++]);
        const std::string value = runner_.without_unset(word);
        return has_unknown(value) ? Status::unknown : from(!value.empty());
    }

    // ! test, ( test )
    Status nested() {
        if (++nesting_ > kMaxNesting)
            runner_.fail(line_, "a test is nested too deep");
        Status status = Status::unknown;
        if (take("!")) {
            status = negated(one());
        } else {
            take("(");
            status = any();
            take(")");
        }
        --nesting_;
        return status;
    }

    Status unary(char op, const std::string& word) {
        const std::string value = runner_.without_unset(word);
        if (op == 'v')
            return from(runner_.find(value) != nullptr);
        if (op != 'z' && op != 'n')
            return Status::unknown; // files, terminals
        if (has_unknown(value))
            return Status::unknown;
        return from(value.empty() == (op == 'z'));
    }

    Status compare(const std::string& raw_left, const std::string& op, const std::string& raw_right) {
        if (is_number_operator(op))
            return compare_numbers(raw_left, op, raw_right);
        const std::string left = runner_.without_unset(raw_left);
        const std::string right = runner_.without_unset(raw_right);
        if (has_unknown(left) || has_unknown(right) || op == "=~" || op[0] == '-')
            return Status::unknown;
        if (op == "<")
            return from(left < right);
        if (op == ">")
            return from(left > right);
        const bool equal = patterns_ ? matches_pattern(right, left) : left == right;
        return from(equal == (op != "!="));
    }

    Status compare_numbers(const std::string& left, const std::string& op, const std::string& right) {
        const auto a = number(left);
        const auto b = number(right);
        if (!a || !b)
            return Status::unknown;
        if (op == "-eq")
            return from(*a == *b);
        if (op == "-ne")
            return from(*a != *b);
        if (op == "-lt")
            return from(*a < *b);
        if (op == "-le")
            return from(*a <= *b);
        if (op == "-gt")
            return from(*a > *b);
        return from(*a >= *b);
    }

    std::optional<std::int64_t> number(const std::string& text) {
        if (auto value = integer(text))
            return value;
        if (has_unknown(text))
            return std::nullopt;
        return integer(runner_.get(text)); // [[ NAME -eq 1 ]]
    }

    Runner& runner_;
    std::vector<std::string> words_;
    bool patterns_;
    int line_;
    std::size_t next_ = 0;
    int nesting_ = 0;
};

// `test` and `[`, after their arguments were expanded like those of any command.
Status Runner::run_test_words(const std::vector<Field>& words) {
    std::vector<std::string> texts;
    for (const Field& word : words)
        texts.push_back(without_line_marks(word.text));
    if (!texts.empty() && texts[0] == "[") {
        if (texts.back() != "]")
            fail(words[0].line, "[ without ]");
        texts.pop_back();
    }
    const int line = words[0].line;
    texts.erase(texts.begin());
    return TestReader(*this, std::move(texts), false, line).run();
}

Status Runner::run_test(const Node& node) {
    std::vector<std::string> texts;
    for (const Word& word : node.words)
        texts.push_back(plain(word));
    return TestReader(*this, std::move(texts), true, node.line).run();
}

} // namespace echosim::shell
