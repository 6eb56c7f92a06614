// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"

#include <string>
#include <string_view>

// What the name of a kernel says, demangled as profilers print it (mangled names are demangled here).
namespace echosim {

// The family: the name without template arguments, return type, parameters, namespaces and digits
// ("ampere_sgemm_128x64_tn" and "ampere_sgemm_128x32_tn" are one: "ampere_sgemm_tn"; "void
// at::native::reduce_kernel<512, 1, ...>(...)" and "reduce_kernel": "reduce_kernel"). A wrapper that says
// nothing by itself (cutlass::Kernel<X>, cutlass::device_kernel<X>) has the family of what it wraps; names of
// Tensile and xmma end before their tile sizes. Leave-one-family-out groups by it. "unnamed" for a name
// without letters.
std::string kernel_family(std::string_view name);

// The class by words of the name, of the kernel's own name first, then of its template arguments;
// KernelClass::other when none fits.
KernelClass kernel_class_of(std::string_view name);

// The name says that the kernel uses tensor cores (matrix cores): hmma, s16816gemm, tensorop, nvjet, ...
bool uses_tensor_cores(std::string_view name);

// The name says stream-K: work is dealt to the SMs that are there.
bool is_stream_k(std::string_view name);

} // namespace echosim
