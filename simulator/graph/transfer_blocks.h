// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/graph/execution_graph.h"
#include "simulator/workload/job.h"
#include "simulator/workload/schedule.h"

#include <map>
#include <tuple>
#include <vector>

namespace echosim {

// Blocks of the transfers between pipeline stages, made when they are first needed. Batched transfers are one
// NCCL group on the stream `pp`, followed by a device synchronisation when the schedule says so; unbatched
// ones run on the stream of their direction. A receive records a port, which the work that takes the tensor
// waits for: two ports a (direction, chunk), used in turn, because a schedule posts at most one receive
// ahead.
class TransferBlocks {
  public:
    TransferBlocks(RankGraph& graph, const Job& job);
    BlockId exchange(const ScheduleStep& step);
    BlockId wait_for_input(bool forward, int microbatch, int chunk);
    // First port number that is not used here.
    std::uint32_t ports() const { return static_cast<std::uint32_t>(chunks_) * 4; }

  private:
    std::uint32_t port(bool forward, int microbatch, int chunk) const {
        return static_cast<std::uint32_t>(((forward ? 0 : 1) * chunks_ + chunk) * 2 + microbatch % 2);
    }
    std::uint32_t channel(const TransferCall& call);
    TransferPart part(const TransferCall& call);
    BlockId make_batched(const ScheduleStep& step);
    BlockId make_unbatched(const ScheduleStep& step);

    RankGraph& graph_;
    int chunks_;
    Bytes bytes_; // of one tensor: T'/c x h
    std::map<std::vector<std::tuple<int, int, bool>>, BlockId> exchanges_;
    std::map<std::uint32_t, BlockId> waits_;
};

} // namespace echosim
