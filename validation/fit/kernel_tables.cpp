// SPDX-License-Identifier: Apache-2.0
#include "validation/fit/kernel_tables.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace echosim {
namespace {

using Json = nlohmann::json;

std::vector<std::string> split(const std::string& line, char separator) {
    std::vector<std::string> parts;
    std::stringstream stream(line);
    for (std::string part; std::getline(stream, part, separator);) {
        parts.push_back(part);
    }
    return parts;
}

// A comma-separated file with a header line and no quotes.
class Csv {
  public:
    explicit Csv(const std::string& path) : path_(path), file_(path) {
        std::string header;
        if (!file_ || !std::getline(file_, header)) {
            throw InputError(path, "cannot be read");
        }
        const std::vector<std::string> names = split(header, ',');
        for (std::size_t i = 0; i < names.size(); ++i) {
            columns_[names[i]] = i;
        }
    }

    bool next() {
        std::string line;
        if (!std::getline(file_, line)) {
            return false;
        }
        cells_ = split(line, ',');
        cells_.resize(columns_.size());
        return true;
    }

    const std::string& text(const std::string& column) const {
        const auto found = columns_.find(column);
        if (found == columns_.end()) {
            throw InputError(path_, fmt::format("there is no column '{}'", column));
        }
        return cells_[found->second];
    }

    // 0 for an empty cell
    double number(const std::string& column) const { return std::strtod(text(column).c_str(), nullptr); }

  private:
    std::string path_;
    std::ifstream file_;
    std::map<std::string, std::size_t> columns_;
    std::vector<std::string> cells_;
};

std::uint64_t mix(std::uint64_t x) { // splitmix64
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31U);
}

constexpr std::uint64_t kHoldOut = 5;

// "m=4096, k=5120, layout=TN" as a map.
std::map<std::string, std::string> key_values(const std::string& text) {
    std::map<std::string, std::string> values;
    for (const std::string& part : split(text, ',')) {
        const std::size_t equals = part.find('=');
        const std::size_t begin = part.find_first_not_of(' ');
        if (equals != std::string::npos && begin < equals) {
            values[part.substr(begin, equals - begin)] = part.substr(equals + 1);
        }
    }
    return values;
}

double value_of(const std::map<std::string, std::string>& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
}

// The "op" object of the SimuMax file of this GPU; null when there is none.
Json simumax_ops(const std::string& tables, const std::string& gpu) {
    const std::map<std::string, std::string> files{{"a100", "a100_pcie"}, {"b200", "b200_bf16_ceperm"}};
    const auto file = files.find(gpu);
    if (file == files.end()) {
        return nullptr;
    }
    const std::string path = fmt::format("{}/simumax/{}.json", tables, file->second);
    std::ifstream stream(path);
    if (!stream) {
        throw InputError(path, "cannot be read");
    }
    return Json::parse(stream).at("accelerator").at("op");
}

GemmPass pass_of(const std::string& layout) {
    return layout == "TN" ? GemmPass::forward : layout == "NN" ? GemmPass::dgrad : GemmPass::wgrad;
}

void add_layer_row(const Csv& csv, LayerTable& table) {
    const double tp = csv.number("num_tensor_parallel_workers");
    const double tokens = csv.number("num_tokens");
    const double hidden = csv.number("n_embd");
    const double heads = csv.number("n_head");
    const double query = hidden / tp;
    const double key = std::max(csv.number("n_kv_head") / tp, 1.0) * hidden / heads;
    const double ffn = csv.number("n_expanded_embd") / tp;
    const double halves = csv.text("use_gated_mlp") == "True" ? 2 : 1;
    const auto time = [&](const std::string& op) {
        return csv.number("time_stats." + op + ".median") * 1e-3;
    };
    const auto gemm = [&](const std::string& op, double n, double k) {
        if (time(op) > 0) {
            table.gemms.push_back({op, {.m = tokens, .n = n, .k = k, .dtype = DType::fp16}, time(op)});
        }
    };
    const auto memory = [&](const std::string& op, double bytes) {
        if (time(op) > 0) {
            table.memory.push_back({op, bytes, time(op)});
        }
    };
    gemm("attn_pre_proj", query + 2 * key, hidden);
    gemm("attn_post_proj", hidden, query);
    gemm("mlp_up_proj", halves * ffn, hidden);
    gemm("mlp_down_proj", hidden, ffn);
    memory("input_layernorm", 4 * tokens * hidden);
    memory("attn_rope", 4 * tokens * (query + key));
    memory("mlp_act", 2 * tokens * ffn * (halves + 1));
    memory("add", 6 * tokens * hidden);
    memory("emb", 4 * tokens * hidden);
}

} // namespace

bool held_out(const GemmShape& shape) {
    return mix(static_cast<std::uint64_t>(shape.n) * 1000003U + static_cast<std::uint64_t>(shape.k)) %
               kHoldOut ==
           0;
}

bool held_out(const AttentionShape& shape) {
    const auto key = static_cast<std::uint64_t>(shape.heads * 1e6 + shape.kv_heads * 1e3 + shape.head_dim);
    return mix(key) % kHoldOut == 0;
}

