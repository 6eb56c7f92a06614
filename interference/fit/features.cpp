// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/features.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

struct Column {
    std::string_view name;
    std::string_view unit; // and how it is made, as far as a model depends on it
};

// Changes of meaning count as well as changes of names: they go into the hash.
constexpr std::array<Column, kFeatures> kColumns{{{"log_time", "ln us"},
                                                  {"gemm", "0|1"},
                                                  {"attention", "0|1"},
                                                  {"norm", "0|1"},
                                                  {"norm_wgrad", "0|1"},
                                                  {"elementwise", "0|1"},
                                                  {"softmax", "0|1"},
                                                  {"reduction", "0|1, with loss"},
                                                  {"optimizer", "0|1"},
                                                  {"copy", "0|1, with memset"},
                                                  {"grid_known", "0|1"},
                                                  {"waves", "ln(1 + G/(qM)), 0 unknown"},
                                                  {"tail", "frac(G/(qM)), 0 unknown"},
                                                  {"blocks_per_sm", "q"},
                                                  {"occupancy_ratio", "share, else min(1, G/(qM))"},
                                                  {"threads_per_block", "1000"},
                                                  {"shared_kib", "KiB"},
                                                  {"hbm_share", "share"},
                                                  {"compute_share", "share"},
                                                  {"tensor_cores", "0|1"},
                                                  {"persistent", "0|1"},
                                                  {"yields_sms", "0|1"},
                                                  {"comm_ctas", "c/M"},
                                                  {"comm_hbm_share", "share"},
                                                  {"comm_nvlink_share", "share"},
                                                  {"comm_nic_share", "share"},
                                                  {"comm_fits", "of c"},
                                                  {"kernel_first", "0|1"},
                                                  {"comm_priority", "0|1"},
                                                  {"log_prior", "ln"}}};
static_assert(static_cast<std::size_t>(Feature::log_prior) + 1 == kFeatures);

// Feature::log_prior stands for classes without a column.
Feature column_of(KernelClass kernel_class) {
    switch (kernel_class) {
    case KernelClass::gemm:
        return Feature::gemm;
    case KernelClass::attention:
        return Feature::attention;
    case KernelClass::norm:
        return Feature::norm;
    case KernelClass::norm_wgrad:
        return Feature::norm_wgrad;
    case KernelClass::elementwise:
        return Feature::elementwise;
    case KernelClass::softmax:
        return Feature::softmax;
    case KernelClass::loss:
    case KernelClass::reduction:
        return Feature::reduction;
    case KernelClass::optimizer:
        return Feature::optimizer;
    case KernelClass::copy:
    case KernelClass::memset:
        return Feature::copy;
    case KernelClass::embedding:
    case KernelClass::other:
        break;
    }
    return Feature::log_prior;
}

double flag(bool value) {
    return value ? 1.0 : 0.0;
}

void add_kernel(const KernelFootprint& kernel, double sms, FeatureVector& x) {
    const auto set = [&](Feature feature, double value) { x[static_cast<std::size_t>(feature)] = value; };
    constexpr double kShortest = 1e-9; // of a clock
    set(Feature::log_time, std::log(std::max(kernel.time, kShortest) * 1e6));
    if (const Feature column = column_of(kernel.kernel_class); column != Feature::log_prior)
        set(column, 1);
    const double waves = kernel.blocks / (std::max(kernel.blocks_per_sm, 1e-3) * sms);
    set(Feature::grid_known, flag(kernel.blocks > 0));
    set(Feature::waves, std::log1p(waves));
    set(Feature::tail, waves - std::floor(waves));
    set(Feature::blocks_per_sm, kernel.blocks_per_sm);
    set(Feature::occupancy_ratio, kernel.occupancy_ratio > 0 ? kernel.occupancy_ratio : std::min(1.0, waves));
    set(Feature::threads_per_block, kernel.threads_per_block / 1000.0);
    set(Feature::shared_kib, kernel.shared_bytes / 1024);
    set(Feature::hbm_share, kernel.hbm_share);
    set(Feature::compute_share, kernel.compute_share);
    set(Feature::tensor_cores, flag(kernel.tensor_cores));
    set(Feature::persistent, flag(kernel.persistent));
    set(Feature::yields_sms, flag(kernel.yields_sms));
}

std::string schema_text() {
    std::string text = "echosim.features/1";
    for (const Column& column : kColumns)
        text += fmt::format("; {} [{}]", column.name, column.unit);
    return text;
}

} // namespace

std::string_view to_string(Feature feature) {
    return kColumns[static_cast<std::size_t>(feature)].name;
}

const std::vector<std::string>& feature_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const Column& column : kColumns)
            all.emplace_back(column.name);
        return all;
    }();
    return names;
}

FeatureVector features_of(const KernelFootprint& kernel, const CommLoad& load, double sms, double prior) {
    FeatureVector x{};
    add_kernel(kernel, sms, x);
    const auto set = [&](Feature feature, double value) { x[static_cast<std::size_t>(feature)] = value; };
    set(Feature::comm_ctas, load.ctas / sms);
    set(Feature::comm_hbm_share, load.hbm_share);
    set(Feature::comm_nvlink_share, load.nvlink_share);
    set(Feature::comm_nic_share, load.nic_share);
    set(Feature::comm_fits, load.ctas > 0 ? load.ctas_fitting / load.ctas : 0);
    set(Feature::kernel_first, flag(load.kernel_first));
    set(Feature::comm_priority, flag(load.high_priority));
    set(Feature::log_prior, std::log(prior));
    return x;
}

const std::string& feature_schema() {
    static const std::string text = schema_text();
    return text;
}

std::uint64_t feature_schema_hash() {
    std::uint64_t hash = 0xcbf29ce484222325ULL; // FNV-1a
    for (const char c : feature_schema())
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
}

} // namespace echosim
