// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/nccl_comm.h"

#include "tracer/interference_bench/captured_launch.h"
#include "tracer/interference_bench/pacing.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr const char* kNames[] = {"libnccl.so.2", "libnccl.so", nullptr};
constexpr Bytes kFirstBytes = 16_MiB;

void use_gpu(int gpu) {
    check(cudaSetDevice(gpu), "choosing a GPU");
}

} // namespace

NcclLibrary::NcclLibrary() : library_(kNames) {
    if (library_.loaded())
        check(library_.function<int(int*)>("ncclGetVersion")(&version_), "asking for NCCL's version");
}

bool NcclLibrary::available() const {
    return version_ >= nccl::kOldestVersion;
}

std::string NcclLibrary::version() const {
    if (version_ == 0)
        return "";
    return fmt::format("{}.{}.{}", version_ / 10000, version_ / 100 % 100, version_ % 100);
}

void NcclLibrary::check(int status, const char* tried) const {
    if (status == 0)
        return;
    const char* words = library_.function<const char*(int)>("ncclGetErrorString")(status);
    throw DeviceError(tried, fmt::format("NCCL: {}", words),
                      "NCCL_DEBUG=WARN says more; --stand-in measures without NCCL");
}

std::vector<nccl::Comm> NcclLibrary::make_comms(int gpus, int ctas) const {
    nccl::UniqueId id{};
    check(library_.function<int(nccl::UniqueId*)>("ncclGetUniqueId")(&id), "making communicators");
    auto* init = library_.function<int(nccl::Comm*, int, nccl::UniqueId, int, nccl::Config*)>(
        "ncclCommInitRankConfig");
    std::vector<nccl::Comm> comms(static_cast<std::size_t>(gpus), nullptr);
    nccl::Config config = nccl::config_with(ctas);
    begin_group();
    for (int gpu = 0; gpu < gpus; ++gpu) {
        use_gpu(gpu);
        check(init(&comms[static_cast<std::size_t>(gpu)], gpus, id, gpu, &config), "making communicators");
    }
    end_group();
    use_gpu(0);
    return comms;
}

void NcclLibrary::destroy(nccl::Comm comm) const {
    (void)library_.function<int(nccl::Comm)>("ncclCommDestroy")(comm);
}

void NcclLibrary::begin_group() const {
    check(library_.function<int()>("ncclGroupStart")(), "starting a group");
}

void NcclLibrary::end_group() const {
    check(library_.function<int()>("ncclGroupEnd")(), "launching a group");
}

void NcclLibrary::collective(CollectiveKind kind, const Buffers& buffers, Bytes bytes, int gpus,
                             nccl::Comm comm, cudaStream_t stream) const {
    using Reduction = int(const void*, void*, std::size_t, int, int, nccl::Comm, cudaStream_t);
    using Gather = int(const void*, void*, std::size_t, int, nccl::Comm, cudaStream_t);
    const std::size_t count = bytes / 4, share = count / static_cast<std::size_t>(gpus);
    int status = 0;
    if (kind == CollectiveKind::all_gather)
        status = library_.function<Gather>("ncclAllGather")(buffers.send, buffers.receive, share,
                                                            nccl::kFloat32, comm, stream);
    else if (kind == CollectiveKind::reduce_scatter)
        status = library_.function<Reduction>("ncclReduceScatter")(buffers.send, buffers.receive, share,
                                                                   nccl::kFloat32, nccl::kSum, comm, stream);
    else
        status = library_.function<Reduction>("ncclAllReduce")(buffers.send, buffers.receive, count,
                                                               nccl::kFloat32, nccl::kSum, comm, stream);
    check(status, "launching a collective");
}

NcclCollective::NcclCollective(const CommCase& comm, NcclGroup& group)
    : comm_(comm), group_(group), bytes_(kFirstBytes) {
    const Stream stream;
    launch(stream.get(), nullptr); // connects the GPUs
    stream.wait();
    try {
        launch_ = captured();
    } catch (const DeviceError&) {
        launch_ = std::nullopt; // the CTAs asked for are taken at their word
        (void)cudaGetLastError();
        use_gpu(0);
    }
}

