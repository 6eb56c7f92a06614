// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/geometry.h"
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"

namespace echosim {

// How the buffers of a call are known to the library: plain, registered with the communicator
// (ncclCommRegister, user buffers), or windows of symmetric memory (NCCL 2.27 and later).
enum class Buffers : std::uint8_t { plain, registered, symmetric };

// What moves the bytes. NCCL's kernels unless the job asks for something else: copy engines (CTA policy ZERO,
// NCCL 2.28 and later), Transformer Engine's user buffers (ring exchange by copies, or pipelined kernels that
// overlap a GEMM), DeepEP's kernels (all_to_all is the dispatch, reduce_scatter the combine).
enum class Transport : std::uint8_t { nccl, copy_engine, te_ring_exchange, te_pipeline, deepep };

// One collective as a rank calls it. `bytes` counts as nccl-tests prints the size: all_reduce count x
// element, all_gather the receive buffer, reduce_scatter and all_to_all the send buffer, broadcast, reduce,
// gather and scatter the whole buffer of the root, send_recv the message of one direction. For DeepEP it is
// what one rank sends (dispatch) or receives (combine).
struct Collective {
    CollectiveKind kind = CollectiveKind::all_reduce;
    Bytes bytes = 0;
    DType dtype = DType::bf16;
    bool in_place = true;
    Buffers buffers = Buffers::plain;
    Transport transport = Transport::nccl;
    int calls = 1; // operations of one ncclGroup (coalesced buckets); `bytes` is their sum
    // all_to_all with other sizes for each pair: the most bytes that one rank sends or receives in all. 0 =
    // every pair the same.
    Bytes largest_rank_bytes = 0;
    int sms = 0; // given to DeepEP or to a pipelined user-buffer kernel; 0 = their default
};

// What it costs alone, and what it occupies while it runs (interference and contention need that). Bytes are
// of one GPU, in the direction that carries more.
struct CommCost {
    Seconds time = 0;    // on the device, from the last member's arrival to the end
    Seconds latency = 0; // the part of it that more bandwidth would not shorten
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    int channels = 0;         // = CTAs held on each member GPU; 0 for copy engines
    double nvlink_bytes = 0;  // sent over NVLink, or over PCIe where GPUs of a node have nothing else
    double nic_bytes = 0;     // sent by one GPU's share of the NICs
    double pcie_bytes = 0;    // over the GPU's PCIe link: what goes to the NIC, and peers without NVLink
    double hbm_bytes = 0;     // HBM traffic
    double bus_bandwidth = 0; // bytes/s, as nccl-tests defines busbw
    Provenance provenance = Provenance::assumed;
};

// The seam between the graph and any model of collectives. Implementations are thread-safe and have no
// visible state.
class CollectiveModel {
  public:
    virtual ~CollectiveModel() = default;
    virtual CommCost estimate(const Collective& collective, const GroupGeometry& group) const = 0;
};

} // namespace echosim
