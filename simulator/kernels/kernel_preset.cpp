// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernels/kernel_preset.h"

#include "embedded/kernel_presets.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

struct EmbeddedPreset {
    std::string_view name;
    const std::string_view& text;
};
constexpr std::array kEmbedded{
    EmbeddedPreset{"a100", embedded::kA100}, EmbeddedPreset{"b200", embedded::kB200},
    EmbeddedPreset{"gb200", embedded::kGb200}, EmbeddedPreset{"h100", embedded::kH100},
    EmbeddedPreset{"v100", embedded::kV100}};

// One number of a section: the same list reads and writes it.
struct Number {
    std::string_view key;
    double* value;
    double min, max;
};
using Numbers = std::vector<Number>;

Numbers numbers_of(GemmParameters& p) {
    return {{"ceiling", &p.ceiling, 0.01, 2},
            {"k_prologue", &p.k_prologue, 0, 1e5},
            {"wave_quantisation", &p.wave_quantisation, 0, 1},
            {"fixed_us", &p.fixed_us, 0, 1000},
            {"memory_efficiency", &p.memory_efficiency, 0.01, 2},
            {"overlap_power", &p.overlap_power, 1, 100},
            {"tile_256x128", &p.tile_efficiency[0], 0.01, 2},
            {"tile_128x128", &p.tile_efficiency[1], 0.01, 2},
            {"tile_128x64", &p.tile_efficiency[2], 0.01, 2},
            {"tile_64x64", &p.tile_efficiency[3], 0.01, 2},
            {"split_cost", &p.split_cost, 0, 1000},
            {"long_slowdown", &p.long_slowdown, 0, 5},
            {"long_us", &p.long_us, 1, 1e6}};
}

Numbers numbers_of(AttentionParameters& p) {
    return {{"ceiling", &p.ceiling, 0.01, 2},
            {"kv_prologue", &p.kv_prologue, 0, 1e5},
            {"wave_quantisation", &p.wave_quantisation, 0, 1},
            {"fixed_us", &p.fixed_us, 0, 1000},
            {"memory_efficiency", &p.memory_efficiency, 0.01, 2},
            {"longest", &p.longest, 0, 2},
            {"head_dim_64", &p.head_dim_factor[0], 0.01, 3},
            {"head_dim_128", &p.head_dim_factor[1], 0.01, 3},
            {"head_dim_192", &p.head_dim_factor[2], 0.01, 3},
            {"head_dim_256", &p.head_dim_factor[3], 0.01, 3}};
}

Numbers pass_numbers(KernelPreset& preset) {
    return {{"forward", &preset.pass_factor[0], 0.1, 10},
            {"dgrad", &preset.pass_factor[1], 0.1, 10},
            {"wgrad", &preset.pass_factor[2], 0.1, 10}};
}

Numbers numbers_of(KernelPreset::AttentionTable& table) {
    return {{"fixed_us", &table.fixed_us, 0, 1000},
            {"passes", &table.passes, 0, 100},
            {"library_factor", &table.library_factor, 0.1, 10}};
}

Numbers derate_numbers(KernelPreset& preset) {
    return {{"matmul", &preset.derate_matmul, 0.1, 10}, {"memory", &preset.derate_memory, 0.1, 10}};
}

Numbers memory_numbers(KernelPreset& preset) {
    Numbers numbers{{"fixed_us", &preset.memory_fixed_us, 0, 1000}};
    for (std::size_t i = static_cast<std::size_t>(KernelClass::norm); i < kKernelClasses; ++i) {
        numbers.push_back({to_string(static_cast<KernelClass>(i)), &preset.memory_efficiency[i], 0.01, 1.5});
    }
    return numbers;
}

Numbers numbers_of(KernelPreset::Generation& g) {
    return {{"gemm", &g.gemm, 0.1, 10}, {"attention", &g.attention, 0.1, 10}, {"memory", &g.memory, 0.1, 10}};
}

// Reads presets: one object of the file at a time, all problems together.
class PresetReader {
  public:
    explicit PresetReader(std::string file) : file_(std::move(file)) {}

    KernelPreset read(const Json& json) {
        KernelPreset preset;
        ObjectReader top(json, file_, "", problems_);
        top.read({.key = "name", .required = true}, preset.name);
        top.read({.key = "source", .required = true}, preset.source);
        read_origin(top, preset);
        section(top, "sustained_derate", derate_numbers(preset));
        read_gemm(top, preset);
        section(top, "attention_forward", numbers_of(preset.attention_forward));
        section(top, "attention_backward", numbers_of(preset.attention_backward));
        section(top, "attention_table", numbers_of(preset.attention_table));
        section(top, "memory", memory_numbers(preset));
        // someone may ask for the traffic of a product alone
        preset.memory_efficiency[static_cast<std::size_t>(KernelClass::gemm)] =
            preset.memory_efficiency[static_cast<std::size_t>(KernelClass::attention)] =
                preset.memory_efficiency[static_cast<std::size_t>(KernelClass::other)];
        read_generations(top, preset);
        top.finish();
        if (!problems_.empty()) {
            throw InputError(problems_);
        }
        return preset;
    }

