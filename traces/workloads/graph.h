// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// The graph of one rank as a workload description gives it: computation on one stream, communication on one
// stream for each kind of group. Part of the reading of such files.
namespace echosim {

// A communication of the description.
struct DescribedComm {
    std::string_view name; // as the file has it
    CommOp op;
    std::string_view group; // "tp", "dp", "ep", "edp", "pp", "world", ...
    TimeNs duration = 0;    // 0: not known
};

class WorkloadGraph {
  public:
    // `ranks` empty: not known; the class has the given name then, else "rank N" of the first.
    WorkloadGraph(TraceBuilder& builder, std::string_view name, int stage, const std::vector<int>& ranks);

    // What the next event belongs to, and what the file says besides (a JSON object, or empty).
    void set_label(const Label& label) { label_ = builder_.add_label(label); }
    void set_args(std::string_view json) { args_ = json.empty() ? kNoName : builder_.name(json); }
    void set_provenance(Provenance provenance) { provenance_ = provenance; }

    // Each follows what blocks at this point, and blocks what comes next; a communication only where it is
    // waited for. Returns the event.
    std::uint64_t compute(std::string_view name, TimeNs duration);
    std::uint64_t communicate(const DescribedComm& comm, bool blocking);
    std::uint64_t mark(std::string_view name, std::string_view category); // a point in the order
    // What comes next also waits for this event.
    void wait_for(std::uint64_t event) { after_.push_back(event); }

    std::uint64_t kernels() const { return kernels_; }

  private:
    std::uint32_t stream_for(std::string_view work); // "compute" or a group
    std::uint64_t add(std::uint32_t stream, Event event, FlowKind flow);

    TraceBuilder& builder_;
    std::uint32_t rank_class_;
    std::map<std::string, std::uint32_t, std::less<>> streams_;   // "compute" and the groups
    std::map<std::string, std::uint64_t, std::less<>> sequences_; // calls of each group
    std::vector<std::uint64_t> after_;                            // what the next event follows
    std::uint32_t label_ = kNoRow;
    NameId args_ = kNoName;
    Provenance provenance_ = Provenance::assumed;
    std::uint64_t kernels_ = 0;
};

} // namespace echosim
