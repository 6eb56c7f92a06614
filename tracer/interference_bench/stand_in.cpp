// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/stand_in.h"

#include "tracer/interference_bench/own_kernels.h"

#include <algorithm>

namespace echosim {
namespace {

// Well beyond any L2 cache, so that the traffic reaches HBM.
Bytes buffer_size(const GpuFacts& gpu) {
    return std::max<Bytes>(256_MiB, 4 * gpu.l2_bytes);
}

} // namespace

StandIn::StandIn(const CommCase& comm, const Pacing& pacing, Bytes shared_bytes, const DeviceBuffer& from,
                 const DeviceBuffer& to)
    : comm_(comm), shape_{static_cast<unsigned>(comm.ctas), kStandInThreads, shared_bytes} {
    arguments_ = {from.as<float>(),
                  to.as<float>(),
                  region_chunks(from.bytes(), comm.ctas),
                  1,
                  static_cast<unsigned long long>(pacing.period),
                  static_cast<unsigned long long>(pacing.slack),
                  nullptr};
}

void StandIn::launch(cudaStream_t stream, unsigned long long* slots) {
    StandInArguments arguments = arguments_;
    arguments.slots = slots;
    echosim::launch(DeviceKernel::stand_in, shape_, arguments, stream);
}

void StandIn::set_bytes(Bytes bytes) {
    arguments_.chunks_per_cta = chunks_for(bytes, comm_.ctas);
}

CommFacts StandIn::facts(Seconds alone, const GpuFacts& gpu) const {
    const LaunchFacts launch = facts_of_launch("echosim_stand_in", DeviceKernel::stand_in, shape_);
    const Bytes bytes = traffic_of(arguments_.chunks_per_cta, comm_.ctas);
    return {comm_,
            "stand-in",
            comm_.ctas,
            bytes,
            static_cast<double>(bytes) / (alone * gpu.hbm_bandwidth),
            kStandInThreads,
            launch.registers,
            launch.shared_bytes};
}

StandInSource::StandInSource(const GpuFacts& gpu, TimeNs clock_step)
    : gpu_(gpu), clock_step_(clock_step), from_(buffer_size(gpu)), to_(buffer_size(gpu)) {
    fill(from_, Filling::fp32);
    int most = 0;
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
          "asking for the shared memory of a block");
    shared_bytes_ = static_cast<Bytes>(std::min<std::int64_t>(kStandInSharedBytes, most));
    check(cudaFuncSetAttribute(device_function(DeviceKernel::stand_in),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes_)),
          "reserving shared memory for the stand-in");
}

std::unique_ptr<Communication> StandInSource::make(const CommCase& comm) {
    return std::make_unique<StandIn>(comm, pacing_of(comm.hbm_per_cta, gpu_, clock_step_), shared_bytes_,
                                     from_, to_);
}

} // namespace echosim
