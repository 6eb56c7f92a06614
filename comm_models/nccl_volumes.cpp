// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_volumes.h"

#include "comm_models/rccl_tables.h"

#include <algorithm>

// S bytes, n ranks on N nodes of m = n / N:
//
//   ring            steps of S/n over each of the n hops, N of which leave a node: 2(n-1)/n S, (n-1)/n S
//   broadcast, reduce   S over each of the n-1 hops of a chain, N-1 of which leave a node
//   tree            S up and S down each of the n-1 edges, N-1 of which leave a node
//   NVLS            all-reduce: each GPU gives S to the switch for the sum and stores its S/n into it:
//                   S (m+1)/m; gather and scatter S (m-1)/m
//   NVLSTree        as NVLS within the node, as the tree between nodes
//   CollNet, NVLS with SHARP   S a node up to the switches and down; within the node S to and from the heads
//   PAT             (n-1)/n S, all of it over the network
//   direct          S (m-1)/n within the node, S (n-m)/n out of it; with PXN (m-1)/m of that crosses NVLink
//   to
//                   the GPU beside the right NIC
// Source: the algorithms of NVIDIA/nccl src/device; the conservation is a test.
namespace echosim::nccl {
namespace {

bool reduces(CollectiveKind kind) {
    return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
           kind == CollectiveKind::reduce;
}

Volumes direct(const Collective& c, const GroupSystem& s) {
    const double bytes = static_cast<double>(std::max(c.bytes, c.largest_rank_bytes));
    if (c.kind == CollectiveKind::send_recv)
        return s.nodes > 1 ? Volumes{0, bytes, 0} : Volumes{bytes, 0, 0};
    const double n = s.ranks;
    const double m = n / s.nodes;
    if (c.kind == CollectiveKind::all_reduce) // AMD's mesh: in one shot all of it to everybody, or in two
        return {bytes * (bytes <= rccl_timing().one_shot_to ? n - 1 : 2 * (n - 1) / n), 0, 0};
    const double far = bytes * (n - m) / n;
    const double hop = s.nvlink && s.pxn ? far * (m - 1) / m : 0;
    return {bytes * (m - 1) / n + hop, far, 0};
}

// Between nodes by way of the switches of the network.
Volumes sharp(const Collective& c, Algorithm algorithm, const GroupSystem& s) {
    const double bytes = static_cast<double>(c.bytes);
    const double nodes = s.nodes;
    const double m = s.ranks / nodes;
    if (c.kind != CollectiveKind::all_reduce) // the shard of the others arrives, one's own leaves
        return {bytes * (m - 1) / m, bytes * (nodes - 1) / nodes / m, 0};
    return {algorithm == Algorithm::nvls ? bytes * (m + 1) / m : 2 * bytes * (m - 1) / m, bytes / m, 0};
}

Volumes ring(const Collective& c, const GroupSystem& s) {
    const double bytes = static_cast<double>(c.bytes);
    const double n = s.ranks;
    const double nodes = s.nodes;
    if (c.kind == CollectiveKind::broadcast || c.kind == CollectiveKind::reduce)
        return {bytes * (n - nodes) / n, bytes * (nodes - 1) / n, 0};
    const double sent = bytes * (n - 1) / n * (c.kind == CollectiveKind::all_reduce ? 2 : 1);
    const double far_share = nodes > 1 ? nodes / n : 0;
    return {sent * (1 - far_share), sent * far_share, 0};
}

Volumes links(const Collective& c, Algorithm algorithm, const GroupSystem& s) {
    const double bytes = static_cast<double>(c.bytes);
    const double n = s.ranks;
    const double nodes = s.nodes;
    const double m = n / nodes;
    switch (algorithm) {
    case Algorithm::direct:
        return direct(c, s);
    case Algorithm::nvls:
        if (s.nodes > 1)
            return sharp(c, algorithm, s);
        return {bytes * (c.kind == CollectiveKind::all_reduce ? m + 1 : m - 1) / m, 0, 0};
    case Algorithm::nvls_tree:
        return {bytes * (m + 1) / m, 2 * (nodes - 1) / n * bytes, 0};
    case Algorithm::tree:
        return {2 * (n - nodes) / n * bytes, 2 * (nodes - 1) / n * bytes, 0};
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
        return sharp(c, algorithm, s);
    case Algorithm::ring:
    case Algorithm::pat:
        break;
    }
    return ring(c, s);
}

// Each step of a ring reads what it sends and writes what it receives; a reduction reads its own operand too;
// a copy out of place reads and writes the rank's part. NVLS reads S for the switch and writes S.
double memory(const Collective& c, Algorithm algorithm, const Volumes& v, const GroupSystem& s) {
    const double bytes = static_cast<double>(c.bytes);
    const double copy = c.in_place ? 0 : 2 * bytes / s.ranks;
    if (algorithm == Algorithm::nvls && s.nodes == 1)
        return (c.kind == CollectiveKind::all_reduce ? 2 : 1) * bytes + copy;
    return (v.near + v.far) * (reduces(c.kind) ? 2.5 : 2) + copy;
}

} // namespace

Volumes volumes(const Collective& c, Algorithm algorithm, const GroupSystem& s) {
    Volumes result = links(c, algorithm, s);
    result.memory = memory(c, algorithm, result, s);
    return result;
}

} // namespace echosim::nccl
