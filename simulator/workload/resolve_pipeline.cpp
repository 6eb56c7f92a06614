// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/resolve.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace echosim {
namespace {

constexpr std::string_view kChunkDepth = "--num-layers-per-virtual-pipeline-stage";
constexpr std::string_view kChunkCount = "--num-virtual-stages-per-pipeline-rank";
constexpr std::string_view kLayoutFlag = "--pipeline-model-parallel-layout";
constexpr std::string_view kFirst = "--decoder-first-pipeline-num-layers";
constexpr std::string_view kLast = "--decoder-last-pipeline-num-layers";
constexpr std::string_view kEmbedding = "--account-for-embedding-in-pipeline-split";
constexpr std::string_view kLoss = "--account-for-loss-in-pipeline-split";

// P1: flags that exclude each other.
bool check_exclusions(Resolution& r) {
    const std::size_t before = r.flags.problems.size();
    const auto exclude = [&](std::string_view a, std::string_view b) {
        if (r.flags.has(a) && r.flags.has(b))
            r.flags.fail(a, fmt::format("excludes {}", b));
    };
    exclude(kChunkDepth, kChunkCount);
    for (const std::string_view other : {kChunkDepth, kChunkCount, kFirst, kLast, kEmbedding, kLoss}) {
        exclude(kLayoutFlag, other);
    }
    for (const std::string_view uneven : {kFirst, kLast}) { // P4
        for (const std::string_view other : {kEmbedding, kLoss})
            exclude(uneven, other);
        if (r.flags.has(uneven) && r.flags.has(kChunkDepth)) {
            r.flags.fail(uneven,
                         fmt::format("with virtual stages give {} instead of {}", kChunkCount, kChunkDepth));
        }
    }
    return r.flags.problems.size() == before;
}

void even_layout(ParallelLayout& p, const std::vector<int>& layers_per_rank) {
    p.layers_per_stage.assign(static_cast<std::size_t>(p.pp), {});
    for (std::size_t rank = 0; rank < layers_per_rank.size(); ++rank) {
        p.layers_per_stage[rank].assign(static_cast<std::size_t>(p.vpp), layers_per_rank[rank] / p.vpp);
    }
}

void split_by_layout_string(Resolution& r) {
    ParallelLayout& p = r.job.parallel;
    const std::string text = r.flags.text(kLayoutFlag).value_or("");
    const StageLayout stages = parse_pipeline_layout(text, r.job.model.layers, p.pp, r.flags);
    if (stages.layers.empty())
        return;
    const auto pp = static_cast<std::size_t>(p.pp);
    p.vpp = static_cast<int>(stages.layers.size() / pp);
    p.layers_per_stage.assign(pp, {});
    for (std::size_t s = 0; s < stages.layers.size(); ++s) { // P5: stage s = chunk x PP + rank
        p.layers_per_stage[s % pp].push_back(stages.layers[s]);
    }
    if (stages.mtp_layers > 0 && !r.flags.has("--mtp-num-layers")) {
        r.flags.fail(kLayoutFlag, "holds an m, but --mtp-num-layers is not given");
    }
}

// P4: first and last stage by hand, the rest shared out.
void split_uneven(Resolution& r, int vpp) {
    ParallelLayout& p = r.job.parallel;
    const int first = r.integer(kFirst, 1, kMaxLayers, 0);
    const int last = r.integer(kLast, 1, kMaxLayers, 0);
    const int named = (first > 0 ? 1 : 0) + (last > 0 ? 1 : 0);
    const std::string_view flag = first > 0 ? kFirst : kLast;
    const int rest = r.job.model.layers - first - last;
    const int stages = p.pp - named;
    if (p.pp < 2) {
        r.flags.fail(flag, "needs a pipeline of two stages or more");
        return;
    }
    if (rest < 0 || (stages == 0 && rest != 0) || (stages > 0 && rest % stages != 0)) {
        r.flags.fail(
            flag,
            fmt::format("--num-layers {} leaves {} layers for {} other stages, which is no whole number each",
                        r.job.model.layers, rest, stages),
            stages > 0 && rest > 0
                ? fmt::format("nearest --num-layers: {}", first + last + rest / stages * stages)
                : std::string());
        return;
    }
    std::vector<int> ranks(static_cast<std::size_t>(p.pp), stages > 0 ? rest / stages : 0);
    if (first > 0)
        ranks.front() = first;
    if (last > 0)
        ranks.back() = last;
    for (const int layers : ranks) {
        if (layers % vpp != 0) {
            r.flags.fail(kChunkCount, fmt::format("{} virtual stages do not divide the {} layers of a stage",
                                                  vpp, layers));
            return;
        }
    }
    p.vpp = vpp;
    even_layout(p, ranks);
}

// P2, P3: an even split in which the embedding and the loss may count as a layer each.
void split_even(Resolution& r, int vpp_count) {
    ParallelLayout& p = r.job.parallel;
    const int embedding = r.flags.has(kEmbedding) ? 1 : 0;
    const int loss = r.flags.has(kLoss) ? 1 : 0;
    const int slots = r.job.model.layers + embedding + loss;
    const std::string counted = embedding + loss > 0
                                    ? fmt::format(" (with {} for embedding and loss)", embedding + loss)
                                    : std::string();
    if (slots % p.pp != 0) {
        const int below = slots / p.pp * p.pp - embedding - loss;
        r.flags.fail("--num-layers",
                     fmt::format("{} layers{} are not divisible by pipeline size {}", slots, counted, p.pp),
                     below > 0 ? fmt::format("nearest: {} or {}", below, below + p.pp)
                               : fmt::format("nearest: {}", below + p.pp));
        return;
    }
    const int per_rank = slots / p.pp;
    if (const auto depth = r.flags.integer(kChunkDepth, 1, kMaxLayers)) {
        if (per_rank % *depth != 0) {
            r.flags.fail(kChunkDepth, fmt::format("{} does not divide the {} layers of a pipeline rank",
                                                  *depth, per_rank));
            return;
        }
        vpp_count = per_rank / static_cast<int>(*depth);
    }
    if (per_rank % vpp_count != 0) {
        r.flags.fail(kChunkCount,
                     fmt::format("{} virtual stages do not divide the {} layers of a pipeline rank",
                                 vpp_count, per_rank));
        return;
    }
    p.vpp = vpp_count;
    even_layout(p, std::vector<int>(static_cast<std::size_t>(p.pp), per_rank));
    p.layers_per_stage.front().front() -= embedding;
    p.layers_per_stage.back().back() -= loss;
}

// P7, P8.
void check_interleaving(Resolution& r) {
    ParallelLayout& p = r.job.parallel;
    const int microbatches = r.job.batch.num_microbatches;
    const std::string_view group_flag = "--microbatch-group-size-per-virtual-pipeline-stage";
    p.microbatch_group = r.integer(group_flag, 1, kMaxBatch, p.pp);
    if (p.vpp == 1)
        return;
    r.note("parallel.microbatch_group", p.microbatch_group, r.flags.where(group_flag, "derived: = pp"));
    const int needed = r.flags.has("--no-overlap-p2p-communication") ? 3 : 2;
    if (p.pp < needed) {
        r.flags.fail(
            "--pipeline-model-parallel-size",
            fmt::format("{} with {} virtual stages: interleaving needs {} or more", p.pp, p.vpp, needed));
        return;
    }
    if (r.job.batch.global == 0 || r.job.parallel.world_size == 0)
        return;
    if (p.microbatch_group < p.pp || p.microbatch_group > microbatches) {
        r.flags.fail(
            r.flags.has(group_flag) ? group_flag : std::string_view("--global-batch-size"),
            fmt::format(
                "interleaving needs pipeline size ({}) <= micro-batch group ({}) <= micro-batches ({})", p.pp,
                p.microbatch_group, microbatches),
            "raise --global-batch-size or leave the virtual stages out");
        return;
    }
    const int remainder = microbatches % p.microbatch_group;
    if (remainder != 0 && remainder < p.pp) {
        r.flags.fail("--global-batch-size",
                     fmt::format("{} micro-batches leave a last group of {}; it must be 0 or at least the "
                                 "pipeline size {}",
                                 microbatches, remainder, p.pp),
                     fmt::format("nearest: {} or {} micro-batches", microbatches - remainder,
                                 microbatches - remainder + p.microbatch_group));
    }
}

std::string layout_in_words(const ParallelLayout& p) {
    std::vector<int> totals;
    for (const auto& chunks : p.layers_per_stage)
        totals.push_back(std::accumulate(chunks.begin(), chunks.end(), 0));
    if (std::adjacent_find(totals.begin(), totals.end(), std::not_equal_to<>()) == totals.end()) {
        return fmt::format("{} x {}", totals.front(), totals.size());
    }
    return fmt::format("{}", fmt::join(totals, ", "));
}

} // namespace

