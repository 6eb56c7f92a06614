// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernels/kernel_preset.h"

#include "simulator/core/error.h"
#include "simulator/kernels/embedded_presets.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

struct Field {
    const char* key;
    double low, high;
};

// Reads an object whose keys are all known; `where` is the path of the object.
class Section {
  public:
    Section(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
        if (!json_.is_object()) {
            throw InputError(where_, "expected an object");
        }
    }

    void only(std::initializer_list<std::string_view> keys) const {
        for (const auto& item : json_.items()) {
            if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
                throw InputError(where_ + "." + item.key(), "unknown key",
                                 fmt::format("known keys: {}", fmt::join(keys, ", ")));
            }
        }
    }

    bool has(const char* key) const { return json_.contains(key); }

    const Json& at(const char* key) const {
        if (!has(key)) {
            throw InputError(where_, fmt::format("key '{}' is missing", key));
        }
        return json_.at(key);
    }

    Section section(const char* key) const { return Section(at(key), path(key)); }
    std::string path(std::string_view key) const { return fmt::format("{}.{}", where_, key); }

    double number(const Field& field) const {
        const Json& value = at(field.key);
        if (!value.is_number() || value.get<double>() < field.low || value.get<double>() > field.high) {
            throw InputError(path(field.key), fmt::format("'{}' is not a number from {} to {}", value.dump(),
                                                          field.low, field.high));
        }
        return value.get<double>();
    }

    double number_or(const Field& field, double fallback) const {
        return has(field.key) ? number(field) : fallback;
    }

    std::string text(const char* key) const {
        const Json& value = at(key);
        if (!value.is_string()) {
            throw InputError(path(key), fmt::format("'{}' is not a text", value.dump()));
        }
        return value.get<std::string>();
    }

    const Json& json() const { return json_; }

  private:
    const Json& json_;
    std::string where_;
};

GemmParameters read_gemm(const Section& s) {
    s.only({"ceiling", "k_prologue", "wave_quantisation", "fixed_us", "memory_efficiency", "overlap_power",
            "tile_256x128", "tile_128x128", "tile_128x64", "tile_64x64", "split_cost", "long_slowdown",
            "long_us", "pass", "dtype"});
    GemmParameters p;
    p.ceiling = s.number({"ceiling", 0.01, 2});
    p.k_prologue = s.number({"k_prologue", 0, 1e5});
    p.wave_quantisation = s.number({"wave_quantisation", 0, 1});
    p.fixed_us = s.number({"fixed_us", 0, 1000});
    p.memory_efficiency = s.number({"memory_efficiency", 0.01, 2});
    p.overlap_power = s.number({"overlap_power", 1, 100});
    p.tile_efficiency = {s.number({"tile_256x128", 0.01, 2}), s.number({"tile_128x128", 0.01, 2}),
                         s.number({"tile_128x64", 0.01, 2}), s.number({"tile_64x64", 0.01, 2})};
    p.split_cost = s.number({"split_cost", 0, 1000});
    p.long_slowdown = s.number({"long_slowdown", 0, 5});
    p.long_us = s.number({"long_us", 1, 1e6});
    return p;
}

AttentionParameters read_attention(const Section& s) {
    s.only({"ceiling", "kv_prologue", "wave_quantisation", "fixed_us", "memory_efficiency", "longest",
            "head_dim_64", "head_dim_128", "head_dim_192", "head_dim_256"});
    AttentionParameters p;
    p.ceiling = s.number({"ceiling", 0.01, 2});
    p.kv_prologue = s.number({"kv_prologue", 0, 1e5});
    p.wave_quantisation = s.number({"wave_quantisation", 0, 1});
    p.fixed_us = s.number({"fixed_us", 0, 1000});
    p.memory_efficiency = s.number({"memory_efficiency", 0.01, 2});
    p.longest = s.number({"longest", 0, 2});
    p.head_dim_factor = {s.number({"head_dim_64", 0.01, 3}), s.number({"head_dim_128", 0.01, 3}),
                         s.number({"head_dim_192", 0.01, 3}), s.number({"head_dim_256", 0.01, 3})};
    return p;
}

