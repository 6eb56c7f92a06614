// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/geometry.h"
#include "comm_models/schedule.h"

#include <string>
#include <vector>

// A case of echosim-oracle: collectives on a cluster, and how near the flow-level forms must come to what
// SimGrid finds.
//
//   cluster      as in a cluster file, or the path of one from the folder of the case
//   gpus         of the job; default: the highest rank + 1
//   placement    order of the nodes, as `echosim collective --placement`
//   platform     "links": SimGrid's links and routes are those of comm_models/fabric.h, one to one;
//                "fat_tree": its own fat tree with its own D-mod-k routing
//   contention   true allows 10 % instead of 1 %
//   collectives  list of
//     kind, algorithm, bytes, chunk, in_flight   as in comm_models/schedule.h
//     start              "0us"
//     ranks              [0, 8, ...], or first, count and stride
//     repeat, shift      so many groups, each `shift` ranks further on
//     exception          {"difference": -0.8, "reason": "..."}: known, and must stay within 1 or 10 % of that
namespace echosim {

struct OracleCollective {
    ScheduledCollective collective;
    Seconds start = 0;
    double known_difference = 0; // as a share of SimGrid's time
    std::string reason;
};

enum class OraclePlatform : std::uint8_t { links, fat_tree };

struct OracleCase {
    std::string name;
    Cluster cluster;
    int gpus = 0;
    NodePlacement placement;
    OraclePlatform platform = OraclePlatform::links;
    std::vector<OracleCollective> collectives;
    bool contention = false;
};

// Throws InputError with every problem of the file.
OracleCase read_oracle_case(const std::string& path);

} // namespace echosim
