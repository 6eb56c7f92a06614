// SPDX-License-Identifier: Apache-2.0
#include "comm_models/calibration_file.h"

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

std::string calibration_mismatch(const ModelConstants& calibration, const Cluster& cluster) {
    const bool fits_links = std::ranges::any_of(
        calibration.links, [&](const LinkProfile& profile) { return fits(profile, cluster.gpu.name); });
    const bool fits_fabric = std::ranges::any_of(calibration.fabrics, [&](const FabricProfile& profile) {
        return profile.kind == cluster.fabric.kind;
    });
    if (fits_links || fits_fabric)
        return {};
    std::vector<std::string> made_for;
    for (const LinkProfile& profile : calibration.links)
        made_for.insert(made_for.end(), profile.gpus.begin(), profile.gpus.end());
    for (const FabricProfile& profile : calibration.fabrics)
        made_for.emplace_back(to_string(profile.kind));
    return fmt::format("the calibration is for {}, not for {} on {}: the built-in constants are used",
                       made_for.empty() ? "no collective" : join(made_for), cluster.gpu.name,
                       to_string(cluster.fabric.kind));
}

std::string calibration_text(const Calibration& calibration, const std::string& source) {
    const Json json = {
        {"schema", kSchema}, {"source", source}, {"collectives", constants_to_json(calibration.constants)}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace echosim::nccl
