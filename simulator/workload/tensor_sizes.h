// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"
#include "simulator/workload/job.h"

#include <cstdint>
#include <vector>

// Sizes of everything a rank holds: the one memory model, used by build_graph for its allocations and by the
// search as a bound. Symbols, formulas and sources stand in tensor_sizes.cpp.
namespace echosim {

// Parameters on one rank (already divided by TP) of one model chunk.
struct ChunkParameters {
    std::int64_t layers = 0;    // decoder layers
    std::int64_t embedding = 0; // word + position table (first chunk of the first stage)
    std::int64_t head = 0;      // final norm, output weight (last stage; none when tied and pp = 1)
    std::int64_t norms = 0;     // of the above: norm and bias parameters that are replicated over TP
    std::int64_t total() const { return layers + embedding + head; }
};
std::int64_t layer_parameters(const Job& job); // one decoder layer on one rank
ChunkParameters chunk_parameters(const Job& job, int pipeline_rank, int chunk);
std::int64_t rank_parameters(const Job& job, int pipeline_rank); // all chunks
double total_parameters(const Job& job);                         // of the model, padded vocabulary

// Activation bytes that a forward leaves for its backward, one micro-batch on one rank.
struct SavedActivations {
    Bytes layer = 0;      // a decoder layer, as recomputation keeps it (full: its share of a unit's input)
    Bytes layer_full = 0; // with nothing recomputed: live while a recomputed layer runs backward
    Bytes unit_input = 0; // full recompute: saved input of one unit
    Bytes embedding = 0;  // first stage: dropout mask, indices
    Bytes head = 0;       // last stage: final norm input, logits, loss
};
SavedActivations saved_activations(const Job& job);
// Decoder layers of this chunk that keep everything: all without recomputation, with block recomputation the
// ones beyond the first num_layers, else none. A chunk keeps this many times layer_full, and layer for each
// other one.
int layers_without_recompute(const Job& job, int layers_in_chunk);

// A gradient bucket of Megatron's distributed data parallel, in the order in which backward completes them.
struct GradientBucket {
    std::int64_t elements = 0; // padded as the distributed optimizer pads it
    int ready_after_layer = 0; // layer of the chunk (0 = first) whose backward completes it; -1: embedding
                               // backward; the number of layers of the chunk: backward of the head
};
std::vector<GradientBucket> gradient_buckets(const Job& job, int pipeline_rank, int chunk);

// Closed form of the peak of one pipeline rank, without running anything.
struct MemoryEstimate {
    Bytes weights = 0, gradients = 0, optimizer = 0, activations = 0, buffers = 0, overhead = 0;
    int in_flight = 0;
    Bytes peak() const { return weights + gradients + optimizer + activations + buffers + overhead; }
};
MemoryEstimate estimate_memory(const Job& job, int pipeline_rank);

} // namespace echosim
