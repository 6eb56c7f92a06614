// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/slowdown.h"
#include "simulator/catalogue/gpu.h"

#include <memory>
#include <string>

namespace echosim {

// The model that `--set interference=TEXT` names: off, constant:F with F from 1 to 10, prior, or the path of
// a file that `echosim calibrate interference` wrote. Throws InputError; a file is read and checked here.
std::unique_ptr<SlowdownModel> make_slowdown(const std::string& text, const Gpu& gpu);

} // namespace echosim
