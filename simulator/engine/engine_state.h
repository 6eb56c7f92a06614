// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/fair_share.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/event_heap.h"

#include <deque>
#include <span>
#include <string>
#include <vector>

// Inside of the engine; not for other folders.
namespace echosim::engine {

// An op that was launched: a place in the rank's ring.
struct Flight {
    enum class State : std::uint8_t { done, waits_for_ops, waits_for_peers };
    TimeNs time = 0;           // done: its end; else: ready time, or end of its parts, as far as known
    TimeNs arrived = 0;        // when it was ready
    TimeNs started = 0;        // when all of its group were
    std::uint32_t row = kNone; // of the recorded timeline
    std::uint32_t binding = kBoundByHost;
    std::uint32_t waiters = kNone; // list in Engine::waiters_
    std::uint32_t instance = 0;
    std::uint16_t op = 0;
    std::uint16_t open = 0; // dependencies, or parts of a transfer, that are not done
    std::uint16_t stream = 0;
    State state = State::done;
};
static_assert(sizeof(Flight) <= 48);

using CallCounts = std::vector<std::uint32_t>;

struct RankState {
    const AnnotatedGraph* graph = nullptr;
    std::uint32_t instance = 0; // cursor in the program
    std::uint32_t op = 0;
    std::uint64_t launched = 0;       // device ops so far
    bool blocked = false;             // the host waits for a flight
    std::vector<TimeNs> host;         // by thread
    std::vector<Flight> ring;         // of RankGraph::launch_queue
    std::uint64_t queue = 0;          // its size
    std::vector<std::uint64_t> tail;  // launch number + 1 of the last op of each stream; 0 = none
    std::vector<std::uint64_t> ports; // likewise
    std::vector<std::uint64_t> local; // ops of the current instance, likewise
    CallCounts calls;                 // by slot: collectives that have arrived
    CallCounts messages;              // by channel: transfers that have arrived
    std::int64_t activations = 0;
};

struct FlightRef {
    std::uint32_t rank = 0;
    std::uint32_t place = 0; // in the ring
};

// Someone who waits for a flight: another flight, or the host thread of a rank (place = kNone).
struct Waiter {
    FlightRef who;
    TimeNs lag = 0;
    std::uint32_t next = kNone;
};

// One collective of one communicator, until all members are there.
struct Rendezvous {
    std::uint32_t arrived = 0;
    TimeNs start = 0;
    std::vector<FlightRef> members;
};
struct CommunicatorState {
    std::deque<Rendezvous> open; // calls base, base + 1, ...
    std::uint32_t base = 0;
};

// One message of a channel.
struct Match {
    bool sent = false, received = false;
    TimeNs start = 0;
    TimeNs duration = 0;
    FlightRef sender, receiver;
};
struct ChannelState {
    std::deque<Match> open;
    std::uint32_t base = 0;
};

// An op (or the common op of a group) in the time-ordered mode.
struct Activity {
    double remaining = 0; // ns of work alone
    double rate = 1;
    double share = 1;           // of what its links would let it run at alone
    std::uint32_t flow = kNone; // of FairShare, while it runs on links
    TimeNs started = 0;         // planned start until it runs
    TimeNs updated = 0;
    bool running = false;
    std::vector<FlightRef> members;
    bool transfer_part = false; // ends a part of a group of transfers
};
struct RunningOn {
    std::uint32_t activity = 0;
    double rate = 1;
    Running what;
};

// What communication that runs together shares of one GPU, each direction for itself; capacity 1.
enum class GpuLink : std::uint8_t { nvlink_out, nvlink_in, nic_out, nic_in, pcie_out, pcie_in, memory };
inline constexpr std::uint32_t kGpuLinks = 7;

class Engine {
  public:
    explicit Engine(const EngineInput& input);
    Timeline run();

  private:
    // engine.cpp: host threads and dependencies
    void advance(std::uint32_t rank);
    bool step(std::uint32_t rank);
    bool host_op(std::uint32_t rank, const Op& op, const OpCost& cost);
    bool launch(std::uint32_t rank, const Op& op, const OpCost& cost);
    void depend(RankState& r, Flight& f, FlightRef who, std::uint64_t launch, TimeNs lag);
    std::uint64_t launch_of(const RankState& r, const Dep& dep) const;
    bool host_waits(std::uint32_t rank, std::uint64_t launch, TimeNs& until, std::uint32_t& binding);
    void add_host_row(std::uint32_t rank, TimeNs start, TimeNs waited_until, TimeNs end,
                      std::uint32_t binding);
    void change_memory(std::uint32_t rank, const Op& op);
    std::uint32_t add_row(std::uint32_t rank, const RankState& r);
    void wait(Flight& on, FlightRef who, TimeNs lag);
    void settle();
    void ready(FlightRef ref);
    void done(FlightRef ref, TimeNs start, TimeNs end);
    void write_row(std::uint32_t rank, const Flight& f, TimeNs end);
    [[noreturn]] void report_deadlock() const;
    std::string describe(std::uint32_t rank, const Flight& f) const;

    // rendezvous.cpp: groups
    // Calls of one communicator (messages of one channel) arrive in call order, since they share a stream.
    void arrive_collective(FlightRef ref, const CollectiveWork& work);
    void arrive_transfer(FlightRef ref, const TransferWork& work);
    void finish_part(FlightRef ref, TimeNs start, TimeNs end);

    // rates.cpp: ops whose rate can change
    void begin(std::span<const FlightRef> members, TimeNs start, TimeNs alone, bool transfer_part);
    void next_event();
    Running what_runs(std::uint32_t rank, const Op& op) const;
    void reprice(std::uint32_t rank);
    void touch(std::uint32_t activity);
    void use_links(std::uint32_t activity);
    void leave_links(std::uint32_t activity);
    void share_links();

    Flight& flight(FlightRef ref) { return ranks_[ref.rank].ring[ref.place]; }
    const Op& op_of(std::uint32_t rank, const Flight& f) const;
    const OpCost& cost_of(std::uint32_t rank, const Flight& f) const;

    const EngineInput& in_;
    bool fixed_; // no rate ever changes
    TimeNs now_ = 0;
    std::vector<RankState> ranks_;
    std::vector<CommunicatorState> communicators_;
    std::vector<ChannelState> channels_;
    std::vector<Waiter> waiters_;
    std::uint32_t free_waiter_ = kNone;
    std::vector<FlightRef> ready_;        // flights whose dependencies are done, to be started
    std::vector<std::uint32_t> runnable_; // ranks whose host can go on
    EventHeap heap_;
    std::vector<Activity> activities_;
    std::vector<std::uint32_t> free_activities_;
    std::vector<std::vector<RunningOn>> running_; // by rank
    FairShare links_;                             // of all GPUs: rank x kGpuLinks + GpuLink
    std::vector<std::uint32_t> activity_of_;      // by flow
    // scratch, so that nothing is allocated per op
    std::vector<Running> what_;
    std::vector<double> rates_;
    std::vector<FairShare::Demand> demands_;
    Timeline timeline_;
};

} // namespace echosim::engine