// Kernel classes that are bound by memory; the others take the value of "other".
constexpr std::array kMemoryClasses{KernelClass::norm,      KernelClass::elementwise, KernelClass::softmax,
                                    KernelClass::embedding, KernelClass::loss,        KernelClass::reduction,
                                    KernelClass::optimizer, KernelClass::copy,        KernelClass::memset,
                                    KernelClass::other};

void read_memory(const Section& s, KernelPreset& preset) {
    s.only({"fixed_us", "norm", "elementwise", "softmax", "embedding", "loss", "reduction", "optimizer",
            "copy", "memset", "other"});
    preset.memory_fixed_us = s.number({"fixed_us", 0, 1000});
    preset.memory_efficiency.fill(s.number({"other", 0.01, 1.5}));
    for (const KernelClass kernel_class : kMemoryClasses) {
        const std::string key(to_string(kernel_class));
        preset.memory_efficiency[static_cast<std::size_t>(kernel_class)] = s.number({key.c_str(), 0.01, 1.5});
    }
}

void read_factors(const Section& s, KernelPreset& preset) {
    const Section gemm = s.section("gemm");
    const Section pass = gemm.section("pass");
    pass.only({"forward", "dgrad", "wgrad"});
    preset.pass_factor = {pass.number({"forward", 0.1, 10}), pass.number({"dgrad", 0.1, 10}),
                          pass.number({"wgrad", 0.1, 10})};
    const Section dtype = gemm.section("dtype");
    for (const auto& item : dtype.json().items()) {
        const std::optional<DType> type = dtype_from(item.key());
        if (!type) {
            throw InputError(dtype.path(item.key()), "unknown data type");
        }
        preset.dtype_efficiency[*type] = dtype.number({item.key().c_str(), 0.01, 10});
    }
    const Section derate = s.section("sustained_derate");
    derate.only({"matmul", "memory"});
    preset.derate_matmul = derate.number({"matmul", 0.1, 10});
    preset.derate_memory = derate.number({"memory", 0.1, 10});
    if (!s.has("generations")) {
        return;
    }
    const Section generations = s.section("generations");
    for (const auto& item : generations.json().items()) {
        const Section g = generations.section(item.key().c_str());
        g.only({"gemm", "attention", "memory"});
        preset.generations[item.key()] = {g.number_or({"gemm", 0.1, 10}, 1),
                                          g.number_or({"attention", 0.1, 10}, 1),
                                          g.number_or({"memory", 0.1, 10}, 1)};
    }
}

Provenance read_provenance(const Section& s) {
    const std::string text = s.text("provenance");
    for (const Provenance value :
         {Provenance::measured, Provenance::fitted, Provenance::catalogue, Provenance::assumed}) {
        if (text == to_string(value)) {
            return value;
        }
    }
    throw InputError(s.path("provenance"),
                     fmt::format("'{}' is not measured, fitted, catalogue or assumed", text));
}

Json attention_to_json(const AttentionParameters& p) {
    return Json{{"ceiling", p.ceiling},
                {"kv_prologue", p.kv_prologue},
                {"wave_quantisation", p.wave_quantisation},
                {"fixed_us", p.fixed_us},
                {"memory_efficiency", p.memory_efficiency},
                {"longest", p.longest},
                {"head_dim_64", p.head_dim_factor[0]},
                {"head_dim_128", p.head_dim_factor[1]},
                {"head_dim_192", p.head_dim_factor[2]},
                {"head_dim_256", p.head_dim_factor[3]}};
}

