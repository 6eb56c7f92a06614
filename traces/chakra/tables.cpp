// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/tables.h"

#include "simulator/core/error.h"
#include "traces/chakra/attributes.h"

#include <array>
#include <chakra.pb.h>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

namespace echosim {
namespace {

using chakra::AttributeProto;
using chakra::GlobalMetadata;
using chakra::Sint64List;

constexpr std::int64_t kVersion = 1;
constexpr const char* kVersionName = "echosim_version";
constexpr const char* kEventName = "echosim_event";

// Numbers go as signed ones of their width, zigzag: "none" (all ones) takes one byte.
template <class Number> std::int64_t to_wire(Number value) {
    if constexpr (std::is_same_v<Number, NameId>) {
        return to_wire(value.value);
    } else if constexpr (std::is_same_v<Number, bool>) {
        return value ? 1 : 0;
    } else if constexpr (std::is_enum_v<Number>) {
        return to_wire(static_cast<std::underlying_type_t<Number>>(value));
    } else {
        return static_cast<std::make_signed_t<Number>>(value);
    }
}

template <class Number> bool from_wire(std::int64_t wire, Number& value) {
    if constexpr (std::is_same_v<Number, NameId>) {
        return from_wire(wire, value.value);
    } else if constexpr (std::is_same_v<Number, bool>) {
        value = wire != 0;
        return wire == 0 || wire == 1;
    } else if constexpr (std::is_enum_v<Number>) {
        std::underlying_type_t<Number> number{};
        const bool fits = from_wire(wire, number);
        value = static_cast<Number>(number);
        return fits;
    } else {
        using Signed = std::make_signed_t<Number>;
        value = static_cast<Number>(static_cast<Signed>(wire));
        return wire >= std::numeric_limits<Signed>::min() && wire <= std::numeric_limits<Signed>::max();
    }
}

class Writer {
  public:
    explicit Writer(Sint64List& list) : list_(list) {}
    template <class... Numbers> void operator()(Numbers&... numbers) {
        (list_.add_values(to_wire(numbers)), ...);
    }
    void rows(std::vector<RankRange>& ranges) {
        list_.add_values(static_cast<std::int64_t>(ranges.size()));
        for (RankRange& range : ranges) {
            (*this)(range.first, range.count, range.stride);
        }
    }

  private:
    Sint64List& list_;
};

class Reader {
  public:
    Reader(const Sint64List& list, std::string where) : list_(list), where_(std::move(where)) {}
    bool more() const { return at_ < list_.values_size(); }
    template <class... Numbers> void operator()(Numbers&... numbers) { (take(numbers), ...); }
    void rows(std::vector<RankRange>& ranges) {
        std::int64_t count = 0;
        take(count);
        for (std::int64_t i = 0; i < count; ++i) { // take() ends at the end of the list
            RankRange range;
            (*this)(range.first, range.count, range.stride);
            ranges.push_back(range);
        }
    }

