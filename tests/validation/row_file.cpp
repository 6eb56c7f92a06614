// SPDX-License-Identifier: Apache-2.0
#include "tests/validation/row_file.h"

#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unistd.h>

namespace echosim {

using Json = nlohmann::ordered_json;

Json dense_row() {
    return Json::parse(R"({
        "id": "dense-1", "source_key": "by-hand", "category": "megatron-3d", "confidence": "high", "notes": null,
        "model": "gpt-small", "layers": 4, "hidden": 1024, "ffn_hidden": 4096, "heads": 16, "query_groups": 16,
        "head_dim": null, "vocab": 51200, "seq_len": 1024, "gated_mlp": false, "attention": "mha",
        "tie_embeddings": true, "moe_experts": null, "mtp_layers": null,
        "gpu": "a100-sxm-80gb", "gpu_mem_gb": 80, "gpus_per_node": 8, "nvlink_gbytes_per_s": 600,
        "nic_gbits_per_gpu": 200,
        "num_gpus": 8, "tp": 2, "sequence_parallel": false, "pp": 2, "vpp": 1, "cp": 1, "micro_batch": 2,
        "global_batch": 16, "recompute": "none", "recompute_modules": null, "precision": "bf16",
        "distributed_optimizer": true, "zero_stage": 1, "zero_scope": "global", "fsdp": null,
        "tp_comm_overlap": null, "dp_comm_overlap": null, "pp_p2p_overlap": null, "cuda_graph": null,
        "framework": "by hand", "software": "mcore-2024", "attention_impl": "flash", "iter_time_s": 0.1})");
}

Json dense_row_with(const std::string& changes) {
    Json row = dense_row();
    row.update(Json::parse(changes));
    return row;
}

Json ci_row() {
    return Json::parse(R"({
        "id": "gpt/small|dev|dgx_h100", "test_case": "gpt/small", "env": "dev", "platform": "dgx_h100",
        "gpu": "h100-sxm", "gpu_assumed": false, "nodes": 1, "gpus_per_node": 8, "world_size": 8,
        "world_size_assumed": false, "vocab": 50257, "vocab_assumed": true, "scope": "supported",
        "measured_rank": "last", "iter_time_s_median": 0.2, "mem_max_alloc_bytes": 1000000000,
        "args": {"--num-layers": "12", "--hidden-size": "512", "--num-attention-heads": "8",
                 "--seq-length": "1024", "--max-position-embeddings": "1024", "--micro-batch-size": "4",
                 "--global-batch-size": "32", "--tensor-model-parallel-size": "2",
                 "--pipeline-model-parallel-size": "2", "--bf16": "true", "--sequence-parallel": "false",
                 "--recompute-granularity": "selective", "--recompute-modules": "[core_attn layernorm]"}})");
}

RowFile::RowFile(const std::string& text) {
    path_ = (std::filesystem::temp_directory_path() / "echosim_rows_XXXXXX").string();
    const int descriptor = ::mkstemp(path_.data());
    if (descriptor < 0)
        throw std::runtime_error("no temporary file");
    ::close(descriptor);
    std::ofstream(path_) << text;
}

RowFile::RowFile(const Json& rows) : RowFile(rows.dump()) {}

RowFile::~RowFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

StepRow read_one(const Json& row) {
    const RowFile file(Json::array({row}));
    return read_step_rows(file.path()).at(0);
}

ValidationRow validate_one(const Json& row) {
    const RowFile file(Json::array({row}));
    return validate_steps(file.path(), {}).rows.at(0);
}

std::string flag_of(const StepRow& row, const std::string& name) {
    for (const Flag& flag : row.job.flags)
        if (flag.name == name)
            return flag.values.empty() ? "given" : join(flag.values, ",");
    return {};
}

std::string error_of(const std::string& text) {
    const RowFile file(text);
    try {
        read_step_rows(file.path());
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

} // namespace echosim
