// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/hand_step.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dag_shortest_paths.hpp>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <utility>

// One rank: the timeline is the longest path through the graph of its launches, starts and ends. The test
// writes the rules of CUDA's order down a second time, as edges, and lets Boost.Graph find the path.
namespace echosim {
namespace {

using test::HandCosts;
using test::HandStep;
using test::RateOne;

// What a random program is made of; a block is a list of these.
struct RandomOp {
    enum class Kind { kernel, collective, copy, host, wait };
    Kind kind = Kind::kernel;
    Stream stream = Stream::compute;
    TimeNs time = 0;
    std::vector<Dep> deps;
    std::optional<std::uint32_t> port;
    bool in_graph = false; // of CUDA
};

constexpr std::uint32_t kPorts = 4;

RandomOp random_op(std::mt19937& random, std::uint32_t place) {
    RandomOp op;
    const auto dice = random() % 10;
    op.kind = dice < 4   ? RandomOp::Kind::kernel
              : dice < 5 ? RandomOp::Kind::copy
              : dice < 8 ? RandomOp::Kind::collective
              : dice < 9 ? RandomOp::Kind::wait
                         : RandomOp::Kind::host;
    op.time = static_cast<TimeNs>(random() % 20'000);
    if (op.kind == RandomOp::Kind::collective) {
        op.stream = random() % 2 == 0 ? Stream::tp : Stream::dp;
        op.deps = {Dep::tail(tail_of(Stream::compute))}; // what BlockBuilder::collective states
    } else {
        for (auto count = random() % 3; count > 0; --count) {
            const auto kind = random() % 3;
            if (kind == 0 && place > 0)
                op.deps.push_back(Dep::op(static_cast<std::uint32_t>(random() % place)));
            else if (kind == 1)
                op.deps.push_back(Dep::port(static_cast<std::uint32_t>(random() % kPorts)));
            else
                op.deps.push_back(Dep::tail(static_cast<std::uint32_t>(random() % 3)));
        }
    }
    if (op.kind == RandomOp::Kind::wait)
        op.time = 0;
    op.in_graph = op.kind == RandomOp::Kind::kernel && random() % 4 == 0;
    if (op.kind != RandomOp::Kind::host && random() % 3 == 0)
        op.port = static_cast<std::uint32_t>(random() % kPorts);
    return op;
}

// Calls `make` with the dependencies as the builder takes them.
template <class Make> std::uint32_t with_deps(const std::vector<Dep>& deps, Make make) {
    switch (deps.size()) {
    case 0:
        return make(std::initializer_list<Dep>{});
    case 1:
        return make({deps[0]});
    default:
        return make({deps[0], deps[1]});
    }
}

BlockId emit(HandStep& step, const std::vector<RandomOp>& ops) {
    BlockBuilder b = step.block(0);
    for (const RandomOp& op : ops) {
        const auto bytes = static_cast<Bytes>(op.time);
        const std::uint32_t index = with_deps(op.deps, [&](std::initializer_list<Dep> deps) {
            switch (op.kind) {
            case RandomOp::Kind::collective:
                // slot tp: a group of one rank, so that nobody else has to come; both streams use it in turn
                return b.collective("c", {0, CollectiveKind::all_reduce, bytes, DType::bf16}, op.stream);
            case RandomOp::Kind::host:
                return b.host("h", static_cast<double>(op.time) * 1e-9, deps);
            case RandomOp::Kind::wait:
                return b.wait("w", deps);
            case RandomOp::Kind::kernel:
            case RandomOp::Kind::copy:
                break;
            }
            return b.memory("k", KernelClass::elementwise, static_cast<double>(op.time), deps);
        });
        if (op.port)
            b.record(index, *op.port);
    }
    const BlockId block = b.finish();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        Op& op = step.graph(0).blocks[block.value].ops[i];
        op.in_graph = ops[i].in_graph;
        if (ops[i].kind == RandomOp::Kind::copy)
            op.kind = OpKind::memory;
    }
    return block;
}

// The explicit graph: vertex 0 is time zero, every op adds its launch (the host is free) and, on a device,
// its start and its end.
class Explicit {
  public:
    Explicit(const HandCosts& costs, bool one_queue) : costs_(costs), one_queue_(one_queue) {}

