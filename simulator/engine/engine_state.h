// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/fair_share.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/event_heap.h"
#include "simulator/engine/rate_memo.h"

#include <deque>
#include <span>
#include <string>
#include <vector>

// Inside of the engine; not for other folders.
namespace echosim::engine {

// An op that was launched: a place in the rank's ring.
struct Flight {
    enum class State : std::uint8_t { done, waits_for_ops, ready, waits_for_peers };
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

// A launched op in the one hardware queue (RankGraph::one_queue), by its place in the ring. It leaves the
// queue at `time`, when nothing of other streams is open before it and the op ahead has left.
struct QueuePlace {
    TimeNs time = 0;
    std::uint32_t binding = kBoundByHost; // as Flight's
    std::uint32_t open = 0;
    bool queued = false;
    bool holds_next = false; // the op behind waits for this one
};

// An op that is ready, until it starts on its GPU, or for what has peers: until it comes to them. `tie` is
// its launch number behind kStart.
struct PlannedStart {
    EventTime at;
    std::uint32_t place = 0; // in the ring
    bool delayed = false;    // it has come and waits for SMs (SlowdownModel::start_delay)
};

// An op on a GPU.
struct RunningOn {
    std::uint32_t place = 0;        // of its flight in the ring
    std::uint32_t activity = kNone; // kNone: waits for its peers, or transfers: RankState::parts
    double rate = 1;                // that SlowdownModel gives it here
    std::uint64_t key = 0;          // of what it is, for the memo
    EventTime end = kNever;         // kNever: what has peers ends by an event of all its GPUs
    Running what;
};

struct RunningPart {
    std::uint32_t place = 0; // of a transfer's flight
    std::uint32_t activity = kNone;
};

using CallCounts = std::vector<std::uint32_t>;

struct RankState {
    const AnnotatedGraph* graph = nullptr;
    std::uint32_t instance = 0; // cursor in the program
    std::uint32_t op = 0;
    std::uint64_t launched = 0;       // device ops so far
    bool blocked = false;             // the host waits for a flight
    std::vector<QueuePlace> line;     // parallel to `ring`; empty without RankGraph::one_queue
    std::uint64_t queued = 0;         // launch number + 1 of the last op that went into the one queue
    std::vector<TimeNs> host;         // by thread
    std::vector<Flight> ring;         // of RankGraph::launch_queue
    std::uint64_t queue = 0;          // its size
    std::vector<std::uint64_t> tail;  // launch number + 1 of the last op of each stream; 0 = none
    std::vector<std::uint64_t> ports; // likewise
    std::vector<std::uint64_t> local; // ops of the current instance, likewise
    CallCounts calls;                 // by slot: collectives that have arrived
    CallCounts messages;              // by channel: transfers that have arrived
    std::int64_t activations = 0;
    // time-ordered mode
    TimeNs now = 0;                    // of its last event
    std::uint32_t coupled = 0;         // ops with peers that are ready and not done
    std::vector<PlannedStart> planned; // the next one last
    std::vector<RunningOn> running;    // on the GPU, in the order of their starts
    std::vector<RunningPart> parts;    // of transfers
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

// When the work of a group begins: `start` is when the last of it came, `begin` when all hold their SMs.
struct GroupStart {
    TimeNs start = 0;
    TimeNs begin = 0;
    TimeNs alone = 0;
};

// One collective of one communicator, until all members are there.
struct Rendezvous {
    std::uint32_t arrived = 0;
    GroupStart when;
    std::vector<FlightRef> members;
};
struct CommunicatorState {
    std::deque<Rendezvous> open; // calls base, base + 1, ...
    std::uint32_t base = 0;
};

// One message of a channel.
struct Match {
    bool sent = false, received = false;
    GroupStart when;
    FlightRef sender, receiver;
};
struct ChannelState {
    std::deque<Match> open;
    std::uint32_t base = 0;
};

// Work on one GPU, or on all GPUs of a group, in the time-ordered mode.
struct Activity {
    double remaining = 0; // ns of work alone
    double rate = 1;
    double share = 1;           // of what its links would let it run at alone
    std::uint32_t flow = kNone; // of FairShare, while it runs on links
    TimeNs started = 0;         // GroupStart::start
    TimeNs updated = 0;
    std::uint64_t tie = 0; // the least launch number of its members
    bool running = false;
    bool coupled = false;       // has peers: its events are in the heap
    bool transfer_part = false; // ends a part of a group of transfers
    std::vector<FlightRef> members;
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
    void catch_up();
    void advance(std::uint32_t rank);
    bool step(std::uint32_t rank);
    bool host_op(std::uint32_t rank, const Op& op, const OpCost& cost);
    bool launch(std::uint32_t rank, const Op& op, const OpCost& cost);
    void depend(RankState& r, Flight& f, FlightRef who, std::uint64_t launch, TimeNs lag);
    std::uint64_t launch_of(const RankState& r, const Dep& dep) const;
    bool host_waits(std::uint32_t rank, std::uint64_t launch, TimeNs& until, std::uint32_t& binding);
    std::uint32_t add_row(std::uint32_t rank, const RankState& r);
    void wait(Flight& on, FlightRef who, TimeNs lag);
    void settle();
    void ready(FlightRef ref);
    void done(FlightRef ref, TimeNs start, TimeNs end);
    void write_row(std::uint32_t rank, const Flight& f, TimeNs end);

