// SPDX-License-Identifier: Apache-2.0
// Loaded as libnccl.so.2: collectives at 100 bytes a nanosecond and 20 us, on communicators that remember
// their CTAs.
#include "tests/tracer/fake_gpu/fake_gpu.h"
#include "tracer/interference_bench/nccl_api.h"

using echosim::TimeNs;
namespace nccl = echosim::nccl;

namespace {

struct FakeComm {
    int ctas, ranks;
};

int launch(std::size_t bytes, nccl::Comm comm, cudaStream_t stream) {
    const auto* fake = static_cast<const FakeComm*>(comm);
    const echosim::fake::LibraryKernel kernel{"_Z10fake_ncclDv", static_cast<unsigned>(fake->ctas), 640,
                                              static_cast<TimeNs>(bytes / 100 + 20'000), fake->ctas};
    fake_gpu_launch(&kernel, stream);
    return 0;
}

} // namespace

extern "C" {
int ncclGetVersion(int* version) {
    *version = 22809;
    return 0;
}
const char* ncclGetErrorString(int) {
    return "invalid argument";
}
int ncclGetUniqueId(nccl::UniqueId*) {
    return 0;
}
int ncclGroupStart() {
    return 0;
}
int ncclGroupEnd() {
    return 0;
}
int ncclCommInitRankConfig(nccl::Comm* comm, int ranks, nccl::UniqueId, int rank,
                           const nccl::Config* config) {
    if (config->magic != nccl::kConfigMagic || config->min_ctas != config->max_ctas || rank >= ranks)
        return 4;
    *comm = new FakeComm{config->max_ctas, ranks};
    fake_gpu_count_comms(1);
    return 0;
}
int ncclCommDestroy(nccl::Comm comm) {
    delete static_cast<FakeComm*>(comm);
    fake_gpu_count_comms(-1);
    return 0;
}
int ncclAllReduce(const void*, void*, std::size_t count, int, int, nccl::Comm comm, cudaStream_t stream) {
    return launch(4 * count, comm, stream);
}
int ncclAllGather(const void*, void*, std::size_t count, int, nccl::Comm comm, cudaStream_t stream) {
    return launch(4 * count * static_cast<std::size_t>(static_cast<FakeComm*>(comm)->ranks), comm, stream);
}
int ncclReduceScatter(const void*, void*, std::size_t count, int, int, nccl::Comm comm, cudaStream_t stream) {
    return launch(4 * count * static_cast<std::size_t>(static_cast<FakeComm*>(comm)->ranks), comm, stream);
}
}
