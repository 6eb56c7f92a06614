// SPDX-License-Identifier: Apache-2.0
#include "clusters.h"
#include "comm_models/nccl_tuner.h"
#include "simulator/core/error.h"

#include <gtest/gtest.h>

namespace echosim::nccl {
namespace {

using test::cluster_of;
using test::group_on;

constexpr double kMiB = 1024.0 * 1024;

GroupSystem system_of(const std::string& gpu, int nodes, int per_node, double gbits = 400,
                      const std::string& version = "2.30",
                      const std::map<std::string, std::string>& environment = {}) {
    const Cluster cluster = cluster_of(gpu, 8, 8, gbits);
    return group_system(cluster, group_on(cluster, nodes, per_node), read_settings(version, environment),
                        preset_constants());
}

Collective call(CollectiveKind kind, double bytes) {
    return {.kind = kind, .bytes = static_cast<Bytes>(bytes)};
}

TunerEntry entry_of(const GroupSystem& s, CollectiveKind kind, Algorithm algorithm, Protocol protocol) {
    for (const TunerEntry& e : tuner_entries(s, kind))
        if (e.algorithm == algorithm && e.protocol == protocol)
            return e;
    ADD_FAILURE() << "no such entry";
    return {};
}

std::string choice(const GroupSystem& s, CollectiveKind kind, double bytes) {
    const auto entries = tuner_entries(s, kind);
    const TunerEntry& e = choose(entries, s, call(kind, bytes));
    return std::string(to_string(e.algorithm)) + "/" + std::string(to_string(e.protocol));
}

// 64 H100: NVLSTree 25 + 2 x 3 x 20.9 = 150.4 us, 8 heads x 45.5 x 64/126 = 184.9 GB/s;
// ring 8.4 + 112 x 3.4 + 14 x 14 = 585.2 us, 8 x 48 x 64/126 = 195.0 GB/s.
TEST(NcclTuner, AllReduceOf64Hopper) {
    const GroupSystem s = system_of("h100-sxm", 8, 8);
    const TunerEntry tree = entry_of(s, CollectiveKind::all_reduce, Algorithm::nvls_tree, Protocol::simple);
    EXPECT_NEAR(tree.latency, 150.4, 0.05);
    EXPECT_NEAR(tree.bandwidth, 184.9, 0.05);
    const TunerEntry ring = entry_of(s, CollectiveKind::all_reduce, Algorithm::ring, Protocol::simple);
    EXPECT_NEAR(ring.latency, 585.2, 0.05);
    EXPECT_NEAR(ring.bandwidth, 195.0, 0.06);
}

// 16 nodes, one GPU each: PAT 8 + 4 x 14/3.5 + 2.8 x 16 = 68.8 us, 48 x .75 = 36 GB/s; ring 8.4 + 15 x 14 =
// 218.4 us, 48 x 16/15 = 51.2 GB/s.
TEST(NcclTuner, ReduceScatterWithOneGpuANode) {
    const GroupSystem s = system_of("h100-sxm", 16, 1);
    const TunerEntry pat = entry_of(s, CollectiveKind::reduce_scatter, Algorithm::pat, Protocol::simple);
    EXPECT_NEAR(pat.latency, 68.8, 0.05);
    EXPECT_NEAR(pat.bandwidth, 36.0, 0.05);
    const TunerEntry ring = entry_of(s, CollectiveKind::reduce_scatter, Algorithm::ring, Protocol::simple);
    EXPECT_NEAR(ring.latency, 218.4, 0.05);
    EXPECT_NEAR(ring.bandwidth, 51.2, 0.05);
}

// Worked examples of the tuner's own estimate, H100 8 x 400G, us.
TEST(NcclTuner, WorkedExamples) {
    struct Row {
        CollectiveKind kind;
        int nodes, per_node;
        double bytes;
        const char* choice;
        double us;
    };
    const Row rows[] = {
        {CollectiveKind::all_reduce, 2, 8, 1024 * kMiB, "nvls_tree/Simple", 4428},
        {CollectiveKind::all_reduce, 4, 8, 1024 * kMiB, "ring/Simple", 5814},
        {CollectiveKind::all_reduce, 8, 8, 1024 * kMiB, "nvls_tree/Simple", 5958},
        {CollectiveKind::all_reduce, 2, 8, 64 * kMiB, "nvls_tree/Simple", 339},
        {CollectiveKind::all_reduce, 2, 8, 1 * kMiB, "tree/LL128", 60},
        {CollectiveKind::reduce_scatter, 2, 8, 1024 * kMiB, "ring/Simple", 2691},
        {CollectiveKind::reduce_scatter, 64, 8, 1024 * kMiB, "ring/LL128", 4767},
        {CollectiveKind::reduce_scatter, 16, 1, 1 * kMiB, "pat/Simple", 98},
        {CollectiveKind::reduce_scatter, 16, 1, 16 * kMiB, "ring/LL128", 498},
        {CollectiveKind::reduce_scatter, 16, 1, 1024 * kMiB, "ring/Simple", 21190},
        {CollectiveKind::all_reduce, 128, 1, 4, "tree/LL", 77},
    };
    for (const Row& row : rows) {
        const GroupSystem s = system_of("h100-sxm", row.nodes, row.per_node);
        const auto entries = tuner_entries(s, row.kind);
        EXPECT_EQ(choice(s, row.kind, row.bytes), row.choice)
            << row.nodes << "x" << row.per_node << " " << row.bytes;
        const Collective c = call(row.kind, row.bytes);
        EXPECT_NEAR(tuner_time(choose(entries, s, c), s, c), row.us, 0.012 * row.us)
            << row.nodes << "x" << row.per_node << " " << row.bytes;
    }
}

// First power of two at which the choice is no longer LL, against the discontinuities of the measured tables.
double leaves_ll(const GroupSystem& s, CollectiveKind kind) {
    for (double bytes = 1024; bytes < 1e9; bytes *= 2)
        if (const std::string c = choice(s, kind, bytes); c.substr(c.find('/')) != "/LL")
            return bytes / kMiB;
    return 0;
}

TEST(NcclTuner, SwitchPointsInMib) {
    constexpr auto kReduce = CollectiveKind::all_reduce;
    constexpr auto kGather = CollectiveKind::all_gather;
    EXPECT_EQ(leaves_ll(system_of("a100-sxm-80gb", 1, 2), kReduce), 1);
    EXPECT_EQ(leaves_ll(system_of("a100-sxm-80gb", 1, 2), kGather), 2);
    EXPECT_EQ(leaves_ll(system_of("a100-sxm-80gb", 1, 4), kGather), 2);
    EXPECT_EQ(leaves_ll(system_of("h100-sxm", 1, 2), kReduce), 2);
    EXPECT_EQ(leaves_ll(system_of("h100-sxm", 1, 2), kGather), 4);
    EXPECT_EQ(leaves_ll(system_of("h100-sxm", 1, 4), kGather), 4);
    EXPECT_EQ(leaves_ll(system_of("b200-sxm", 1, 2), kReduce), 4);
    EXPECT_EQ(leaves_ll(system_of("b200-sxm", 1, 4), kGather), 8);
    EXPECT_EQ(leaves_ll(system_of("h100-sxm", 1, 8), kReduce), 2);
    EXPECT_EQ(choice(system_of("h100-sxm", 1, 8), kReduce, 2 * kMiB), "nvls/Simple");
    EXPECT_EQ(leaves_ll(system_of("b200-sxm", 1, 8), kReduce), 4);
    EXPECT_EQ(choice(system_of("b200-sxm", 1, 8), kReduce, 4 * kMiB), "nvls/Simple");
}

// Known misses: B200 all-reduce on 4 GPUs and reduce-scatter on 8 take LL128 for one size before Simple; the
// tables show Simple at once.
TEST(NcclTuner, KnownMissesOfTheSwitchPoints) {
    EXPECT_EQ(choice(system_of("b200-sxm", 1, 4), CollectiveKind::all_reduce, 8 * kMiB), "ring/LL128");
    EXPECT_EQ(choice(system_of("b200-sxm", 1, 4), CollectiveKind::all_reduce, 16 * kMiB), "ring/Simple");
    EXPECT_EQ(choice(system_of("b200-sxm", 1, 8), CollectiveKind::reduce_scatter, 16 * kMiB), "ring/LL128");
    EXPECT_EQ(choice(system_of("b200-sxm", 1, 8), CollectiveKind::reduce_scatter, 32 * kMiB), "ring/Simple");
}

TEST(NcclTuner, VersionsDecideWhatExists) {
    const auto has = [](const GroupSystem& s, CollectiveKind kind, Algorithm algorithm) {
        for (const TunerEntry& e : tuner_entries(s, kind))
            if (e.algorithm == algorithm)
                return true;
        return false;
    };
    constexpr auto kScatter = CollectiveKind::reduce_scatter;
    EXPECT_TRUE(has(system_of("h100-sxm", 16, 1), kScatter, Algorithm::pat));
    EXPECT_FALSE(
        has(system_of("h100-sxm", 16, 1, 400, "2.21"), kScatter, Algorithm::pat)); // PAT came with 2.23
    EXPECT_FALSE(has(system_of("h100-sxm", 16, 2), kScatter, Algorithm::pat));     // and needs one GPU a node
    EXPECT_FALSE(has(system_of("h100-sxm", 1, 8, 400, "2.18"), kScatter, Algorithm::nvls));
    EXPECT_TRUE(has(system_of("h100-sxm", 1, 8, 400, "2.19"), kScatter, Algorithm::nvls));
}

TEST(NcclTables, VersionTexts) {
    EXPECT_EQ(parse_version(""), 230);
    EXPECT_EQ(parse_version("2.21"), 221);
    EXPECT_EQ(parse_version("2.23.4+cuda12.6"), 223);
    EXPECT_EQ(tuning_table(235).version, 230); // the newest table that is not newer
    EXPECT_EQ(tuning_table(217).version, 217);
    EXPECT_EQ(tuning_table(205).version, 212); // the oldest for what is older
    EXPECT_THROW(parse_version("new"), InputError);
    EXPECT_THROW(parse_version("2"), InputError);
    EXPECT_THROW(parse_version("1.0"), InputError); // releases of NCCL are 2.x
    EXPECT_THROW(parse_version("3.0"), InputError);
}

constexpr auto kAllReduce = CollectiveKind::all_reduce;
constexpr auto kAllGather = CollectiveKind::all_gather;

double bandwidth(const GroupSystem& s, CollectiveKind kind, Algorithm algorithm, Protocol protocol) {
    return entry_of(s, kind, algorithm, protocol).bandwidth;
}

// What each version changed, in the entries of H100 and B200 groups.
TEST(NcclTuner, VersionsDecideTheFigures) {
    const auto of = [](const char* version, int nodes = 1, int per_node = 8, const char* gpu = "h100-sxm") {
        return system_of(gpu, nodes, per_node, 400, version);
    };
    constexpr auto kLl = Protocol::ll;
    constexpr auto kSimple = Protocol::simple;
    // Ring LL of eight H100: 360 x 1/4 = 90 capped at 87.7, then 360 x 1/2 = 180 capped at 141; n/k = 8/14.
    EXPECT_NEAR(bandwidth(of("2.20"), kAllReduce, Algorithm::ring, kLl), 87.7 * 8 / 14, 0.01);
    EXPECT_NEAR(bandwidth(of("2.21"), kAllReduce, Algorithm::ring, kLl), 141.0 * 8 / 14, 0.01);
    // All-gather of two: 360 x 1/3 = 120 capped at 87.7, n/k = 2.
    EXPECT_NEAR(bandwidth(of("2.20", 1, 2), kAllGather, Algorithm::ring, kLl), 87.7 * 2, 0.01);
    // Tree Simple: 2 x 7 x 28 = 392 us in 2.19 to 2.22, 8.4 + 2 x 7 x 4 = 64.4 from 2.23.
    EXPECT_NEAR(entry_of(of("2.18"), kAllReduce, Algorithm::tree, kSimple).latency, 56, 0.01);
    EXPECT_NEAR(entry_of(of("2.22"), kAllReduce, Algorithm::tree, kSimple).latency, 392, 0.01);
    EXPECT_NEAR(entry_of(of("2.23"), kAllReduce, Algorithm::tree, kSimple).latency, 64.4, 0.01);
    // NVLS: 23 us, 25 from 2.21; 8 x 40 x 5/6 = 266.7 until 2.28, then 8 x 40 x .85 x 7/8 x 2 x 8/14 = 272.
    EXPECT_EQ(entry_of(of("2.18"), kAllReduce, Algorithm::nvls, kSimple).latency, 23);
    EXPECT_EQ(entry_of(of("2.21"), kAllReduce, Algorithm::nvls, kSimple).latency, 25);
    EXPECT_NEAR(bandwidth(of("2.27"), kAllReduce, Algorithm::nvls, kSimple), 266.7, 0.1);
    EXPECT_NEAR(bandwidth(of("2.28"), kAllReduce, Algorithm::nvls, kSimple), 272, 0.1);
    // NVLSTree on 4 nodes: 8 min(40, 48/2) 5/6 = 160 GB/s, 25 + 4 x 14 = 81 us; 2.28: 8 x 45.5 x 32/62, 4
    // x 20.9.
    EXPECT_NEAR(bandwidth(of("2.27", 4), kAllReduce, Algorithm::nvls_tree, kSimple), 160, 0.1);
    EXPECT_NEAR(entry_of(of("2.27", 4), kAllReduce, Algorithm::nvls_tree, kSimple).latency, 81, 0.01);
    EXPECT_NEAR(bandwidth(of("2.28", 4), kAllReduce, Algorithm::nvls_tree, kSimple), 187.9, 0.1);
    EXPECT_NEAR(entry_of(of("2.28", 4), kAllReduce, Algorithm::nvls_tree, kSimple).latency, 108.6, 0.01);
    // Ring all-reduce of 2 x 8: 2N = 4 far steps of 14 and 26 near ones of 3.4; from 2.23 2(N-1) = 2 and 28.
    EXPECT_NEAR(entry_of(of("2.22", 2), kAllReduce, Algorithm::ring, kSimple).latency, 8.4 + 56 + 88.4, 0.01);
    EXPECT_NEAR(entry_of(of("2.23", 2), kAllReduce, Algorithm::ring, kSimple).latency, 8.4 + 28 + 95.2, 0.01);
    // PAT on 16 nodes: .85 and then .75 of 48.
    EXPECT_NEAR(bandwidth(of("2.23", 16, 1), kAllGather, Algorithm::pat, kSimple), 40.8, 0.01);
    EXPECT_NEAR(bandwidth(of("2.24", 16, 1), kAllGather, Algorithm::pat, kSimple), 36, 0.01);
    // Blackwell: ring LL128 on 4 nodes 8 x min(.92 x 48, 73.4) until 2.28, then 8 x 40; n/k = 32/62.
    EXPECT_NEAR(bandwidth(of("2.28", 4, 8, "b200-sxm"), kAllReduce, Algorithm::ring, Protocol::ll128),
                353.3 * 32 / 62, 0.1);
    EXPECT_NEAR(bandwidth(of("2.29", 4, 8, "b200-sxm"), kAllReduce, Algorithm::ring, Protocol::ll128),
                320.0 * 32 / 62, 0.1);
}

// One GPU a node: the tree is a plain one, 0.85 of 0.5 x min(.92 x 48, 2 x 36) = 18.8 GB/s.
TEST(NcclTuner, PlainTreeWithOneGpuANode) {
    const GroupSystem s = system_of("h100-sxm", 16, 1);
    EXPECT_NEAR(bandwidth(s, kAllReduce, Algorithm::tree, Protocol::simple), 0.85 * 0.5 * 0.92 * 48, 0.01);
}

// A NIC that reports 75 us costs LL that much a hop and Simple twice that much (the flush).
TEST(NcclTuner, LatencyOfTheNic) {
    const GroupSystem s = system_of("h100-sxm", 2, 8);
    const auto latency = [&](Protocol protocol, double nic) {
        for (const TunerEntry& e : tuner_entries(s, kAllReduce, nic))
            if (e.algorithm == Algorithm::ring && e.protocol == protocol)
                return e.latency;
        return 0.0;
    };
    EXPECT_NEAR(latency(Protocol::ll, 75) - latency(Protocol::ll, 0), 2 * 75, 1e-9);
    EXPECT_NEAR(latency(Protocol::simple, 75) - latency(Protocol::simple, 0), 2 * 150, 1e-9);
}

TEST(NcclTuner, SharpHasItsOwnAlgorithms) {
    const GroupSystem plain = system_of("h100-sxm", 4, 8);
    const GroupSystem s = system_of("h100-sxm", 4, 8, 400, "2.30", {{"NCCL_COLLNET_ENABLE", "1"}});
    EXPECT_EQ(plain.collnet_direct.channels, 0);
    // Direct: 2 (3.7 + .4 x 7) + 31 = 44 us, 8 x 48 x .85 / 2 = 163.2 GB/s; chain: 14 x 2.8 + 30 = 69.2, 192.
    const TunerEntry direct = entry_of(s, kAllReduce, Algorithm::collnet_direct, Protocol::simple);
    EXPECT_NEAR(direct.latency, 44, 0.01);
    EXPECT_NEAR(direct.bandwidth, 163.2, 0.01);
    const TunerEntry chain = entry_of(s, kAllReduce, Algorithm::collnet_chain, Protocol::simple);
    EXPECT_NEAR(chain.latency, 69.2, 0.01);
    EXPECT_NEAR(chain.bandwidth, 192, 0.01);
    // NVLS over nodes: 25 + 18 = 43 us.
    EXPECT_NEAR(entry_of(s, kAllReduce, Algorithm::nvls, Protocol::simple).latency, 43, 0.01);
    // Gathers: 8 x min(48, .9 x 48).
    EXPECT_NEAR(bandwidth(s, kAllGather, Algorithm::collnet_direct, Protocol::simple), 345.6, 0.01);
}

TEST(NcclTuner, TheEnvironmentStrikesOut) {
    const auto of = [](const char* name, const char* value) {
        return system_of("h100-sxm", 1, 8, 400, "2.30", {{name, value}});
    };
    EXPECT_EQ(choice(of("NCCL_ALGO", "Ring"), kAllReduce, 64 * kMiB), "ring/Simple");
    EXPECT_EQ(choice(of("NCCL_ALGO", "^NVLS"), kAllReduce, 64 * kMiB), "ring/Simple");
    EXPECT_EQ(choice(of("NCCL_NVLS_ENABLE", "0"), kAllReduce, 64 * kMiB), "ring/Simple");
    EXPECT_EQ(choice(of("NCCL_ALGO", "Tree"), kAllReduce, 64 * kMiB), "tree/Simple");
    EXPECT_EQ(choice(of("NCCL_ALGO", "Tree"), kAllGather, 64 * kMiB), "ring/Simple"); // nothing else is left
    EXPECT_EQ(choice(of("NCCL_PROTO", "LL"), kAllReduce, 64 * kMiB), "ring/LL");
    EXPECT_EQ(choice(of("NCCL_PROTO", "allreduce:LL128"), kAllReduce, 1024), "tree/LL128");
}

// LL128 is off where a store of 128 bytes may arrive torn, unless the job names it.
TEST(NcclTuner, Ll128NeedsNvlink) {
    const auto has = [](const GroupSystem& s) {
        for (const TunerEntry& e : tuner_entries(s, kAllReduce))
            if (e.protocol == Protocol::ll128)
                return true;
        return false;
    };
    EXPECT_TRUE(has(system_of("h100-sxm", 1, 8)));
    EXPECT_FALSE(has(system_of("l40s", 1, 4)));
    EXPECT_TRUE(has(system_of("l40s", 1, 4, 400, "2.30", {{"NCCL_PROTO", "^LL"}})));
}

TEST(NcclTuner, DataTypesDecideToo) {
    const GroupSystem s = system_of("h100-sxm", 1, 8);
    const auto entries = tuner_entries(s, kAllReduce);
    Collective c = call(kAllReduce, 64 * kMiB);
    EXPECT_EQ(choose(entries, s, c).algorithm, Algorithm::nvls);
    c.dtype = DType::fp8; // the switch does not sum it; eight ranks may take the ring
    EXPECT_EQ(choose(entries, s, c).algorithm, Algorithm::ring);
    const GroupSystem two = system_of("h100-sxm", 2, 8);
    const auto more = tuner_entries(two, kAllReduce);
    EXPECT_EQ(choose(more, two, c).algorithm, Algorithm::tree); // more may not
    const Collective gather{.kind = kAllGather, .bytes = c.bytes, .dtype = DType::fp8};
    EXPECT_EQ(choose(tuner_entries(two, kAllGather), two, gather).algorithm, Algorithm::ring); // no sum
}

// Operations of one group: the ring pays its latency for each, the others once for ten.
TEST(NcclTuner, GroupedCalls) {
    const GroupSystem s = system_of("h100-sxm", 8, 8);
    Collective c = call(kAllReduce, 1024 * kMiB);
    const TunerEntry ring = entry_of(s, kAllReduce, Algorithm::ring, Protocol::simple);
    const TunerEntry tree = entry_of(s, kAllReduce, Algorithm::nvls_tree, Protocol::simple);
    const double one_ring = tuner_time(ring, s, c);
    const double one_tree = tuner_time(tree, s, c);
    c.calls = 5;
    EXPECT_NEAR(tuner_time(ring, s, c) - one_ring, 4 * 1.4 * ring.latency, 1e-6);
    EXPECT_EQ(tuner_time(tree, s, c), one_tree);
}

TEST(NcclTuner, RegisteredGathersTakeNvls) {
    const GroupSystem s = system_of("h100-sxm", 1, 8);
    const auto entries = tuner_entries(s, kAllGather);
    Collective c = call(kAllGather, 256 * kMiB);
    EXPECT_EQ(choose(entries, s, c).algorithm, Algorithm::ring);
    c.buffers = Buffers::registered;
    EXPECT_EQ(choose(entries, s, c).algorithm, Algorithm::nvls);
}

// 16 A100 beside AMD processors leave LL at 256 KiB (NetX-lab/Echo logs).
TEST(NcclTuner, SwitchOf16Ampere) {
    Cluster cluster = cluster_of("a100-sxm-40gb", 8, 8, 200);
    cluster.node.cpu = "amd-rome";
    const GroupSystem s =
        group_system(cluster, group_on(cluster, 2, 8), read_settings("2.30", {}), preset_constants());
    EXPECT_EQ(leaves_ll(s, kAllReduce), 0.25);
}

} // namespace
} // namespace echosim::nccl
