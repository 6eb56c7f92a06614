// SPDX-License-Identifier: Apache-2.0
#include "tests/support/refusal.h"
#include "tests/traces/chakra_wire.h"
#include "tests/traces/sample_trace.h"
#include "traces/chakra.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace echosim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Rank 5. A thread: an operator of 40 us that launches a copy (8 us), a gemm (5.5 us) and an all-gather
// (2 ranks, 1 MiB), then a call that waits for the device.
Trace recorded(bool timed = true) {
    TraceBuilder builder;
    builder.set_meta(R"({"tool":"test"})");
    builder.set_t0(timed ? 1'700'000'000'000'000'123 : 0);
    builder.set_timed(timed);
    const auto rank = builder.add_class("rank 5", -1, {5});
    const auto thread = builder.add_stream(rank, StreamKind::host, "thread 44");
    builder.set_origin(thread, -1, 44);
    const auto compute = builder.add_stream(rank, StreamKind::compute, "stream 7");
    builder.set_origin(compute, 1, 7);
    const auto comm = builder.add_stream(rank, StreamKind::tp_comm, "stream 20");
    builder.set_origin(comm, 1, 20);
    builder.name("not used by any event");
    const auto at = [&](TimeNs start) { return timed ? start : 0; };
    Event event{at(0), 40'000, builder.name("aten::mm"), EventKind::host};
    event.correlation = 3;
    event.args = builder.name(R"({"Input Dims":[[4,4]]})");
    builder.add_event(thread, event);
    const auto call = [&](TimeNs start, const char* name, std::uint32_t correlation) {
        Event api{at(start), 2'000, builder.name(name), EventKind::api};
        api.correlation = correlation;
        return builder.add_event(thread, api);
    };
    const auto a = call(1'000, "cudaMemcpyAsync", 11);
    const auto b = call(5'000, "cudaLaunchKernel", 12);
    const auto c = call(9'000, "cudaLaunchKernelExC", 13);
    Event wait{at(50'000), 30'000, builder.name("cudaDeviceSynchronize"), EventKind::api};
    wait.ext = builder.add_sync({SyncKind::device_synchronize, -1, 0, 0});
    const auto d = builder.add_event(thread, wait);

    Event copy{at(2'000), 8'000, builder.name("Memcpy HtoD"), EventKind::memcpy};
    copy.ext = builder.add_copy({CopyKind::host_to_device, 65'536});
    copy.correlation = 11;
    const auto copied = builder.add_event(compute, copy);
    Event gemm{at(10'000), 5'500, builder.name("gemm"), EventKind::kernel,
               builder.add_label({0, Phase::forward, 1, -1, 3, builder.name("mlp")})};
    gemm.ext = builder.add_launch({{128, 1, 2}, {256, 1, 1}, 96, 49'152});
    gemm.correlation = 12;
    gemm.provenance = Provenance::measured;
    const auto multiplied = builder.add_event(compute, gemm);
    CommOp op;
    op.kind = CollectiveKind::all_gather;
    op.bytes = 1 << 20;
    op.group_size = 2;
    op.sequence = ~0ULL;
    op.communicator = builder.add_communicator(
        {builder.name("0x7f00"), builder.name("TENSOR_MODEL_PARALLEL_GROUP"), {{4, 2, 1}}});
    Event gather{at(16'000), 20'000, builder.name("ncclDevKernel_AllGather"), EventKind::comm};
    gather.ext = builder.add_comm_op(op);
    gather.binding_pred = multiplied;
    const auto gathered = builder.add_event(comm, gather);
    builder.add_flow(a, copied, FlowKind::launch);
    builder.add_flow(b, multiplied, FlowKind::launch);
    builder.add_flow(c, gathered, FlowKind::launch);
    builder.add_flow(multiplied, gathered, FlowKind::event);
    builder.add_flow(gathered, d, FlowKind::sync);
    const auto memory = builder.add_counter(rank, "memory", "bytes");
    builder.add_sample(memory, at(10), 0.1);
    builder.add_sample(memory, at(20), -0.0);
    return builder.finish();
}

struct Written {
    std::map<unsigned, std::vector<WireField>> fields;
    std::map<std::string, WireField> attributes;
    std::string name;
    std::uint64_t id = 0;
};

Written written(const std::string& message) {
    Written node;
    for (const WireField& field : fields_of(message)) {
        node.fields[field.number].push_back(field);
        if (field.number == 10) {
            const std::vector<WireField> parts = fields_of(field.bytes);
            node.attributes[parts.at(0).bytes] = parts.at(1);
        }
    }
    node.name = node.fields[2].empty() ? "" : node.fields[2][0].bytes;
    node.id = node.fields[1].empty() ? 0 : node.fields[1][0].value;
    return node;
}

std::vector<Written> nodes_of(const std::string& path) {
    const std::vector<std::byte> bytes = read_bytes(path);
    std::vector<Written> nodes;
    for (const std::string& message :
         messages_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) {
        nodes.push_back(written(message));
    }
    nodes.erase(nodes.begin()); // GlobalMetadata
    return nodes;
}

const Written& named(const std::vector<Written>& nodes, std::string_view name) {
    return *std::find_if(nodes.begin(), nodes.end(), [&](const Written& node) { return node.name == name; });
}

std::vector<std::string> names_of(const std::vector<Written>& nodes, const Written& node, unsigned field) {
    std::vector<std::string> names;
    for (const WireField& list :
         node.fields.count(field) > 0 ? node.fields.at(field) : std::vector<WireField>{}) {
        for (const std::uint64_t id : packed(list.bytes)) {
            names.push_back(
                std::find_if(nodes.begin(), nodes.end(), [&](const Written& n) { return n.id == id; })->name);
        }
    }
    return names;
}

TEST(ChakraWrite, FieldsHaveTheNumbersOfTheSchema) {
    const std::string path = temporary_path(".5.et");
    write_chakra(recorded(), path);
    const std::vector<std::byte> bytes = read_bytes(path);
    const auto metadata =
        fields_of(messages_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).at(0));
    EXPECT_EQ(metadata.at(0).number, 1U);
    EXPECT_EQ(metadata.at(0).bytes, "0.0.4");
    EXPECT_EQ(metadata.at(1).number, 2U);
    const std::vector<Written> nodes = nodes_of(path);
    ASSERT_EQ(nodes.size(), 9U); // 8 events and the record of the groups
    const Written& gemm = named(nodes, "gemm");
    EXPECT_EQ(gemm.fields.at(3)[0].value, 4U);                     // COMP_NODE
    EXPECT_EQ(gemm.fields.at(6)[0].value, 1'700'000'000'000'010U); // microseconds
    EXPECT_EQ(gemm.fields.at(7)[0].value, 6U);                     // copy 8.0, gemm 5.5: 13.5 -> 14 - 8
    EXPECT_EQ(gemm.attributes.at("is_cpu_op").number, 27U);
    EXPECT_EQ(gemm.attributes.at("is_cpu_op").value, 0U);
    EXPECT_EQ(gemm.attributes.at("stream").number, 9U);
    EXPECT_EQ(gemm.attributes.at("stream").value, 7U);
    const Written& copy = named(nodes, "Memcpy HtoD");
    EXPECT_EQ(copy.fields.at(3)[0].value, 2U); // MEM_LOAD_NODE
    EXPECT_EQ(copy.attributes.at("tensor_size").number, 13U);
    EXPECT_EQ(copy.attributes.at("tensor_size").value, 65'536U);
}

// As the feeder of ASTRA-sim reads them: comm_type and comm_size int64, pg_name a number in a string, and the
// ranks of the groups as a Python list of one JSON text.
TEST(ChakraWrite, CommunicationAsAstraSimReadsIt) {
    const std::string path = temporary_path(".5.et");
    write_chakra(recorded(), path);
    const std::vector<Written> nodes = nodes_of(path);
    const Written& gather = named(nodes, "ncclDevKernel_AllGather");
    EXPECT_EQ(gather.fields.at(3)[0].value, 7U); // COMM_COLL_NODE
    EXPECT_EQ(gather.attributes.at("comm_type").number, 9U);
    EXPECT_EQ(gather.attributes.at("comm_type").value, 2U); // ALL_GATHER
    EXPECT_EQ(gather.attributes.at("comm_size").number, 9U);
    EXPECT_EQ(gather.attributes.at("comm_size").value, 524'288U); // one rank's share
    EXPECT_EQ(gather.attributes.at("pg_name").number, 29U);
    EXPECT_EQ(gather.attributes.at("pg_name").bytes, "0"); // "0x7f00" is no decimal number
    const Written& groups = nodes.at(0);
    EXPECT_EQ(groups.fields.at(3)[0].value, 1U); // METADATA_NODE
    EXPECT_EQ(fields_of(groups.fields.at(8)[0].bytes).at(0).bytes,
              R"(['[{"pg_name": "0", "pg_desc": "0x7f00", "ranks": [4, 5]}]'])");
}

TEST(ChakraWrite, DependenciesGoBackward) {
    const std::string path = temporary_path(".5.et");
    write_chakra(recorded(), path);
    const std::vector<Written> nodes = nodes_of(path);
    EXPECT_THAT(names_of(nodes, named(nodes, "gemm"), 4), ElementsAre("cudaLaunchKernel"));
    EXPECT_THAT(names_of(nodes, named(nodes, "gemm"), 5), ElementsAre("Memcpy HtoD", "cudaLaunchKernel"));
    EXPECT_THAT(names_of(nodes, named(nodes, "ncclDevKernel_AllGather"), 5),
                ElementsAre("cudaLaunchKernelExC", "gemm"));
    EXPECT_THAT(names_of(nodes, named(nodes, "cudaDeviceSynchronize"), 5),
                ElementsAre("cudaLaunchKernelExC", "ncclDevKernel_AllGather"));
    EXPECT_THAT(names_of(nodes, named(nodes, "cudaLaunchKernel"), 4), ElementsAre("aten::mm"));
    std::set<std::uint64_t> seen;
    for (const Written& node : nodes) {
        for (const unsigned field : {4U, 5U}) {
            for (const WireField& list :
                 node.fields.count(field) > 0 ? node.fields.at(field) : std::vector<WireField>{}) {
                for (const std::uint64_t id : packed(list.bytes)) {
                    EXPECT_TRUE(seen.contains(id)) << node.name << " depends on " << id;
                }
            }
        }
        EXPECT_TRUE(seen.insert(node.id).second);
    }
}

// A simulation names the event of another stream that let one start.
TEST(ChakraWrite, NamedPredecessorsAreDependencies) {
    TraceBuilder builder;
    const std::uint32_t cls = builder.add_class("rank 0", 0, {0});
    const std::uint32_t compute = builder.add_stream(cls, StreamKind::compute, "compute");
    const std::uint32_t dp = builder.add_stream(cls, StreamKind::dp_comm, "dp");
    const std::uint64_t gemm = builder.add_event(
        compute, {.start = 0, .duration = 5'000, .name = builder.name("gemm"), .kind = EventKind::kernel});
    const std::uint64_t reduce = builder.add_event(
        dp, {.start = 5'000, .duration = 1'000, .name = builder.name("reduce"), .kind = EventKind::comm});
    builder.set_binding_pred(reduce, gemm);
    const std::string path = temporary_path(".0.et");
    write_chakra(builder.finish(), path);
    const std::vector<Written> nodes = nodes_of(path);
    EXPECT_THAT(names_of(nodes, named(nodes, "reduce"), 5), ElementsAre("gemm"));
    EXPECT_THAT(names_of(nodes, named(nodes, "gemm"), 5), ElementsAre());
}

// A thread's events enclose each other: each counts without those inside. A wait that depends on the device
// takes no time of its own.
TEST(ChakraWrite, DurationsOfAThreadAreItsOwnTime) {
    const std::string path = temporary_path(".5.et");
    write_chakra(recorded(), path);
    const std::vector<Written> nodes = nodes_of(path);
    EXPECT_EQ(named(nodes, "aten::mm").fields.at(7)[0].value, 34U); // 40 - 3 calls of 2
    EXPECT_EQ(named(nodes, "cudaLaunchKernel").fields.at(7)[0].value, 2U);
    EXPECT_EQ(named(nodes, "cudaDeviceSynchronize").fields.count(7), 0U);
}

TEST(ChakraWrite, WhatWasWrittenComesBackEqual) {
    const std::string path = temporary_path(".5.et");
    for (const Trace& trace : {recorded(true), recorded(false), recorded_trace()}) {
        write_chakra(trace, path);
        const Imported result = read_chakra(path);
        EXPECT_TRUE(result.trace == trace);
        EXPECT_EQ(result.report.events, trace.event_count());
        const std::vector<std::byte> bytes = read_bytes(path);
        EXPECT_TRUE(is_chakra(bytes));
        write_chakra(result.trace, path);
        EXPECT_EQ(read_bytes(path), bytes);
    }
}

TEST(ChakraWrite, AnyTraceOfOneClassComesBackEqual) {
    const std::string path = temporary_path(".et");
    int written = 0;
    for (unsigned seed = 0; seed < 40; ++seed) {
        const Trace trace = random_trace(seed);
        if (trace.classes.size() == 1) {
            write_chakra(trace, path);
            EXPECT_TRUE(read_chakra(path).trace == trace) << seed;
            ++written;
        }
    }
    EXPECT_GT(written, 3);
}

TEST(ChakraWrite, SeveralRanksAreRefused) {
    EXPECT_THAT(refusal([] { write_chakra(small_trace(), temporary_path(".et")); }),
                HasSubstr("one rank a file; the trace has 2"));
}

TEST(ChakraWrite, TextThatIsNoUtf8ComesBack) {
    TraceBuilder builder;
    const auto stream = builder.add_stream(builder.add_class("rank 0", -1, {0}), StreamKind::compute, "s");
    builder.add_event(stream, {0, 1, builder.name("bad \xff name"), EventKind::kernel});
    const Trace trace = builder.finish();
    const std::string path = temporary_path(".0.et");
    write_chakra(trace, path);
    EXPECT_TRUE(read_chakra(path).trace == trace);
    EXPECT_EQ(nodes_of(path).at(0).name, "bad \xef\xbf\xbd name");
}

// A file of ours that somebody cut off or changed.
TEST(ChakraWrite, ChangedFilesAreRefused) {
    const std::string path = temporary_path(".5.et");
    write_chakra(recorded(), path);
    const std::vector<std::byte> bytes = read_bytes(path);
    std::size_t whole = 0;
    for (std::size_t size = 1; size < bytes.size(); ++size) {
        write_bytes(path, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
        whole += refusal([&] { read_chakra(path); }) == "accepted" ? 1 : 0;
    }
    EXPECT_EQ(whole, 0U);
    std::size_t refused = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::vector<std::byte> damaged = bytes;
        damaged[at] ^= std::byte{0x41};
        write_bytes(path, damaged);
        refused += refusal([&] { check_trace(read_chakra(path).trace, path); }) == "accepted" ? 0 : 1;
    }
    EXPECT_GT(refused, bytes.size() / 10); // many bytes are names and numbers that may be anything
}

} // namespace
} // namespace echosim::test