void NcclCollective::launch(cudaStream_t stream, unsigned long long*) {
    group_.library->begin_group();
    for (int gpu = 0; gpu < group_.gpus(); ++gpu) {
        const auto i = static_cast<std::size_t>(gpu);
        use_gpu(gpu);
        group_.library->collective(comm_.kind, {group_.send[i].as<void>(), group_.receive[i].as<void>()},
                                   bytes_, group_.gpus(), group_.comms[i],
                                   gpu == 0 ? stream : group_.streams[i - 1].get());
    }
    group_.library->end_group();
    use_gpu(0);
}

std::optional<LaunchFacts> NcclCollective::captured() {
    const Stream own;
    std::vector<cudaStream_t> streams = {own.get()};
    for (const Stream& stream : group_.streams)
        streams.push_back(stream.get());
    for (const cudaStream_t stream : streams)
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing a collective");
    std::vector<cudaGraph_t> graphs(streams.size(), nullptr);
    bool launched = true;
    try {
        launch(own.get(), nullptr);
    } catch (const DeviceError&) {
        launched = false;
    }
    for (std::size_t i = 0; i < streams.size(); ++i) // also after a failure: no stream may go on capturing
        if (cudaStreamEndCapture(streams[i], &graphs[i]) != cudaSuccess)
            launched = false;
    const auto facts = launched ? facts_of_graph(graphs[0]) : std::nullopt;
    for (const cudaGraph_t graph : graphs)
        if (graph != nullptr)
            (void)cudaGraphDestroy(graph);
    return facts;
}

void NcclCollective::set_bytes(Bytes bytes) {
    const Bytes unit = 4096 * static_cast<Bytes>(group_.gpus());
    const Bytes most = group_.send[0].bytes();
    bytes_ = std::clamp<Bytes>(bytes / unit * unit, unit, most / unit * unit);
}

CommFacts NcclCollective::facts(Seconds alone, const GpuFacts& gpu) const {
    const BytesPerSecond bus = static_cast<double>(bytes_) / alone * bus_factor(comm_.kind, group_.gpus());
    CommFacts facts{comm_,
                    group_.library->version(),
                    comm_.ctas,
                    bytes_,
                    std::min(1.0, hbm_per_bus_byte(std::getenv("NCCL_ALGO")) * bus / gpu.hbm_bandwidth),
                    0,
                    0,
                    0};
    if (launch_) {
        facts.ctas = static_cast<int>(launch_->grid[0]);
        facts.threads = static_cast<int>(launch_->block[0]);
        facts.registers = launch_->registers;
        facts.shared_bytes = launch_->shared_bytes;
    }
    return facts;
}

NcclSource::NcclSource(const NcclLibrary& library, int gpus, const GpuFacts& gpu) : gpus_(gpus) {
    group_.library = &library;
    const Bytes most = std::min<Bytes>(1_GiB, gpu.memory_bytes / 16);
    for (int i = 0; i < gpus; ++i) {
        use_gpu(i);
        group_.send.emplace_back(most);
        group_.receive.emplace_back(most);
        fill(group_.send.back(), Filling::fp32);
        if (i > 0)
            group_.streams.emplace_back();
    }
    use_gpu(0);
}

NcclSource::~NcclSource() {
    close();
}

void NcclSource::close() {
    for (int gpu = 0; gpu < group_.gpus(); ++gpu) {
        (void)cudaSetDevice(gpu);
        (void)cudaDeviceSynchronize();
        group_.library->destroy(group_.comms[static_cast<std::size_t>(gpu)]);
    }
    group_.comms.clear();
    (void)cudaSetDevice(0);
}

std::unique_ptr<Communication> NcclSource::make(const CommCase& comm) {
    if (ctas_ != comm.ctas) {
        close();
        group_.comms = group_.library->make_comms(gpus_, comm.ctas);
        ctas_ = comm.ctas;
    }
    return std::make_unique<NcclCollective>(comm, group_);
}

} // namespace echosim
