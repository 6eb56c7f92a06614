// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/schedule.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace echosim {
namespace {

using Kind = ScheduleStep::Kind;

ParallelLayout pipeline(int stages, int chunks, int group = 0) {
    ParallelLayout layout;
    layout.world_size = layout.pp = stages;
    layout.vpp = chunks;
    layout.microbatch_group = group;
    return layout;
}

// Plays the schedules of all stages against each other with rendezvous transfers that take no time, F = 1 and
// B = 2 units. The k-th send of a directed pair meets the k-th receive. A batched exchange ends when all its
// transfers have met; a single transfer blocks only the work that consumes it.
class Player {
  public:
    Player(const ParallelLayout& layout, bool overlap, int num_microbatches)
        : p_(layout.pp), v_(layout.vpp), count_(num_microbatches) {
        for (int stage = 0; stage < p_; ++stage) {
            schedules_.push_back(make_schedule(layout, overlap, num_microbatches, stage));
        }
        ranks_.resize(static_cast<std::size_t>(p_));
        channels_.resize(static_cast<std::size_t>(p_) * 2);
        for (RankState& rank : ranks_) {
            for (auto* table : {&rank.input, &rank.gradient}) {
                table->assign(static_cast<std::size_t>(v_ * count_), -1);
            }
            rank.forwards.assign(static_cast<std::size_t>(v_ * count_), 0);
            rank.backwards = rank.forwards;
        }
    }

    // Empty when everything ran; otherwise what went wrong.
    std::string play() {
        bool moved = true;
        while (moved && error_.empty()) {
            moved = false;
            for (int stage = 0; stage < p_; ++stage) {
                while (error_.empty() && advance(stage)) {
                    moved = true;
                }
            }
        }
        for (int stage = 0; stage < p_ && error_.empty(); ++stage) {
            check_done(stage);
        }
        for (const Channel& channel : channels_) {
            if (error_.empty() && channel.sends.size() != channel.receives.size()) {
                error_ = "unmatched transfer";
            }
        }
        return error_;
    }
    int makespan() const {
        int end = 0;
        for (const RankState& rank : ranks_) {
            end = std::max(end, rank.clock);
        }
        return end;
    }
    const PipelineSchedule& schedule(int stage) const { return schedules_[static_cast<std::size_t>(stage)]; }

  private:
    struct Post {
        int time, microbatch, chunk;
    };
    struct Channel {
        std::vector<Post> sends, receives;
    };
    struct RankState {
        std::size_t at = 0;
        int clock = 0;
        std::vector<int> input, gradient;     // index of the receive that brings it, -1 = not posted
        std::vector<int> forwards, backwards; // times run
        std::vector<std::pair<Channel*, std::size_t>>
            waiting; // posted transfers of the batched exchange at hand
    };

    std::size_t slot(int microbatch, int chunk) const {
        return static_cast<std::size_t>(chunk * count_ + microbatch);
    }
    // The pair (stage, next) in forward direction, (stage, previous) in backward direction.
    Channel& channel_from(int stage, bool forward) {
        return channels_[static_cast<std::size_t>(stage * 2 + (forward ? 0 : 1))];
    }
    static std::optional<int> met(const Channel& channel, std::size_t index) {
        if (index >= channel.sends.size() || index >= channel.receives.size()) {
            return std::nullopt;
        }
        return std::max(channel.sends[index].time, channel.receives[index].time);
    }

    bool advance(int stage) {
        RankState& rank = ranks_[static_cast<std::size_t>(stage)];
        const auto& steps = schedule(stage).steps;
        if (rank.at == steps.size()) {
            return false;
        }
        const ScheduleStep& step = steps[rank.at];
        const bool ran = step.kind == Kind::exchange ? exchange(stage, step) : compute(stage, step);
        rank.at += ran ? 1 : 0;
        return ran;
    }

