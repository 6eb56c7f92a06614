// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/plan.h"

#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr Seconds kStandInRamp = 20_us;  // until all CTAs move bytes
constexpr Seconds kNcclRamp = 50_us;     // and the peers have met
constexpr Seconds kRunOverhead = 150_us; // launches, gates, synchronisation
constexpr Seconds kCommunicator = 2;     // creation and first use

std::vector<KernelCase> chosen_kernels(const BenchOptions& options, const GpuFacts& gpu) {
    const std::vector<KernelCase> all = kernel_cases(gpu);
    if (options.kernels.empty())
        return all;
    std::vector<bool> wanted(all.size(), false);
    std::vector<std::string> names;
    for (const KernelCase& kernel : all)
        names.push_back(kernel.name);
    for (const std::string& name : options.kernels) {
        bool found = false;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (!name.empty() && all[i].name.starts_with(name))
                wanted[i] = found = true;
        if (!found)
            throw InputError("--kernels",
                             fmt::format("there is no kernel \"{}\"", name) + did_you_mean(names, name),
                             "--list shows them");
    }
    std::vector<KernelCase> chosen;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (wanted[i])
            chosen.push_back(all[i]);
    return chosen;
}

std::vector<CommCase> comm_cases(const BenchOptions& options, const GpuFacts& gpu, bool stand_in) {
    std::vector<CommCase> comms;
    for (const int ctas : options.ctas) {
        if (2 * ctas > gpu.sms)
            continue;
        if (stand_in)
            for (const double share : options.hbm_per_cta)
                comms.push_back({true, CollectiveKind::all_reduce, ctas, share});
        else
            for (const CollectiveKind kind : options.collectives)
                comms.push_back({false, kind, ctas, 0});
    }
    return comms;
}

Seconds flush_time(const GpuFacts& gpu) {
    return 2 * static_cast<double>(gpu.l2_bytes) / gpu.hbm_bandwidth;
}

std::string size_of(const KernelCase& kernel, const GpuFacts& gpu) {
    if (kernel.program == Program::multiply_add)
        return fmt::format("{} blocks", wave_blocks(kernel.rows, gpu));
    if (is_gemm(kernel))
        return fmt::format("{} x {} x {}", kernel.rows, kernel.columns, kernel.depth);
    return fmt::format("{} x {}", kernel.rows, kernel.columns);
}

std::string kernel_table(const std::vector<KernelCase>& kernels, const GpuFacts& gpu) {
    std::string text = fmt::format("{:20}{:13}{:>22}{:>12}\n", "kernel", "class", "size", "about");
    for (const KernelCase& kernel : kernels)
        text += fmt::format("{:20}{:13}{:>22}{:>12}\n", kernel.name, to_string(kernel.kernel_class),
                            size_of(kernel, gpu), format_time(expected_time(kernel, gpu)));
    return text;
}

} // namespace

std::string to_string(const CommCase& comm) {
    if (comm.stand_in)
        return fmt::format("stand-in, {} CTAs x {:.1f} % of HBM", comm.ctas, 100 * comm.hbm_per_cta);
    return fmt::format("{}, {} CTAs", to_string(comm.kind), comm.ctas);
}

BenchPlan make_plan(const BenchOptions& options, const GpuFacts& gpu, int gpus) {
    BenchPlan plan;
    plan.kernels = chosen_kernels(options, gpu);
    plan.comms = comm_cases(options, gpu, options.stand_in || gpus < 2);
    if (plan.comms.empty())
        throw InputError("--ctas",
                         fmt::format("all counts are above half of the {} SMs of this GPU", gpu.sms),
                         fmt::format("give counts up to {}", gpu.sms / 2));
    for (std::size_t comm = 0; comm < plan.comms.size(); ++comm)
        for (std::size_t kernel = 0; kernel < plan.kernels.size(); ++kernel)
            for (const LaunchOrder order : options.orders)
                plan.pairs.push_back({kernel, comm, order});
    return plan;
}

Seconds wanted_comm_time(Seconds kernel_alone) {
    return 4 * kernel_alone + 100_us;
}

Seconds head_start(LaunchOrder order, bool stand_in, Seconds kernel_alone) {
    if (order == LaunchOrder::comm_first)
        return stand_in ? kStandInRamp : kNcclRamp;
    return std::min(5_us, kernel_alone / 4);
}

Seconds expected_duration(const BenchPlan& plan, const BenchOptions& options, const GpuFacts& gpu) {
    Seconds total = 3; // context, libraries, clocks
    int ctas = 0;
    for (const CommCase& comm : plan.comms) {
        if (!comm.stand_in && comm.ctas != ctas)
            total += kCommunicator;
        ctas = comm.ctas;
    }
    for (const PairCase& pair : plan.pairs) {
        const Seconds kernel = expected_time(plan.kernels[pair.kernel], gpu);
        const Seconds repeat = kernel + 2 * wanted_comm_time(kernel) + 3 * (flush_time(gpu) + kRunOverhead);
        total += (options.repeats + kWarmUps) * repeat;
    }
    return total;
}

std::string kernel_list(const GpuFacts& gpu) {
    return fmt::format("Kernels, sized for {} ({} SMs); times are estimates.\n\n", gpu.name, gpu.sms) +
           kernel_table(kernel_cases(gpu), gpu);
}

std::string describe(const BenchPlan& plan, const BenchOptions& options, const GpuFacts& gpu) {
    std::string text =
        fmt::format("Plan for {} ({} SMs), no GPU was looked at.\n\n{} pairs = {} kernels x {} "
                    "communications x {} orders, "
                    "{} repeats each\nAbout {:.1f} minutes\n\n",
                    gpu.name, gpu.sms, plan.pairs.size(), plan.kernels.size(), plan.comms.size(),
                    options.orders.size(), options.repeats, expected_duration(plan, options, gpu) / 60);
    text += kernel_table(plan.kernels, gpu) + "\ncommunication\n";
    for (const CommCase& comm : plan.comms)
        text += to_string(comm) + "\n";
    return text;
}

} // namespace echosim
