// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_timing.h"

#include "clusters.h"
#include "comm_models/nccl_model.h"

#include <cmath>
#include <gtest/gtest.h>

namespace echosim::nccl {
namespace {

constexpr Bytes kKiB = 1024;
constexpr Bytes kMiB = 1024 * 1024;
constexpr auto kReduce = CollectiveKind::all_reduce;
constexpr auto kGather = CollectiveKind::all_gather;
constexpr auto kScatter = CollectiveKind::reduce_scatter;
constexpr auto kAllToAll = CollectiveKind::all_to_all;
constexpr Choice kLl{Algorithm::ring, Protocol::ll};
constexpr Choice kLl128{Algorithm::ring, Protocol::ll128};
constexpr Choice kSimple{Algorithm::ring, Protocol::simple};
constexpr Choice kNvls{Algorithm::nvls, Protocol::simple};
constexpr Choice kDirect{Algorithm::direct, Protocol::simple};

// One node with round figures.
GroupSystem system_of(int ranks, int ctas, int version = 230) {
    GroupSystem s;
    s.ranks = ranks;
    s.local = ranks;
    s.version = version;
    s.nvlink = s.nvswitch = true;
    s.ring_ctas = ctas;
    s.nvls = {ranks, 40, 40};
    s.nvls_ctas = 16;
    return s;
}

GroupTiming timing() {
    GroupTiming t;
    t.link.nvlink = 450;
    t.link.ll = {5, 1, 100, 2, 10, 0.5};
    t.link.ll128 = {.start = 10, .step = 2, .bandwidth = 200};
    t.link.simple = {10, 6, 100, 2, 200, 400, 100};
    t.link.nvls.start = 4;
    t.link.nvls.slot = 5;
    t.link.nvls.cta_rate = 20;
    t.link.all_to_all = {
        .start = 6, .ramp = 6, .bandwidth = 300, .own = 0.5, .peers = 0.5, .one_step = 1000, .unpiped = 250};
    t.link.pair = {7, 350};
    t.memory_copy = 800;
    return t;
}

double us(CollectiveKind kind, Bytes bytes, const Choice& choice, const GroupSystem& s,
          const GroupTiming& t = timing(), bool in_place = false) {
    return node_time({.kind = kind, .bytes = bytes, .in_place = in_place}, choice, s, t).total();
}

TEST(NcclTiming, LowLatencyFillsOneCtaThenAddsOthers) {
    // 8 ranks, 4 CTAs: one CTA holds 32 KiB, all four 128 KiB. An all-reduce has 14 steps and 15 chunks.
    const GroupSystem s = system_of(8, 4);
    // 5 + 15 + 16384/10e3 = 1.638 + 2 x (16/96)
    EXPECT_NEAR(us(kReduce, 16 * kKiB, kLl, s), 21.972, 0.001);
    // 5 + 15 + 32768/10e3 = 3.277 + 2
    EXPECT_NEAR(us(kReduce, 128 * kKiB, kLl, s), 25.277, 0.001);
    EXPECT_NEAR(us(kReduce, 96 * kKiB, kLl, s), us(kReduce, 128 * kKiB, kLl, s), 1e-9);
    // a second line a thread: 14 x 0.5 more, and 15/8 x 131072/100e3 = 2.458
    EXPECT_NEAR(us(kReduce, 256 * kKiB, kLl, s), 25.277 + 7 + 2.458, 0.001);
    // reduce_scatter: 8 chunks in all, and half of the first pass: 5 + 8 + 1.638 + 2
    EXPECT_NEAR(us(kScatter, 128 * kKiB, kLl, s), 16.638, 0.001);
}

TEST(NcclTiming, ReleasesBefore229StartLater) {
    EXPECT_NEAR(us(kReduce, kKiB, kLl, system_of(8, 4, 228)) - us(kReduce, kKiB, kLl, system_of(8, 4, 229)),
                0.6, 1e-9);
}

TEST(NcclTiming, Ll128) {
    // 10 + 8 x 2 + 8/8 x 1 MiB / 200e3
    EXPECT_NEAR(us(kGather, kMiB, kLl128, system_of(8, 4)), 26 + 5.243, 0.001);
}

TEST(NcclTiming, SimpleRing) {
    // 4 ranks, 10 CTAs, 40 MiB: 1 MiB a rank and CTA, two slices of 512 KiB, each 52.43 us at 10 GB/s + 2.
    // 10 + 3 x 2 x 54.43 + 6 + 524288/30e3 = 17.48 + copy 10 MiB / 200e3 = 52.43
    const GroupSystem s = system_of(4, 10);
    EXPECT_NEAR(us(kGather, 40 * kMiB, kSimple, s), 412.48, 0.01);
    // in place only what is not a copy through the memory: 10 MiB x (1/200e3 - 1/800e3) = 39.32
    EXPECT_NEAR(us(kGather, 40 * kMiB, kSimple, s, timing(), true), 412.48 - 52.43 + 39.32, 0.01);
    // 6 steps, 10 MiB / 400e3 = 26.21, whether in place or not
    EXPECT_NEAR(us(kReduce, 40 * kMiB, kSimple, s), 10 + 12 * 54.4288 + 6 + 17.476 + 26.214, 0.01);
    EXPECT_EQ(us(kReduce, 40 * kMiB, kSimple, s), us(kReduce, 40 * kMiB, kSimple, s, timing(), true));
    // small: (6 + 0.13)/2 a slice is longer than 2 + 0.13
    EXPECT_NEAR(us(kGather, 100 * kKiB, kSimple, s), 10 + 6 * 3.064 + 6 + 0.0427 + 0.128, 0.01);
}

TEST(NcclTiming, NvlsLoopsOverChunks) {
    // 16 CTAs x 8 heads x 32 KiB (from 8 to 64 MiB) = 4 MiB a loop: 8 loops of 5 + 8 x 32768/20e3 = 13.11.
    // 4 + 8 x 18.11 + 2 x 18.11
    EXPECT_NEAR(us(kReduce, 32 * kMiB, kNvls, system_of(8, 24)), 185.07, 0.01);
    // A small message still takes one loop and two to fill.
    EXPECT_GT(us(kReduce, kKiB, kNvls, system_of(8, 24)), 4 + 3 * 5);
    // 64 KiB at 0.8 x 90 GB/s of NVLink: 8 MiB / 72e3 = 116.5 a loop is slower than the CTAs' 26.2.
    GroupTiming slow = timing();
    slow.link.nvlink = 90;
    EXPECT_NEAR(us(kReduce, 64 * kMiB, kNvls, system_of(8, 24), slow), 4 + 10 * (5 + 116.508), 0.1);
}

TEST(NcclTiming, AllToAll) {
    // 4 ranks, 64 MiB: 6 + 0.5 x 2 + 6 + 16 MiB x 3.5/300e3 = 195.7 + 16 MiB/1000e3 = 16.78
    EXPECT_NEAR(us(kAllToAll, 64 * kMiB, kDirect, system_of(4, 24)), 225.51, 0.01);
    // before 2.29: 0.6 later, 0.28 of the ramp, 0.95 of the rate
    EXPECT_NEAR(us(kAllToAll, 64 * kMiB, kDirect, system_of(4, 24, 227)), 232.09, 0.02);
    // one step a peer, one peer after the other: 2 MiB/250e3 = 8.39 instead of 6.44 + 2.1
    EXPECT_NEAR(us(kAllToAll, 2 * kMiB, kDirect, system_of(4, 24, 227)), 7.6 + 1.68 + 8.54, 0.01);
    EXPECT_NEAR(us(kAllToAll, 256 * kKiB, kDirect, system_of(4, 24)), 7 + 6 + 0.765 + 0.262, 0.01);
    Collective uneven{.kind = kAllToAll, .bytes = kMiB};
    uneven.largest_rank_bytes = 64 * kMiB;
    EXPECT_NEAR(point_to_point_time(uneven, system_of(4, 24), timing()).total(), 225.51, 0.01);
}

TEST(NcclTiming, PcieRingsPassThroughHostMemory) {
    GroupSystem s = system_of(4, 4);
    s.nvlink = s.nvswitch = false;
    GroupTiming t = timing();
    t.link.nvlink = 0;
    t.link.ll = {.start = 5, .step = 1, .bandwidth = 12};
    t.link.simple.bandwidth = 20;
    t.link.pcie = {0.2, 0.1, 1.5};
    t.intra_scale = 0.2;
    // LL: half of 1.5 x 4 GB/s = 3: 5 + 4 + 192 KiB/3e3 = 65.5
    EXPECT_NEAR(us(kGather, 256 * kKiB, kLl, s, t), 9 + 65.536, 0.01);
    // Simple at 1 MiB still has 6 GB/s, at 2 MiB 4.
    EXPECT_NEAR(node_time({.kind = kGather, .bytes = kMiB}, kSimple, s, t).transfer, 786432 / 6e3, 0.01);
    EXPECT_NEAR(node_time({.kind = kGather, .bytes = 2 * kMiB}, kSimple, s, t).transfer, 1572864 / 4e3, 0.01);
    // All-to-all: 16 KiB to each peer go by LL, twice the bytes: 6 + 1 + 2 x 48 KiB/4e3
    EXPECT_NEAR(us(kAllToAll, 64 * kKiB, kDirect, s, t), 7 + 24.576, 0.01);
}

TEST(NcclTiming, GroupedCallsShareTheLaunch) {
    const GroupSystem s = system_of(8, 24);
    Collective one{.kind = kScatter, .bytes = 64 * kMiB};
    Collective four = one;
    four.bytes *= 4;
    four.calls = 4;
    const TimeTerms single = node_time(one, kSimple, s, timing());
    const TimeTerms grouped = node_time(four, kSimple, s, timing());
    EXPECT_EQ(grouped.start, single.start);
    EXPECT_NEAR(grouped.total() - grouped.start, 4 * (single.total() - single.start), 1e-6);
}

// The terms of every form are not negative, and times do not fall while a message grows.
TEST(NcclTiming, MonotoneInSizeForEveryChoice) {
    for (const char* gpu :
         {"v100-sxm3-32gb", "a100-sxm-40gb", "a100-sxm-80gb", "h100-sxm", "b200-sxm", "l40s"}) {
        for (const int ranks : {2, 3, 5, 8}) {
            Cluster cluster = test::cluster_of(gpu);
            const GroupGeometry geometry = test::group_on(cluster, 1, ranks);
            const Settings settings = read_settings("2.28", {});
            const GroupSystem s = group_system(cluster, geometry, settings, preset_constants());
            const GroupTiming t = group_timing(cluster, s, preset_constants());
            for (const Choice& choice :
                 {kLl, kLl128, kSimple, kNvls, kDirect, Choice{Algorithm::tree, Protocol::ll},
                  Choice{Algorithm::tree, Protocol::simple}}) {
                for (const auto kind : {kReduce, kGather, kScatter, CollectiveKind::broadcast}) {
                    double last = 0;
                    for (double size = 1; size < 3e10; size *= 1.11) {
                        const TimeTerms terms =
                            node_time({.kind = kind, .bytes = static_cast<Bytes>(size)}, choice, s, t);
                        ASSERT_GE(terms.total(), last * (1 - 1e-9))
                            << gpu << " x" << ranks << " " << to_string(choice.algorithm) << " "
                            << to_string(choice.protocol) << " " << to_string(kind) << " " << size;
                        for (const double term :
                             {terms.start, terms.near, terms.far, terms.fill, terms.transfer, terms.copy})
                            ASSERT_TRUE(std::isfinite(term) && term >= 0);
                        last = terms.total();
                    }
                }
            }
        }
    }
}

} // namespace
} // namespace echosim::nccl
