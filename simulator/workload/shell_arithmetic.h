// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace echosim::shell {

// Variables of an expression. `get` gives the text of a variable ("" when unset), possibly with an unknown
// mark.
struct ArithmeticScope {
    std::function<std::string(const std::string& name, const std::string& index)> get;
    std::function<void(const std::string& name, const std::string& index, std::int64_t value)> set;
};

struct ArithmeticResult {
    std::int64_t value = 0;
    std::string unknown; // mark of the value that the expression depends on and that is not known
    std::string error;   // wrong syntax, division by zero
};

// bash arithmetic on 64-bit integers: $(( )), (( )), let, indices. Assignments inside it go to the scope.
ArithmeticResult evaluate_arithmetic(std::string_view text, const ArithmeticScope& scope, int depth = 0);

} // namespace echosim::shell
