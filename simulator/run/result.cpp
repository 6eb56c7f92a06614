// SPDX-License-Identifier: Apache-2.0
#include "simulator/run/result.h"

#include "simulator/run/interference_used.h"
#include "simulator/run/version.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>

// The result document. Its keys are a contract: they carry the unit, keep their order, and are all there
// always.
namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN; a number that is not finite is a defect of a model, never of the input.
double finite(double value, std::string_view key) {
    if (!std::isfinite(value))
        throw std::logic_error(fmt::format("result: {} is not a finite number", key));
    return value;
}

void put(Json& object, const char* key, double value) {
    object[key] = finite(value, key);
}

void put(Json& object, const char* key, const std::optional<double>& value) {
    object[key] = value ? Json(finite(*value, key)) : Json(nullptr);
}

Json step_json(const StepTime& step) {
    Json json;
    put(json, "time_s", step.time);
    put(json, "time_p05_s", step.p05);
    put(json, "time_p95_s", step.p95);
    return json;
}

Json throughput_json(const Throughput& throughput) {
    Json json;
    put(json, "tokens_per_s", throughput.tokens_per_s);
    put(json, "tokens_per_s_per_gpu", throughput.tokens_per_s_per_gpu);
    put(json, "model_tflops_per_gpu", throughput.model_flops_per_gpu / 1e12);
    put(json, "hardware_tflops_per_gpu", throughput.hardware_flops_per_gpu / 1e12);
    put(json, "mfu", throughput.mfu);
    put(json, "hfu", throughput.hfu);
    json["flops_formula"] = throughput.flops_formula;
    return json;
}

Json breakdown_json(const Breakdown& breakdown) {
    Json json;
    put(json, "compute", breakdown.compute);
    put(json, "recompute", breakdown.recompute);
    put(json, "interference", breakdown.interference);
    put(json, "tp_comm", breakdown.tp_comm);
    put(json, "pp_comm", breakdown.pp_comm);
    put(json, "dp_comm", breakdown.dp_comm);
    put(json, "cp_comm", breakdown.cp_comm);
    put(json, "ep_comm", breakdown.ep_comm);
    put(json, "bubble", breakdown.bubble);
    put(json, "optimizer", breakdown.optimizer);
    put(json, "host", breakdown.host);
    put(json, "data", breakdown.data);
    put(json, "other", breakdown.other);
    return json;
}

Json memory_json(const Memory& memory) {
    Json json;
    json["fits"] = memory.fits;
    json["peak_bytes"] = memory.peak;
    json["capacity_bytes"] = memory.capacity;
    json["stages"] = Json::array();
    for (const StageMemory& stage : memory.stages) {
        json["stages"].push_back({{"stage", stage.stage},
                                  {"peak_bytes", stage.peak},
                                  {"weights_bytes", stage.weights},
                                  {"gradients_bytes", stage.gradients},
                                  {"optimizer_bytes", stage.optimizer},
                                  {"activations_bytes", stage.activations},
                                  {"buffers_bytes", stage.buffers},
                                  {"overhead_bytes", stage.overhead}});
    }
    json["nearest_fit"] = memory.nearest_fit.empty() ? Json(nullptr) : Json(memory.nearest_fit);
    return json;
}

Json communication_json(const std::vector<Communication>& communication) {
    Json rows = Json::array();
    for (const Communication& c : communication) {
        Json row;
        row["group"] = c.group;
        row["kind"] = to_string(c.kind);
        row["algorithm"] = to_string(c.algorithm);
        row["protocol"] = to_string(c.protocol);
        row["channels"] = c.channels;
        row["count"] = c.count;
        put(row, "bytes_per_call", c.bytes_per_call);
        put(row, "time_s", c.time);
        put(row, "exposed_s", c.exposed);
        put(row, "busbw_gbytes_per_s", c.busbw / 1e9);
        rows.push_back(std::move(row));
    }
    return rows;
}

Json provenance_json(const ProvenanceShares& shares) {
    Json json;
    put(json, "measured", shares.measured);
    put(json, "fitted", shares.fitted);
    put(json, "catalogue", shares.catalogue);
    put(json, "assumed", shares.assumed);
    return json;
}

Json simulation_json(const Result& result, bool with_wall_clock) {
    const SimulationStats& stats = result.simulation;
    Json json;
    json["ops"] = stats.ops;
    json["ranks_represented"] = stats.ranks_represented;
    json["ranks_simulated"] = stats.ranks_simulated;
    if (with_wall_clock)
        put(json, "wall_s", stats.wall);
    json["interference"] = result.interference.setting;
    json["interference_model"] = interference_json(result.interference);
    return json;
}

Json cluster_json(const Result& result) {
    Json json = cluster_to_json(result.cluster);
    json["gpus_used"] = result.job.parallel.world_size;
    return json;
}

} // namespace

std::string_view version() {
    return ECHOSIM_VERSION;
}

nlohmann::ordered_json result_to_json(const Result& result, bool with_wall_clock) {
    Json json;
    json["schema"] = kSimulateSchema;
    json["version"] = version();
    json["job"] = job_to_json(result.job);
    json["cluster"] = cluster_json(result);
    json["step"] = step_json(result.step);
    json["throughput"] = throughput_json(result.throughput);
    json["breakdown_s"] = breakdown_json(result.breakdown);
    json["memory"] = memory_json(result.memory);
    json["communication"] = communication_json(result.communication);
    json["provenance"] = provenance_json(result.provenance);
    json["simulation"] = simulation_json(result, with_wall_clock);
    json["warnings"] = result.warnings;
    return json;
}

} // namespace echosim