    bool compute(int stage, const ScheduleStep& step) {
        RankState& rank = ranks_[static_cast<std::size_t>(stage)];
        const bool forward = step.kind == Kind::forward;
        const std::size_t work = slot(step.microbatch, step.chunk);
        const bool source = forward ? stage == 0 && step.chunk == 0 : stage == p_ - 1 && step.chunk == v_ - 1;
        if (!source) {
            const int index = (forward ? rank.input : rank.gradient)[work];
            if (index < 0) {
                error_ = "work without a receive on stage " + std::to_string(stage);
                return false;
            }
            const int from = forward ? (stage + p_ - 1) % p_ : (stage + 1) % p_;
            const auto time = met(channel_from(from, forward), static_cast<std::size_t>(index));
            if (!time) {
                return false;
            }
            rank.clock = std::max(rank.clock, *time);
        }
        if (!forward && rank.forwards[work] == 0) {
            error_ = "backward before forward";
        }
        (forward ? rank.forwards : rank.backwards)[work] += 1;
        rank.clock += forward ? 1 : 2;
        return true;
    }

    bool exchange(int stage, const ScheduleStep& step) {
        RankState& rank = ranks_[static_cast<std::size_t>(stage)];
        if (rank.waiting.empty()) {
            for (const TransferCall& call : step.transfers) {
                post(stage, call);
            }
        }
        if (step.batched) {
            int end = rank.clock;
            for (const auto& [channel, index] : rank.waiting) {
                const auto time = met(*channel, index);
                if (!time) {
                    return false;
                }
                end = std::max(end, *time);
            }
            rank.clock = end;
        }
        rank.waiting.clear();
        return true;
    }

    void post(int stage, const TransferCall& call) {
        RankState& rank = ranks_[static_cast<std::size_t>(stage)];
        const bool forward = call.what == Transfer::send_forward || call.what == Transfer::recv_forward;
        const bool send = call.what == Transfer::send_forward || call.what == Transfer::send_backward;
        const int towards = forward == send ? (stage + 1) % p_ : (stage + p_ - 1) % p_;
        if (call.peer != towards) {
            error_ = "wrong peer";
        }
        Channel& channel = channel_from(send ? stage : call.peer, forward);
        auto& posts = send ? channel.sends : channel.receives;
        const auto index = posts.size();
        posts.push_back({rank.clock, call.microbatch, call.chunk});
        rank.waiting.emplace_back(&channel, index);
        const std::size_t work = slot(call.microbatch, call.chunk);
        if (send && (forward ? rank.forwards : rank.backwards)[work] != 1) {
            error_ = "sent before it was made";
        }
        if (!send) {
            (forward ? rank.input : rank.gradient)[work] = static_cast<int>(index);
        }
        check_content(channel, index, send ? stage : call.peer, forward);
    }

    // The receiver must expect what is sent: the same chunk, one further where the pipeline wraps around.
    void check_content(const Channel& channel, std::size_t index, int sender, bool forward) {
        if (!met(channel, index)) {
            return;
        }
        const Post& sent = channel.sends[index];
        const Post& taken = channel.receives[index];
        const int shift = forward ? (sender == p_ - 1 ? 1 : 0) : (sender == 0 ? -1 : 0);
        if (sent.microbatch != taken.microbatch || sent.chunk + shift != taken.chunk) {
            error_ = "receive does not match send of stage " + std::to_string(sender);
        }
    }

    void check_done(int stage) {
        const RankState& rank = ranks_[static_cast<std::size_t>(stage)];
        if (rank.at != schedule(stage).steps.size()) {
            error_ = "deadlock at step " + std::to_string(rank.at) + " of stage " + std::to_string(stage);
        }
        const auto once = [](int times) { return times == 1; };
        if (error_.empty() && (!std::all_of(rank.forwards.begin(), rank.forwards.end(), once) ||
                               !std::all_of(rank.backwards.begin(), rank.backwards.end(), once))) {
            error_ = "work missing or repeated on stage " + std::to_string(stage);
        }
    }

