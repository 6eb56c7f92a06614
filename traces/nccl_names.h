// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"
#include "traces/trace.h"

#include <cstdint>
#include <optional>
#include <string_view>

// Names that NCCL, RCCL and torch.distributed give to communication.
namespace echosim {

// What the name of a kernel says:
//   ncclKernel_AllReduce_RING_LL_Sum_float(...)          NCCL 2.8 to 2.18, RCCL
//   ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)        from 2.19
//   ncclAllReduceRingLLKernel_sum_f16(ncclColl)          to 2.7
//   ncclSymkDevKernel_AllGather_LL..., ncclDevKernel_SendRecv(...), ncclDevKernel_Generic(...) (RCCL: any)
// A kernel of NCCL covers every algorithm of its collective: only the collective and type are certain. A
// kernel that moves without reducing has no data type in its name, or int8 for every type; one for any work
// (Generic) has no collective.
struct NcclKernelName {
    CollectiveKind kind = kNoCollective;
    DType dtype = kNoDType;
    Algorithm algorithm = kNoAlgorithm;
    Protocol protocol = kNoProtocol;
};

bool is_nccl_kernel(std::string_view name);
NcclKernelName parse_nccl_kernel(std::string_view name);

// A type of torch or NCCL ("BFloat16", "c10::BFloat16", "bf16", "long int"); `exact` false: our vocabulary
// has another type of the same kind and size, or none (fp64, complex, int16: kNoDType).
struct ElementType {
    DType type = DType::fp32;
    Bytes bytes = 4;
    bool exact = true;
};
std::optional<ElementType> element_type(std::string_view name);

// "allreduce", "_allgather_base", "nccl:all_to_all", "send" ...; empty for barriers, coalesced groups and
// names that are not known.
struct CollectiveName {
    CollectiveKind kind = CollectiveKind::all_reduce;
    Direction direction = Direction::none;
    bool plain = false; // the name that torch_collective_name() gives back
};
std::optional<CollectiveName> collective_named(std::string_view name);
std::string_view torch_collective_name(CollectiveKind kind, Direction direction);

// Size of the message as nccl-tests counts it, from the elements of the buffers (0: not known). Of a
// collective that is not known: the larger buffer, where both are known.
Bytes message_bytes(CollectiveKind kind, std::uint64_t in_elements, std::uint64_t out_elements,
                    std::uint32_t group_size, Bytes element);

} // namespace echosim
