// SPDX-License-Identifier: Apache-2.0
#include "traces/match/shift.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::size_t kSamples = 128;        // calls that judge a shift
constexpr std::int64_t kMostShifts = 20'000; // to either side
constexpr std::size_t kLeastShifted = 5;     // calls that a shift other than 0 must rest on
constexpr TimeNs kTie = 10'000;              // ns: deviations nearer than this do not tell shifts apart
constexpr TimeNs kClearly = 4;               // "clearly better": by this factor

struct Candidate {
    std::int64_t shift = 0;
    std::size_t overlap = 0;
    TimeNs deviation = 0;
    TimeNs noise = 0;
};

struct Overlap {
    std::size_t from = 0; // in the first sequence
    std::size_t count = 0;
};

Overlap overlap_of(std::size_t first, std::size_t second, std::int64_t shift) {
    const std::int64_t from = std::max<std::int64_t>(0, -shift);
    const std::int64_t to =
        std::min(static_cast<std::int64_t>(first), static_cast<std::int64_t>(second) - shift);
    return {static_cast<std::size_t>(from), to > from ? static_cast<std::size_t>(to - from) : 0};
}

// Median time between the ends of consecutive calls.
TimeNs median_gap(std::span<const Call> calls) {
    std::vector<TimeNs> gaps;
    const std::size_t step = std::max<std::size_t>(1, calls.size() / kSamples);
    for (std::size_t i = 0; i + 1 < calls.size(); i += step) {
        gaps.push_back(calls[i + 1].time.end - calls[i].time.end);
    }
    return median_of(std::move(gaps));
}

// Deviation under this shift; false when the calls do not agree in kind and size.
bool judge(std::span<const Call> first, std::span<const Call> second, Candidate& candidate) {
    const Overlap overlap = overlap_of(first.size(), second.size(), candidate.shift);
    const std::size_t samples = std::min(overlap.count, kSamples);
    std::vector<TimeNs> differences;
    std::vector<TimeNs> durations;
    for (std::size_t i = 0; i < samples; ++i) {
        const std::size_t k = overlap.from + i * overlap.count / samples;
        const Call& a = first[k];
        const Call& b = second[static_cast<std::size_t>(static_cast<std::int64_t>(k) + candidate.shift)];
        if (a.signature == b.signature) {
            differences.push_back(b.time.end - a.time.end);
            durations.push_back(std::min(a.time.duration(), b.time.duration()));
        }
    }
    candidate.overlap = overlap.count;
    candidate.deviation = spread_of(differences).deviation;
    candidate.noise = end_noise(median_of(std::move(durations)));
    return !differences.empty() && differences.size() * 10 >= samples * 9;
}

std::vector<Candidate> candidates_of(std::span<const Call> first, std::span<const Call> second) {
    const std::size_t shorter = std::min(first.size(), second.size());
    const std::size_t least = (shorter + 1) / 2;
    const auto reach = [&](std::size_t size) {
        return std::min(kMostShifts, static_cast<std::int64_t>(size - least));
    };
    std::vector<Candidate> found;
    for (std::int64_t shift = -reach(first.size()); shift <= reach(second.size()); ++shift) {
        Candidate candidate{.shift = shift};
        const std::size_t count = overlap_of(first.size(), second.size(), shift).count;
        const bool whole = first.size() == second.size() && shift == 0;
        if (count >= (whole ? 1 : std::max(least, kLeastShifted)) && judge(first, second, candidate)) {
            found.push_back(candidate);
        }
    }
    return found;
}

} // namespace

Shift find_shift(std::span<const Call> first, std::span<const Call> second) {
    Shift result;
    if (first.empty() || second.empty()) {
        result.why = "one of them has no such calls";
        return result;
    }
    const std::vector<Candidate> found = candidates_of(first, second);
    if (found.empty()) {
        result.why = fmt::format("kinds and sizes of {} and {} calls do not agree under any shift",
                                 first.size(), second.size());
        return result;
    }
    const auto smaller = [](const Candidate& a, const Candidate& b) { return a.deviation < b.deviation; };
    Candidate best = *std::min_element(found.begin(), found.end(), smaller);
    const TimeNs tie = kClearly * best.deviation + kTie;
    const auto as_they_stand = std::find_if(found.begin(), found.end(),
                                            [](const Candidate& candidate) { return candidate.shift == 0; });
    const bool equal_counts = first.size() == second.size();
    if (equal_counts && as_they_stand != found.end() && as_they_stand->deviation <= tie) {
        best = *as_they_stand;
    } else if (std::count_if(found.begin(), found.end(),
                             [&](const Candidate& other) { return other.deviation <= tie; }) > 1) {
        result.why =
            fmt::format("several shifts of {} and {} calls fit equally well", first.size(), second.size());
        result.deviation = best.deviation;
        return result;
    }
    result = {.found = true,
              .shift = best.shift,
              .overlap = best.overlap,
              .deviation = best.deviation,
              .noise = best.noise,
              .why = {}};
    if (best.overlap > 2) {
        result.noise = std::min(result.noise, std::max<TimeNs>(kTie, median_gap(first) / 4));
    }
    return result;
}

} // namespace echosim
