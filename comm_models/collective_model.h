// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/geometry.h"
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"

namespace echosim {

// One collective as a rank calls it. `bytes` counts as nccl-tests prints the size: all_reduce count x
// element, all_gather the receive buffer, reduce_scatter and all_to_all the send buffer, broadcast the
// buffer, send_recv the message of one direction.
struct Collective {
    CollectiveKind kind = CollectiveKind::all_reduce;
    Bytes bytes = 0;
    DType dtype = DType::bf16;
    bool in_place = true;
};

// What it costs alone, and what it occupies while it runs (interference and contention need that).
struct CommCost {
    Seconds time = 0; // on the device, from the last member's arrival to the end
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    int channels = 0;         // = CTAs held on each member GPU
    double nvlink_bytes = 0;  // sent by one GPU over NVLink (or PCIe inside a node)
    double nic_bytes = 0;     // sent by one GPU's share of the NICs
    double hbm_bytes = 0;     // HBM traffic on one GPU
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
