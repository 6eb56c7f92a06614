// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/shell_arithmetic.h"

#include "simulator/workload/shell_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace echosim::shell {
namespace {

constexpr int kMaxDepth = 32;
constexpr int kMaxParentheses = 100;

bool is_name_start(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

struct BinaryOperator {
    std::string_view text;
    int precedence;
};

// Longest first, so that << is not read as <.
constexpr std::array kBinary = {
    BinaryOperator{"||", 1},  BinaryOperator{"&&", 2}, BinaryOperator{"==", 6}, BinaryOperator{"!=", 6},
    BinaryOperator{"<=", 7},  BinaryOperator{">=", 7}, BinaryOperator{"<<", 8}, BinaryOperator{">>", 8},
    BinaryOperator{"**", 11}, BinaryOperator{"|", 3},  BinaryOperator{"^", 4},  BinaryOperator{"&", 5},
    BinaryOperator{"<", 7},   BinaryOperator{">", 7},  BinaryOperator{"+", 9},  BinaryOperator{"-", 9},
    BinaryOperator{"*", 10},  BinaryOperator{"/", 10}, BinaryOperator{"%", 10}};

// Wraps around like bash does.
std::int64_t wrapped(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

class Evaluator {
  public:
    Evaluator(std::string_view text, const ArithmeticScope& scope, int depth)
        : text_(text), scope_(scope), depth_(depth) {}

    ArithmeticResult run() {
        skip();
        result_.value = next_ == text_.size() ? 0 : comma();
        if (next_ < text_.size() && result_.error.empty())
            result_.error = "unexpected text in an arithmetic expression";
        return result_;
    }

  private:
    struct Place {
        std::string name;
        std::string index;
    };

    void skip() {
        while (next_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[next_])) != 0)
            ++next_;
    }
    bool at(std::string_view what) const { return text_.substr(next_, what.size()) == what; }
    bool take(std::string_view what) {
        if (!at(what))
            return false;
        next_ += what.size();
        skip();
        return true;
    }
    void fail(const char* message) {
        if (result_.error.empty())
            result_.error = message;
        next_ = text_.size();
    }

    std::int64_t comma() {
        std::int64_t value = ternary();
        while (take(","))
            value = ternary();
        return value;
    }

    // Expressions to the right of ? : and ** nest; false when too deep.
    bool enter() {
        if (++nesting_ <= kMaxParentheses)
            return true;
        fail("an arithmetic expression is nested too deep");
        --nesting_;
        return false;
    }

    std::int64_t ternary() {
        const std::int64_t condition = binary(1);
        if (!take("?") || !enter())
            return condition;
        const std::int64_t yes = ternary();
        if (!take(":"))
            fail("a ? without its : in an arithmetic expression");
        const std::int64_t no = ternary();
        --nesting_;
        return condition != 0 ? yes : no;
    }

    const BinaryOperator* binary_operator() const {
        for (const BinaryOperator& op : kBinary) {
            if (at(op.text))
                return &op;
        }
        return nullptr;
    }

    std::int64_t binary(int lowest) {
        std::int64_t left = unary();
        for (const auto* op = binary_operator(); op != nullptr && op->precedence >= lowest;
             op = binary_operator()) {
            if (op->precedence >= 3 && text_.substr(next_ + op->text.size(), 1) == "=" && op->text != "==" &&
                op->precedence != 6 && op->precedence != 7) {
                break; // compound assignment to what is no variable
            }
            take(op->text);
            if (!enter())
                break;
            const std::int64_t right = binary(op->text == "**" ? op->precedence : op->precedence + 1);
            --nesting_;
            left = apply(op->text, left, right);
        }
        return left;
    }

    std::int64_t power(std::int64_t base, std::int64_t exponent) {
        if (exponent < 0)
            fail("a negative exponent");
        std::int64_t value = 1;
        for (std::int64_t i = 0; i < std::min<std::int64_t>(exponent, 64); ++i) {
            value = wrapped(static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(base));
        }
        return value;
    }

    std::int64_t apply(std::string_view op, std::int64_t a, std::int64_t b) {
        const auto x = static_cast<std::uint64_t>(a);
        const auto y = static_cast<std::uint64_t>(b);
        if (op == "+")
            return wrapped(x + y);
        if (op == "-")
            return wrapped(x - y);
        if (op == "*")
            return wrapped(x * y);
        if (op == "**")
            return power(a, b);
        if (op == "/" || op == "%") {
            if (b == 0 && result_.unknown.empty())
                fail("division by zero");
            if (b == 0)
                return 0;
            if (b == -1)
                return op == "/" ? wrapped(0 - x) : 0;
            return op == "/" ? a / b : a % b;
        }
        if (op == "<<")
            return wrapped(x << (y & 63U));
        if (op == ">>")
            return a >> (y & 63U);
        if (op == "<")
            return a < b ? 1 : 0;
        if (op == ">")
            return a > b ? 1 : 0;
        if (op == "<=")
            return a <= b ? 1 : 0;
        if (op == ">=")
            return a >= b ? 1 : 0;
        if (op == "==")
            return a == b ? 1 : 0;
        if (op == "!=")
            return a != b ? 1 : 0;
        if (op == "&&")
            return a != 0 && b != 0 ? 1 : 0;
        if (op == "||")
            return a != 0 || b != 0 ? 1 : 0;
        if (op == "&")
            return wrapped(x & y);
        if (op == "|")
            return wrapped(x | y);
        return wrapped(x ^ y);
    }

    std::int64_t unary() {
        if (++nesting_ > kMaxParentheses)
            fail("an arithmetic expression is nested too deep");
        std::int64_t value = 0;
        if (at("++") || at("--")) {
            const std::int64_t step = take("++") ? 1 : (take("--"), -1);
            const auto place = variable();
            if (place)
                value = store(*place, wrapped(static_cast<std::uint64_t>(load(*place)) +
                                              static_cast<std::uint64_t>(step)));
        } else if (take("+")) {
            value = unary();
        } else if (take("-")) {
            value = wrapped(0 - static_cast<std::uint64_t>(unary()));
        } else if (at("!") && !at("!=")) {
            take("!");
            value = unary() == 0 ? 1 : 0;
        } else if (take("~")) {
            value = ~unary();
        } else {
            value = primary();
        }
        --nesting_;
        return value;
    }

    std::int64_t primary() {
        if (take("(")) {
            const std::int64_t value = comma();
            if (!take(")"))
                fail("a ( is never closed in an arithmetic expression");
            return value;
        }
        if (next_ < text_.size() && text_[next_] == kUnknownMark) {
            const std::size_t end = std::min(text_.find(kMarkEnd, next_) + 1, text_.size());
            if (result_.unknown.empty())
                result_.unknown = std::string(text_.substr(next_, end - next_));
            next_ = end;
            skip();
            return 1;
        }
        if (next_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[next_])) != 0)
            return number();
        const auto place = variable();
        if (!place) {
            fail("a number or variable is missing in an arithmetic expression");
            return 0;
        }
        return assignment_to(*place);
    }

    std::int64_t number() {
        const std::size_t begin = next_;
        while (next_ < text_.size() && (is_name_char(text_[next_]) || text_[next_] == '#'))
            ++next_;
        std::string digits(text_.substr(begin, next_ - begin));
        skip();
        int base = 10;
        const std::size_t hash = digits.find('#');
        if (hash != std::string::npos) {
            base = std::atoi(digits.c_str());
            digits.erase(0, hash + 1);
        } else if (digits.size() > 1 && digits[0] == '0') {
            base = digits[1] == 'x' || digits[1] == 'X' ? 16 : 8;
        }
        if (base < 2 || base > 36) {
            fail("a number with a base that is not 2 to 36");
            return 0;
        }
        char* end = nullptr;
        const std::uint64_t value = std::strtoull(digits.c_str(), &end, base);
        if (*end != '\0' || digits.empty())
            fail("a number that is no whole number");
        return wrapped(value);
    }

    std::optional<Place> variable() {
        if (next_ >= text_.size() || !is_name_start(text_[next_]))
            return std::nullopt;
        Place place;
        while (next_ < text_.size() && is_name_char(text_[next_]))
            place.name += text_[next_++];
        if (next_ < text_.size() && text_[next_] == '[') {
            const std::size_t end = text_.find(']', next_);
            if (end == std::string_view::npos) {
                fail("a [ is never closed in an arithmetic expression");
                return std::nullopt;
            }
            place.index = std::string(text_.substr(next_ + 1, end - next_ - 1));
            next_ = end + 1;
        }
        skip();
        return place;
    }

    std::int64_t load(const Place& place) {
        const std::string text = scope_.get(place.name, place.index);
        if (depth_ >= kMaxDepth) {
            fail("a variable that refers to itself");
            return 0;
        }
        const ArithmeticResult inner = evaluate_arithmetic(text, scope_, depth_ + 1);
        if (!inner.unknown.empty() && result_.unknown.empty())
            result_.unknown = inner.unknown;
        if (!inner.error.empty())
            fail("a variable that holds no number");
        return inner.value;
    }

    std::int64_t store(const Place& place, std::int64_t value) {
        if (result_.error.empty())
            scope_.set(place.name, place.index, value);
        return value;
    }

    std::int64_t assignment_to(const Place& place) {
        for (const std::string_view op : {"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}) {
            if (!take(op))
                continue;
            const std::int64_t old = load(place);
            return store(place, apply(op.substr(0, op.size() - 1), old, ternary()));
        }
        if (at("=") && !at("==")) {
            take("=");
            return store(place, ternary());
        }
        const std::int64_t value = load(place);
        if (at("++") || at("--")) {
            const std::uint64_t step = at("++") ? 1 : ~std::uint64_t{0};
            next_ += 2;
            skip();
            store(place, wrapped(static_cast<std::uint64_t>(value) + step));
        }
        return value;
    }

    std::string_view text_;
    const ArithmeticScope& scope_;
    int depth_;
    std::size_t next_ = 0;
    int nesting_ = 0;
    ArithmeticResult result_;
};

} // namespace

ArithmeticResult evaluate_arithmetic(std::string_view text, const ArithmeticScope& scope, int depth) {
    return Evaluator(text, scope, depth).run();
}

} // namespace echosim::shell
