// SPDX-License-Identifier: Apache-2.0
#include "validation/oracle/oracle_case.h"

#include "simulator/core/json.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using nlohmann::ordered_json;

constexpr double kMostGpus = 1024;

struct CaseReader {
    std::string path;
    std::vector<Problem> problems;
    OracleCase result;
};

Algorithm algorithm_from(const std::string& text, ObjectReader& fields) {
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::direct})
        if (to_string(algorithm) == text)
            return algorithm;
    fields.fail("algorithm", fmt::format("\"{}\" is none of ring, tree, direct", text));
    return Algorithm::ring;
}

struct Members {
    int first = 0;
    int count = 0;
    int stride = 1;
    int repeat = 1;
    int shift = 1;
};

std::vector<int> members_of(const Members& members, int group, const ordered_json* list) {
    std::vector<int> ranks;
    if (list != nullptr)
        for (const ordered_json& rank : *list)
            ranks.push_back(rank.is_number_integer() ? rank.get<int>() : -1);
    else
        for (int i = 0; i < members.count; ++i)
            ranks.push_back(members.first + i * members.stride);
    for (int& rank : ranks)
        rank += group * members.shift;
    return ranks;
}

void read_exception(const ordered_json& json, const std::string& path, CaseReader& reader,
                    OracleCollective& one) {
    ObjectReader fields(json, reader.path, path, reader.problems);
    fields.read({.key = "difference", .required = true, .min = -1, .max = 10}, one.known_difference);
    fields.read({.key = "reason", .required = true}, one.reason);
    fields.finish();
}

void read_members(ObjectReader& fields, const ordered_json* list, Members& members) {
    fields.read({.key = "first", .max = kMostGpus}, members.first);
    fields.read({.key = "count", .required = list == nullptr, .max = kMostGpus}, members.count);
    fields.read({.key = "stride", .min = 1, .max = kMostGpus}, members.stride);
    fields.read({.key = "repeat", .min = 1, .max = kMostGpus}, members.repeat);
    fields.read({.key = "shift", .min = 1, .max = kMostGpus}, members.shift);
}

void read_collective(const ordered_json& json, std::size_t index, CaseReader& reader) {
    ObjectReader fields(json, reader.path, fmt::format("collectives[{}]", index), reader.problems);
    std::string kind = "all_reduce";
    std::string algorithm = "ring";
    Bytes bytes = 0;
    Bytes chunk = 0;
    OracleCollective one;
    Members members;
    fields.read({.key = "kind", .required = true}, kind);
    fields.read({.key = "algorithm", .required = true}, algorithm);
    fields.read({.key = "bytes", .required = true, .min = 1}, bytes);
    fields.read({.key = "chunk"}, chunk);
    fields.read({.key = "in_flight", .max = kMostGpus}, one.collective.in_flight);
    fields.read_quantity({.key = "start"}, Quantity::time, one.start);
    const ordered_json* list = fields.array({.key = "ranks"});
    read_members(fields, list, members);
    if (const ordered_json* exception = fields.object({.key = "exception"}))
        read_exception(*exception, fields.path_of("exception"), reader, one);
    if (const auto known = collective_from(kind))
        one.collective.kind = *known;
    else
        fields.fail("kind", fmt::format("\"{}\" is no collective", kind));
    one.collective.algorithm = algorithm_from(algorithm, fields);
    fields.finish();
    one.collective.bytes = static_cast<double>(bytes);
    one.collective.chunk = static_cast<double>(chunk);
    for (int group = 0; group < members.repeat; ++group) {
        one.collective.ranks = members_of(members, group, list);
        reader.result.collectives.push_back(one);
    }
}

Cluster read_cluster(const ordered_json& json, ObjectReader& fields, const CaseReader& reader) {
    if (json.is_object())
        return cluster_from_json(json, reader.path);
    if (json.is_string())
        return find_cluster(
            (std::filesystem::path(reader.path).parent_path() / json.get<std::string>()).string());
    fields.fail("cluster", "is neither a cluster nor the path of a cluster file");
    return {};
}

void check_ranks(CaseReader& reader) {
    int highest = 0;
    for (const OracleCollective& one : reader.result.collectives)
        for (const int rank : one.collective.ranks) {
            highest = std::max(highest, rank);
            if (rank < 0 || rank >= kMostGpus)
                reader.problems.push_back(
                    {reader.path, fmt::format("rank {} is outside 0 .. {}", rank, kMostGpus - 1), ""});
        }
    if (reader.result.gpus == 0)
        reader.result.gpus = highest + 1;
    else if (highest >= reader.result.gpus)
        reader.problems.push_back(
            {reader.path, fmt::format("rank {} of a job of {} GPUs", highest, reader.result.gpus), ""});
}

} // namespace

OracleCase read_oracle_case(const std::string& path) {
    const ordered_json json = read_json_file(path);
    CaseReader reader{path, {}, {}};
    OracleCase& result = reader.result;
    result.name = std::filesystem::path(path).stem().string();
    ObjectReader fields(json, path, "", reader.problems);
    std::string placement = "packed";
    std::string platform = "links";
    if (const ordered_json* cluster = fields.any({.key = "cluster", .required = true}))
        result.cluster = read_cluster(*cluster, fields, reader);
    fields.read({.key = "gpus", .min = 1, .max = kMostGpus}, result.gpus);
    fields.read({.key = "placement"}, placement);
    fields.read({.key = "platform"}, platform);
    fields.read({.key = "contention"}, result.contention);
    if (const ordered_json* list = fields.array({.key = "collectives", .required = true}))
        for (std::size_t i = 0; i < list->size(); ++i)
            read_collective((*list)[i], i, reader);
    if (platform == "fat_tree")
        result.platform = OraclePlatform::fat_tree;
    else if (platform != "links")
        fields.fail("platform", fmt::format("\"{}\" is neither links nor fat_tree", platform));
    fields.finish();
    check_ranks(reader);
    if (!reader.problems.empty())
        throw InputError(std::move(reader.problems));
    result.placement = placement_from(placement, nodes_for(result.cluster, result.gpus), result.cluster);
    return result;
}

} // namespace echosim