void resolve_pipeline(Resolution& r) {
    ParallelLayout& p = r.job.parallel;
    if (r.job.model.layers == 0 || !check_exclusions(r))
        return;
    const int count = r.integer(kChunkCount, 1, kMaxLayers, 1);
    const bool hybrid = r.flags.has("--hybrid-layer-pattern") || r.flags.has("--hybrid-override-pattern");
    std::string_view source = "--num-layers";
    if (hybrid) {
        even_layout(p, std::vector<int>(static_cast<std::size_t>(p.pp),
                                        r.job.model.layers / p.pp)); // refused later by name
    } else if (r.flags.has(kLayoutFlag)) {
        source = kLayoutFlag;
        split_by_layout_string(r);
    } else if (r.flags.has(kFirst) || r.flags.has(kLast)) {
        source = r.flags.has(kFirst) ? kFirst : kLast;
        split_uneven(r, count);
    } else {
        split_even(r, count);
    }
    if (p.layers_per_stage.empty())
        return;
    r.note("parallel.vpp", p.vpp,
           r.flags.where(r.flags.has(kChunkDepth)   ? kChunkDepth
                         : r.flags.has(kChunkCount) ? kChunkCount
                                                    : source,
                         "Megatron default"));
    r.note("parallel.layers_per_stage", layout_in_words(p), r.flags.where(source, "derived"));
    check_interleaving(r);
}

} // namespace echosim
