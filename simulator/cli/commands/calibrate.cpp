// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/command.h"
#include "simulator/core/error.h"

namespace echosim {

int run_calibrate(const Invocation& /*invocation*/, Console& /*console*/) {
    throw InputError("", "command \"calibrate\" is not available in this version");
}

} // namespace echosim
