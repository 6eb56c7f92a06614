// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <span>

// Sharing of resources by weighted max-min.
//
//   Op i runs at rate x_i <= 1 (1 = as fast as alone) and then uses the share d[i][r] x_i of resource r.
//   Maximise the smallest x_i, then the next smallest, ..., subject to sum_i d[i][r] x_i <= 1 for every r.
//
// Progressive filling: raise all rates together until a resource is full; the ops that use it keep their
// rate; go on with the others. Example: two transfers that each need 0.8 of a NIC alone run at x = 1 / 1.6 =
// 0.625; when one ends the other runs at 1. Source of the idea: max-min fairness as SimGrid solves it (SMPI,
// CM02 network model).
namespace echosim {

enum class Resource : std::uint8_t { nvlink, nic };
inline constexpr std::size_t kResources = 2;

// Share of each resource of one GPU that an op needs to run as fast as alone, 0..1.
using Demand = std::array<float, kResources>;

// Fills rate[i] in (0, 1]. O(ops x resources^2); a GPU runs a handful of ops at a time.
void fair_rates(std::span<const Demand> demands, std::span<double> rate);

} // namespace echosim
