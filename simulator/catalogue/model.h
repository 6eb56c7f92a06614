// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echosim {

// A model of the catalogue is the list of Megatron-LM flags that describe its shape, so that there is one way
// to derive everything else. Sequence length and batch are not part of it, except the length it was trained
// with.
struct CatalogueModel {
    std::string id;                   // "llama3-70b"
    std::vector<std::string> aliases; // "llama3.1-70b", "meta-llama/Meta-Llama-3-70B"
    std::string description;
    std::vector<std::pair<std::string, std::string>> flags; // {"--num-layers", "80"}, {"--swiglu", ""}
    std::string source;
};

// nullptr when there is no such id or alias (case is ignored).
const CatalogueModel* find_model(std::string_view name);
const std::vector<CatalogueModel>& all_models();

} // namespace echosim
