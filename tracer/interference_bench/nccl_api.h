// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

// What of NCCL is used, declared here: libnccl.so.2 is loaded at run time and its header need not be there.
// Layout and values of nccl.h since 2.17, which takes older forms of the configuration by its `version`.
namespace echosim::nccl {

using Comm = void*;
struct UniqueId {
    char bytes[128];
};
struct Config {
    std::size_t size;
    unsigned magic;
    unsigned version;
    int blocking;
    int cga_cluster_size;
    int min_ctas;
    int max_ctas;
    const char* net_name;
};
constexpr int kUndefined = INT32_MIN;
constexpr unsigned kConfigMagic = 0xcafebeef;
constexpr int kOldestVersion = 21701; // the first with min_ctas and max_ctas
constexpr int kFloat32 = 7;
constexpr int kSum = 0;

// Exactly `ctas` CTAs a kernel.
constexpr Config config_with(int ctas) {
    return {sizeof(Config), kConfigMagic, static_cast<unsigned>(kOldestVersion), kUndefined, kUndefined, ctas,
            ctas,           nullptr};
}

} // namespace echosim::nccl