  private:
    template <class Number> void take(Number& number) {
        if (!more() || !from_wire(list_.values(at_++), number)) {
            throw InputError(where_, "a row is cut off or has a number out of range",
                             "the file was changed since echosim wrote it; export it again");
        }
    }
    const Sint64List& list_;
    std::string where_;
    int at_ = 0;
};

// The fields of a row in the order of the file, for Writer and Reader.
template <class Codec> void fields(Codec& codec, TraceClass& row) {
    codec(row.name, row.stage);
    codec.rows(row.ranks);
}
template <class Codec> void fields(Codec& codec, Label& row) {
    codec(row.iteration, row.phase, row.micro_batch, row.chunk, row.layer, row.module);
}
template <class Codec> void fields(Codec& codec, CommOp& row) {
    codec(row.kind, row.dtype, row.algorithm, row.protocol, row.channels, row.bytes, row.group,
          row.group_size, row.peer, row.sequence, row.communicator, row.direction, row.in_elements,
          row.out_elements);
}
template <class Codec> void fields(Codec& codec, TraceCommunicator& row) {
    codec(row.name, row.description);
    codec.rows(row.ranks);
}
template <class Codec> void fields(Codec& codec, KernelLaunch& row) {
    codec(row.grid[0], row.grid[1], row.grid[2], row.block[0], row.block[1], row.block[2], row.registers,
          row.shared_bytes);
}
template <class Codec> void fields(Codec& codec, CopyOp& row) {
    codec(row.kind, row.bytes);
}
template <class Codec> void fields(Codec& codec, SyncOp& row) {
    codec(row.kind, row.stream, row.event, row.recorded_by);
}
template <class Codec> void fields(Codec& codec, Flow& row) {
    codec(row.from, row.to, row.kind);
}
template <class Codec> void fields(Codec& codec, Event& row) {
    codec(row.start, row.duration, row.name, row.kind, row.label, row.ext, row.alone, row.binding_pred,
          row.provenance, row.correlation, row.args);
}

Sint64List& add_list(GlobalMetadata& metadata, const char* name) {
    AttributeProto& attribute = *metadata.add_attr();
    attribute.set_name(name);
    return *attribute.mutable_sint64_list();
}

const AttributeProto* find(const GlobalMetadata& metadata, std::string_view name) {
    for (const AttributeProto& attribute : metadata.attr()) {
        if (attribute.name() == name) {
            return &attribute;
        }
    }
    return nullptr;
}

Reader list_of(const GlobalMetadata& metadata, const char* name, const std::string& path) {
    const AttributeProto* attribute = find(metadata, name);
    return {attribute == nullptr ? Sint64List::default_instance() : attribute->sint64_list(),
            fmt::format("{}: attribute {}", path, name)};
}

template <class Row>
void put_table(GlobalMetadata& metadata, const char* name, const std::vector<Row>& rows) {
    Writer writer(add_list(metadata, name));
    for (Row row : rows) {
        fields(writer, row);
    }
}

template <class Row>
void take_table(const GlobalMetadata& metadata, const char* name, const std::string& path,
                std::vector<Row>& rows) {
    for (Reader reader = list_of(metadata, name, path); reader.more();) {
        fields(reader, rows.emplace_back());
    }
}

void put_counters(GlobalMetadata& metadata, const Trace& trace) {
    Writer writer(add_list(metadata, "echosim_counters"));
    Sint64List& times = add_list(metadata, "echosim_counter_times");
    AttributeProto& values = *metadata.add_attr();
    values.set_name("echosim_counter_values");
    for (const TraceCounter& counter : trace.counters) {
        std::uint32_t rank_class = counter.rank_class;
        NameId name = counter.name;
        NameId unit = counter.unit;
        std::uint64_t samples = counter.time_ns.size();
        writer(rank_class, name, unit, samples);
        times.mutable_values()->Add(counter.time_ns.begin(), counter.time_ns.end());
        values.mutable_double_list()->mutable_values()->Add(counter.value.begin(), counter.value.end());
    }
}

void take_counters(const GlobalMetadata& metadata, const std::string& path, Trace& trace) {
    const AttributeProto* values = find(metadata, "echosim_counter_values");
    Reader times = list_of(metadata, "echosim_counter_times", path);
    int at = 0;
    for (Reader reader = list_of(metadata, "echosim_counters", path); reader.more();) {
        TraceCounter counter;
        std::uint64_t samples = 0;
        reader(counter.rank_class, counter.name, counter.unit, samples);
        for (std::uint64_t i = 0; i < samples; ++i) { // times() ends at the end of the list
            times(counter.time_ns.emplace_back());
            if (values == nullptr || at >= values->double_list().values_size()) {
                throw InputError(path + ": attribute echosim_counter_values", "fewer values than times");
            }
            counter.value.push_back(values->double_list().values(at++));
        }
        trace.counters.push_back(std::move(counter));
    }
}

void take_strings(const GlobalMetadata& metadata, const std::string& path, Trace& trace) {
    const AttributeProto* strings = find(metadata, "echosim_strings");
    if (strings == nullptr) {
        return;
    }
    for (const std::string& text : strings->bytes_list().values()) {
        const std::size_t row = trace.strings.size();
        if (trace.strings.intern(text).value != row) {
            throw InputError(path + ": attribute echosim_strings",
                             fmt::format("string {} is there twice", row));
        }
    }
}

// The streams without their events, and how many events each must have.
std::vector<std::uint64_t> take_streams(const GlobalMetadata& metadata, const std::string& path,
                                        Trace& trace) {
    std::vector<std::uint64_t> events;
    for (Reader reader = list_of(metadata, "echosim_streams", path); reader.more();) {
        TraceStream& stream = trace.streams.emplace_back();
        reader(stream.rank_class, stream.id, stream.name, stream.kind, stream.device, stream.number,
               events.emplace_back());
    }
    return events;
}

std::vector<std::uint64_t> take_trace_tables(const GlobalMetadata& metadata, const std::string& path,
                                             Trace& trace) {
    Reader header = list_of(metadata, "echosim_trace", path);
    header(trace.t0_ns, trace.timed);
    const AttributeProto* meta = find(metadata, "echosim_meta");
    trace.meta = meta == nullptr ? std::string() : meta->bytes_val();
    take_strings(metadata, path, trace);
    take_table(metadata, "echosim_classes", path, trace.classes);
    std::vector<std::uint64_t> events = take_streams(metadata, path, trace);
    take_table(metadata, "echosim_labels", path, trace.labels);
    take_table(metadata, "echosim_comm_ops", path, trace.comm_ops);
    take_table(metadata, "echosim_communicators", path, trace.communicators);
    take_table(metadata, "echosim_launches", path, trace.launches);
    take_table(metadata, "echosim_copies", path, trace.copies);
    take_table(metadata, "echosim_syncs", path, trace.syncs);
    take_table(metadata, "echosim_flows", path, trace.flows);
    take_counters(metadata, path, trace);
    return events;
}

void take_event(const chakra::Node& node, const std::string& where, Trace& trace) {
    for (const AttributeProto& attribute : node.attr()) {
        if (attribute.name() != kEventName) {
            continue;
        }
        Reader reader(attribute.sint64_list(), where);
        std::uint32_t stream = 0;
        Event event;
        reader(stream);
        fields(reader, event);
        if (stream >= trace.streams.size()) {
            throw InputError(where, fmt::format("stream {} of {}", stream, trace.streams.size()));
        }
        trace.streams[stream].events.push_back(event);
        return;
    }
    if (node.type() != chakra::METADATA_NODE) {
        throw InputError(
            where, fmt::format("node {} has no attribute {}", node.id(), kEventName),
            fmt::format("nodes were added since echosim wrote the file; without the attribute {} "
                        "in its metadata it is read as any Chakra trace",
                        kVersionName));
    }
}

} // namespace

bool has_trace_tables(const GlobalMetadata& metadata) {
    const AttributeProto* version = find(metadata, kVersionName);
    return version != nullptr && version->int64_val() == kVersion;
}

void put_trace_tables(GlobalMetadata& metadata, const Trace& trace) {
    AttributeProto& version = *metadata.add_attr();
    version.set_name(kVersionName);
    version.set_int64_val(kVersion);
    Writer header(add_list(metadata, "echosim_trace"));
    TimeNs t0 = trace.t0_ns;
    bool timed = trace.timed;
    header(t0, timed);
    AttributeProto& meta = *metadata.add_attr();
    meta.set_name("echosim_meta");
    meta.set_bytes_val(trace.meta);
    AttributeProto& strings = *metadata.add_attr();
    strings.set_name("echosim_strings");
    for (std::uint32_t i = 0; i < trace.strings.size(); ++i) {
        strings.mutable_bytes_list()->add_values(std::string(trace.strings[NameId{i}]));
    }
    put_table(metadata, "echosim_classes", trace.classes);
    Writer streams(add_list(metadata, "echosim_streams"));
    for (const TraceStream& source : trace.streams) {
        TraceStream stream{source.rank_class, source.id,     source.name, source.kind,
                           source.device,     source.number, {}};
        std::uint64_t events = source.events.size();
        streams(stream.rank_class, stream.id, stream.name, stream.kind, stream.device, stream.number, events);
    }
    put_table(metadata, "echosim_labels", trace.labels);
    put_table(metadata, "echosim_comm_ops", trace.comm_ops);
    put_table(metadata, "echosim_communicators", trace.communicators);
    put_table(metadata, "echosim_launches", trace.launches);
    put_table(metadata, "echosim_copies", trace.copies);
    put_table(metadata, "echosim_syncs", trace.syncs);
    put_table(metadata, "echosim_flows", trace.flows);
    put_counters(metadata, trace);
}

void put_event_row(chakra::Node& node, std::uint32_t stream, const Event& event) {
    AttributeProto& attribute = *node.add_attr();
    attribute.set_name(kEventName);
    Writer writer(*attribute.mutable_sint64_list());
    Event row = event;
    writer(stream);
    fields(writer, row);
}

Imported read_own_chakra(const GlobalMetadata& metadata, DelimitedMessages& messages,
                         const std::string& path) {
    Imported result;
    Trace& trace = result.trace;
    ImportReport& report = result.report;
    report.format = "Chakra ET";
    report.files.push_back(path);
    const std::vector<std::uint64_t> expected = take_trace_tables(metadata, path, trace);
    chakra::Node node;
    while (const std::optional<DelimitedMessages::Message> message = messages.next()) {
        chakra::parse_node(node, *message, path);
        take_event(node, fmt::format("{}:{}", path, message->offset), trace);
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const EventColumns& events = trace.streams[i].events;
        if (events.size() != expected[i]) {
            throw InputError(path,
                             fmt::format("stream {} has {} of its {} events", i, events.size(), expected[i]),
                             "the file was cut off or changed since echosim wrote it; export it again");
        }
        report.events += events.size();
        report.complete_events += trace.timed ? events.size() : 0;
        for (const EventKind kind : events.kind) {
            report.kernels += kind == EventKind::kernel || kind == EventKind::comm ? 1 : 0;
        }
    }
    check_trace(trace, path);
    return result;
}

} // namespace echosim
