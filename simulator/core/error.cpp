// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace echosim {
namespace {

std::string text_of(const std::vector<Problem>& problems) {
    std::string text;
    for (const Problem& p : problems) {
        if (!text.empty())
            text += '\n';
        if (!p.where.empty())
            text += p.where + ": ";
        text += p.message;
        if (!p.hint.empty())
            text += "\n  hint: " + p.hint;
    }
    return text;
}

} // namespace

InputError::InputError(std::vector<Problem> problems)
    : std::runtime_error(text_of(problems)), problems_(std::move(problems)) {}

InputError::InputError(std::string where, std::string message, std::string hint)
    : InputError(std::vector<Problem>{{std::move(where), std::move(message), std::move(hint)}}) {}

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
    std::fprintf(stderr, "echosim: internal error at %s:%d: %s (%s)\n", file, line, message.c_str(),
                 condition);
    std::abort();
}

} // namespace echosim
