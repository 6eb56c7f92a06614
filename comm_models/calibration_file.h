// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/calibrate.h"
#include "comm_models/model_constants.h"

#include <memory>
#include <string>

// The file that `echosim calibrate` writes and that --calibration reads:
//
//   {"schema": "echosim.calibration/1", "source": "...", "collectives": {"links": [...], "fabrics": [...]}}
//
// with lists as in presets/nccl_links.json and nccl_fabrics.json.
namespace echosim::nccl {

// What the file holds. Throws InputError when it is missing or is none.
ModelConstants read_calibration(const std::string& path);

// `constants` with the entries of a calibration in them: one of a known name (a known kind of network)
// replaces that one, others go to the front, where they are found first.
ModelConstants with_calibration(const ModelConstants& constants, const ModelConstants& calibration);

// The presets with the entries of a calibration file; the presets alone when the name is empty. Throws what
// read_calibration() throws.
std::shared_ptr<const ModelConstants> load_constants(const std::string& calibration_file);

// What of a calibration the model takes for this cluster and its NCCL.
struct CalibrationUse {
    bool links = false;  // inside a node
    bool fabric = false; // between nodes
};
CalibrationUse calibration_use(const ModelConstants& calibration, const Cluster& cluster);

// The NCCL versions for which the model takes this entry of `constants` for the cluster: "any NCCL", "NCCL
// before 2.14", "NCCL 2.14 and later"; empty = none.
std::string versions_of(const LinkProfile& entry, const ModelConstants& constants, const Cluster& cluster);

// A warning when no link entry of the calibration concerns this cluster and its NCCL; empty otherwise.
std::string calibration_mismatch(const ModelConstants& calibration, const Cluster& cluster);

// The text of such a file.
std::string calibration_text(const Calibration& calibration, const std::string& source);

} // namespace echosim::nccl