    void add_instance(const std::vector<RandomOp>& ops) {
        std::vector<std::size_t> local;
        for (const RandomOp& op : ops)
            local.push_back(add(op, local));
    }
    // start and end of every op that occupies time, in launch order
    std::vector<std::pair<TimeNs, TimeNs>> solve() const {
        using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                            boost::property<boost::edge_weight_t, TimeNs>>;
        Graph graph(vertices_);
        for (const auto& [from, to, weight] : edges_)
            boost::add_edge(from, to, -weight, graph); // longest path = shortest with the signs turned
        std::vector<TimeNs> distance(vertices_);
        boost::dag_shortest_paths(graph, 0,
                                  boost::distance_map(boost::make_iterator_property_map(
                                      distance.begin(), get(boost::vertex_index, graph))));
        std::vector<std::pair<TimeNs, TimeNs>> times;
        for (const auto& [start, end] : ops_)
            times.emplace_back(-distance[start], -distance[end]);
        return times;
    }

  private:
    void edge(std::size_t from, std::size_t to, TimeNs weight) { edges_.emplace_back(from, to, weight); }
    std::optional<std::size_t> source(const Dep& dep, const std::vector<std::size_t>& local) const {
        if (dep.kind == Dep::Kind::op)
            return local[dep.index] == 0 ? std::nullopt : std::optional(local[dep.index]);
        const auto& table = dep.kind == Dep::Kind::port ? ports_ : tails_;
        const auto it = table.find(dep.index);
        return it == table.end() ? std::nullopt : std::optional(it->second);
    }
    // The vertex of the op's end; 0 for host ops, which nothing can depend on.
    std::size_t add(const RandomOp& op, const std::vector<std::size_t>& local) {
        if (op.kind == RandomOp::Kind::host)
            return add_host(op, local);
        const std::size_t launch = vertices_++, start = vertices_++, end = vertices_++;
        const TimeNs cpu = op.kind == RandomOp::Kind::wait ? 0 : static_cast<TimeNs>(costs_.launch);
        edge(host_, launch, cpu);
        if (device_.size() >= kLaunchQueue) // the host waits for the op kLaunchQueue launches earlier
            edge(device_[device_.size() - kLaunchQueue], launch, cpu);
        edge(launch, start, costs_.latency);
        const auto stream = tail_of(op.stream);
        if (tails_.contains(stream))
            edge(tails_[stream], start, op.kind == RandomOp::Kind::wait ? 0 : costs_.gap);
        for (const Dep& dep : op.deps)
            if (const auto from = source(dep, local))
                edge(*from, start, costs_.event_wait);
        if (one_queue_ && op.kind != RandomOp::Kind::copy && !op.in_graph)
            add_queue(op, local, launch, start);
        stream_of_[end] = stream;
        edge(start, end, op.time);
        host_ = launch;
        tails_[stream] = end;
        if (op.port)
            ports_[*op.port] = end;
        device_.push_back(end);
        ops_.emplace_back(start, end);
        return end;
    }
    // The op leaves the one hardware queue: after the op ahead, after what it waits for of other streams.
    void add_queue(const RandomOp& op, const std::vector<std::size_t>& local, std::size_t launch,
                   std::size_t start) {
        const std::size_t leaves = vertices_++;
        edge(launch, leaves, costs_.latency);
        for (const Dep& dep : op.deps)
            if (const auto from = source(dep, local); from && stream_of_[*from] != tail_of(op.stream))
                edge(*from, leaves, costs_.event_wait);
        edge(std::exchange(queued_, leaves), leaves, 0);
        edge(leaves, start, 0);
    }
    std::size_t add_host(const RandomOp& op, const std::vector<std::size_t>& local) {
        const std::size_t begin = host_, end = vertices_++;
        const TimeNs cpu = op.time + (op.deps.empty() ? 0 : static_cast<TimeNs>(costs_.launch));
        edge(begin, end, cpu);
        for (const Dep& dep : op.deps)
            if (const auto from = source(dep, local))
                edge(*from, end, cpu);
        host_ = end;
        ops_.emplace_back(begin, end);
        return 0;
    }

