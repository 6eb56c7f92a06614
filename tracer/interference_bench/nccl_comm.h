// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/device.h"
#include "tracer/interference_bench/loaded_library.h"
#include "tracer/interference_bench/nccl_api.h"
#include "tracer/interference_bench/timed_op.h"

#include <optional>
#include <vector>

// NCCL between all GPUs of this process. The first GPU's part is timed; the others take part on streams of
// their own and have nothing else to do.
namespace echosim {

class NcclLibrary {
  public:
    NcclLibrary();
    bool available() const;      // found, and new enough to set CTAs
    std::string version() const; // "2.21.5"; empty: not found
    // One communicator a GPU, with exactly `ctas` CTAs a kernel.
    std::vector<nccl::Comm> make_comms(int gpus, int ctas) const;
    void destroy(nccl::Comm comm) const;
    void begin_group() const;
    void end_group() const;
    // Rank's part of a collective on `bytes` (nccl-tests' size) of fp32 sums.
    struct Buffers {
        const void* send;
        void* receive;
    };
    void collective(CollectiveKind kind, const Buffers& buffers, Bytes bytes, int gpus, nccl::Comm comm,
                    cudaStream_t stream) const;

  private:
    void check(int status, const char* tried) const;
    LoadedLibrary library_;
    int version_ = 0;
};

// Communicators, streams and buffers that the collectives of one CTA count share.
struct NcclGroup {
    const NcclLibrary* library = nullptr;
    std::vector<nccl::Comm> comms;
    std::vector<Stream> streams; // of GPUs 1..; the first GPU's stream is the caller's
    std::vector<DeviceBuffer> send, receive;
    int gpus() const { return static_cast<int>(comms.size()); }
};

class NcclCollective final : public Communication {
  public:
    NcclCollective(const CommCase& comm, NcclGroup& group); // the group outlives this
    void launch(cudaStream_t stream, unsigned long long* slots) override;
    bool stamps_itself() const override { return false; }
    void set_bytes(Bytes bytes) override;
    CommFacts facts(Seconds alone, const GpuFacts& gpu) const override;

  private:
    std::optional<LaunchFacts> captured();
    CommCase comm_;
    NcclGroup& group_;
    Bytes bytes_;
    std::optional<LaunchFacts> launch_;
};

class NcclSource final : public CommSource {
  public:
    NcclSource(const NcclLibrary& library, int gpus, const GpuFacts& gpu);
    NcclSource(const NcclSource&) = delete;
    NcclSource& operator=(const NcclSource&) = delete;
    ~NcclSource() override;
    // What was made before for another count of CTAs is of no more use.
    std::unique_ptr<Communication> make(const CommCase& comm) override;

  private:
    void close();
    NcclGroup group_;
    int gpus_;
    int ctas_ = 0;
};

} // namespace echosim
