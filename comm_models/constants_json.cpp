// SPDX-License-Identifier: Apache-2.0
#include "comm_models/model_constants.h"
#include "simulator/core/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

// The measured constants as JSON: the presets, and the section "collectives" of calibration files.
namespace echosim::nccl {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kArchNames[] = {"volta", "ampere", "hopper", "blackwell"};
constexpr const char* kFabricNames[] = {"none", "infiniband", "roce",     "omnipath", "efa",
                                        "tcpx", "tcpxo",      "ethernet", "slingshot"};
constexpr double kMost = 1e9;       // us, GB/s or bytes: no constant is larger
constexpr double kLeastRate = 1e-3; // GB/s
constexpr double kLeastShare = 1e-3;
constexpr double kMostShare = 4;

// Four significant digits are more than measurements give.
double rounded(double value) {
    return std::stod(fmt::format("{:.4g}", value));
}

template <std::size_t n> std::size_t index_of(const std::string& name, const char* const (&names)[n]) {
    return static_cast<std::size_t>(std::find(names, names + n, name) - names);
}

template <std::size_t n>
void read_name(ObjectReader& reader, const char* key, const char* const (&names)[n], std::size_t& index) {
    std::string name;
    reader.read({.key = key, .required = true}, name);
    const std::size_t found = index_of(name, names);
    if (found < n)
        index = found;
    else if (!name.empty())
        reader.fail(key, fmt::format("\"{}\" is not one of {}", name, fmt::join(names, ", ")));
}

void read_provenance(ObjectReader& reader, bool& fitted) {
    std::string text;
    reader.read({.key = "provenance", .required = true}, text);
    fitted = text == "fitted";
    if (!text.empty() && text != "fitted" && text != "assumed")
        reader.fail("provenance", fmt::format("\"{}\" is not \"fitted\" or \"assumed\"", text));
}

void read_version(ObjectReader& reader, const char* key, int& version) {
    std::string text;
    reader.read({.key = key}, text);
    if (text.empty())
        return;
    try {
        version = parse_version(text);
    } catch (const InputError&) {
        reader.fail(key, fmt::format("\"{}\" is no version; write major.minor, \"2.21\"", text));
    }
}

std::string version_text(int version) {
    return fmt::format("{}.{}", version / 100, version % 100);
}

void read_names(ObjectReader& reader, const char* key, std::vector<std::string>& names) {
    const Json* list = reader.array({.key = key, .required = true});
    if (list == nullptr)
        return;
    for (const Json& entry : *list) {
        if (entry.is_string())
            names.push_back(entry.get<std::string>());
        else
            reader.fail(key, "takes names only");
    }
}

// What a constant may be. Rates divide bytes: they must be above 0; a file leaves those out that the link
// does not have. Shares of a rate are not far above 1.
Field field_of(const LinkConstant& c) {
    const std::string_view group = c.group, key = c.key;
    Field field{.key = key, .max = kMost};
    if (group == "pcie")
        field = {.key = key, .min = kLeastShare, .max = kMostShare};
    else if (key == "own")
        field.max = kMostShare;
    else if (key == "bandwidth" || key == "cta_rate" || key == "first_pass" || key == "one_step" ||
             key == "unpiped" || key == "cap" || key == "cap_large" || key.starts_with("copy_") ||
             key == "ll_per_rank")
        field.min = kLeastRate;
    return field;
}

// Rates that every link has.
void check_rates(ObjectReader& reader, const LinkProfile& p) {
    const auto need = [&](const char* key, double value) {
        if (value <= 0)
            reader.fail(key, fmt::format("must be a rate above 0 GB/s, read {:g}", value));
    };
    need("ll.bandwidth", p.ll.bandwidth);
    need("ll128.bandwidth", p.ll128.bandwidth);
    need("simple.bandwidth", p.simple.bandwidth);
    need("simple.copy_gather", p.simple.copy_gather);
    need("simple.copy_reduce", p.simple.copy_reduce);
    need("simple.copy_scatter", p.simple.copy_scatter);
    need("all_to_all.bandwidth", p.all_to_all.bandwidth);
    need("pair.bandwidth", p.pair.bandwidth);
}

LinkProfile read_link(const Json& json, const std::string& where, const std::string& path,
                      std::vector<Problem>& problems) {
    LinkProfile p;
    const std::size_t before = problems.size();
    ObjectReader reader(json, where, path, problems);
    reader.read({.key = "name", .required = true}, p.name);
    read_names(reader, "gpus", p.gpus);
    read_name(reader, "arch", kArchNames, p.arch);
    read_version(reader, "before", p.before_version);
    reader.read({.key = "nvlink", .required = true, .max = kMost}, p.nvlink);
    read_provenance(reader, p.fitted);
    std::vector<LinkConstant> constants = link_constants(p);
    for (auto first = constants.begin(); first != constants.end();) {
        const std::string_view group = first->group;
        const auto end =
            std::find_if(first, constants.end(), [&](const LinkConstant& c) { return c.group != group; });
        const Json* object = group.empty() ? nullptr : reader.object({.key = group});
        if (object != nullptr) {
            ObjectReader inner(*object, where, reader.path_of(group), problems);
            for (auto c = first; c != end; ++c)
                inner.read(field_of(*c), *c->value);
            inner.finish();
        }
        for (auto c = first; group.empty() && c != end; ++c)
            reader.read(field_of(*c), *c->value);
        first = end;
    }
    reader.finish();
    if (problems.size() == before)
        check_rates(reader, p);
    return p;
}

Json write_link(LinkProfile p) {
    Json json = {{"name", p.name}, {"gpus", p.gpus}, {"arch", kArchNames[p.arch]}};
    if (p.before_version > 0)
        json["before"] = version_text(p.before_version);
    json["nvlink"] = p.nvlink;
    json["provenance"] = p.fitted ? "fitted" : "assumed";
    LinkProfile none;
    const std::vector<LinkConstant> defaults = link_constants(none);
    const std::vector<LinkConstant> constants = link_constants(p);
    for (std::size_t i = 0; i < constants.size(); ++i) {
        const LinkConstant& c = constants[i];
        if (*c.value == *defaults[i].value)
            continue;
        Json& place = std::string_view(c.group).empty() ? json : json[c.group];
        place[c.key] = rounded(*c.value);
    }
    return json;
}

void read_hops(ObjectReader& reader, const char* key, PerProtocol& hop, bool required) {
    const Json* list = reader.array({.key = key, .required = required});
    if (list == nullptr)
        return;
    const bool numbers =
        std::ranges::all_of(*list, [](const Json& v) { return v.is_number() && v >= 0 && v <= kMost; });
    if (list->size() != hop.size() || !numbers)
        reader.fail(key, "takes three numbers, us for LL, LL128 and Simple");
    else
        for (std::size_t i = 0; i < hop.size(); ++i)
            hop[i] = (*list)[i].get<double>();
}

void read_earlier(const Json& json, const std::string& where, const std::string& path,
                  std::vector<Problem>& problems, EarlierFabric& earlier) {
    ObjectReader reader(json, where, path, problems);
    read_version(reader, "before", earlier.before);
    read_hops(reader, "hop", earlier.hop, false);
    reader.read({.key = "ll_rate_per_nic", .max = kMost}, earlier.ll_rate_per_nic);
    reader.read({.key = "nic_rate", .max = kMost}, earlier.nic_rate);
    reader.finish();
}

FabricProfile read_fabric(const Json& json, const std::string& where, const std::string& path,
                          std::vector<Problem>& problems) {
    FabricProfile f;
    ObjectReader reader(json, where, path, problems);
    std::size_t kind = 0;
    read_name(reader, "kind", kFabricNames, kind);
    f.kind = static_cast<FabricKind>(kind);
    read_provenance(reader, f.fitted);
    reader.read({.key = "efficiency", .required = true, .min = 0.01, .max = 1}, f.efficiency);
    reader.read({.key = "efficiency_fall", .max = 10}, f.efficiency_fall);
    read_hops(reader, "hop", f.hop, true);
    if (const Json* object = reader.object({.key = "hop_factor"})) {
        ObjectReader inner(*object, where, reader.path_of("hop_factor"), problems);
        for (std::size_t arch = 0; arch < kArchs; ++arch)
            inner.read({.key = kArchNames[arch], .max = 100}, f.hop_factor[arch]);
        inner.finish();
    }
    reader.read({.key = "start", .max = kMost}, f.start);
    reader.read({.key = "ll_rate_per_nic", .min = kLeastRate, .max = kMost}, f.ll_rate_per_nic);
    reader.read({.key = "ll_growth", .max = kMost}, f.ll_growth);
    reader.read({.key = "nic_latency", .max = kMost}, f.nic_latency_tuner);
    reader.read({.key = "ll128"}, f.ll128);
    if (const Json* object = reader.object({.key = "earlier"}))
        read_earlier(*object, where, reader.path_of("earlier"), problems, f.earlier);
    reader.finish();
    return f;
}

Json write_hops(const PerProtocol& hop) {
    return {rounded(hop[0]), rounded(hop[1]), rounded(hop[2])};
}

Json write_fabric(const FabricProfile& f) {
    Json json = {{"kind", kFabricNames[static_cast<std::size_t>(f.kind)]},
                 {"provenance", f.fitted ? "fitted" : "assumed"},
                 {"efficiency", rounded(f.efficiency)},
                 {"efficiency_fall", rounded(f.efficiency_fall)},
                 {"hop", write_hops(f.hop)},
                 {"start", rounded(f.start)},
                 {"ll_rate_per_nic", rounded(f.ll_rate_per_nic)},
                 {"ll_growth", rounded(f.ll_growth)},
                 {"nic_latency", f.nic_latency_tuner},
                 {"ll128", f.ll128}};
    for (std::size_t arch = 0; arch < kArchs; ++arch)
        if (f.hop_factor[arch] != 1)
            json["hop_factor"][kArchNames[arch]] = rounded(f.hop_factor[arch]);
    if (f.earlier.before > 0)
        json["earlier"] = {{"before", version_text(f.earlier.before)},
                           {"hop", write_hops(f.earlier.hop)},
                           {"ll_rate_per_nic", f.earlier.ll_rate_per_nic},
                           {"nic_rate", f.earlier.nic_rate}};
    return json;
}

template <class Profile, class Read>
void read_list(ObjectReader& reader, const char* key, const std::string& where,
               std::vector<Problem>& problems, std::vector<Profile>& result, Read read) {
    const Json* list = reader.array({.key = key});
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
        result.push_back(read((*list)[i], where, fmt::format("{}[{}]", key, i), problems));
}

} // namespace

Json constants_to_json(const ModelConstants& constants) {
    Json json = {{"links", Json::array()}, {"fabrics", Json::array()}};
    for (const LinkProfile& link : constants.links)
        json["links"].push_back(write_link(link));
    for (const FabricProfile& fabric : constants.fabrics)
        json["fabrics"].push_back(write_fabric(fabric));
    return json;
}

ModelConstants constants_from_json(const Json& json, const std::string& where) {
    ModelConstants result;
    std::vector<Problem> problems;
    ObjectReader reader(json, where, "", problems);
    reader.any({.key = "source"});
    read_list(reader, "links", where, problems, result.links, read_link);
    read_list(reader, "fabrics", where, problems, result.fabrics, read_fabric);
    reader.finish();
    if (!problems.empty())
        throw InputError(std::move(problems));
    return result;
}

} // namespace echosim::nccl
