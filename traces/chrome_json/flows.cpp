// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_json/writer.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

// Arrows between events. An arrow that would end before it begins (readers drop it) is turned round.
namespace echosim {
namespace {

std::string_view flow_name(FlowKind kind) {
    return kind == FlowKind::launch             ? "ac2g"
           : kind == FlowKind::forward_backward ? "fwdbwd"
                                                : to_string(kind);
}

std::string_view flow_category(FlowKind kind) {
    return kind == FlowKind::launch || kind == FlowKind::forward_backward ? flow_name(kind) : "flow";
}

} // namespace

TimeNs TraceEventWriter::start_of(std::uint64_t ref) const {
    return trace_.streams[stream_of(ref)].events.start_ns[index_of(ref)];
}

TimeNs TraceEventWriter::inside(std::uint64_t ref, TimeNs time) const {
    const TimeNs length = trace_.streams[stream_of(ref)].events.dur_ns[index_of(ref)];
    return std::clamp(time, start_of(ref), start_of(ref) + std::max<TimeNs>(length - 1, 0));
}

void TraceEventWriter::put_flow_end(std::string_view head, std::uint64_t ref, TimeNs time, FlowKind kind) {
    const TraceThread thread = threads_.of_event(stream_of(ref), index_of(ref));
    begin_event();
    fmt::format_to(std::back_inserter(buffer_), R"({{{},"pid":{},"tid":{},)", head, thread.pid, thread.tid);
    put_json_time(buffer_, "ts", time);
    fmt::format_to(std::back_inserter(buffer_), R"("name":"{}","cat":"{}")", flow_name(kind),
                   flow_category(kind));
}

// It leaves at the start of its event and arrives inside the other one, not before it left.
void TraceEventWriter::put_arrow(Flow flow, std::size_t id, std::string_view args) {
    const bool backwards = flow.kind == FlowKind::collective
                               ? start_of(flow.to) < start_of(flow.from)
                               : inside(flow.to, start_of(flow.from)) < start_of(flow.from);
    if (backwards) {
        std::swap(flow.from, flow.to);
    }
    const TimeNs leaves = start_of(flow.from);
    put_flow_end(fmt::format(R"("ph":"s","id":{})", id), flow.from, leaves, flow.kind);
    fmt::format_to(std::back_inserter(buffer_), "{}}}", args);
    put_flow_end(fmt::format(R"("ph":"f","bp":"e","id":{})", id), flow.to, inside(flow.to, leaves),
                 flow.kind);
    fmt::format_to(std::back_inserter(buffer_), "}}");
}

void TraceEventWriter::put_flow(std::size_t row) {
    const Flow& flow = trace_.flows[row];
    put_arrow(flow, row + 1,
              fmt::format(R"(,"args":{{"flow":"{}","from":[{},{}],"to":[{},{}]}})", to_string(flow.kind),
                          stream_of(flow.from), index_of(flow.from), stream_of(flow.to), index_of(flow.to)));
}

// Of a timeline without flows of kind launch: from each call to the work of the same correlation.
void TraceEventWriter::put_call_arrows() {
    const auto is_launch = [](const Flow& flow) { return flow.kind == FlowKind::launch; };
    if (std::any_of(trace_.flows.begin(), trace_.flows.end(), is_launch)) {
        return;
    }
    std::unordered_map<std::uint32_t, std::uint64_t> calls;
    const auto each = [&](auto visit) {
        for (std::uint32_t stream = 0; stream < trace_.streams.size(); ++stream) {
            const EventColumns& events = trace_.streams[stream].events;
            for (std::uint32_t i = 0; i < events.size(); ++i) {
                if (events.correlation[i] != 0) {
                    visit(events.kind[i], events.correlation[i], event_ref(stream, i));
                }
            }
        }
    };
    each([&](EventKind kind, std::uint32_t correlation, std::uint64_t ref) {
        if (kind == EventKind::api) {
            calls.try_emplace(correlation, ref);
        }
    });
    std::size_t id = trace_.flows.size();
    each([&](EventKind kind, std::uint32_t correlation, std::uint64_t ref) {
        const auto call = is_device_work(kind) ? calls.find(correlation) : calls.end();
        if (call != calls.end()) {
            put_arrow({call->second, ref, FlowKind::launch}, ++id, "");
        }
    });
}

} // namespace echosim
