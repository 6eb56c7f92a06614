// SPDX-License-Identifier: Apache-2.0
#include "validation/step_rows.h"

#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "validation/ci_rows.h"
#include "validation/row_fields.h"
#include "validation/step_flags.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

std::string generation(const std::string& software) {
    if (software == "other" || software.empty())
        return "mcore-2024";
    if (software == "megatron-2023")
        return "mcore-2023";
    return software;
}

FabricKind fabric_of(RowFields& f) {
    const std::string notes = f.text("notes") + f.text("gpu_source") + f.text("source");
    if (notes.find("OmniPath") != std::string::npos)
        return FabricKind::omnipath;
    if (notes.find("RoCE") != std::string::npos || f.text("source_key") == "internevo")
        return FabricKind::roce;
    return FabricKind::infiniband;
}

// NCCL of the framework's time, as its containers shipped it.
std::string nccl_of(const std::string& software) {
    if (software == "megatron-2020")
        return "2.7";
    if (software == "megatron-2021")
        return "2.8";
    if (software == "megatron-2022" || software == "megatron-deepspeed")
        return "2.10";
    if (software == "mcore-2023")
        return "2.18";
    if (software == "mcore-2024")
        return "2.21";
    return "2.26";
}

// The machine of the row. What the row does not state is the vendor's figure for the GPU.
Cluster cluster_of(RowFields& f, const Gpu& gpu, StepRow& row) {
    Cluster c;
    c.name = gpu.name + " of the row";
    c.gpu = gpu;
    if (f.has("gpu_mem_gb"))
        c.gpu.memory = static_cast<Bytes>(f.number("gpu_mem_gb", 0) * 1e9);
    c.node.gpus = f.count("gpus_per_node", 8);
    if (!f.has("gpus_per_node"))
        row.notes.emplace_back("gpus_per_node is not stated: 8");
    const double nvlink = f.has("nvlink_gbytes_per_s") ? f.number("nvlink_gbytes_per_s", 0) * 1e9 / 2
                                                       : gpu.nvlink_links * gpu.nvlink_link_bandwidth;
    c.node.nvlink = {nvlink, gpu.nvlink_links, nvlink > 0};
    c.node.pcie = {pcie_gen(gpu.arch), 16};
    const double nic_gbits = f.number("nic_gbits_per_gpu", gpu.arch == Arch::volta ? 50 : 200);
    if (!f.has("nic_gbits_per_gpu") && row.gpus > c.node.gpus)
        row.notes.push_back(fmt::format("nic_gbits_per_gpu is not stated: {:g}", nic_gbits));
    c.node.nics = {c.node.gpus, nic_gbits * 0.125e9, 1e-6, 1};
    if (gpu.name.starts_with("gb") && c.node.gpus == 4)
        c.nvlink_domain_nodes = 18;
    c.fabric.kind = fabric_of(f);
    c.nccl = nccl_of(row.software);
    return c;
}

// Features whose step cannot be built yet.
std::string feature_to_skip(RowFields& f) {
    const std::string precision = f.text("precision"), category = f.text("category");
    const int zero = f.count("zero_stage", 0);
    if (f.count("moe_experts", 0) > 0)
        return "mixture of experts is not modelled yet";
    if (precision.empty())
        return "precision is not stated";
    if (precision != "bf16" && precision != "fp16")
        return "precision " + precision + " is not modelled yet";
    if (f.count("cp", 1) > 1)
        return "context parallelism is not modelled yet";
    if (f.text("zero_scope") == "node")
        return "a distributed optimizer inside a node is not modelled yet";
    if (f.has("fsdp") || category.starts_with("fsdp"))
        return "FSDP is not modelled yet";
    if (zero > 1)
        return fmt::format("ZeRO stage {} is not modelled yet", zero);
    if (f.text("attention") == "mla")
        return "multi-latent attention is not modelled yet";
    if (f.yes("cuda_graph"))
        return "CUDA graphs are not modelled yet";
    if (f.count("mtp_layers", 0) > 0)
        return "multi-token prediction is not modelled yet";
    if (category == "sft")
        return "fine-tuning on packed sequences is not modelled yet";
    return {};
}

