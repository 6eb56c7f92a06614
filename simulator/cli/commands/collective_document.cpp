// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/collective_document.h"

#include "simulator/cli/commands/collective_table.h"
#include "simulator/run/version.h"

#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

Json choice_json(const CommCost& cost) {
    return {{"algorithm", to_string(cost.algorithm)},
            {"protocol", to_string(cost.protocol)},
            {"channels", cost.channels}};
}

Json times_json(const CollectiveRequest& request, Bytes bytes, const CollectiveExplanation& e) {
    const nccl::TimeTerms& t = e.terms;
    return {{"time_us", e.cost.time * 1e6},
            {"algbw_gbytes_per_s", algorithm_bandwidth(bytes, e.cost.time)},
            {"busbw_gbytes_per_s", bus_bandwidth(request, bytes, e.cost.time)},
            {"latency_us", e.cost.latency * 1e6},
            {"terms_us",
             {{"start", t.start},
              {"near", t.near},
              {"far", t.far},
              {"fill", t.fill},
              {"transfer", t.transfer},
              {"copy", t.copy}}},
            {"nvlink_bytes", e.cost.nvlink_bytes},
            {"nic_bytes", e.cost.nic_bytes},
            {"pcie_bytes", e.cost.pcie_bytes},
            {"hbm_bytes", e.cost.hbm_bytes}};
}

Json measured_json(const MeasuredTimes& measured) {
    const auto value = [](const std::optional<double>& us) { return us ? Json(*us) : Json(); };
    return {{"out_of_place_us", value(measured.out_of_place_us)},
            {"in_place_us", value(measured.in_place_us)}};
}

Json candidates_json(const std::vector<CollectiveCandidate>& candidates) {
    Json list = Json::array();
    for (const CollectiveCandidate& c : candidates)
        list.push_back({{"algorithm", to_string(c.algorithm)},
                        {"protocol", to_string(c.protocol)},
                        {"tuner_us", c.tuner_us},
                        {"time_us", c.time_us}});
    return list;
}

Json row_json(const CollectiveReport& report, const CollectiveRow& row, bool explain) {
    const CollectiveRequest& request = report.request;
    Json json = {{"bytes", row.bytes}, {"count", row.count}};
    json.update(choice_json(row.out_of_place.cost));
    json["provenance"] = to_string(row.out_of_place.cost.provenance);
    json["out_of_place"] = times_json(request, row.bytes, row.out_of_place);
    json["in_place"] = times_json(request, row.bytes, row.in_place);
    json["measured"] = report.measured_file.empty() ? Json() : measured_json(row.measured);
    if (explain)
        json["candidates"] = candidates_json(row.out_of_place.candidates);
    return json;
}

Json switches_json(const std::vector<SwitchPoint>& switches) {
    Json list = Json::array();
    for (const SwitchPoint& s : switches) {
        Json before = choice_json(s.before);
        Json after = choice_json(s.after);
        before["time_us"] = s.before.time * 1e6;
        after["time_us"] = s.after.time * 1e6;
        list.push_back({{"bytes", s.at}, {"bytes_below", s.below}, {"before", before}, {"after", after}});
    }
    return list;
}

} // namespace

Json collective_machine_json(const CollectiveRequest& request) {
    const GroupGeometry& g = request.group;
    return {{"cluster", cluster_to_json(request.cluster)},
            {"nccl", nccl_version_text(request.cluster)},
            {"environment", request.options.environment},
            {"gpus", request.gpus},
            {"placement", request.placement_text},
            {"group",
             {{"ranks", g.ranks},
              {"nodes", g.nodes},
              {"min_ranks_per_node", g.min_ranks_per_node},
              {"max_ranks_per_node", g.max_ranks_per_node},
              {"nvlink", g.nvlink},
              {"nics_per_node", g.nics_per_node},
              {"switch_levels", g.switch_levels},
              {"sites", g.sites}}}};
}

Json collective_document(const CollectiveReport& report, bool explain) {
    const CollectiveRequest& request = report.request;
    Json json = {{"schema", "echosim.collective/1"},     {"version", version()},
                 {"kind", to_string(request.call.kind)}, {"dtype", nccl_tests_name(request.call.dtype)},
                 {"redop", redop_of(request.call.kind)}, {"root", root_of(request.call.kind)}};
    json.update(collective_machine_json(request));
    json["rows"] = Json::array();
    for (const CollectiveRow& row : report.rows)
        json["rows"].push_back(row_json(report, row, explain));
    json["average_busbw_gbytes_per_s"] = report.average_busbw;
    if (explain)
        json["switches"] = switches_json(report.switches);
    json["warnings"] = request.warnings;
    return json;
}

} // namespace echosim