    HandCosts costs_;
    bool one_queue_;
    std::size_t vertices_ = 1, host_ = 0, queued_ = 0;
    std::vector<std::tuple<std::size_t, std::size_t, TimeNs>> edges_;
    std::map<std::uint32_t, std::size_t> tails_, ports_;
    std::map<std::size_t, std::uint32_t> stream_of_; // of the op that ends at this vertex
    std::vector<std::size_t> device_;
    std::vector<std::pair<std::size_t, std::size_t>> ops_;
};

void compare(unsigned seed, int instances, HandCosts costs, bool one_queue = false) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    HandStep step(1, costs);
    Explicit expected(costs, one_queue);
    std::vector<std::vector<RandomOp>> blocks(1 + random() % 5);
    std::vector<BlockId> ids;
    for (auto& ops : blocks) {
        const auto count = static_cast<std::uint32_t>(1 + random() % 20);
        for (std::uint32_t i = 0; i < count; ++i)
            ops.push_back(random_op(random, i));
        ids.push_back(emit(step, ops));
    }
    step.graph(0).ports = kPorts;
    step.graph(0).one_queue = one_queue;
    for (int i = 0; i < instances; ++i) {
        const auto block = random() % blocks.size();
        step.use(0, ids[block]);
        expected.add_instance(blocks[block]);
    }
    std::vector<std::pair<TimeNs, TimeNs>> times = expected.solve();
    // host ops that take no time leave no row
    std::erase_if(times, [](const auto& t) { return t.first == t.second; });
    const NoSlowdown none;
    const RateOne one;
    for (const SlowdownModel* model :
         {static_cast<const SlowdownModel*>(&none), static_cast<const SlowdownModel*>(&one)}) { // both modes
        const RankTimeline rank = step.run(*model).ranks[0];
        std::vector<std::pair<TimeNs, TimeNs>> found;
        for (std::size_t i = 0; i < rank.size(); ++i)
            if (rank.duration[i] > 0)
                found.emplace_back(rank.start[i], rank.start[i] + rank.duration[i]);
        ASSERT_EQ(found, times);
    }
}

TEST(LongestPath, RandomGraphsOfOneRank) {
    for (unsigned seed = 1; seed <= 300; ++seed)
        compare(seed, 20, {.launch = 6000, .gap = 1000, .event_wait = 2000, .latency = 3000});
}

TEST(LongestPath, FastHostRunsIntoTheLaunchQueue) {
    for (unsigned seed = 1; seed <= 20; ++seed)
        compare(seed, 600, {.launch = 100, .gap = 1000, .event_wait = 2000, .latency = 3000});
}

TEST(LongestPath, OneHardwareQueue) {
    for (unsigned seed = 1; seed <= 200; ++seed)
        compare(seed, 20, {.launch = 6000, .gap = 1000, .event_wait = 2000, .latency = 3000}, true);
    for (unsigned seed = 1; seed <= 100; ++seed)
        compare(seed, 20, {}, true);
    for (unsigned seed = 1; seed <= 10; ++seed) // around the ring of launches
        compare(seed, 600, {.launch = 100, .gap = 1000, .event_wait = 2000, .latency = 3000}, true);
}

TEST(LongestPath, WithoutAnyOverheads) {
    for (unsigned seed = 1; seed <= 100; ++seed)
        compare(seed, 20, {});
}

} // namespace
} // namespace echosim
