// SPDX-License-Identifier: Apache-2.0
#include "traces/match/groups.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace echosim {
namespace {

// Members whose calls meet: call i of member m is call i - shift of the first one.
struct Cluster {
    std::vector<std::size_t> members;
    std::vector<std::int64_t> shifts;
};

std::string name_of(const Trace& trace, std::uint32_t rank_class) {
    return std::string(trace.text(trace.classes.at(rank_class).name));
}

// Equal recorded numbers meet; the n-th call with a number meets the n-th with the same.
GroupMatch match_numbered(const std::vector<ClassCalls>& members) {
    struct Met {
        std::vector<std::uint64_t> events;
        std::uint64_t signature = 0;
        bool consistent = true;
    };
    std::map<std::pair<std::uint64_t, std::uint32_t>, Met> calls;
    for (const ClassCalls& member : members) {
        std::map<std::uint64_t, std::uint32_t> seen;
        for (const Call& call : member.calls) {
            if (call.sequence == 0) {
                continue;
            }
            Met& met = calls[{call.sequence, seen[call.sequence]++}];
            met.consistent = met.consistent && (met.events.empty() || met.signature == call.signature);
            met.signature = call.signature;
            met.events.push_back(call.event);
        }
    }
    GroupMatch match;
    for (auto& [key, met] : calls) {
        if (!met.consistent) {
            ++match.inconsistent;
        } else {
            match.calls.push_back({key.first, std::move(met.events)});
        }
    }
    return match;
}

bool any_number(const ClassCalls& member) {
    return std::any_of(member.calls.begin(), member.calls.end(),
                       [](const Call& call) { return call.sequence != 0; });
}

std::string refusal(const Trace& trace, const ClassCalls& a, const ClassCalls& b, const Shift& shift) {
    const std::string names = name_of(trace, a.rank_class) + " and " + name_of(trace, b.rank_class);
    if (!shift.found) {
        return names + ": " + shift.why;
    }
    return fmt::format("{}: ends of {} calls deviate by {} where {} is allowed", names, shift.overlap,
                       time_text(shift.deviation), time_text(shift.noise));
}

bool joins(const Shift& shift, bool one_group) {
    return one_group ? shift.found : shift.fits();
}

std::vector<Cluster> clusters_of(const Trace& trace, const std::vector<ClassCalls>& members, bool one_group,
                                 std::vector<std::string>& reasons) {
    std::vector<std::size_t> order(members.size()); // longest first: the others lie within
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return members[a].calls.size() > members[b].calls.size();
    });
    std::vector<Cluster> clusters;
    for (const std::size_t row : order) {
        bool joined = false;
        std::string why;
        for (Cluster& cluster : clusters) {
            const ClassCalls& first = members[cluster.members.front()];
            const Shift shift = find_shift(first.calls, members[row].calls);
            if (joins(shift, one_group)) {
                cluster.members.push_back(row);
                cluster.shifts.push_back(shift.shift);
                joined = true;
                break;
            }
            why = why.empty() ? refusal(trace, first, members[row], shift) : why;
        }
        if (!joined) {
            clusters.push_back({{row}, {0}});
            if (!why.empty()) {
                reasons.push_back(std::move(why));
            }
        }
    }
    return clusters;
}

// The calls of a cluster by their place in the sequence of its first member.
void add_calls(const std::vector<ClassCalls>& members, const Cluster& cluster, GroupMatch& match) {
    std::int64_t lowest = 0;
    for (const std::int64_t shift : cluster.shifts) {
        lowest = std::min(lowest, -shift);
    }
    std::vector<std::size_t> by_class(cluster.members.size());
    std::iota(by_class.begin(), by_class.end(), std::size_t{0});
    std::sort(by_class.begin(), by_class.end(), [&](std::size_t a, std::size_t b) {
        return members[cluster.members[a]].rank_class < members[cluster.members[b]].rank_class;
    });
    std::map<std::int64_t, std::vector<const Call*>> met;
    for (const std::size_t m : by_class) {
        const std::span<const Call> calls = members[cluster.members[m]].calls;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            met[static_cast<std::int64_t>(i) - cluster.shifts[m]].push_back(&calls[i]);
        }
    }
    for (const auto& [place, all] : met) {
        MatchedCall matched{.number = static_cast<std::uint64_t>(place - lowest + 1), .events = {}};
        for (const Call* call : all) {
            if (call->signature == all.front()->signature) {
                matched.events.push_back(call->event);
            } else {
                ++match.inconsistent;
            }
        }
        match.calls.push_back(std::move(matched));
    }
}

} // namespace

GroupMatch match_group(const Trace& trace, const std::vector<ClassCalls>& members, bool one_group) {
    if (one_group && std::all_of(members.begin(), members.end(), any_number)) {
        return match_numbered(members);
    }
    GroupMatch match;
    const std::vector<Cluster> clusters = clusters_of(trace, members, one_group, match.reasons);
    match.may_number = clusters.size() == 1 && std::none_of(members.begin(), members.end(), any_number);
    for (const Cluster& cluster : clusters) {
        add_calls(members, cluster, match);
    }
    return match;
}

} // namespace echosim
