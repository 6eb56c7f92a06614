// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/collective_concurrent.h"

#include "comm_models/contention.h"
#include "comm_models/nccl_model.h"
#include "comm_models/traffic.h"
#include "simulator/cli/commands/collective_document.h"
#include "simulator/cli/commands/collective_explain.h"
#include "simulator/cli/commands/collective_rows.h"
#include "simulator/cli/commands/collective_table.h"
#include "simulator/cli/job_input.h"
#include "simulator/cli/text_table.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "simulator/run/version.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostCollectives = 10'000;

// One entry of the file, and the groups that run it.
struct Entry {
    std::string name;
    Collective call;
    Seconds start = 0;
    double weight = 0; // 0 = the CTAs
    std::vector<int> ranks;
};

struct Op {
    Entry entry = {};
    CommCost alone = {};
    ConcurrentResult result = {};
};

class EntryReader {
  public:
    EntryReader(std::string file, int gpus, std::vector<Problem>& problems)
        : file_(std::move(file)), gpus_(gpus), problems_(problems) {}

    void read(const Json& json, std::size_t index, std::vector<Entry>& entries) {
        const std::string path = fmt::format("collectives[{}]", index);
        const std::string where = fmt::format("{}: {}", file_, path);
        if (!json.is_object()) {
            problems_.push_back({where, "must be an object with kind and bytes", ""});
            return;
        }
        ObjectReader reader(json, file_, path, problems_);
        Entry entry;
        std::string kind;
        std::string dtype = "bfloat16";
        reader.read({.key = "name"}, entry.name);
        reader.read({.key = "kind", .required = true}, kind);
        reader.read({.key = "bytes", .required = true, .max = 1e15}, entry.call.bytes);
        const bool no_bytes = !json.contains("bytes"); // said by the reader
        reader.read({.key = "dtype"}, dtype);
        reader.read({.key = "in_place"}, entry.call.in_place);
        reader.read_quantity({.key = "start", .max = 1e6}, Quantity::time, entry.start);
        reader.read({.key = "weight", .min = 0.001, .max = 1e6}, entry.weight);
        int first = 0;
        int stride = 1;
        bool siblings = false;
        reader.read({.key = "first", .max = 4194303}, first);
        reader.read({.key = "stride", .min = 1, .max = 4194304}, stride);
        reader.read({.key = "siblings"}, siblings);
        const Json* ranks = reader.any({.key = "ranks"});
        reader.finish();
        try {
            entry.call.kind = kind.empty() ? entry.call.kind : parse_collective_kind(where + ".kind", kind);
            entry.call.dtype = parse_nccl_dtype(where + ".dtype", dtype);
            if (ranks != nullptr)
                entry.ranks = listed_ranks(*ranks, where + ".ranks");
        } catch (const InputError& error) {
            problems_.insert(problems_.end(), error.problems().begin(), error.problems().end());
            return;
        }
        if (no_bytes)
            return;
        if (ranks != nullptr)
            return add(std::move(entry), where, entries);
        for (int group = siblings ? 0 : first; group < (siblings ? std::min(stride, gpus_) : first + 1);
             ++group) {
            Entry one = entry;
            for (int rank = group; rank < gpus_; rank += stride)
                one.ranks.push_back(rank);
            add(std::move(one), where, entries);
        }
    }

  private:
    std::vector<int> listed_ranks(const Json& json, const std::string& where) const {
        if (json.is_string())
            return parse_group_ranks(where, json.get<std::string>());
        std::string text;
        if (json.is_array())
            for (const Json& rank : json)
                text += (text.empty() ? "" : ",") + rank.dump();
        if (text.empty())
            throw InputError(where, "must be a list of ranks such as \"0-7\" or [0, 8, 16]");
        return parse_group_ranks(where, text);
    }

    void add(Entry entry, const std::string& where, std::vector<Entry>& entries) {
        const bool outside =
            entry.ranks.empty() || *std::max_element(entry.ranks.begin(), entry.ranks.end()) >= gpus_;
        if (outside)
            problems_.push_back({where,
                                 fmt::format("has a rank that is not one of the job's, 0 to {}", gpus_ - 1),
                                 "--gpus says how many GPUs the job has"});
        else if (entry.ranks.size() < 2)
            problems_.push_back({where, "a group of one rank moves nothing", "give two ranks or more"});
        else if (entry.call.bytes == 0)
            problems_.push_back({where, "0 bytes move nothing", ""});
        else
            entries.push_back(std::move(entry));
    }

    std::string file_;
    int gpus_;
    std::vector<Problem>& problems_;
};

std::vector<Entry> read_entries(const std::string& file, int gpus) {
    const Json document = read_json_file(file);
    const Json list = document.is_object() ? document.value("collectives", Json()) : document;
    if (!list.is_array() || list.empty())
        throw InputError(file, "must be a list of collectives, or an object with the list \"collectives\"",
                         "for example [{\"kind\": \"all_reduce\", \"bytes\": \"1GiB\", \"ranks\": \"0-7\"}]");
    std::vector<Problem> problems;
    std::vector<Entry> entries;
    EntryReader reader(file, gpus, problems);
    for (std::size_t i = 0; i < list.size() && entries.size() <= kMostCollectives; ++i)
        reader.read(list[i], i, entries);
    if (entries.size() > kMostCollectives)
        problems.push_back({file, fmt::format("has more than {} collectives", kMostCollectives), ""});
    if (!problems.empty())
        throw InputError(std::move(problems));
    return entries;
}

