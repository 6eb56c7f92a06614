// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/samples_csv.h"

#include <fmt/format.h>
#include <iterator>

namespace echosim {
namespace {

constexpr const char* kHeader =
    "kernel,class,gpu,sms,nccl,collective,bytes,ctas,comm_hbm_share,comm_threads,comm_registers,"
    "comm_shared_bytes,order,high_priority,grid,block,registers,shared_bytes,blocks_per_sm,hbm_share,"
    "compute_share,tensor_cores,persistent,tiles,alone_us,overlapped_us,overlap_ratio,comm_alone_us,comm_"
    "overlapped_us,"
    "repeats";

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos)
        return text;
    std::string result = "\"";
    for (const char c : text)
        result += c == '"' ? "\"\"" : std::string(1, c);
    return result + '"';
}

std::string extent(const unsigned (&size)[3]) {
    return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

// Empty, for the reader's default, where the figure is not known.
std::string known(std::uint64_t value) {
    return value == 0 ? "" : fmt::to_string(value);
}

std::string comm_fields(const CommFacts& comm) {
    return fmt::format("{},{},{},{},{:.5f},{},{},{}", quoted(comm.nccl), to_string(comm.plan.kind),
                       comm.bytes, comm.ctas, comm.hbm_share, known(static_cast<std::uint64_t>(comm.threads)),
                       known(static_cast<std::uint64_t>(comm.registers)), known(comm.shared_bytes));
}

std::string launch_fields(const LaunchFacts& launch) {
    if (launch.grid[0] == 0)
        return ",,,,";
    return fmt::format("{},{},{},{},{}", extent(launch.grid), extent(launch.block), launch.registers,
                       launch.shared_bytes, launch.blocks_per_sm);
}

} // namespace

std::int64_t persistent_tiles(const KernelCase& kernel, const LaunchFacts& launch, const GpuFacts& gpu) {
    const std::int64_t blocks = std::int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (!is_gemm(kernel) || blocks == 0 || blocks > std::int64_t{launch.blocks_per_sm} * gpu.sms)
        return 0;
    const std::int64_t tiles = ((kernel.rows + 255) / 256) * ((kernel.columns + 127) / 128);
    return tiles > blocks ? tiles : 0;
}

std::string samples_csv(std::span<const BenchSample> samples, const GpuFacts& gpu,
                        std::span<const std::string> comments) {
    std::string text;
    for (const std::string& comment : comments)
        text += "# " + comment + "\n";
    text += kHeader;
    text += '\n';
    for (const BenchSample& s : samples) {
        const std::int64_t tiles = persistent_tiles(s.kernel, s.launch, gpu);
        fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{:.4f},{:.4f},{},{},{},",
                       quoted(s.launch.name), to_string(s.kernel.kernel_class), quoted(gpu.name), gpu.sms,
                       comm_fields(s.comm), to_string(s.order), s.high_priority ? 1 : 0,
                       launch_fields(s.launch), s.shares.hbm, s.shares.compute,
                       s.kernel.program == Program::gemm_half ? 1 : 0, tiles > 0 ? 1 : 0,
                       known(static_cast<std::uint64_t>(tiles)));
        fmt::format_to(std::back_inserter(text), "{:.3f},{:.3f},{:.4f},{:.3f},{:.3f},{}\n", s.alone * 1e6,
                       s.overlapped * 1e6, s.overlap, s.comm_alone * 1e6, s.comm_overlapped * 1e6, s.repeats);
    }
    return text;
}

} // namespace echosim
