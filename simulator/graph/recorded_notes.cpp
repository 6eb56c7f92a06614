// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/recorded_rank.h"

#include <fmt/format.h>

namespace echosim::recorded {
namespace {

class Notes {
  public:
    void add(std::uint64_t count, std::string_view one, std::string_view many) {
        if (count > 0)
            texts_.push_back(fmt::format("{} {}", count, count == 1 ? one : many));
    }
    void add(std::string text) { texts_.push_back(std::move(text)); }
    std::vector<std::string> take() { return std::move(texts_); }

  private:
    std::vector<std::string> texts_;
};

void add_host(const Counts& c, Notes& notes) {
    notes.add(c.unlaunched,
              "device op has no call in the file: it follows the op before it on its stream after the "
              "recorded time",
              "device ops have no call in the file: they follow the op before them on their stream after the "
              "recorded time");
    notes.add(c.shared_clocks, "thread takes turns with the busiest one and shares its clock",
              "threads take turns with the busiest one of their rank and share its clock");
    notes.add(c.own_clocks, "thread runs side by side with the busiest one, with a clock of its own",
              "threads run side by side with the busiest one of their rank, with clocks of their own");
    notes.add(c.unknown_syncs,
              "synchronisation does not say for which stream it waited: inferred from the times",
              "synchronisations do not say for which stream they waited: inferred from the times");
    notes.add(c.idle_syncs, "of those waited for nothing that can be seen: it is work of the CPU",
              "of those waited for nothing that can be seen: they are work of the CPU");
    notes.add(c.implicit_syncs, "other call returned when the device became idle: it waited for the device",
              "other calls returned when the device became idle: they waited for the device");
    notes.add(c.full_queue, "launch waited for room in the launch queue",
              "launches waited for room in the launch queue");
}

void add_device(const Counts& c, Notes& notes) {
    notes.add(c.exact_edges, "dependency between streams by a recorded event",
              "dependencies between streams by recorded events");
    notes.add(c.wait_edges, "dependency between streams inferred of a wait whose event is not recorded",
              "dependencies between streams inferred of waits whose events are not recorded");
    notes.add(c.late_edges,
              "dependency inferred: an op started late, right after an op of another stream ended",
              "dependencies inferred: ops started late, right after an op of another stream ended");
    notes.add(c.contradicted, "recorded dependency is contradicted by the times and not used",
              "recorded dependencies are contradicted by the times and not used");
    notes.add(c.hidden,
              "stream was busy with work of before the recording until its first op: it is so in the replay",
              "streams were busy with work of before the recording until their first op: they are so in the "
              "replay");
    if (c.unexplained > 0)
        notes.add(fmt::format("{} started later than everything known allows, by {:.1f} us together: "
                              "the replay starts {} earlier",
                              c.unexplained == 1 ? "1 op" : fmt::format("{} ops", c.unexplained),
                              static_cast<double>(c.unexplained_ns) / 1e3,
                              c.unexplained == 1 ? "it" : "them"));
    notes.add(c.overlaps, "op overlaps the one before it on its stream; it does so in the replay",
              "ops overlap the one before them on their stream; they do so in the replay");
}

} // namespace

std::vector<std::string> notes(const std::vector<RecordedRank>& ranks, const RecordedGroups& groups) {
    Counts c;
    for (const RecordedRank& rank : ranks)
        c.add(rank.counts);
    Notes out;
    out.add(groups.matched,
            "collective is matched across ranks: it takes as long as on the rank that came last",
            "collectives are matched across ranks: they take as long as on the rank that came last");
    out.add(groups.repeated, "group of communication has two members on one rank and is not matched",
            "groups of communication have two members on one rank and are not matched");
    out.add(
        c.alone_comm,
        "communication kernel has no peers in the recording: waiting for them is inside its duration",
        "communication kernels have no peers in the recording: waiting for them is inside their duration");
    add_host(c, out);
    add_device(c, out);
    return out.take();
}

} // namespace echosim::recorded
