// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/collective_input.h"

#include "comm_models/nccl_graph.h"
#include "comm_models/nccl_tables.h"
#include "simulator/cli/commands/collective_measured.h"
#include "simulator/cli/job_input.h"
#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <unordered_set>

namespace echosim {
namespace {

constexpr int kMostGpus = 4'194'304;
constexpr int kMostCalls = 1'000'000;

struct NamedDType {
    std::string_view name;
    DType dtype;
};
// The first name of a type is that of nccl-tests.
constexpr std::array<NamedDType, 15> kDTypes = {{{"float", DType::fp32},
                                                 {"half", DType::fp16},
                                                 {"bfloat16", DType::bf16},
                                                 {"f8e4m3", DType::fp8},
                                                 {"int8", DType::int8},
                                                 {"int32", DType::int32},
                                                 {"int64", DType::int64},
                                                 {"fp32", DType::fp32},
                                                 {"fp16", DType::fp16},
                                                 {"bf16", DType::bf16},
                                                 {"fp8", DType::fp8},
                                                 {"f8e5m2", DType::fp8},
                                                 {"uint8", DType::int8},
                                                 {"uint32", DType::int32},
                                                 {"uint64", DType::int64}}};

// Letters and digits alone, in lower case: "All-Reduce" and "all_reduce" are the same word.
std::string squeezed(std::string_view text) {
    std::string out;
    for (const char c : text)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t comma = std::min(text.find(',', start), text.size());
        parts.push_back(text.substr(start, comma - start));
        start = comma + 1;
    }
    return parts;
}

// The values of --algo or --proto as NCCL spells them.
std::vector<std::string> nccl_names(const std::string& option, const std::string& text,
                                    const std::vector<std::string>& names) {
    std::vector<std::string> chosen;
    for (const std::string& part : parts_of(text)) {
        const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
            return squeezed(name) == squeezed(part);
        });
        if (found == names.end())
            throw InputError(option, fmt::format("\"{}\" is unknown{}", part, did_you_mean(names, part)),
                             "names: " + join(names));
        chosen.push_back(*found);
    }
    return chosen;
}

void set_variable(const std::string& option, const std::string& name, const std::string& value,
                  CollectiveRequest& request) {
    const auto [it, added] = request.options.environment.emplace(name, value);
    if (!added)
        throw InputError(option, fmt::format("{} is set twice: \"{}\" and \"{}\"", name, it->second, value),
                         "keep one of them");
}

void read_environment(const Invocation& invocation, CollectiveRequest& request) {
    if (const auto text = invocation.value("--algo")) {
        request.algorithms = nccl_names(
            "--algo", *text, {"Ring", "Tree", "NVLS", "NVLSTree", "CollnetDirect", "CollnetChain", "PAT"});
        set_variable("--algo", "NCCL_ALGO", join(request.algorithms, ","), request);
    }
    if (const auto text = invocation.value("--proto")) {
        request.protocols = nccl_names("--proto", *text, {"LL", "LL128", "Simple"});
        set_variable("--proto", "NCCL_PROTO", join(request.protocols, ","), request);
    }
    for (const std::string& setting : invocation.values("--env")) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos || equals == 0)
            throw InputError("--env", fmt::format("\"{}\" is not NAME=VALUE", setting),
                             "for example --env NCCL_MAX_NCHANNELS=8");
        set_variable("--env", setting.substr(0, equals), setting.substr(equals + 1), request);
    }
}

void read_nccl_version(const Invocation& invocation, Cluster& cluster) {
    const auto text = invocation.value("--nccl");
    if (!text)
        return;
    try {
        set_value(cluster, "nccl", *text);
        nccl::parse_version(*text);
    } catch (const InputError&) {
        throw InputError("--nccl", fmt::format("\"{}\" is not a release of NCCL", *text),
                         "write for example 2.21 or 2.21.5; releases are 2.x");
    }
}

