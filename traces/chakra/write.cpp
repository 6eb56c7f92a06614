// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/chakra.h"
#include "traces/chakra/graph.h"
#include "traces/chakra/order.h"
#include "traces/chakra/tables.h"
#include "traces/json_text.h"
#include "traces/output_file.h"

#include <algorithm>
#include <chakra.pb.h>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>

namespace echosim {
namespace {

using chakra::AttributeProto;
using chakra::Node;

constexpr std::size_t kFlushBytes = std::size_t{1} << 20U;

// Where a collective runs, as the trace names it: a communicator, or only a group.
struct Group {
    std::uint32_t communicator = kNoRow;
    NameId name = kNoName;
    auto operator<=>(const Group&) const = default;
};

Group group_of(const CommOp& op) {
    return op.communicator == kNoRow ? Group{kNoRow, op.group} : Group{op.communicator, kNoName};
}

class ChakraWriter {
  public:
    ChakraWriter(const Trace& trace, const std::string& path) : trace_(trace), path_(path), file_(path) {}

    void write() {
        const std::vector<int> ranks =
            trace_.classes.empty() || trace_.classes[0].ranks.empty()
                ? std::vector<int>{}
                : std::vector<int>{static_cast<int>(trace_.classes[0].ranks[0].first)};
        rank_ = ranks.empty() ? -1 : ranks[0];
        number_groups();
        chakra::GlobalMetadata metadata;
        metadata.set_version("0.0.4");
        put_trace_tables(metadata, trace_);
        put(metadata);
        put_groups();
        const ChakraOrder order = chakra_order(trace_);
        for (std::uint32_t node = 0; node < order.events.size(); ++node) {
            put_event(order, node);
        }
        flush();
        file_.commit();
    }

  private:
    template <class Message> void put(const Message& message) {
        const std::size_t size = message.ByteSizeLong();
        if (size > 0x7fffffffU) {
            throw InputError(path_, fmt::format("a message of {} bytes; Chakra allows 2 GiB", size),
                             "export a shorter part of the trace");
        }
        for (std::size_t rest = size;; rest >>= 7U) {
            buffer_ += static_cast<char>(rest < 0x80 ? rest : (rest & 0x7fU) | 0x80U);
            if (rest < 0x80) {
                break;
            }
        }
        message.AppendToString(&buffer_);
        if (buffer_.size() > kFlushBytes) {
            flush();
        }
    }

    void flush() {
        file_.write(std::as_bytes(std::span(buffer_)));
        buffer_.clear();
    }

    std::string_view text(const Group& group) const {
        return trace_.text(group.communicator == kNoRow ? group.name
                                                        : trace_.communicators[group.communicator].name);
    }

    // ASTRA-sim takes pg_name for a number. Names that are one keep it, others get the next that is free.
    void number_groups() {
        std::set<std::uint32_t> taken;
        std::set<Group> all;
        for (const CommOp& op : trace_.comm_ops) {
            const Group group = group_of(op);
            const std::string_view name = text(group);
            std::uint32_t number = 0;
            const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
            if (name.empty()) {
                continue;
            }
            if (error == std::errc{} && end == name.data() + name.size() && number < 0x7fffffffU) {
                groups_.emplace(group, number);
                taken.insert(number);
            } else {
                all.insert(group);
            }
        }
        std::uint32_t next = 0;
        for (const Group& group : all) {
            while (taken.contains(next)) {
                ++next;
            }
            groups_.emplace(group, next++);
        }
    }

    // The record in which ASTRA-sim finds the ranks of the groups.
    void put_groups() {
        std::string json;
        for (const auto& [group, number] : groups_) {
            std::vector<int> ranks;
            if (group.communicator != kNoRow) {
                ranks = expand_ranks(trace_.communicators[group.communicator].ranks);
            }
            if (!ranks.empty()) {
                json += fmt::format(R"({}{{"pg_name": "{}", "pg_desc": {}, "ranks": [{}]}})",
                                    json.empty() ? "" : ", ", number, json_string(text(group)),
                                    fmt::join(ranks, ", "));
            }
        }
        if (json.empty()) {
            return;
        }
        Node node;
        node.set_name("## process_group:init ##");
        node.set_type(chakra::METADATA_NODE);
        node.mutable_inputs()->set_values("['[" + json + "]']");
        node.mutable_inputs()->set_types("['String']");
        put(node);
    }

    AttributeProto& attribute(const char* name) {
        AttributeProto& added = *node_.add_attr();
        added.set_name(name);
        return added;
    }

