// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/link.h"

#include "traces/kineto/args.h"
#include "traces/kineto/text.h"
#include "traces/nccl_names.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace echosim {
namespace {

constexpr std::uint64_t kNoRef = 0xffffffffffffffffULL;

// Correlation -> the call's row; of several the first.
class Calls {
  public:
    explicit Calls(KinetoTable& table) {
        table.each([&](std::uint64_t ref, const KinetoRow& row) {
            if (row.kind == EventKind::api && row.correlation != 0) {
                rows_.emplace_back(row.correlation, ref);
            }
        });
        if (!std::is_sorted(rows_.begin(), rows_.end())) {
            std::sort(rows_.begin(), rows_.end());
        }
    }

    std::uint64_t find(std::uint32_t correlation) const {
        const auto found =
            std::lower_bound(rows_.begin(), rows_.end(), std::pair(correlation, std::uint64_t{0}));
        return correlation == 0 || found == rows_.end() || found->first != correlation ? kNoRef
                                                                                       : found->second;
    }
    bool empty() const { return rows_.empty(); }

  private:
    std::vector<std::pair<std::uint32_t, std::uint64_t>> rows_;
};

// What a wait on a stream says of the calls: that of the wait, and that of the record it waits for.
void join_sync(KinetoTable& table, const Calls& calls, const KinetoRow& row) {
    const SyncOp record = table.syncs[row.detail];
    const std::uint64_t call = calls.find(row.correlation);
    if (call != kNoRef && table.row(call).detail != kNoRow) {
        SyncOp& sync = table.syncs[table.row(call).detail];
        sync.stream = record.stream;
        sync.event = record.event;
        sync.recorded_by = record.recorded_by;
    }
    const std::uint64_t recorder = calls.find(record.recorded_by);
    if (recorder == kNoRef || table.row(recorder).detail == kNoRow) {
        return;
    }
    SyncOp& recorded = table.syncs[table.row(recorder).detail];
    if (recorded.kind != SyncKind::event_record) {
        return;
    }
    recorded.event = record.event;
    std::int64_t stream = record.kind == SyncKind::event_synchronize ? record.stream : -1;
    const std::string args = table.text(row.args);
    JsonMembers members(args);
    while (!args.empty() && members.next()) {
        if (members.key() == "wait_on_stream") {
            stream = whole_number(members.value()).value_or(-1);
        }
    }
    recorded.stream = stream >= 0 ? stream : recorded.stream;
}

// HIP gives the size of a copy in the args of its call.
void join_copy(KinetoTable& table, const Calls& calls, const KinetoRow& row) {
    CopyOp& copy = table.copies[row.detail];
    const std::uint64_t call = copy.bytes == 0 ? calls.find(row.correlation) : kNoRef;
    if (call == kNoRef || table.row(call).args == kNoName) {
        return;
    }
    const std::string args = table.text(table.row(call).args);
    JsonMembers members(args);
    while (members.next()) {
        if (members.key() == "size" || members.key() == "bytes") {
            copy.bytes =
                static_cast<Bytes>(std::max<std::int64_t>(whole_number(members.value()).value_or(0), 0));
        }
    }
}

// Operators that stand for communication, by thread, in order of their start.
class CommOperators {
  public:
    explicit CommOperators(KinetoTable& table) : table_(table) {
        table.each([&](std::uint64_t ref, const KinetoRow& row) {
            if (row.kind != EventKind::host && row.kind != EventKind::annotation) {
                return;
            }
            const std::string_view name = table.builder.so_far().text(row.name);
            if (row.lane == KinetoLane::thread &&
                (name == "record_param_comms" || name.starts_with("nccl:"))) {
                threads_[row.track].push_back({row.start, ref});
            }
        });
        for (auto& [track, list] : threads_) {
            std::sort(list.begin(), list.end());
        }
    }

    // Those around the call, innermost first, as far as they help.
    template <class Visit> void around(const KinetoRow& call, const Visit& visit) const {
        const auto thread = threads_.find(call.track);
        if (thread == threads_.end()) {
            return;
        }
        const auto& list = thread->second;
        auto at = std::upper_bound(list.begin(), list.end(), std::pair(call.start, kNoRef));
        for (int steps = 0; at != list.begin() && steps < 8; ++steps) {
            const KinetoRow& row = table_.row((--at)->second);
            if (row.start + row.duration >= call.start + call.duration) {
                visit(row);
            }
        }
    }

