// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/commands/import_figures.h"
#include "simulator/cli/console.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace echosim {

// What `import` has read, and what it is to be called.
struct ImportSummary {
    std::vector<std::string> paths; // as the user named them
    const Imported* imported = nullptr;
    TraceFigures figures;
    std::string written; // path of the .etr; empty: nothing is written
    bool align = true;   // --align auto
    bool all_rows = false;
};

std::string import_text(const ImportSummary& summary, const TextStyle& style);
nlohmann::ordered_json import_document(const ImportSummary& summary); // echosim.import/1

} // namespace echosim
