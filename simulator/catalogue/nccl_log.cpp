// SPDX-License-Identifier: Apache-2.0
// A log of NCCL_DEBUG=INFO, as it is printed by versions 2.5 to 2.30 and by RCCL. Lines that are read, all
// behind "HOST:PID:TID [DEVICE] NCCL INFO " with whatever a launcher puts in front:
//
//   NCCL version 2.21.5+cuda12.4
//   ncclCommInitRank comm 0x.. rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x.. - Init START
//   comm 0x.. rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0
//   Pattern 4, crossNic 0, nChannels 12, bw 30.000000/30.000000, type NVL/PIX, sameChannels 1
//   Channel 00/24 :    0   1   2 ...
//   24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer
//   NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE; Using network IB; NET/OFI Selected provider is efa
//   === System : maxBw 48.0 totalBw 370.8 ===   and the tree that follows (nccl_log_system.cpp)
#include "simulator/catalogue/nccl_log_communicators.h"
#include "simulator/catalogue/nccl_log_system.h"
#include "simulator/catalogue/topology_gpus.h"
#include "simulator/catalogue/topology_text.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <map>
#include <set>

namespace echosim {
namespace {

constexpr std::string_view kMarker = "NCCL INFO ";

// What stands in front of "NCCL INFO".
LogSender sender_of(std::string_view head) {
    head = trimmed(head);
    if (head.ends_with(']')) // the device
        head = trimmed(head.substr(0, head.rfind('[')));
    std::string_view thread = head.substr(head.find_last_of(" \t") + 1);
    // "[1,0]<stdout>:host:1:2" of mpirun, "[rank0]:host:1:2" of torchrun
    for (const std::string_view end : {">:", "]:"})
        if (const std::size_t at = thread.rfind(end); at != std::string_view::npos)
            thread.remove_prefix(at + 2);
    std::string_view host = thread.substr(0, thread.rfind(':'));
    host = host.substr(0, host.rfind(':'));
    return {host, thread};
}

class LogReader {
  public:
    explicit LogReader(TopologyFacts& facts) : facts_(facts) {}

    void read(std::string_view text) {
        LineReader lines(text);
        std::string plain;
        for (std::string_view line; lines.next(line);) {
            line_ = lines.number();
            if (line.find('\x1b') != std::string_view::npos)
                line = plain = without_ansi(line);
            take(line);
        }
        communicators_.close();
        systems_.close_all();
    }

    void finish(const std::string& name);

  private:
    void take(std::string_view line) {
        const std::size_t at = line.find(kMarker);
        const std::string_view message =
            at == std::string_view::npos ? line : line.substr(at + kMarker.size());
        if (const std::size_t version = message.find("CCL version "); version != std::string_view::npos)
            note_version(message.substr(version + 12));
        if (at == std::string_view::npos)
            return test_header(line);
        const LogSender sender = sender_of(line.substr(0, at));
        info(sender, message);
    }

    void note_version(std::string_view text) {
        text = trimmed(text.starts_with(':') ? text.substr(1) : text);
        const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789."));
        if (std::count(digits.begin(), digits.end(), '.') >= 1 && !digits.ends_with('.'))
            facts_.nccl.note(std::string(digits), line_);
        const std::string_view cuda = text.substr(std::min(text.size(), digits.size()));
        if (cuda.starts_with("+cuda")) // "+cuda11.0"
            facts_.cuda.note(100 * int_after(cuda, "+cuda").value_or(0) + int_after(cuda, ".").value_or(0),
                             line_);
    }

    // "#  Rank  0 Group  0 Pid 422 on HOST device  0 [0x0f] NVIDIA H800" of nccl-tests.
    void test_header(std::string_view line) {
        const std::size_t device = line.find(" device ");
        const std::size_t bracket = line.find("] ", device == std::string_view::npos ? line.size() : device);
        if (device == std::string_view::npos || bracket == std::string_view::npos ||
            line.find("# ") == std::string_view::npos || line.find("Rank") == std::string_view::npos)
            return;
        note_product(line.substr(bracket + 2), line_, facts_);
        if (const auto number = int_after(line, " device ")) {
            auto& [first, devices] = header_devices_[std::string(word_after(line, " on "))];
            first = first == 0 ? line_ : first;
            devices.insert(*number);
        }
    }

    void info(const LogSender& sender, std::string_view m) {
        if (communicators_.take(sender, m, line_))
            return;
        if (m.starts_with("Using network "))
            return network(trimmed(m.substr(14)));
        if (m.starts_with("NET/"))
            return net_plugin(m);
        if (m.starts_with("NVLS multicast support is available"))
            nvls_.note(true, line_);
        if (m.starts_with("MNNVL 1 "))
            clique_.note(int_after(m, "cliqueSize ").value_or(0), line_);
        systems_.take(sender.thread, m, line_);
    }

    void network(std::string_view name) {
        if (name.starts_with("FasTrak"))
            facts_.fabric.note(FabricKind::tcpxo, line_);
        else if (name.starts_with("GPUDirectTCPX"))
            facts_.fabric.note(FabricKind::tcpx, line_);
        else if (name.find("Libfabric") != std::string_view::npos)
            libfabric_.note(true, line_);
        else if (name.starts_with("Socket") || name.starts_with("FastSocket"))
            facts_.fabric.note(FabricKind::ethernet, line_);
    }