std::vector<Op> run_entries(const CollectiveRequest& request, const NcclModel& model,
                            std::vector<Entry> entries, FabricLinks& fabric) {
    std::vector<Op> ops;
    std::vector<ConcurrentOp> inputs;
    for (Entry& entry : entries) {
        const GroupGeometry group = geometry_of(entry.ranks, model.cluster(), request.placement);
        need_network(model.cluster(), group);
        Op op{.alone = model.estimate(entry.call, group)};
        inputs.push_back({.start = entry.start,
                          .alone = op.alone.time,
                          .latency = std::min(op.alone.latency, op.alone.time),
                          .weight = entry.weight > 0 ? entry.weight : std::max(1, op.alone.channels),
                          .traffic = traffic_of(entry.call, op.alone.algorithm, entry.ranks, fabric)});
        op.entry = std::move(entry);
        ops.push_back(std::move(op));
    }
    const std::vector<ConcurrentResult> results = run_concurrently(inputs, fabric);
    for (std::size_t i = 0; i < ops.size(); ++i)
        ops[i].result = results[i];
    return ops;
}

// "0-7", "0,8,...,56 (8 ranks)".
std::string ranks_text(const std::vector<int>& ranks) {
    const bool run = ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size()) &&
                     std::is_sorted(ranks.begin(), ranks.end());
    if (run)
        return fmt::format("{}-{}", ranks.front(), ranks.back());
    if (ranks.size() <= 3)
        return fmt::format("{}", fmt::join(ranks, ","));
    return fmt::format("{},{},...,{}", ranks[0], ranks[1], ranks.back());
}

Seconds took(const Op& op) {
    return op.result.finish - op.entry.start;
}

double slowdown(const Op& op) {
    return op.alone.time > 0 ? took(op) / op.alone.time : 1;
}

std::string text_of(const CollectiveRequest& request, const std::vector<Op>& ops, const FabricLinks& fabric,
                    const TextStyle& style) {
    constexpr auto right = TextTable::Align::right;
    TextTable table({{"collective"},
                     {"ranks"},
                     {"size", right},
                     {"runs"},
                     {"start us", right},
                     {"alone us", right},
                     {"took us", right},
                     {"finish us", right},
                     {"slowdown", right},
                     {"held back by"}});
    double last = 0;
    for (const Op& op : ops) {
        last = std::max(last, op.result.finish);
        table.add({op.entry.name.empty() ? std::string(to_string(op.entry.call.kind)) : op.entry.name,
                   ranks_text(op.entry.ranks), size_text(op.entry.call.bytes),
                   choice_name(op.alone.algorithm, op.alone.protocol),
                   fmt::format("{:.1f}", op.entry.start * 1e6), fmt::format("{:.1f}", op.alone.time * 1e6),
                   fmt::format("{:.1f}", took(op) * 1e6), fmt::format("{:.1f}", op.result.finish * 1e6),
                   fmt::format("{:.2f}", slowdown(op)),
                   op.result.shared ? fabric.describe(op.result.bottleneck) : "-"});
    }
    return fmt::format("# {} collectives on {} GPUs of {}, nodes {}; {}\n", ops.size(), request.gpus,
                       request.cluster.name, request.placement_text, library_text(request.cluster)) +
           table.text(style, 0) + fmt::format("# all done after {}\n", format_time(last));
}

Json document_of(const CollectiveRequest& request, const std::vector<Op>& ops, const FabricLinks& fabric) {
    Json json = {{"schema", "echosim.concurrent/1"}, {"version", version()}};
    json.update(collective_machine_json(request));
    json.erase("group");
    json["collectives"] = Json::array();
    for (const Op& op : ops)
        json["collectives"].push_back(
            {{"name", op.entry.name},
             {"kind", to_string(op.entry.call.kind)},
             {"bytes", op.entry.call.bytes},
             {"ranks", op.entry.ranks},
             {"algorithm", to_string(op.alone.algorithm)},
             {"protocol", to_string(op.alone.protocol)},
             {"channels", op.alone.channels},
             {"start_us", op.entry.start * 1e6},
             {"alone_us", op.alone.time * 1e6},
             {"finish_us", op.result.finish * 1e6},
             {"slowdown", slowdown(op)},
             {"bottleneck", op.result.shared ? Json(fabric.describe(op.result.bottleneck)) : Json()}});
    json["warnings"] = request.warnings;
    return json;
}

} // namespace

Output concurrent_output(const Invocation& invocation, CollectiveRequest& request, const TextStyle& style) {
    std::vector<Entry> entries = read_entries(*invocation.value("--concurrent"), request.gpus);
    const NcclModel model(request.cluster, request.options);
    FabricLinks fabric(model.cluster(), request.gpus, request.placement);
    const std::vector<Op> ops = run_entries(request, model, std::move(entries), fabric);
    const std::string document = document_text(document_of(request, ops, fabric));
    return {.text = text_of(request, ops, fabric, style), .json = document, .file = document};
}

} // namespace echosim