    // records.cpp: what is kept, what went wrong
    void add_host_row(std::uint32_t rank, TimeNs start, TimeNs waited_until, TimeNs end,
                      std::uint32_t binding);
    void change_memory(std::uint32_t rank, const Op& op);
    void summarise();
    [[noreturn]] void report_deadlock() const;
    std::string describe(std::uint32_t rank, const Flight& f) const;

    // hardware_queue.cpp: CUDA_DEVICE_MAX_CONNECTIONS=1
    static void depend_in_queue(QueuePlace& at, const Flight& before, TimeNs lag);
    void enter_queue(RankState& r, FlightRef who);
    void progress_in_queue(FlightRef who, TimeNs time, std::uint32_t binding);

    // rendezvous.cpp: groups
    // Calls of one communicator (messages of one channel) arrive in call order, since they share a stream.
    // `begin`: when the member is ready to work. True: the work of the group begins then.
    void ready_to_communicate(FlightRef ref, const Op& op);
    bool arrive(FlightRef ref, TimeNs begin);
    bool arrive_collective(FlightRef ref, const CollectiveWork& work, TimeNs begin);
    bool arrive_transfer(FlightRef ref, const TransferWork& work, TimeNs begin);
    void finish_part(FlightRef ref, TimeNs start, TimeNs end);
    void group_done(FlightRef ref, TimeNs start, TimeNs end);

    // events.cpp: the time-ordered mode
    void plan(FlightRef ref);
    void plan(std::uint32_t rank, const PlannedStart& start);
    EventTime next_of(const RankState& r) const;
    void run_ahead(std::uint32_t rank);
    void local_event(std::uint32_t rank);
    void start_here(std::uint32_t rank, const PlannedStart& start);
    void run_here(FlightRef ref);
    void finish_here(std::uint32_t rank, std::size_t index);
    void begin(std::span<const FlightRef> members, const GroupStart& group, bool transfer_part);
    void group_event(std::uint32_t activity);
    void start_group(std::uint32_t activity);
    void finish_group(std::uint32_t activity);
    std::uint32_t new_activity();
    std::uint64_t launch_number(FlightRef ref) const;

    // rates.cpp: how fast what is on a GPU runs
    RunningOn entry_of(FlightRef ref) const;
    RunningOn* find_running(FlightRef ref);
    void hold(FlightRef ref);
    TimeNs start_delay(FlightRef ref);
    Seconds remaining(std::uint32_t rank, const RunningOn& on);
    void reprice(std::uint32_t rank);
    std::span<const double> rates_of(std::uint32_t rank);
    void touch(std::uint32_t activity);

    // links.cpp: what communication shares
    void use_links(std::uint32_t activity);
    void leave_links(std::uint32_t activity);
    void share_links();

    Flight& flight(FlightRef ref) { return ranks_[ref.rank].ring[ref.place]; }
    const Flight& flight(FlightRef ref) const { return ranks_[ref.rank].ring[ref.place]; }
    const Op& op_of(std::uint32_t rank, const Flight& f) const {
        const RankGraph& graph = *ranks_[rank].graph->graph;
        return graph.blocks[graph.program[f.instance].block.value].ops[f.op];
    }
    const OpCost& cost_of(std::uint32_t rank, const Flight& f) const {
        const AnnotatedGraph& graph = *ranks_[rank].graph;
        return graph.costs[graph.graph->program[f.instance].block.value][f.op];
    }

    static constexpr std::uint64_t kStart = std::uint64_t{1}
                                            << 63U; // ties: at one time, ends go before starts

    const EngineInput& in_;
    bool slows_; // SlowdownModel is not the identity
    bool fixed_; // no rate ever changes
    std::vector<RankState> ranks_;
    std::vector<CommunicatorState> communicators_;
    std::vector<ChannelState> channels_;
    std::vector<Waiter> waiters_;
    std::uint32_t free_waiter_ = kNone;
    std::vector<FlightRef> ready_;        // flights whose dependencies are done, to be started
    std::vector<std::uint32_t> runnable_; // ranks whose host can go on
    // time-ordered mode
    TimeNs now_ = 0;                // of the event at hand
    std::uint32_t current_ = kNone; // the rank that runs ahead, not in the heap
    EventHeap heap_;                // next event of every rank, then activities with peers
    std::vector<Activity> activities_;
    std::vector<std::uint32_t> free_activities_;
    std::vector<RateMemo> memos_;            // by cost class
    FairShare links_;                        // of all GPUs: rank x kGpuLinks + GpuLink
    std::vector<std::uint32_t> activity_of_; // by flow
    // scratch, so that nothing is allocated per op
    std::vector<Running> what_;
    std::vector<std::uint64_t> set_;
    std::vector<double> rates_;
    std::vector<Seconds> left_;
    std::vector<FairShare::Demand> demands_;
    Timeline timeline_;
};

} // namespace echosim::engine