void read_group(const Invocation& invocation, CollectiveRequest& request) {
    const auto gpus = invocation.value("--gpus");
    const auto ranks = invocation.value("--ranks");
    const auto stride = invocation.value("--stride");
    if (gpus)
        request.gpus = parse_whole_number("--gpus", *gpus, 1, kMostGpus);
    if (ranks && stride)
        throw InputError("--stride", "cannot be combined with --ranks", "keep one of them");
    if (ranks) {
        request.ranks = parse_group_ranks("--ranks", *ranks);
        const int last = *std::max_element(request.ranks.begin(), request.ranks.end());
        if (gpus && last >= request.gpus)
            throw InputError("--ranks", fmt::format("rank {} is not one of the job's, 0 to {} (--gpus {})",
                                                    last, request.gpus - 1, request.gpus));
        const int per_node = std::max(1, request.cluster.node.gpus);
        request.gpus = gpus ? request.gpus : (last / per_node + 1) * per_node;
        return;
    }
    if (!gpus)
        request.gpus = std::max(request.cluster.node.gpus, nvlink_domain_gpus(request.cluster));
    const int step = stride ? parse_whole_number("--stride", *stride, 1, request.gpus) : 1;
    if (request.gpus % step != 0)
        throw InputError("--stride", fmt::format("{} GPUs are not a multiple of {}", request.gpus, step),
                         "the groups of a job have the same size");
    for (int rank = 0; rank < request.gpus; rank += step)
        request.ranks.push_back(rank);
}

Buffers buffers_named(const std::string& name) {
    return name == "plain" ? Buffers::plain : name == "registered" ? Buffers::registered : Buffers::symmetric;
}

Transport transport_named(const std::string& name) {
    if (name == "copy-engine")
        return Transport::copy_engine;
    if (name == "te-ring-exchange")
        return Transport::te_ring_exchange;
    if (name == "te-pipeline")
        return Transport::te_pipeline;
    return name == "deepep" ? Transport::deepep : Transport::nccl;
}

void read_call(const Invocation& invocation, CollectiveRequest& request) {
    Collective& call = request.call;
    call.dtype = parse_nccl_dtype("--dtype", invocation.value("--dtype").value_or("float"));
    call.buffers = buffers_named(invocation.value("--buffers").value_or("plain"));
    call.transport = transport_named(invocation.value("--transport").value_or("nccl"));
    if (const auto calls = invocation.value("--calls"))
        call.calls = parse_whole_number("--calls", *calls, 1, kMostCalls);
    const auto text = invocation.value("--imbalance");
    if (!text)
        return;
    const auto most = static_cast<double>(request.ranks.size());
    const char* end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, request.imbalance);
    if (error != std::errc{} || stop != end || !(request.imbalance >= 1 && request.imbalance <= most))
        throw InputError(
            "--imbalance",
            fmt::format("must be a factor from 1 to the number of ranks ({}), read \"{}\"", most, *text),
            "1.5: the busiest rank sends or receives 1.5 times the mean");
    if (call.kind != CollectiveKind::all_to_all)
        throw InputError("--imbalance", fmt::format("is for all_to_all, not for {}", to_string(call.kind)));
}

void add_warnings(CollectiveRequest& request, const NcclModel& model) {
    Collective call = request.call;
    call.bytes = 1_MiB;
    request.warnings = model.explain(call, request.group).notes;
    if (std::string unmatched = nccl::unmatched_log(request.cluster, request.group); !unmatched.empty())
        request.warnings.push_back(std::move(unmatched));
    for (const std::string& warning : model.warnings()) {
        // about other kinds of collectives; this one was checked
        const bool of_option = (!request.algorithms.empty() && warning.starts_with("NCCL_ALGO")) ||
                               (!request.protocols.empty() && warning.starts_with("NCCL_PROTO"));
        if (!of_option)
            request.warnings.push_back(warning);
    }
    const Node& node = request.cluster.node;
    // NCCL counts 12 GB/s for 16 lanes of PCIe 3, twice that each generation
    const BytesPerSecond pcie = 12_GBps * std::exp2(node.pcie.gen - 3) * node.pcie.width / 16.0;
    if (request.group.nodes > 1 && node.nics.bandwidth > 1.1 * pcie)
        request.warnings.push_back(fmt::format("a NIC of {} behind PCIe {} x{} of {}: the slower one counts; "
                                               "raise cluster.node.pcie.gen as well",
                                               format_bandwidth(node.nics.bandwidth), node.pcie.gen,
                                               node.pcie.width, format_bandwidth(pcie)));
}