Json gemm_to_json(const KernelPreset& preset) {
    const GemmParameters& p = preset.gemm;
    Json json{{"ceiling", p.ceiling},
              {"k_prologue", p.k_prologue},
              {"wave_quantisation", p.wave_quantisation},
              {"fixed_us", p.fixed_us},
              {"memory_efficiency", p.memory_efficiency},
              {"overlap_power", p.overlap_power},
              {"tile_256x128", p.tile_efficiency[0]},
              {"tile_128x128", p.tile_efficiency[1]},
              {"tile_128x64", p.tile_efficiency[2]},
              {"tile_64x64", p.tile_efficiency[3]},
              {"split_cost", p.split_cost},
              {"long_slowdown", p.long_slowdown},
              {"long_us", p.long_us}};
    json["pass"] = Json{{"forward", preset.pass_factor[0]},
                        {"dgrad", preset.pass_factor[1]},
                        {"wgrad", preset.pass_factor[2]}};
    json["dtype"] = Json::object();
    for (const auto& [type, efficiency] : preset.dtype_efficiency) {
        json["dtype"][std::string(to_string(type))] = efficiency;
    }
    return json;
}

} // namespace

KernelPreset kernel_preset_from_json(const Json& json, const std::string& where) {
    const Section s(json, where);
    s.only({"name", "source", "measured_on", "provenance", "sustained_derate", "gemm", "attention_forward",
            "attention_backward", "memory", "generations"});
    KernelPreset preset;
    preset.name = s.text("name");
    preset.source = s.text("source");
    preset.provenance = read_provenance(s);
    for (const Json& gpu : s.at("measured_on")) {
        if (!gpu.is_string()) {
            throw InputError(s.path("measured_on"), "expected a list of GPU names");
        }
        preset.measured_on.push_back(gpu.get<std::string>());
    }
    preset.gemm = read_gemm(s.section("gemm"));
    preset.attention_forward = read_attention(s.section("attention_forward"));
    preset.attention_backward = read_attention(s.section("attention_backward"));
    read_memory(s.section("memory"), preset);
    read_factors(s, preset);
    return preset;
}

Json kernel_preset_to_json(const KernelPreset& preset) {
    Json json{{"name", preset.name}, {"source", preset.source}};
    json["measured_on"] = preset.measured_on;
    json["provenance"] = std::string(to_string(preset.provenance));
    json["sustained_derate"] = Json{{"matmul", preset.derate_matmul}, {"memory", preset.derate_memory}};
    json["gemm"] = gemm_to_json(preset);
    json["attention_forward"] = attention_to_json(preset.attention_forward);
    json["attention_backward"] = attention_to_json(preset.attention_backward);
    json["memory"] = Json{{"fixed_us", preset.memory_fixed_us}};
    for (const KernelClass kernel_class : kMemoryClasses) {
        json["memory"][std::string(to_string(kernel_class))] =
            preset.memory_efficiency[static_cast<std::size_t>(kernel_class)];
    }
    json["generations"] = Json::object();
    for (const auto& [name, g] : preset.generations) {
        json["generations"][name] = Json{{"gemm", g.gemm}, {"attention", g.attention}, {"memory", g.memory}};
    }
    return json;
}

std::vector<std::string> kernel_preset_names() {
    std::vector<std::string> names;
    for (const EmbeddedPreset& preset : embedded_presets()) {
        names.emplace_back(preset.name);
    }
    return names;
}

KernelPreset load_kernel_preset(std::string_view name) {
    for (const EmbeddedPreset& preset : embedded_presets()) {
        if (preset.name != name) {
            continue;
        }
        const std::string where = fmt::format("kernel preset {}", name);
        try {
            return kernel_preset_from_json(Json::parse(preset.text), where);
        } catch (const nlohmann::json::exception& error) {
            throw InputError(where, error.what());
        }
    }
    throw InputError("kernel_preset", fmt::format("there is no kernel preset '{}'", name),
                     fmt::format("known presets: {}", fmt::join(kernel_preset_names(), ", ")));
}

} // namespace echosim
