// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "comm_models/nccl_model.h"
#include "simulator/cli/parse.h"
#include "simulator/cli/size_list.h"

#include <string>
#include <string_view>
#include <vector>

// What `echosim collective` is asked for.
namespace echosim {

struct CollectiveRequest {
    Cluster cluster;         // with --set and --nccl
    std::string nccl_origin; // where the version is from when neither option nor cluster says it
    NcclOptions options;
    std::vector<std::string> algorithms, protocols; // of --algo and --proto, as NCCL spells them
    int gpus = 0;                                   // of the job
    std::vector<int> ranks;
    NodePlacement placement;
    std::string placement_text; // "packed"
    GroupGeometry group;
    Collective call; // all but bytes and in_place
    double imbalance = 1;
    SizeList sizes;
    std::vector<std::string> warnings;
};

// Throws InputError for every option that is wrong. `call.kind` is read from the argument.
// Throws InputError for a group over several nodes of a cluster without a network.
void need_network(const Cluster& cluster, const GroupGeometry& group);

CollectiveRequest read_collective_request(const Invocation& invocation);
// Cluster, GPUs, NCCL's settings and placement alone, for the collectives that --concurrent lists.
CollectiveRequest read_concurrent_request(const Invocation& invocation);

// "all_reduce", "all-reduce", "AllReduce", "all_reduce_perf", "alltoall". Throws InputError.
CollectiveKind parse_collective_kind(const std::string& where, const std::string& text);
DType parse_nccl_dtype(const std::string& where, const std::string& text);
// "0,8,16-23" in the order written, each rank once. Throws InputError.
std::vector<int> parse_group_ranks(const std::string& where, const std::string& text);

// As nccl-tests prints it: "float", "half", "bfloat16".
std::string_view nccl_tests_name(DType dtype);
// "all_to_all" made of sends and receives has no algorithm to choose.
bool has_algorithms(CollectiveKind kind);

} // namespace echosim
