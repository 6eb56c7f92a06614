// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/execution_graph.h"

namespace echosim {

std::int64_t count_ops(const RankGraph& graph) {
    std::int64_t ops = 0;
    for (const Instance& instance : graph.program)
        ops += static_cast<std::int64_t>(graph.blocks[instance.block.value].ops.size());
    return ops;
}

} // namespace echosim
