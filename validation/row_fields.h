// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/gpu.h"
#include "simulator/core/error.h"
#include "simulator/workload/megatron_args.h"

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

// Reading one object of a table of measured runs. Two kinds of trouble are kept apart: a value of the wrong
// type means that the file does not have the schema (a problem, and an InputError for the whole file); a
// value of the right type that cannot be simulated concerns its row only (unusable()).
namespace echosim {

class RowFields {
  public:
    // `where` names file and row in the problems: "steps.json: row 3 (sc21-t1-004)".
    RowFields(const nlohmann::ordered_json& row, std::string where, std::vector<Problem>& problems);

    bool has(const char* key) const; // null counts as absent
    std::string text(const char* key, std::string fallback = {});
    double number(const char* key, double fallback);
    int count(const char* key, int fallback); // whole number
    bool yes(const char* key, bool fallback = false);
    std::vector<std::string> texts(const char* key);                               // a list of texts
    std::vector<std::pair<std::string, std::string>> text_object(const char* key); // an object of texts

    // Counts that the row must state and that must be 1 or more.
    void require_counts(std::initializer_list<const char*> keys);
    // A number that, where it is stated, must lie between the two.
    void require_range(const char* key, double low, double high);
    // First reason why the values read so far cannot be simulated; empty when there is none.
    const std::string& unusable() const { return unusable_; }
    void refuse(std::string reason);

    const std::string& where() const { return where_; }

  private:
    void wrong(const char* key, const char* allowed);

    const nlohmann::ordered_json& row_;
    std::string where_;
    std::vector<Problem>& problems_;
    std::string unusable_;
};

// The catalogue's GPU of the field "gpu"; nullptr, and the row unusable, when there is none.
const Gpu* catalogue_gpu(RowFields& fields);
// Of the servers that GPUs of this architecture came in.
int pcie_gen(Arch arch);

// Appends Megatron flags of one origin.
class FlagWriter {
  public:
    FlagWriter(std::vector<Flag>& flags, std::string origin) : flags_(flags), origin_(std::move(origin)) {}
    void add(std::string name) { flags_.push_back({std::move(name), {}, origin_}); }
    void add(std::string name, std::string value) {
        flags_.push_back({std::move(name), {std::move(value)}, origin_});
    }
    void add(std::string name, std::vector<std::string> values) {
        flags_.push_back({std::move(name), std::move(values), origin_});
    }
    void add(std::string name, int value) { add(std::move(name), std::to_string(value)); }
    void add_if(bool condition, std::string name) {
        if (condition)
            add(std::move(name));
    }

  private:
    std::vector<Flag>& flags_;
    std::string origin_;
};

} // namespace echosim
