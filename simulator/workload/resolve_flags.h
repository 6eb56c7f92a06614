// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/error.h"
#include "simulator/workload/job.h"
#include "simulator/workload/megatron_args.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echosim {

struct MegatronOption;

// The flags of a job after the option table: old and fork names replaced, types and choices checked, the last
// value of each option kept. Everything that is wrong is collected in `problems`.
class FlagTable {
  public:
    FlagTable(const JobSource& source, bool strict);

    bool has(std::string_view name) const { return find(name) != nullptr; }
    // Value of a flag that takes one; the range is checked and a value outside it is a problem.
    std::optional<std::int64_t> integer(std::string_view name, std::int64_t low, std::int64_t high);
    std::optional<double> real(std::string_view name, double low, double high);
    std::optional<std::string> text(std::string_view name) const;
    std::vector<std::string> list(std::string_view name) const;
    // "job.sh:12"; empty when the flag is not given.
    std::string origin(std::string_view name) const;
    // Origin and flag for `show job`: "job.sh:12 --bf16", or `otherwise` when the flag is not given.
    std::string where(std::string_view name, std::string_view otherwise) const;

    // Of flags that exclude each other, keeps those of the strongest origin: --set over the command line over
    // a file over the catalogue.
    void keep_strongest(const std::vector<std::string>& exclusive);
    void remove(std::string_view name);

    void fail(std::string_view flag, std::string message, std::string hint = {});

    std::vector<Problem> problems;
    std::vector<std::string> warnings;
    std::vector<std::string> not_modelled;
    std::vector<FlagVerdict> verdicts;

  private:
    const Flag* find(std::string_view name) const;
    void add(const Flag& flag, bool strict);
    void add_unknown(const Flag& flag, bool strict);
    bool add_open(const Flag& flag, const MegatronOption& option);
    void raise_open();
    void add_known(const Flag& flag, const MegatronOption& option);
    void add_replacement(const Flag& flag, const MegatronOption& option);
    bool unset_by_value(const Flag& flag, const MegatronOption& option);
    bool check_values(const Flag& flag, const MegatronOption& option);
    void judge();

    std::map<std::string, Flag, std::less<>> flags_; // by canonical name
    std::vector<Flag> written_;                      // as written, the last of each name
    std::map<std::string, Flag, std::less<>> open_;  // values that are not known and not overridden so far
    int searches_ = 0;                               // for the option that an unknown flag may have meant
};

// Numbers as Python's int() and float() read them (underscores between digits). nullopt when it is none.
std::optional<std::int64_t> parse_python_int(std::string_view text);
std::optional<double> parse_python_float(std::string_view text);

} // namespace echosim
