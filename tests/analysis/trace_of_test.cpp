// SPDX-License-Identifier: Apache-2.0
#include "simulator/analysis/trace_of.h"
#include "tests/graph/built_step.h"

#include <gtest/gtest.h>
#include <set>

namespace echosim {
namespace {

using test::BuiltStep;

constexpr const char* kFlags =
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel "
    "--global-batch-size 8 --use-distributed-optimizer --overlap-grad-reduce";

struct Traced {
    BuiltStep step;
    Timeline timeline;
    Trace trace;
};
Traced make_trace(bool fold) {
    Traced t;
    t.step = test::build_step(test::small_job(kFlags), find_cluster("dgx-h100"), fold);
    t.timeline = test::simulate_step(t.step);
    t.trace =
        trace_of({t.step.job, t.step.placement, t.step.annotated, t.timeline, {}}, R"({"tool":"test"})");
    return t;
}

// Waits that cost nothing are no events.
std::uint64_t markers(const Traced& t) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < t.timeline.ranks.size(); ++i) {
        const RankTimeline& rank = t.timeline.ranks[i];
        const RankGraph& graph = *t.step.annotated[t.step.placement.ranks[i].costs].graph;
        for (std::size_t row = 0; row < rank.size(); ++row) {
            const Block& block = graph.blocks[graph.program[rank.instance[row]].block.value];
            count += rank.duration[row] == 0 && block.ops[rank.op[row]].kind == OpKind::sync ? 1 : 0;
        }
    }
    return count;
}

TEST(TraceOf, IsAValidTraceWithEveryRowButEmptyWaits) {
    for (const bool fold : {true, false}) {
        const Traced t = make_trace(fold);
        EXPECT_NO_THROW(check_trace(t.trace, "trace"));
        std::uint64_t rows = 0;
        for (const RankTimeline& rank : t.timeline.ranks)
            rows += rank.size();
        EXPECT_GT(markers(t), 0U);
        EXPECT_EQ(t.trace.event_count(), rows - markers(t));
        EXPECT_EQ(count_trace_events({t.step.job, t.step.placement, t.step.annotated, t.timeline, {}}),
                  t.trace.event_count());
        EXPECT_EQ(t.trace.meta, R"({"tool":"test"})");
    }
}

TEST(TraceOf, ClassesCoverTheWorldOnce) {
    for (const bool fold : {true, false}) {
        const Traced t = make_trace(fold);
        EXPECT_EQ(t.trace.classes.size(), fold ? 2U : 8U);
        std::multiset<int> ranks;
        for (const TraceClass& c : t.trace.classes)
            for (const int rank : expand_ranks(c.ranks))
                ranks.insert(rank);
        EXPECT_EQ(ranks, (std::multiset<int>{0, 1, 2, 3, 4, 5, 6, 7}));
        EXPECT_EQ(t.trace.classes[0].stage, 0);
        EXPECT_EQ(t.trace.classes.back().stage, 1);
    }
}

const Event row(const Trace& trace, std::uint64_t ref) {
    return trace.streams[stream_of(ref)].events.row(index_of(ref));
}

TEST(TraceOf, FlowsJoinOpsThatEndTogether) {
    const Traced t = make_trace(false);
    std::uint64_t collectives = 0, transfers = 0;
    for (const Flow& flow : t.trace.flows) {
        const Event from = row(t.trace, flow.from), to = row(t.trace, flow.to);
        EXPECT_EQ(from.kind, EventKind::comm);
        EXPECT_EQ(to.kind, EventKind::comm);
        EXPECT_NE(t.trace.streams[stream_of(flow.from)].rank_class,
                  t.trace.streams[stream_of(flow.to)].rank_class);
        if (flow.kind == FlowKind::collective) {
            EXPECT_EQ(from.start + from.duration, to.start + to.duration);
            EXPECT_EQ(from.name, to.name);
            ++collectives;
        } else {
            ++transfers;
        }
    }
    // each message once: 4 pairs of ranks (t D), M = 4 micro-batches, forward and backward
    EXPECT_EQ(transfers, 4U * 4 * 2);
    EXPECT_GT(collectives, 1000U);
    // a group of n members has n - 1 flows: calls of groups of two are half of their events
    std::uint64_t tp_events = 0, tp_flows = 0;
    for (const TraceStream& stream : t.trace.streams)
        if (stream.kind == StreamKind::tp_comm)
            tp_events += stream.events.size();
    for (const Flow& flow : t.trace.flows)
        if (t.trace.streams[stream_of(flow.from)].kind == StreamKind::tp_comm)
            ++tp_flows;
    EXPECT_EQ(tp_events, 2 * tp_flows);
}

TEST(TraceOf, BindingPredecessorsEndBeforeTheirOp) {
    const Traced t = make_trace(true);
    std::uint64_t bound = 0;
    for (const TraceStream& stream : t.trace.streams)
        for (std::size_t i = 0; i < stream.events.size(); ++i) {
            const Event e = stream.events.row(i);
            if (e.binding_pred == kNoEvent)
                continue;
            const Event before = row(t.trace, e.binding_pred);
            // a synchronisation starts to wait before what it waits for is done
            const TimeNs latest = e.kind == EventKind::host ? e.start + e.duration : e.start;
            EXPECT_LE(before.start + before.duration, latest);
            EXPECT_EQ(t.trace.streams[stream_of(e.binding_pred)].rank_class, stream.rank_class);
            ++bound;
        }
    EXPECT_GT(bound, 100U);
}

TEST(TraceOf, CommunicationRowsStateTheCall) {
    const Traced t = make_trace(true);
    std::set<std::string> groups;
    for (const TraceStream& stream : t.trace.streams)
        for (std::size_t i = 0; i < stream.events.size(); ++i) {
            const Event e = stream.events.row(i);
            if (e.kind != EventKind::comm) {
                EXPECT_EQ(e.ext, kNoRow);
                continue;
            }
            const CommOp& op = t.trace.comm_ops[e.ext];
            EXPECT_GT(op.bytes, 0U);
            const std::string group(t.trace.text(op.group));
            groups.insert(group);
            if (group == "tp" || group == "dp_cp" || group == "pp")
                EXPECT_EQ(op.group_size, 2U) << group;
            else
                EXPECT_GE(op.group_size, 2U) << group;
            EXPECT_LE(e.alone, e.duration);
        }
    EXPECT_TRUE(groups.contains("tp") && groups.contains("dp_cp") && groups.contains("pp") &&
                groups.contains("world"));
}

TEST(TraceOf, LabelsAndMemoryCurve) {
    const Traced t = make_trace(true);
    std::set<std::int32_t> microbatches, layers;
    for (const Label& label : t.trace.labels) {
        microbatches.insert(label.micro_batch);
        layers.insert(label.layer);
    }
    EXPECT_EQ(microbatches, (std::set<std::int32_t>{-1, 0, 1, 2, 3}));
    EXPECT_EQ(layers.size(), 17U); // none, and 0 to 15
    ASSERT_EQ(t.trace.counters.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        const TraceCounter& counter = t.trace.counters[i];
        EXPECT_EQ(t.trace.text(counter.unit), "bytes");
        ASSERT_FALSE(counter.value.empty());
        EXPECT_EQ(*std::max_element(counter.value.begin(), counter.value.end()),
                  static_cast<double>(t.timeline.summaries[i].peak_activations));
        EXPECT_TRUE(std::is_sorted(counter.time_ns.begin(), counter.time_ns.end()));
    }
}

} // namespace
} // namespace echosim
