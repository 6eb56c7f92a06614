// SPDX-License-Identifier: Apache-2.0
#include "tests/traces/sample_trace.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

namespace echosim::test {
namespace {

CommOp all_reduce(TraceBuilder& builder) {
    CommOp op;
    op.kind = CollectiveKind::all_reduce;
    op.dtype = DType::bf16;
    op.algorithm = Algorithm::nvls;
    op.protocol = Protocol::simple;
    op.channels = 16;
    op.bytes = 33'554'432;
    op.group = builder.name("tp");
    op.group_size = 4;
    op.sequence = 7;
    return op;
}

class Dice {
  public:
    explicit Dice(unsigned seed) : engine_(seed) {}
    std::uint32_t below(std::uint32_t limit) {
        return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(engine_);
    }
    bool one_in(std::uint32_t n) { return below(n) == 0; }
    std::uint64_t wide() { return std::uniform_int_distribution<std::uint64_t>()(engine_) >> 1U; }

  private:
    std::mt19937 engine_;
};

std::vector<RankRange> random_ranks(Dice& dice) {
    const std::uint32_t base = dice.below(1000);
    return dice.one_in(3)
               ? std::vector<RankRange>{}
               : std::vector<RankRange>{{base, 1 + dice.below(8), 1 + dice.below(4)}, {base + 100, 1, 1}};
}

CommOp random_comm_op(TraceBuilder& builder, Dice& dice) {
    CommOp op = all_reduce(builder);
    op.kind = dice.one_in(4) ? kNoCollective : static_cast<CollectiveKind>(dice.below(9));
    op.dtype = dice.one_in(4) ? kNoDType : static_cast<DType>(dice.below(9));
    op.algorithm = dice.one_in(3) ? kNoAlgorithm : static_cast<Algorithm>(dice.below(8));
    op.protocol = dice.one_in(3) ? kNoProtocol : static_cast<Protocol>(dice.below(3));
    op.channels = dice.below(3);
    op.bytes = dice.wide();
    op.group = dice.one_in(3) ? kNoName : op.group;
    op.peer = static_cast<int>(dice.below(100)) - 1;
    op.sequence = dice.wide();
    op.communicator =
        dice.one_in(3) ? kNoRow : builder.add_communicator({builder.name("0"), kNoName, random_ranks(dice)});
    op.direction = static_cast<Direction>(dice.below(4));
    op.in_elements = dice.one_in(3) ? 0 : dice.wide();
    op.out_elements = dice.one_in(3) ? 0 : dice.wide();
    return op;
}

void add_tables(TraceBuilder& builder, Dice& dice, std::uint32_t labels, std::uint32_t ops) {
    for (std::uint32_t i = 0; i < labels; ++i) {
        builder.add_label(
            {static_cast<int>(i), static_cast<Phase>(dice.below(9)), static_cast<int>(dice.below(64)) - 1,
             static_cast<int>(dice.below(4)) - 1, static_cast<int>(dice.below(96)) - 1,
             dice.one_in(2) ? kNoName : builder.name("module " + std::to_string(dice.below(5)))});
    }
    for (std::uint32_t i = 0; i < ops; ++i) {
        builder.add_comm_op(random_comm_op(builder, dice));
    }
}

std::uint32_t random_ext(TraceBuilder& builder, Dice& dice, EventKind kind, std::uint32_t ops) {
    if (dice.one_in(4)) {
        return kNoRow;
    }
    switch (kind) {
    case EventKind::comm:
        return ops == 0 ? kNoRow : dice.below(ops);
    case EventKind::kernel:
        return builder.add_launch(
            {{1 + dice.below(4), 1, 1}, {32, 1 + dice.below(4), 1}, dice.below(256), 48});
    case EventKind::memcpy:
    case EventKind::memset:
        return builder.add_copy({static_cast<CopyKind>(dice.below(7)), dice.wide()});
    case EventKind::api:
    case EventKind::sync:
        return builder.add_sync({static_cast<SyncKind>(dice.below(5)), static_cast<int>(dice.below(9)) - 1,
                                 dice.one_in(2) ? 0 : dice.wide(), dice.below(9)});
    case EventKind::instant:
    case EventKind::other:
        return builder.name(dice.one_in(2) ? "overhead" : "kernel").value;
    default:
        return kNoRow;
    }
}

NameId random_args(TraceBuilder& builder, Dice& dice) {
    const char* texts[] = {R"({"context":7,"Input Dims":[[2,3],[]]})",
                           R"({})",
                           R"({"queued":0,"q\"uote":"\u20ac"})",
                           R"({"phase":1,"bytes":[1]})",
                           R"({ "spaced" : 1 })",
                           "no object"};
    return dice.one_in(2) ? kNoName : builder.name(texts[dice.below(6)]);
}

Event random_event(TraceBuilder& builder, Dice& dice, std::uint32_t labels, std::uint32_t ops) {
    Event event;
    event.start = static_cast<TimeNs>(dice.below(1'000'000)) - 1000;
    event.duration = dice.one_in(10) ? 0 : dice.below(5000);
    event.name = dice.one_in(50) ? kNoName : builder.name("kernel " + std::to_string(dice.below(30)));
    event.kind = static_cast<EventKind>(dice.below(12));
    event.label = labels == 0 || dice.one_in(4) ? kNoRow : dice.below(labels);
    event.ext = random_ext(builder, dice, event.kind, ops);
    event.alone = dice.one_in(3) ? 0 : dice.below(5000);
    event.provenance = static_cast<Provenance>(dice.below(4));
    event.correlation = dice.one_in(2) ? 0 : dice.below(1'000'000);
    event.args = random_args(builder, dice);
    return event;
}

} // namespace

