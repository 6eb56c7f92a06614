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

// The presets with the entries of a calibration file put in front; the presets alone when the name is empty.
// Throws InputError when the file is missing or is none.
std::shared_ptr<const ModelConstants> load_constants(const std::string& calibration_file);

// The text of such a file.
std::string calibration_text(const Calibration& calibration, const std::string& source);

} // namespace echosim::nccl