// An empty list allows everything.
bool is_listed(const std::vector<std::string>& names, std::string_view name) {
    return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& listed) {
               return squeezed(listed) == squeezed(name);
           });
}

// A transport that does not exist for this call would silently be NCCL's ordinary kernels.
void check_transport(const CollectiveRequest& request, const NcclModel& model) {
    if (request.group.ranks < 2)
        return;
    Collective call = request.call;
    call.bytes = 64_MiB;
    Collective plain = call;
    plain.transport = Transport::nccl;
    plain.buffers = Buffers::plain;
    const CommCost cost = model.estimate(call, request.group);
    const CommCost ordinary = model.estimate(plain, request.group);
    const bool same = cost.time == ordinary.time && cost.channels == ordinary.channels;
    if (same && call.transport != Transport::nccl)
        throw InputError(
            "--transport",
            fmt::format("does not carry {} of {} ranks on {} node{} with this NCCL", to_string(call.kind),
                        request.group.ranks, request.group.nodes, request.group.nodes == 1 ? "" : "s"),
            "copy-engine: all_gather, all_to_all, gather, scatter within one NVLink domain, NCCL "
            "2.28 and later; te-ring-exchange, te-pipeline: all_gather, reduce_scatter within "
            "one NVLink domain; deepep: all_to_all");
}

std::string choice_name(const CollectiveCandidate& c) {
    return fmt::format("{} {}", to_string(c.algorithm), to_string(c.protocol));
}

void read_machine(const Invocation& invocation, CollectiveRequest& request) {
    const Overrides overrides = read_overrides(invocation.values("--set"));
    if (!overrides.flags.empty() || overrides.interference || overrides.contention ||
        !overrides.software.empty())
        throw InputError("--set", "echosim collective takes keys of cluster.* and gpu.* only");
    request.cluster = resolve_cluster(invocation, overrides, std::nullopt);
    read_nccl_version(invocation, request.cluster);
    request.options.calibration = invocation.value("--calibration").value_or("");
    read_environment(invocation, request);
}

void read_placement(const Invocation& invocation, CollectiveRequest& request) {
    request.placement_text = invocation.value("--placement").value_or("packed");
    request.placement =
        placement_from(request.placement_text, nodes_for(request.cluster, request.gpus), request.cluster);
}

// Throws when --algo and --proto leave nothing that NCCL can run for this group; says what there is.
void check_algorithm_available(const CollectiveRequest& request) {
    if ((request.algorithms.empty() && request.protocols.empty()) || request.group.ranks < 2)
        return;
    const std::string option = request.algorithms.empty() ? "--proto" : "--algo";
    if (!has_algorithms(request.call.kind))
        throw InputError(option, fmt::format("{} is made of sends and receives: there is nothing to choose",
                                             to_string(request.call.kind)));
    NcclOptions free = request.options;
    free.environment.erase("NCCL_ALGO");
    free.environment.erase("NCCL_PROTO");
    Collective call = request.call;
    call.bytes = 1_MiB;
    std::vector<std::string> names;
    for (const CollectiveCandidate& candidate :
         NcclModel(request.cluster, free).explain(call, request.group).candidates) {
        if (is_listed(request.algorithms, to_string(candidate.algorithm)) &&
            is_listed(request.protocols, to_string(candidate.protocol)))
            return;
        names.push_back(choice_name(candidate));
    }
    throw InputError(option,
                     fmt::format("leaves nothing to run for {} of {} ranks on {} node{}",
                                 to_string(call.kind), request.group.ranks, request.group.nodes,
                                 request.group.nodes == 1 ? "" : "s"),
                     "this group has: " + join(names));
}

// Options whose place is the file of --concurrent.
bool per_collective(std::string_view option) {
    constexpr std::array<std::string_view, 5> kKeys = {"--bytes", "--ranks", "--stride", "--dtype",
                                                       "--in-place"};
    return std::find(kKeys.begin(), kKeys.end(), option) != kKeys.end();
}

} // namespace