std::vector<GemmRow> read_gemm_table(const std::string& tables, const std::string& gpu) {
    Csv csv(fmt::format("{}/aiconfigurator/{}_sxm_gemm.csv", tables, gpu));
    std::vector<GemmRow> rows;
    while (csv.next()) {
        GemmRow row;
        row.type = csv.text("gemm_dtype");
        row.shape = {.m = csv.number("m"),
                     .n = csv.number("n"),
                     .k = csv.number("k"),
                     .dtype = row.type == "bfloat16" ? DType::bf16 : DType::fp8};
        row.time = csv.number("latency_ms") * 1e-3;
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<AttentionRow> read_attention_table(const std::string& tables, const std::string& gpu) {
    Csv csv(fmt::format("{}/aiconfigurator/{}_sxm_context_attention_bf16.csv", tables, gpu));
    std::vector<AttentionRow> rows;
    while (csv.next()) {
        const double length = csv.number("isl");
        rows.push_back({{.batch = csv.number("batch_size"),
                         .seq_q = length,
                         .seq_kv = length,
                         .heads = csv.number("num_heads"),
                         .kv_heads = csv.number("num_key_value_heads"),
                         .head_dim = csv.number("head_dim")},
                        csv.number("latency_ms") * 1e-3});
    }
    return rows;
}

LayerTable read_layer_tables(const std::string& tables, const std::string& gpu) {
    LayerTable table;
    const std::string folder = tables + "/vidur/compute";
    if (!std::filesystem::is_directory(folder)) {
        throw InputError(folder, "is not a folder");
    }
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().filename().string().rfind(gpu + "_", 0) == 0) {
            paths.push_back(entry.path().string());
        }
    }
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) {
        Csv csv(path);
        while (csv.next()) {
            add_layer_row(csv, table);
        }
    }
    return table;
}

std::vector<GemmRow> read_training_gemms(const std::string& tables, const std::string& gpu) {
    std::vector<GemmRow> rows;
    const Json ops = simumax_ops(tables, gpu);
    if (ops.is_null()) {
        return rows;
    }
    const double peak = ops.at("matmul").at("tflops").get<double>() * 1e12;
    for (const auto& [key, efficiency] : ops.at("matmul").at("accurate_efficient_factor").items()) {
        const auto values = key_values(key);
        GemmRow row;
        row.type = "bfloat16";
        row.shape = {.m = value_of(values, "m"),
                     .n = value_of(values, "n"),
                     .k = value_of(values, "k"),
                     .batch = value_of(values, "b"),
                     .pass = pass_of(values.at("layout")),
                     .accumulate_fp32 = values.at("out_dtype") == "fp32"};
        row.time =
            2 * row.shape.batch * row.shape.m * row.shape.n * row.shape.k / (peak * efficiency.get<double>());
        rows.push_back(row);
    }
    return rows;
}

std::vector<GemmRow> read_grouped_gemms(const std::string& tables, const std::string& gpu) {
    std::vector<GemmRow> rows;
    const Json ops = simumax_ops(tables, gpu);
    if (ops.is_null()) {
        return rows;
    }
    const double peak = ops.at("group_matmul").at("tflops").get<double>() * 1e12;
    for (const auto& [key, efficiency] : ops.at("group_matmul").at("accurate_efficient_factor").items()) {
        const auto values = key_values(key);
        const std::string& stage = values.at("stage");
        const double m = value_of(values, "M");
        const double n = value_of(values, "N");
        const double k = value_of(values, "K");
        GemmRow row;
        row.type = "bfloat16";
        row.shape = {.m = m, .n = n, .k = k, .batch = value_of(values, "ng")};
        if (stage == "bwd_grad_act") {
            row.shape = {.m = m, .n = k, .k = n, .batch = row.shape.batch, .pass = GemmPass::dgrad};
        } else if (stage == "bwd_grad_w") {
            row.shape = {.m = n, .n = k, .k = m, .batch = row.shape.batch, .pass = GemmPass::wgrad};
            row.shape.accumulate_fp32 = values.at("accumulate") == "True";
        }
        row.time = 2 * row.shape.batch * m * n * k / (peak * efficiency.get<double>());
        rows.push_back(row);
    }
    return rows;
}

std::vector<AttentionRow> read_training_attention(const std::string& tables, const std::string& gpu) {
    std::vector<AttentionRow> rows;
    const Json ops = simumax_ops(tables, gpu);
    if (ops.is_null()) {
        return rows;
    }
    for (const bool backward : {false, true}) {
        const Json& op = ops.at(backward ? "sdp_bwd" : "sdp_fwd");
        const double peak = op.at("tflops").get<double>() * 1e12;
        for (const auto& [key, efficiency] : op.at("accurate_efficient_factor").items()) {
            const auto values = key_values(key);
            if (values.at("qkv_contiguous") != "True" ||
                values.at("qk_head_dim") != values.at("v_head_dim")) {
                continue;
            }
            AttentionRow row;
            row.shape = {.batch = value_of(values, "batch"),
                         .seq_q = value_of(values, "seq_len"),
                         .seq_kv = value_of(values, "seq_len"),
                         .heads = value_of(values, "head_num"),
                         .kv_heads = value_of(values, "kv_head_num"),
                         .head_dim = value_of(values, "qk_head_dim"),
                         .backward = backward};
            // SimuMax counts the full square (4 b h s^2 d, backward 10), the kernel is causal
            const double products = 4 * row.shape.batch * row.shape.heads * row.shape.seq_q *
                                    row.shape.seq_kv * row.shape.head_dim * (backward ? 2.5 : 1);
            row.time = products / (peak * efficiency.get<double>());
            rows.push_back(row);
        }
    }
    return rows;
}

} // namespace echosim
