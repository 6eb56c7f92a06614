// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "validation/accuracy.h"
#include "validation/step_rows.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace echosim {

// A complete dense row: a small GPT on one A100 node, tp 2, pp 2, dp 2, measured 0.1 s.
nlohmann::ordered_json dense_row();
// The same with some fields replaced: R"({"micro_batch": null})".
nlohmann::ordered_json dense_row_with(const std::string& changes);
// A run of Megatron's CI: a small GPT on 8 H100, tp 2, pp 2, measured 0.2 s.
nlohmann::ordered_json ci_row();

// A file of its own in the temporary folder; it disappears with the object.
class RowFile {
  public:
    explicit RowFile(const std::string& text);
    explicit RowFile(const nlohmann::ordered_json& rows);
    ~RowFile();
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

StepRow read_one(const nlohmann::ordered_json& row);
ValidationRow validate_one(const nlohmann::ordered_json& row);
// Values of a flag, "given" for a switch, empty when it is absent; list items joined by ",".
std::string flag_of(const StepRow& row, const std::string& name);
// what() of the InputError that reading the text throws; empty when it throws none.
std::string error_of(const std::string& text);

} // namespace echosim