    int p_, v_, count_;
    std::vector<PipelineSchedule> schedules_;
    std::vector<RankState> ranks_;
    std::vector<Channel> channels_;
    std::string error_;
};

// "F0 | sf0 rb0 | B0": the steps in short, for comparison by eye. Chunks other than 0 are written as 0.1.
std::string brief(const PipelineSchedule& schedule) {
    const auto work = [](int microbatch, int chunk) {
        return std::to_string(microbatch) + (chunk > 0 ? "." + std::to_string(chunk) : "");
    };
    std::string text;
    for (const ScheduleStep& step : schedule.steps) {
        text += text.empty() ? "" : " ";
        if (step.kind != Kind::exchange) {
            text += (step.kind == Kind::forward ? "F" : "B") + work(step.microbatch, step.chunk);
            continue;
        }
        text += "[";
        for (std::size_t i = 0; i < step.transfers.size(); ++i) {
            static constexpr const char* kNames[] = {"sf", "rf", "sb", "rb"};
            const TransferCall& call = step.transfers[i];
            text += (i > 0 ? " " : "") + std::string(kNames[static_cast<int>(call.what)]) +
                    work(call.microbatch, call.chunk);
        }
        text += "]";
    }
    return text;
}

TEST(Schedule, NoPipelineAlternates) {
    const PipelineSchedule schedule = make_schedule(pipeline(1, 1), true, 3, 0);
    EXPECT_EQ(brief(schedule), "F0 B0 F1 B1 F2 B2");
    EXPECT_EQ(schedule.max_in_flight, 1);
}

TEST(Schedule, OneForwardOneBackwardByHand) {
    const ParallelLayout layout = pipeline(3, 1);
    EXPECT_EQ(brief(make_schedule(layout, false, 3, 0)),
              "F0 [sf0] F1 [sf1] F2 [sf2 rb0] B0 [rb1] B1 [rb2] B2");
    EXPECT_EQ(brief(make_schedule(layout, false, 3, 1)),
              "[rf0] F0 [sf0] [rf1] F1 [sf1 rb0] B0 [sb0 rf2] F2 [sf2 rb1] B1 [sb1] [rb2] B2 [sb2]");
    EXPECT_EQ(brief(make_schedule(layout, false, 3, 2)), "[rf0] F0 B0 [sb0 rf1] F1 B1 [sb1 rf2] F2 B2 [sb2]");
    for (const ScheduleStep& step : make_schedule(layout, true, 3, 1).steps) {
        EXPECT_EQ(step.batched, step.kind == Kind::exchange); // overlap is for interleaving only
        EXPECT_EQ(step.host_sync, step.kind == Kind::exchange);
    }
}

// p = 2, v = 2, M = 2: order of virtual micro-batches 0.0 1.0 0.1 1.1; warm-up of the last stage (v - 1) q
// = 2.
TEST(Schedule, InterleavedByHand) {
    const ParallelLayout layout = pipeline(2, 2);
    // Stage 0: W = min(4, 2 + 2) = 4, everything is warm-up. Its inputs of chunk 1 come from stage 1, one
    // step later.
    const PipelineSchedule first = make_schedule(layout, true, 2, 0);
    EXPECT_EQ(first.warmup, 4);
    EXPECT_EQ(brief(first), "F0 [sf0] F1 [sf1 rf0.1] F0.1 [sf0.1 rf1.1] F1.1 [sf1.1] "
                            "[rb0.1] B0.1 [sb0.1 rb1.1] B1.1 [sb1.1 rb0] B0 [rb1] B1");
    const PipelineSchedule last = make_schedule(layout, true, 2, 1);
    EXPECT_EQ(last.warmup, 2);
    EXPECT_EQ(brief(last), "[rf0] F0 [sf0 rf1] F1 [sf1 rf0.1] F0.1 [rf1.1] B0.1 [sb0.1] F1.1 "
                           "B1.1 [sb1.1 rb0] B0 [sb0 rb1] B1 [sb1]");
    for (const ScheduleStep& step : last.steps) {
        EXPECT_FALSE(step.batched);
        EXPECT_FALSE(step.host_sync);
    }
}

TEST(Schedule, InterleavedWithoutOverlapJoinsBothDirections) {
    // p = 4, v = 2, M = 4, last stage: W = 4; each steady step ends in one group.
    const PipelineSchedule last = make_schedule(pipeline(4, 2), false, 4, 3);
    EXPECT_EQ(brief(last),
              "[rf0] F0 [sf0 rf1] F1 [sf1 rf2] F2 [sf2 rf3] F3 [sf3 rf0.1] F0.1 B0.1 [rf1.1 sb0.1] "
              "F1.1 B1.1 [rf2.1 sb1.1] F2.1 B2.1 [rf3.1 sb2.1] F3.1 B3.1 [sb3.1 rb0] "
              "B0 [sb0 rb1] B1 [sb1 rb2] B2 [sb2 rb3] B3 [sb3]");
    for (const ScheduleStep& step : last.steps) {
        EXPECT_EQ(step.host_sync, step.kind == Kind::exchange);
    }
}

TEST(Schedule, OneForwardOneBackwardRunsInTheIdealTime) {
    for (int p = 1; p <= 64; p += p < 16 ? 1 : 16) {
        for (int count = 1; count <= 64; ++count) {
            Player player(pipeline(p, 1), true, count);
            ASSERT_EQ(player.play(), "") << "p " << p << " M " << count;
            EXPECT_EQ(player.makespan(), (count + p - 1) * 3); // (M + p - 1)(F + B)
            for (int stage = 0; stage < p; ++stage) {
                EXPECT_EQ(player.schedule(stage).max_in_flight, std::min(count, p - stage));
                EXPECT_EQ(player.schedule(stage).warmup, std::min(count, p - stage - 1));
            }
        }
    }
}

// Megatron takes q >= p, M >= q, and a last group that is full or has at least p micro-batches.
bool valid(int p, int group, int count) {
    return count >= group && (count % group == 0 || count % group >= p);
}

void check_interleaved(const ParallelLayout& layout, bool overlap, int count) {
    const int p = layout.pp;
    const int v = layout.vpp;
    const int group = layout.microbatch_group > 0 ? layout.microbatch_group : p;
    Player player(layout, overlap, count);
    ASSERT_EQ(player.play(), "") << "p " << p << " v " << v << " q " << group << " M " << count << " overlap "
                                 << overlap;
    for (int stage = 0; stage < p; ++stage) {
        const int warmup = std::min(count * v, 2 * (p - stage - 1) + (v - 1) * group);
        EXPECT_EQ(player.schedule(stage).warmup, warmup);
        EXPECT_EQ(player.schedule(stage).max_in_flight, std::min(count * v, warmup + 1));
    }
    if (overlap && group == p) {
        // Idle time (p - 1)(F + B) over busy time M v (F + B) is the ideal bubble.
        const double busy = 3.0 * count * v;
        EXPECT_NEAR((player.makespan() - busy) / busy, ideal_bubble(layout, count), 1e-12)
            << "p " << p << " v " << v << " M " << count;
    }
}

TEST(Schedule, InterleavedMatchesAndHasTheIdealBubble) {
    for (int p = 2; p <= 16; ++p) {
        for (int v = 2; v <= 8; ++v) {
            for (int count = p; count <= 64; count += p) {
                check_interleaved(pipeline(p, v), true, count);
                if (p > 2) {
                    check_interleaved(pipeline(p, v), false, count);
                }
            }
        }
    }
    check_interleaved(pipeline(32, 3), true, 64);
    check_interleaved(pipeline(64, 8), true, 64);
    check_interleaved(pipeline(64, 2), false, 64);
}

TEST(Schedule, InterleavedWithLongOrRaggedGroups) {
    int checked = 0;
    for (int p = 2; p <= 8; ++p) {
        for (const int group : {p, p + 1, 2 * p, 3 * p}) {
            for (int count = group; count <= 4 * group && count <= 64; ++count) {
                if (!valid(p, group, count)) {
                    continue;
                }
                for (const int v : {2, 3, 8}) {
                    check_interleaved(pipeline(p, v, group), true, count);
                    if (p > 2) {
                        check_interleaved(pipeline(p, v, group), false, count);
                    }
                    ++checked;
                }
            }
        }
    }
    EXPECT_GT(checked, 500);
}

TEST(Schedule, IdealBubble) {
    EXPECT_DOUBLE_EQ(ideal_bubble(pipeline(16, 1), 192), 0.078125); // 15 / 192
    EXPECT_DOUBLE_EQ(ideal_bubble(pipeline(16, 3), 192), 15.0 / 576);
}

} // namespace
} // namespace echosim
