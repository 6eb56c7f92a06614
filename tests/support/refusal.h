// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/error.h"

#include <string>

namespace echosim {

// The message with which `call` refuses its input; "accepted" when it does not.
template <class Call> std::string refusal(Call call) {
    try {
        call();
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

} // namespace echosim
