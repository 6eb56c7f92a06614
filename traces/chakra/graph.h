// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"
#include "traces/nccl_names.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// What the readers of Chakra and PyTorch execution traces share: a node as they hand it over, and the trace
// that becomes of the nodes.
namespace echosim {

// A collective or a transfer of a node. Groups are named; what is known of a group may stand in another node.
struct GraphComm {
    CommOp op; // group and communicator are filled in by the builder
    std::string group;
    bool input_bytes = false; // op.bytes is what goes into the collective (comm_size of Chakra)
};

struct GraphNode {
    std::uint64_t id = 0;
    std::string name;
    EventKind kind = EventKind::host;
    bool on_device = false;
    std::optional<TimeNs> start;
    std::optional<TimeNs> duration;
    std::int64_t lane = -1; // CUDA stream, or thread; -1: not known
    std::vector<std::uint64_t> control;
    std::vector<std::uint64_t> data;
    std::uint64_t forward = 0; // operator whose gradient this one computes; 0: none
    std::optional<GraphComm> comm;
    CopyOp copy;
    std::string category; // of kind other
    std::string args;
};

class GraphBuilder {
  public:
    GraphBuilder(const std::string& path, std::string format);
    void add(const GraphNode& node);
    void add_group(TraceCommunicator group, std::string_view name, std::string_view description);
    void set_rank(int rank) { rank_ = rank; }
    void suggest_rank(int rank); // of a record; the name of the file and set_rank() go before
    void set_meta(std::string json) { builder_.set_meta(std::move(json)); }
    // Ids are the order of execution, whatever the order of the file.
    void order_by_id();
    Imported finish();

    ImportReport report;

  private:
    struct Row {
        std::uint64_t id = 0;
        Event event;
        bool has_start = false;
        bool on_device = false;
        std::uint32_t lane = 0;
        std::uint32_t comm = kNoRow; // of comms_
        std::size_t first_dependency = 0;
        std::size_t dependencies = 0;
    };
    struct Dependency {
        std::uint64_t on = 0;
        FlowKind kind = FlowKind::control;
    };
    struct Lane {
        std::string name;
        bool on_device = false;
        std::int64_t number = -1;
        std::uint32_t stream = kNoRow;
        std::uint64_t comms = 0;
        std::uint64_t copies = 0;
        std::uint64_t events = 0;
    };
    std::uint32_t lane(const GraphNode& node);
    std::uint32_t lane(std::pair<int, std::int64_t> key, std::string_view name, bool on_device);
    void add_dependencies(const GraphNode& node, Row& row);
    void collectives_of_host();
    std::uint32_t comm_of_caller(const Row& row) const;
    void inherit_comms();
    void place_in_time();
    void join_group(CommOp& op, const std::string& name);
    std::uint32_t comm_op(const GraphComm& comm);
    void add_events();
    void add_flows();
    std::uint64_t nodes_in_cycles(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) const;
    void set_stream_kinds();

    TraceBuilder builder_;
    std::string path_;
    int rank_ = -1;
    std::vector<int> suggested_; // each once
    std::vector<Row> rows_;
    std::vector<Dependency> dependencies_;
    std::vector<GraphComm> comms_;
    std::map<std::string, std::uint32_t, std::less<>> groups_; // name -> row of the communicators
    std::map<std::pair<int, std::int64_t>, std::uint32_t> lane_of_;
    std::vector<Lane> lanes_;
    std::unordered_map<std::uint64_t, std::uint32_t> row_of_; // id -> row
    std::vector<std::uint64_t> events_;                       // row -> event
};

// Bytes that are no UTF-8 become U+FFFD.
std::string valid_utf8(std::string_view text);
// The type of the first "Tensor(float)" in the text.
std::optional<ElementType> tensor_type_in(std::string_view types);
// Microseconds of a file as nanoseconds; nothing when they leave the range, which is counted.
std::optional<TimeNs> nanoseconds(std::uint64_t micros, ImportReport& report);
// "NAME.3.et", "NAME_3.json", "NAME.3.json.gz": 3; -1: the name says nothing.
int rank_of_name(const std::string& path);
// Process groups in the JSON of a "process_group:init" record, in whatever quotes it lies.
void read_process_groups(std::string_view text, GraphBuilder& graph);

// The stages: each reads one form of file.
Imported read_chakra_protobuf(const std::string& path, std::span<const std::byte> bytes);
Imported read_chakra_json(const std::string& path);

} // namespace echosim