Trace small_trace() {
    TraceBuilder builder;
    builder.set_meta(R"({"tool":"echosim 0.1.0","job":"gpt3-1.3b"})");
    const auto first = builder.add_class("stage 0", 0, {0, 1, 2, 3});
    const auto last = builder.add_class("stage 1", 1, {4, 5, 6, 7});
    const auto compute = builder.add_stream(first, StreamKind::compute, "compute");
    const auto tp = builder.add_stream(first, StreamKind::tp_comm, "tp");
    const auto send = builder.add_stream(first, StreamKind::p2p, "p2p");
    const auto compute_1 = builder.add_stream(last, StreamKind::compute, "compute");
    const auto receive = builder.add_stream(last, StreamKind::p2p, "p2p");
    const auto label = builder.add_label({0, Phase::forward, 3, 1, 17, builder.name("mlp")});
    const auto op = builder.add_comm_op(all_reduce(builder));
    CommOp transfer;
    transfer.kind = CollectiveKind::send_recv;
    transfer.bytes = 1'048'576;
    transfer.group = builder.name("pp");
    transfer.group_size = 2;
    transfer.peer = 4;
    const auto p2p = builder.add_comm_op(transfer);

    Event gemm{1000, 2500,     builder.name("gemm"), EventKind::kernel, label, kNoRow,
               2000, kNoEvent, Provenance::measured};
    const auto a = builder.add_event(compute, gemm);
    const auto b = builder.add_event(tp, {3500, 4000, builder.name("all_reduce"), EventKind::comm, label, op,
                                          4000, a, Provenance::fitted});
    const auto c = builder.add_event(
        send, {7500, 1000, builder.name("send"), EventKind::comm, kNoRow, p2p, 1000, b, Provenance::fitted});
    const auto d = builder.add_event(receive, {6000, 2500, builder.name("recv"), EventKind::comm, kNoRow, p2p,
                                               1000, c, Provenance::fitted});
    gemm.start = 8500;
    gemm.binding_pred = d;
    builder.add_event(compute_1, gemm);
    builder.add_flow(c, d, FlowKind::p2p);
    builder.add_flow(b, d, FlowKind::collective);
    const auto memory = builder.add_counter(first, "memory", "bytes");
    builder.add_sample(memory, 0, 1e9);
    builder.add_sample(memory, 4000, 2.5e9);
    return builder.finish();
}

Trace random_trace(unsigned seed) {
    Dice dice(seed);
    TraceBuilder builder;
    builder.set_meta(R"({"seed":)" + std::to_string(seed) + "}");
    builder.set_t0(static_cast<TimeNs>(dice.below(1000)));
    builder.set_timed(!dice.one_in(4));
    const std::uint32_t classes = 1 + dice.below(4);
    const std::uint32_t labels = dice.below(40);
    const std::uint32_t ops = dice.below(40);
    add_tables(builder, dice, labels, ops);
    std::vector<std::uint64_t> events;
    std::uint32_t streams = 0;
    for (std::uint32_t i = 0; i < classes; ++i) {
        const int base = static_cast<int>(dice.below(1000));
        builder.add_class("class " + std::to_string(i), static_cast<int>(i) - 1,
                          {base, base + 8, base + 16, base + 17});
        for (std::uint32_t j = dice.below(4); j > 0; --j, ++streams) {
            builder.add_stream(i, static_cast<StreamKind>(dice.below(10)), "stream " + std::to_string(j));
            if (dice.one_in(2)) {
                builder.set_origin(streams, static_cast<int>(dice.below(3)) - 1,
                                   static_cast<int>(dice.below(3)) + 6);
            }
        }
        const auto counter = builder.add_counter(i, "memory", dice.one_in(2) ? "bytes" : "GiB");
        for (std::uint32_t j = 0; j < dice.below(100); ++j) {
            builder.add_sample(counter, j * 10, static_cast<double>(dice.wide()));
        }
    }
    for (std::uint32_t i = 0; streams > 0 && i < 3000; ++i) {
        Event event = random_event(builder, dice, labels, ops);
        event.binding_pred = events.empty() || dice.one_in(3)
                                 ? kNoEvent
                                 : events[dice.below(static_cast<std::uint32_t>(events.size()))];
        events.push_back(builder.add_event(dice.below(streams), event));
        if (i > 0 && dice.one_in(5)) {
            builder.add_flow(events[dice.below(i)], events[i], static_cast<FlowKind>(dice.below(9)));
        }
    }
    return builder.finish();
}

Trace long_trace(std::size_t events) {
    TraceBuilder builder;
    const auto stream = builder.add_stream(builder.add_class("all", 0, {0}), StreamKind::compute, "compute");
    builder.reserve(stream, events);
    Event event;
    event.duration = 9000;
    event.alone = 9000;
    for (std::size_t i = 0; i < events; ++i) {
        event.start = static_cast<TimeNs>(i) * 10'000;
        event.name = builder.name(i % 2 == 0 ? "gemm" : "norm");
        event.binding_pred = builder.add_event(stream, event);
    }
    return builder.finish();
}

std::string temporary_path(const std::string& ending) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name =
        std::string(test->test_suite_name()) + "_" + test->name() + "_" + std::to_string(::getpid());
    std::replace(name.begin(), name.end(), '/', '_');
    return testing::TempDir() + "echosim_" + name + ending;
}

std::vector<std::byte> read_bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
}

void write_bytes(const std::string& path, const std::vector<std::byte>& bytes) {
    std::filesystem::remove(path); // a new file is quicker than emptying one: nothing is flushed
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

bool refused(const std::vector<std::byte>& bytes, const std::string& path) {
    write_bytes(path, bytes);
    try {
        check_trace(read_etr(path), path);
        return false;
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
        return true;
    }
}

} // namespace echosim::test
