// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/calibrate.h"
#include "comm_models/geometry.h"
#include "simulator/catalogue/cluster.h"

#include <string>
#include <vector>

// Tables of measured collectives (docs/validation.md lists the fields): {"tables": [...], "rows": [...]}, a
// table being one cluster, one group of GPUs and one collective, a row one message size of it.
//
// The cluster of a table is built from its own fields, so that any machine can be described:
//
//   gpu                   the catalogue's, which also gives the NVLink rate and the PCIe generation
//   gpus_per_node         GPUs of a node, as in a cluster file; not stated: those of the group on a node
//   nvlink_domain_gpus    1 on a node of several GPUs: PCIe only. More than gpus_per_node: several nodes
//                         share one domain (NVL72). A node of one GPU keeps its NVLink, unused
//   nics_per_node, nic_gbits   not stated: one NIC a GPU, 100 (Volta), 200 (Ampere, Ada) or 400 Gbit/s
//   fabric                not stated on several nodes: InfiniBand
//   nccl_version          not stated: likely_nccl() of the GPU's architecture
//   CPU                   is no field: Intel Sapphire Rapids
namespace echosim {

struct CollectiveTable {
    std::string name, gpu, collective, hardware, network;
    std::string link; // "NVLink", "PCIe", "InfiniBand/RoCE", "EFA", "TCPX(O)", "AMD", "other network"
    int gpus = 0, nodes = 0;
    bool degraded = false; // noisy or badly tuned: reported apart, never fitted
    Cluster cluster;
    GroupGeometry group;
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::string skipped;            // why it cannot be modelled; empty otherwise
    std::vector<std::string> notes; // what was assumed for fields that the source does not state
};

struct CollectiveRow {
    std::string id;
    std::size_t table = 0; // index into CollectiveTables::tables
    Bytes bytes = 0;
    DType dtype = DType::fp32;
    double us = 0; // out of place
    std::string skipped;
};

struct CollectiveTables {
    std::vector<CollectiveTable> tables;
    std::vector<CollectiveRow> rows;
};

// Reads every row, also those that cannot be modelled (`skipped`). Keys that are not listed are ignored.
// Throws InputError with all problems (the first kMaxRowProblems) when the file does not have the schema.
CollectiveTables read_collective_tables(const std::string& path);

// What the row asks of the model.
Collective collective_of(const CollectiveTable& table, const CollectiveRow& row);

// Samples of the tables that `use` marks and that are neither skipped nor degraded, every table with the same
// weight.
nccl::CalibrationData calibration_data(const CollectiveTables& data, const std::vector<bool>& use);

} // namespace echosim
