// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/command.h"
#include "simulator/core/error.h"

namespace echosim {

int run_collective(const Invocation& /*invocation*/, Console& /*console*/) {
    throw InputError("", "command \"collective\" is not available in this version");
}

} // namespace echosim
