// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_environment.h"

#include "comm_models/nccl_tables.h"

namespace echosim::nccl {

Settings read_settings(const std::string& version,
                       const std::map<std::string, std::string>& /*environment*/) {
    Settings settings;
    settings.version = parse_version(version);
    settings.algorithms.fill(~0U);
    settings.protocols.fill(~0U);
    return settings;
}

} // namespace echosim::nccl