    void put_event(const ChakraOrder& order, std::uint32_t place) {
        const std::uint32_t stream = stream_of(order.events[place]);
        const Event event = trace_.streams[stream].events.row(index_of(order.events[place]));
        node_.Clear();
        node_.set_id(std::uint64_t{place} + 1);              // 0 is the record of the groups
        node_.set_name(valid_utf8(trace_.text(event.name))); // its bytes as they are lie in echosim_strings
        if (order.caller[place] != kNoRow) {
            node_.add_ctrl_deps(std::uint64_t{order.caller[place]} + 1);
        }
        for (std::size_t i = order.first[place]; i < order.first[place + 1U]; ++i) {
            node_.add_data_deps(std::uint64_t{order.depends_on[i]} + 1);
        }
        const TimeNs start = trace_.timed ? event.start / 1000 + trace_.t0_ns / 1000 : 0;
        node_.set_start_time_micros(static_cast<std::uint64_t>(std::max<TimeNs>(start, 0)));
        node_.set_duration_micros(order.own_micros[place]);
        put_kind(trace_.streams[stream], event);
        put_event_row(node_, stream, event);
        put(node_);
    }

    void put_kind(const TraceStream& stream, const Event& event) {
        const bool on_device = is_device_work(event.kind);
        if (on_device && event.kind == EventKind::comm && event.ext != kNoRow) {
            put_comm(trace_.comm_ops[event.ext]);
        } else if (event.kind == EventKind::memcpy && event.ext != kNoRow) {
            put_copy(trace_.copies[event.ext]);
        } else if (on_device || (stream.kind == StreamKind::host && event.kind != EventKind::instant)) {
            node_.set_type(chakra::COMP_NODE);
        } else {
            node_.set_type(chakra::METADATA_NODE); // marks on a stream: no work
        }
        attribute("is_cpu_op").set_bool_val(!on_device);
        if (stream.number >= 0) {
            attribute(on_device ? "stream" : "tid").set_int64_val(stream.number);
        }
        if (event.correlation != 0) {
            attribute("correlation").set_int64_val(event.correlation);
        }
    }

    void put_copy(const CopyOp& copy) {
        const bool load = copy.kind == CopyKind::host_to_device;
        const bool store = copy.kind == CopyKind::device_to_host;
        node_.set_type(load ? chakra::MEM_LOAD_NODE : store ? chakra::MEM_STORE_NODE : chakra::COMP_NODE);
        attribute("tensor_size").set_uint64_val(copy.bytes);
    }

    void put_comm(const CommOp& op) {
        const bool transfer = op.kind == CollectiveKind::send_recv && op.direction != Direction::both;
        if (transfer) {
            put_transfer(op);
        } else {
            node_.set_type(chakra::COMM_COLL_NODE);
            if (op.kind != kNoCollective) {
                attribute("comm_type").set_int64_val(comm_type(op.kind));
            }
        }
        // what goes in: of an all-gather, one rank's share
        const bool share = op.kind == CollectiveKind::all_gather && op.group_size > 0;
        attribute("comm_size")
            .set_int64_val(static_cast<std::int64_t>(share ? op.bytes / op.group_size : op.bytes));
        const auto group = groups_.find(group_of(op));
        if (group != groups_.end()) {
            attribute("pg_name").set_string_val(fmt::format("{}", group->second));
        }
        if (!transfer && op.peer >= 0) {
            attribute("root").set_int32_val(op.peer);
        }
    }

    // One end of a transfer; ends match by their tag.
    void put_transfer(const CommOp& op) {
        const bool receives =
            op.direction == Direction::receive ||
            (op.direction == Direction::none && node_.name().find("recv") != std::string::npos);
        node_.set_type(receives ? chakra::COMM_RECV_NODE : chakra::COMM_SEND_NODE);
        const std::int32_t from = receives ? op.peer : rank_;
        const std::int32_t to = receives ? rank_ : op.peer;
        if (from >= 0) {
            attribute("comm_src").set_int32_val(from);
        }
        if (to >= 0) {
            attribute("comm_dst").set_int32_val(to);
        }
        attribute("comm_tag").set_int32_val(static_cast<std::int32_t>(op.sequence & 0x7fffffffU));
    }

    // A kernel that sends and receives is an exchange.
    static chakra::CollectiveCommType comm_type(CollectiveKind kind) {
        switch (kind) {
        case CollectiveKind::all_reduce:
            return chakra::ALL_REDUCE;
        case CollectiveKind::all_gather:
            return chakra::ALL_GATHER;
        case CollectiveKind::reduce_scatter:
            return chakra::REDUCE_SCATTER;
        case CollectiveKind::broadcast:
            return chakra::BROADCAST;
        case CollectiveKind::reduce:
            return chakra::REDUCE;
        case CollectiveKind::gather:
            return chakra::GATHER;
        case CollectiveKind::scatter:
            return chakra::SCATTER;
        default:
            return chakra::ALL_TO_ALL;
        }
    }

    const Trace& trace_;
    std::string path_;
    OutputFile file_;
    std::string buffer_;
    std::int32_t rank_ = -1;
    std::map<Group, std::uint32_t> groups_;
    Node node_;
};

} // namespace

void write_chakra(const Trace& trace, const std::string& path) {
    if (trace.classes.size() > 1) {
        throw InputError(path,
                         fmt::format("Chakra ET has one rank a file; the trace has {}", trace.classes.size()),
                         "choose one with --ranks");
    }
    ChakraWriter(trace, path).write();
}

} // namespace echosim