    void net_plugin(std::string_view m) {
        if (m.starts_with("NET/OFI")) {
            const std::string_view provider = word_after(
                m, m.find("Provider is ") != std::string_view::npos ? "Provider is " : "provider is ");
            if (provider.starts_with("efa"))
                facts_.fabric.note(FabricKind::efa, line_);
            else if (provider.starts_with("cxi"))
                facts_.fabric.note(FabricKind::slingshot, line_);
            else if (!provider.empty())
                facts_.fabric.note(FabricKind::ethernet, line_);
            if (const auto count = int_after(m, "(found "))
                facts_.nic_count.note(*count, line_);
        }
        if (m.starts_with("NET/Socket") && m.find(" Using [") != std::string_view::npos)
            socket_.note(true, line_);
        if (m.starts_with("NET/IB") && listed_nics_.empty() && m.find(" Using [") != std::string_view::npos)
            infiniband(m);
    }

    // "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:..."; "{n}" in front of merged devices is passed over.
    void infiniband(std::string_view m) {
        m = m.substr(0, m.find("; OOB"));
        for (const std::string_view word : words_of(m.substr(m.find(" Using ") + 7))) {
            const std::size_t name = word.find(']');
            const std::size_t kind = word.rfind('/');
            if (name == std::string_view::npos || kind == std::string_view::npos ||
                !leading_int(word.substr(1)))
                continue;
            SeenNic nic{.name = std::string(word.substr(name + 1, word.find(':') - name - 1)), .line = line_};
            nic.kind = word.substr(kind + 1).starts_with("RoCE") ? FabricKind::roce : FabricKind::infiniband;
            listed_nics_.push_back(std::move(nic));
        }
    }

    void note_gpus();
    void note_network();

    TopologyFacts& facts_;
    int line_ = 0;
    LogCommunicators communicators_;
    std::map<std::string, std::pair<int, std::set<int>>> header_devices_; // of nccl-tests, by host
    std::vector<SeenNic> listed_nics_;
    Seen<bool> nvls_, libfabric_, socket_;
    Seen<int> clique_;
    LogSystems systems_;
};

void LogReader::note_gpus() {
    if (const LogSystem* system = systems_.largest()) {
        facts_.gpus_at_least = system->gpus;
        facts_.gpus.note(system->gpus, system->line);
    }
    for (const auto& [host, devices] : header_devices_)
        if (static_cast<int>(devices.second.size()) > facts_.gpus.value)
            facts_.gpus = {static_cast<int>(devices.second.size()), devices.first};
    communicators_.note_gpus(facts_);
}

void LogReader::note_network() {
    if (const LogSystem* system = systems_.largest())
        facts_.nics = system->nics;
    const bool speeds_known = !facts_.nics.empty();
    if (!speeds_known)
        facts_.nics = listed_nics_;
    if (!listed_nics_.empty()) {
        const auto roce = std::count_if(listed_nics_.begin(), listed_nics_.end(),
                                        [](const SeenNic& nic) { return nic.kind == FabricKind::roce; });
        const bool mostly = static_cast<std::size_t>(2 * roce) > listed_nics_.size();
        facts_.fabric.note(mostly ? FabricKind::roce : FabricKind::infiniband, listed_nics_.front().line);
        if (speeds_known)
            for (SeenNic& nic : facts_.nics)
                nic.kind = facts_.fabric.value;
    }
    if (libfabric_)
        facts_.fabric.note(FabricKind::efa, libfabric_.line);
    if (socket_ && listed_nics_.empty())
        facts_.fabric.note(FabricKind::ethernet, socket_.line);
}

void LogReader::finish(const std::string& name) {
    if (communicators_.empty())
        throw InputError(
            name, "the log holds no line of a communicator's start (\"... rank 0 nranks 8 ...\")",
            "run with NCCL_DEBUG=INFO from the start of the job; NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH "
            "prints the topology as well");
    note_gpus();
    const int gpus = std::max(1, facts_.gpus ? facts_.gpus.value : facts_.gpus_at_least);
    if (const LogSystem* system = systems_.largest())
        note_system(*system, facts_);
    if (clique_ && clique_.value > gpus)
        facts_.domain_nodes.note((clique_.value + gpus - 1) / gpus, clique_.line);
    if (nvls_) { // multicast is a function of the NVSwitch from Hopper on
        facts_.nvswitch.note(true, nvls_.line);
        facts_.sm.note(clique_.value > 0 ? 100 : 90, nvls_.line);
        facts_.superchip.note(clique_.value > 0, nvls_.line);
    }
    facts_.sm_derived = true;
    note_network();
    communicators_.note_observed(facts_);
}

} // namespace

TopologyFacts read_nccl_log(std::string_view text, const std::string& name) {
    TopologyFacts facts;
    LogReader reader(facts);
    reader.read(text);
    reader.finish(name);
    return facts;
}

} // namespace echosim
