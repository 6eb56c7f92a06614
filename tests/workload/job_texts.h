// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/error.h"
#include "simulator/workload/launch_script.h"
#include "simulator/workload/megatron_args.h"

#include <map>
#include <sstream>
#include <string>
#include <vector>

// Short ways to write jobs in tests.
namespace echosim::test {

inline std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;)
        words.push_back(word);
    return words;
}

inline JobSource source_of(const std::string& flags, int gpus = 8) {
    JobSource source;
    source.name = "test";
    source.flags = parse_flags(words_of(flags), "test");
    source.world_size = gpus;
    source.world_size_origin = "test";
    return source;
}

// A small model on 8 GPUs, with more flags after it.
inline const char* small_model() {
    return "--num-layers 16 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 "
           "--max-position-embeddings 2048 "
           "--vocab-size 32000 --micro-batch-size 1 --bf16 ";
}
inline Job small_job(const std::string& flags, int gpus = 8, ResolveOptions options = {}) {
    return resolve_job(source_of(small_model() + flags, gpus), options);
}

// The message of the InputError that `action` throws; "no error" when it throws none.
template <class Action> std::string error_of(Action action) {
    try {
        action();
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}
inline std::string small_error(const std::string& flags, int gpus = 8) {
    return error_of([&] { small_job(flags, gpus); });
}

} // namespace echosim::test
