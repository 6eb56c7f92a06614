// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/command.h"
#include "simulator/cli/console.h"
#include "simulator/core/error.h"

namespace echosim {

int run_validate(const Invocation&, Console&) {
    throw InputError("echosim validate", "is not available in this version");
}

} // namespace echosim