  private:
    static void take(ObjectReader& reader, const Numbers& numbers) {
        for (const Number& number : numbers) {
            reader.read({.key = number.key, .required = true, .min = number.min, .max = number.max},
                        *number.value);
        }
    }

    void section(ObjectReader& parent, std::string_view key, const Numbers& numbers) {
        if (const Json* json = parent.object({.key = key, .required = true})) {
            ObjectReader reader(*json, file_, parent.path_of(key), problems_);
            take(reader, numbers);
            reader.finish();
        }
    }

    void read_origin(ObjectReader& top, KernelPreset& preset) {
        if (const Json* list = top.array({.key = "measured_on", .required = true})) {
            for (const Json& gpu : *list) {
                preset.measured_on.push_back(gpu.is_string() ? gpu.get<std::string>() : gpu.dump());
            }
        }
        std::string text;
        top.read({.key = "provenance", .required = true}, text);
        for (const Provenance value :
             {Provenance::measured, Provenance::fitted, Provenance::catalogue, Provenance::assumed}) {
            if (text == to_string(value)) {
                preset.provenance = value;
                return;
            }
        }
        top.fail("provenance", fmt::format("'{}' is not measured, fitted, catalogue or assumed", text));
    }

    void read_gemm(ObjectReader& top, KernelPreset& preset) {
        const Json* json = top.object({.key = "gemm", .required = true});
        if (json == nullptr) {
            return;
        }
        ObjectReader gemm(*json, file_, "gemm", problems_);
        take(gemm, numbers_of(preset.gemm));
        section(gemm, "pass", pass_numbers(preset));
        if (const Json* types = gemm.object({.key = "dtype", .required = true})) {
            ObjectReader reader(*types, file_, "gemm.dtype", problems_);
            for (const auto& item : types->items()) {
                if (const std::optional<DType> type = dtype_from(item.key())) {
                    reader.read({.key = item.key(), .min = 0.01, .max = 10}, preset.dtype_efficiency[*type]);
                }
            }
            reader.finish();
        }
        gemm.finish();
    }

    void read_generations(ObjectReader& top, KernelPreset& preset) {
        const Json* json = top.object({.key = "generations"});
        if (json == nullptr) {
            return;
        }
        ObjectReader generations(*json, file_, "generations", problems_);
        for (const auto& item : json->items()) {
            section(generations, item.key(), numbers_of(preset.generations[item.key()]));
        }
    }

    std::string file_;
    std::vector<Problem> problems_;
};

Json to_json(const Numbers& numbers) {
    Json json = Json::object();
    for (const Number& number : numbers) {
        json[std::string(number.key)] = *number.value;
    }
    return json;
}

} // namespace

KernelPreset kernel_preset_from_json(const Json& json, const std::string& where) {
    return PresetReader(where).read(json);
}

Json kernel_preset_to_json(const KernelPreset& preset) {
    KernelPreset copy = preset;
    Json json{{"name", copy.name}, {"source", copy.source}};
    json["measured_on"] = copy.measured_on;
    json["provenance"] = std::string(to_string(copy.provenance));
    json["sustained_derate"] = to_json(derate_numbers(copy));
    json["gemm"] = to_json(numbers_of(copy.gemm));
    json["gemm"]["pass"] = to_json(pass_numbers(copy));
    json["gemm"]["dtype"] = Json::object();
    for (const auto& [type, efficiency] : copy.dtype_efficiency) {
        json["gemm"]["dtype"][std::string(to_string(type))] = efficiency;
    }
    json["attention_forward"] = to_json(numbers_of(copy.attention_forward));
    json["attention_backward"] = to_json(numbers_of(copy.attention_backward));
    json["attention_table"] = to_json(numbers_of(copy.attention_table));
    json["memory"] = to_json(memory_numbers(copy));
    json["generations"] = Json::object();
    for (auto& [name, generation] : copy.generations) {
        json["generations"][name] = to_json(numbers_of(generation));
    }
    return json;
}

Seconds table_extra(const KernelPreset::AttentionTable& table, const KernelMachine& machine,
                    const AttentionShape& shape) {
    const double elements =
        shape.batch * shape.head_dim * (shape.heads * shape.seq_q + 2 * shape.kv_heads * shape.seq_kv);
    return table.fixed_us * 1e-6 + table.passes * 2 * size_of(shape.dtype) * elements / machine.bandwidth;
}

std::vector<std::string> kernel_preset_names() {
    std::vector<std::string> names;
    for (const EmbeddedPreset& preset : kEmbedded) {
        names.emplace_back(preset.name);
    }
    return names;
}

KernelPreset load_kernel_preset(std::string_view name) {
    for (const EmbeddedPreset& preset : kEmbedded) {
        if (preset.name == name) {
            const std::string where = fmt::format("kernel preset {}", name);
            return kernel_preset_from_json(parse_json(preset.text, where), where);
        }
    }
    throw InputError("kernel_preset", fmt::format("there is no kernel preset '{}'", name),
                     fmt::format("known presets: {}", fmt::join(kernel_preset_names(), ", ")));
}

} // namespace echosim
