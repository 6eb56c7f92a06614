// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"

#include <string>
#include <string_view>

// What the name of a kernel says, demangled as profilers print it.
namespace echosim {

// The family: the name without template arguments, return type, parameters and digits
// ("ampere_sgemm_128x64_tn" and "ampere_sgemm_128x32_tn" are one). Leave-one-family-out groups by it.
std::string kernel_family(std::string_view name);

// The class by words of the name; KernelClass::other when none fits.
KernelClass kernel_class_of(std::string_view name);

} // namespace echosim