void need_network(const Cluster& cluster, const GroupGeometry& group) {
    if (group.nodes < 2)
        return;
    const std::string ranks = fmt::format("{} ranks on {} nodes", group.ranks, group.nodes);
    if (cluster.fabric.kind == FabricKind::none)
        throw InputError("cluster.fabric.kind", cluster.name + " has no network (\"none\"): " + ranks,
                         "--gpus or --ranks of one node, or a cluster file with node.nics and fabric");
    if (cluster.node.nics.count == 0 || cluster.node.nics.bandwidth <= 0)
        throw InputError("cluster.node.nics", cluster.name + " has no network: " + ranks + " and no NICs",
                         "--set cluster.node.nics.count and cluster.node.nics.bandwidth, or one node");
}

CollectiveKind parse_collective_kind(const std::string& where, const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t kind = 0; kind <= static_cast<std::size_t>(CollectiveKind::send_recv); ++kind)
        names.emplace_back(to_string(static_cast<CollectiveKind>(kind)));
    std::string word = squeezed(text);
    if (word.ends_with("perf"))
        word.resize(word.size() - 4);
    for (const std::string& name : names)
        if (squeezed(name) == word)
            return *collective_from(name);
    throw InputError(where, fmt::format("unknown collective \"{}\"{}", text, did_you_mean(names, text)),
                     "kinds: " + join(names));
}

DType parse_nccl_dtype(const std::string& where, const std::string& text) {
    std::vector<std::string> names;
    for (const NamedDType& entry : kDTypes) {
        if (entry.name == text)
            return entry.dtype;
        names.emplace_back(entry.name);
    }
    throw InputError(where, fmt::format("unknown element type \"{}\"{}", text, did_you_mean(names, text)),
                     "types: " + join(names));
}

std::string_view nccl_tests_name(DType dtype) {
    for (const NamedDType& entry : kDTypes)
        if (entry.dtype == dtype)
            return entry.name;
    return to_string(dtype);
}

bool has_algorithms(CollectiveKind kind) {
    return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
           kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::broadcast ||
           kind == CollectiveKind::reduce;
}

std::vector<int> parse_group_ranks(const std::string& where, const std::string& text) {
    std::vector<int> ranks = parse_ranks_in_order(where, text);
    std::unordered_set<int> seen;
    for (const int rank : ranks)
        if (!seen.insert(rank).second)
            throw InputError(where, fmt::format("rank {} is listed twice", rank));
    return ranks;
}

CollectiveRequest read_collective_request(const Invocation& invocation) {
    if (invocation.arguments.empty())
        throw InputError("echosim collective", "the kind of collective is missing",
                         "write for example: echosim collective all_reduce --cluster dgx-h100 --gpus 64");
    CollectiveRequest request;
    request.call.kind = parse_collective_kind("echosim collective", invocation.arguments[0]);
    request.sizes = parse_size_list("--bytes", invocation.value("--bytes").value_or("8:8GiB:x2"));
    read_machine(invocation, request);
    read_group(invocation, request);
    read_call(invocation, request);
    read_placement(invocation, request);
    if (const auto file = invocation.value("--measured"))
        take_measured_version(*file, request);
    const NcclModel model(request.cluster, request.options);
    request.group = geometry_of(request.ranks, model.cluster(), request.placement);
    need_network(model.cluster(), request.group);
    check_algorithm_available(request);
    check_transport(request, model);
    add_warnings(request, model);
    return request;
}

CollectiveRequest read_concurrent_request(const Invocation& invocation) {
    for (const char* option :
         {"--bytes", "--ranks", "--stride", "--imbalance", "--calls", "--measured", "--explain", "--plot",
          "--csv", "--dtype", "--in-place", "--buffers", "--transport"})
        if (invocation.has(option))
            throw InputError(option, "cannot be combined with --concurrent",
                             per_collective(option)
                                 ? "the file says it for each collective"
                                 : "--json and --out write what the concurrent collectives took");
    if (!invocation.arguments.empty())
        throw InputError("--concurrent", fmt::format("the file lists the kinds; read \"{}\" beside it",
                                                     invocation.arguments[0]));
    CollectiveRequest request;
    read_machine(invocation, request);
    read_group(invocation, request);
    read_placement(invocation, request);
    request.warnings = NcclModel(request.cluster, request.options).warnings();
    return request;
}

} // namespace echosim