  private:
    KinetoTable& table_;
    std::unordered_map<std::uint32_t, std::vector<std::pair<TimeNs, std::uint64_t>>> threads_;
};

// record_param_comms with the metadata that newer kernels carry themselves.
void take_metadata(KinetoTable& table, const KinetoRow& row, KinetoComm& comm) {
    StringPool strings;
    KinetoRow like = row;
    like.kind = EventKind::comm;
    EventArgs args;
    if (!read_event_args(table.text(row.args), like, "", strings, args) || args.element == 0) {
        return;
    }
    const auto name = [&](NameId id) { return id == kNoName ? kNoName : table.builder.name(strings[id]); };
    CommOp op = args.comm.op;
    op.kind = args.collective.value_or(comm.op.kind);
    op.algorithm = comm.op.algorithm;
    op.protocol = comm.op.protocol;
    op.bytes = message_bytes(op.kind, op.in_elements, op.out_elements, op.group_size, args.element);
    comm = {op, name(args.comm.group), name(args.comm.description), name(args.comm.ranks), op.bytes > 0};
}

// Elements of the first tensor of "[[[2873320]],[]]".
std::uint64_t first_elements(std::string_view dims) {
    const std::size_t end = dims.find(']');
    const std::size_t begin = end == std::string_view::npos ? end : dims.rfind('[', end);
    const auto sizes = begin == std::string_view::npos
                           ? std::nullopt
                           : whole_numbers(dims.substr(begin, end + 1 - begin), 16);
    std::uint64_t elements = sizes && !sizes->empty() ? 1 : 0;
    for (const std::int64_t size : sizes.value_or(std::vector<std::int64_t>{})) {
        constexpr std::uint64_t kMost = std::uint64_t{1} << 50U;
        if (size < 0 || (size > 0 && elements > kMost / static_cast<std::uint64_t>(size))) {
            return 0;
        }
        elements *= static_cast<std::uint64_t>(size);
    }
    return elements;
}

// "nccl:all_reduce" with the shape of its tensor.
void take_shape(KinetoTable& table, const KinetoRow& row, KinetoComm& comm) {
    const auto name = collective_named(table.builder.so_far().text(row.name));
    if (!name) {
        return;
    }
    comm.op.kind = name->kind;
    comm.op.direction = name->direction;
    if (row.args == kNoName) {
        return;
    }
    std::uint64_t elements = 0;
    std::optional<ElementType> type;
    const std::string args = table.text(row.args);
    JsonMembers members(args);
    while (members.next()) {
        if (members.key() == "Input Dims") {
            elements = first_elements(members.value());
        } else if (members.key() == "Input type") {
            const std::string_view list = members.value();
            const std::size_t begin = std::min(list.find('"') + 1, list.size());
            type = element_type(list.substr(begin, list.find('"', begin) - begin));
        }
    }
    if (elements > 0 && type) {
        comm.op.in_elements = elements;
        comm.op.dtype = type->type;
        comm.op.bytes = message_bytes(comm.op.kind, elements, 0, comm.op.group_size, type->bytes);
        comm.described = true;
    }
}

void describe_comms(KinetoTable& table, const Calls& calls) {
    const CommOperators operators(table);
    std::uint64_t unknown = 0;
    std::uint64_t all = 0;
    table.each([&](std::uint64_t, KinetoRow& row) {
        if (row.kind != EventKind::comm || row.detail == kNoRow) {
            return;
        }
        ++all;
        KinetoComm& comm = table.comms[row.detail];
        const std::uint64_t call = comm.described ? kNoRef : calls.find(row.correlation);
        if (call != kNoRef) {
            operators.around(table.row(call), [&](const KinetoRow& around) {
                const bool metadata = table.builder.so_far().text(around.name) == "record_param_comms";
                if (metadata && !comm.described && around.args != kNoName) {
                    take_metadata(table, around, comm);
                } else if (!metadata && !comm.described) {
                    take_shape(table, around, comm);
                } else if (metadata && around.args != kNoName) {
                    take_metadata(table, around, comm); // says more than the shape
                }
            });
        }
        unknown += comm.described ? 0U : 1U;
    });
    if (unknown > 0) {
        table.report.note_counts("the sizes of {} of {} communication kernels are not in the file: record "
                                 "with record_shapes=True, or with PyTorch 2.4 and later",
                                 {unknown, all});
    }
}

} // namespace

void link_calls(KinetoTable& table) {
    const Calls calls(table);
    std::uint64_t unmatched = 0;
    std::uint64_t work = 0;
    table.each([&](std::uint64_t, KinetoRow& row) {
        if (is_device_work(row.kind) && row.lane == KinetoLane::device) {
            ++work;
            unmatched += calls.find(row.correlation) == kNoRef ? 1U : 0U;
        }
        if (row.kind == EventKind::sync && row.detail != kNoRow) {
            join_sync(table, calls, row);
        }
        if ((row.kind == EventKind::memcpy || row.kind == EventKind::memset) && row.detail != kNoRow) {
            join_copy(table, calls, row);
        }
    });
    if (unmatched > 0) {
        table.report.note_counts("the calls that launched {} of {} records of the device are not in the "
                                 "file: recording began later, or calls were not recorded",
                                 {unmatched, work});
    }
    describe_comms(table, calls);
}

void check_arrows(KinetoTable& table) {
    const auto sort = [](std::vector<std::uint64_t>& ids) {
        if (!std::is_sorted(ids.begin(), ids.end())) {
            std::sort(ids.begin(), ids.end());
        }
    };
    sort(table.launched);
    sort(table.arrived);
    const Calls calls(table);
    std::uint64_t unmatched = 0;
    for (const std::uint64_t id : table.arrived) {
        if (!std::binary_search(table.launched.begin(), table.launched.end(), id)) {
            const bool call = id <= 0xffffffffU && calls.find(static_cast<std::uint32_t>(id)) != kNoRef;
            unmatched += call ? 0U : 1U; // a call that launched nothing has an end of an arrow all the same
        }
    }
    for (const std::uint64_t id : table.launched) {
        unmatched += std::binary_search(table.arrived.begin(), table.arrived.end(), id) ? 0U : 1U;
    }
    table.report.warn("unmatched_flow", unmatched);
}

} // namespace echosim