// Values of the right type that describe no step: refused with the field and what was read.
void check_values(RowFields& f) {
    f.require_counts({"num_gpus", "layers", "hidden", "heads", "seq_len", "vocab", "global_batch"});
    for (const char* key :
         {"tp", "pp", "vpp", "cp", "micro_batch", "gpus_per_node", "ffn_hidden", "head_dim"})
        if (f.has(key))
            f.require_counts({key});
    const std::string attention = f.text("attention", "mha"), recompute = f.text("recompute", "none");
    if (attention == "gqa")
        f.require_counts({"query_groups"});
    else if (attention != "mha")
        f.refuse(fmt::format("attention \"{}\" is none of mha, gqa, mla", attention));
    if (recompute != "none" && recompute != "selective" && recompute != "full")
        f.refuse(fmt::format("recompute \"{}\" is none of none, selective, full", recompute));
    f.require_range("gpu_mem_gb", 1, 1e5);
    f.require_range("nvlink_gbytes_per_s", 0, 1e6);
    const bool one_node = f.count("num_gpus", 1) <= f.count("gpus_per_node", 8);
    f.require_range("nic_gbits_per_gpu", one_node ? 0 : 0.01, 1e6);
    f.require_range("iter_time_s", kMinStepSeconds, kMaxStepSeconds);
    if (!f.has("iter_time_s"))
        f.refuse("the row has no step time");
}

StepRow read_row(RowFields& f) {
    StepRow row;
    row.id = f.text("id", f.where());
    row.source = f.text("source_key");
    row.gpu = f.text("gpu", "not stated");
    row.model = f.text("model");
    row.software = generation(f.text("software"));
    row.recompute = f.text("recompute", "not stated");
    row.precision = f.text("precision", "not stated");
    row.confidence = f.text("confidence", "not stated");
    row.gpus = f.count("num_gpus", 0);
    row.tp = f.count("tp", 1);
    row.pp = f.count("pp", 1);
    row.measured_s = f.number("iter_time_s", 0);
    const std::string feature = feature_to_skip(f);
    check_values(f);
    const Gpu* gpu = catalogue_gpu(f);
    row.skipped = feature.empty() ? f.unusable() : feature;
    if (!row.skipped.empty())
        return row;
    if (f.text("software") != row.software)
        row.notes.push_back(
            fmt::format("software \"{}\": simulated as {}", f.text("software", "null"), row.software));
    row.cluster = cluster_of(f, *gpu, row);
    row.options = {row.gpus, false, row.software};
    row.job.name = row.id;
    FlagWriter writer(row.job.flags, row.id);
    write_step_flags(f, row.software, writer, row.notes);
    return row;
}

std::string place_of(const std::string& path, std::size_t index, const Json& row) {
    const std::string place = fmt::format("{}: row {}", path, index);
    const auto id = row.find("id");
    return id != row.end() && id->is_string() ? fmt::format("{} ({})", place, id->get<std::string>()) : place;
}

StepRow read_any_row(const Json& json, const std::string& place, std::vector<Problem>& problems) {
    RowFields fields(json, place, problems);
    if (json.contains("test_case") && json.contains("args"))
        return read_ci_row(fields);
    if (json.contains("iter_time_s") && json.contains("num_gpus"))
        return read_row(fields);
    problems.push_back(
        {place, "has no field \"iter_time_s\" or \"num_gpus\"",
         "a table of training steps has both, rows of Megatron's CI \"test_case\" and \"args\""});
    return {};
}

} // namespace

std::vector<StepRow> read_step_rows(const std::string& path) {
    const Json json = read_json_file(path);
    if (!json.is_array())
        throw InputError(path,
                         "read a JSON " + std::string(json.type_name()) + "; allowed: an array of step rows");
    if (json.empty())
        throw InputError(path, "holds no rows");
    std::vector<StepRow> rows;
    std::vector<Problem> problems;
    for (std::size_t i = 0; i < json.size() && problems.size() < kMaxRowProblems; ++i) {
        const std::string place = place_of(path, i, json[i]);
        if (json[i].is_object())
            rows.push_back(read_any_row(json[i], place, problems));
        else
            problems.push_back(
                {place, fmt::format("read a JSON {}; allowed: an object", json[i].type_name()), {}});
    }
    if (!problems.empty())
        throw InputError(std::move(problems));
    return rows;
}

} // namespace echosim
