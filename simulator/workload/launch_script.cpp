// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/launch_script.h"

#include "simulator/core/error.h"

namespace echosim {

JobSource read_launch_script(std::string_view, const std::string& path) {
    throw InputError(path, "launch scripts are not read yet", "give a model name or a list of Megatron flags");
}

} // namespace echosim
