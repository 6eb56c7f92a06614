// SPDX-License-Identifier: Apache-2.0
#include "comm_models/calibration_file.h"

#include "comm_models/log_samples.h"
#include "comm_models/nccl_tables.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim::nccl {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "echosim.calibration/1";
constexpr int kOldest = 200; // NCCL 2.0

// The entry takes the place of the one of the same name; a new name goes first, where it is found first.
template <class Profile, class Key>
void take_place(std::vector<Profile>& profiles, const std::vector<Profile>& entries, Key Profile::*key) {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        const auto same = std::ranges::find(profiles, (*entry).*key, key);
        if (same == profiles.end())
            profiles.insert(profiles.begin(), *entry);
        else
            *same = *entry;
    }
}

std::string version_text(int version) {
    return fmt::format("{}.{}", version / 100, version % 100);
}

// Versions for which the model takes the entry, in order.
std::vector<int> used_versions(const LinkProfile& entry, const ModelConstants& constants,
                               const Cluster& cluster) {
    std::vector<int> versions;
    for (int version = kOldest; version <= parse_version(""); ++version)
        if (link_profile(constants, cluster, version, cluster.node.nvlink.bandwidth > 0).name == entry.name)
            versions.push_back(version);
    return versions;
}

// The version to name: the one that calibrate assumes for logs of such GPUs, else the newest.
int suggested(const std::vector<int>& versions, const Cluster& cluster) {
    const int likely = parse_version(likely_nccl(cluster.gpu.arch));
    return std::ranges::find(versions, likely) != versions.end() ? likely : versions.back();
}

void check_schema(ObjectReader& reader, const std::string& schema) {
    if (schema.empty() || schema == kSchema)
        return; // a missing one is a problem already
    reader.fail("schema",
                fmt::format("\"{}\" is not \"{}\", which `echosim calibrate` writes", schema, kSchema));
}

} // namespace

ModelConstants read_calibration(const std::string& path) {
    const Json json = read_json_file(path);
    std::vector<Problem> problems;
    std::string schema, source;
    ObjectReader reader(json, path, "", problems);
    reader.read({.key = "schema", .required = true}, schema);
    check_schema(reader, schema);
    reader.read({.key = "source"}, source);
    const Json* collectives = reader.object({.key = "collectives"});
    // other models of the program have sections of their own
    reader.any({.key = "kernels"});
    reader.any({.key = "interference"});
    reader.finish();
    if (!problems.empty())
        throw InputError(std::move(problems));
    return collectives == nullptr ? ModelConstants{}
                                  : constants_from_json(*collectives, path + ": collectives");
}

ModelConstants with_calibration(const ModelConstants& constants, const ModelConstants& calibration) {
    ModelConstants result = constants;
    take_place(result.links, calibration.links, &LinkProfile::name);
    take_place(result.fabrics, calibration.fabrics, &FabricProfile::kind);
    return result;
}

std::shared_ptr<const ModelConstants> load_constants(const std::string& calibration_file) {
    if (calibration_file.empty())
        return {std::shared_ptr<const ModelConstants>{}, &preset_constants()};
    return std::make_shared<const ModelConstants>(
        with_calibration(preset_constants(), read_calibration(calibration_file)));
}

CalibrationUse calibration_use(const ModelConstants& calibration, const Cluster& cluster) {
    const ModelConstants constants = with_calibration(preset_constants(), calibration);
    const LinkProfile& used =
        link_profile(constants, cluster, parse_version(cluster.nccl), cluster.node.nvlink.bandwidth > 0);
    const auto is_used = [&](const LinkProfile& entry) { return entry.name == used.name; };
    const auto is_fabric = [&](const FabricProfile& entry) { return entry.kind == cluster.fabric.kind; };
    return {std::ranges::any_of(calibration.links, is_used),
            std::ranges::any_of(calibration.fabrics, is_fabric)};
}

std::string versions_of(const LinkProfile& entry, const ModelConstants& constants, const Cluster& cluster) {
    const std::vector<int> versions = used_versions(entry, constants, cluster);
    if (versions.empty())
        return {};
    const bool older = versions.front() == kOldest, newer = versions.back() == parse_version("");
    if (older && newer)
        return "any NCCL";
    if (older)
        return fmt::format("NCCL before {}", version_text(versions.back() + 1));
    return newer
               ? fmt::format("NCCL {} and later", version_text(versions.front()))
               : fmt::format("NCCL {} to {}", version_text(versions.front()), version_text(versions.back()));
}

std::string calibration_mismatch(const ModelConstants& calibration, const Cluster& cluster) {
    const CalibrationUse use = calibration_use(calibration, cluster);
    if (use.links)
        return {};
    const std::string network = std::string(to_string(cluster.fabric.kind));
    const std::string rest =
        use.fabric
            ? fmt::format("only its constants of {} are used, the built-in ones inside a node", network)
            : std::string("the built-in constants are used");
    const ModelConstants constants = with_calibration(preset_constants(), calibration);
    for (const LinkProfile& entry : calibration.links)
        if (const auto versions = used_versions(entry, constants, cluster); !versions.empty())
            return fmt::format(
                "the calibration's entry {} is for {}, and this is NCCL {}: {}; --nccl {} would "
                "use it",
                entry.name, versions_of(entry, constants, cluster), version_text(parse_version(cluster.nccl)),
                rest, version_text(suggested(versions, cluster)));
    std::vector<std::string> made_for;
    for (const LinkProfile& profile : calibration.links)
        made_for.insert(made_for.end(), profile.gpus.begin(), profile.gpus.end());
    for (const FabricProfile& profile : calibration.fabrics)
        made_for.emplace_back(to_string(profile.kind));
    return fmt::format("the calibration is for {}, not for {} on {}: {}",
                       made_for.empty() ? "no collective" : join(made_for), cluster.gpu.name, network, rest);
}

std::string calibration_text(const Calibration& calibration, const std::string& source) {
    const Json json = {
        {"schema", kSchema}, {"source", source}, {"collectives", constants_to_json(calibration.constants)}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace echosim::nccl
