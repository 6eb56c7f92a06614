// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/nccl_tests_log.h"
#include "comm_models/nccl_tests_text.h"

#include <map>
#include <utility>

namespace echosim {

// Collects the rows of one table and decides at its end which collective it is and how many ranks ran it.
//
//   all_reduce                                     busbw / algbw = 2 (n - 1) / n
//   all_gather, reduce_scatter, all_to_all,
//   gather, scatter                                               (n - 1) / n
//   broadcast, reduce, send_recv                                  1
//
// (nccl-tests, doc/PERFORMANCE.md). Bandwidths are printed with two decimals, so the row with the largest
// algbw decides; the number of ranks follows only where rounding leaves one.
class NcclTestsTableBuilder {
  public:
    explicit NcclTestsTableBuilder(int line) { table_.line = line; }

    // What stood in front of the table.
    struct Stated {
        std::optional<CollectiveKind> kind;
        int ranks = 0, nodes = 0;
        std::string gpu, nccl;
    };
    void start(const Stated& stated);

    bool empty() const { return table_.rows.empty() && skipped_.empty(); }
    const std::string& nccl() const { return table_.nccl; }
    void set_nccl(std::string version) { table_.nccl = std::move(version); }

    void see_count(Bytes bytes, Bytes count, std::string_view dtype);
    void see_redop(std::string_view name);
    void see_root(std::string_view text);
    void add(const NcclTestsRow& row, const nccl_text::Columns& columns);
    void skip(const char* reason, int line);
    void warn(std::string text) { table_.warnings.push_back(std::move(text)); }

    NcclTestsTable finish();

  private:
    void decide_kind();
    void decide_ranks();
    void describe_skipped();

    NcclTestsTable table_;
    double ratio_ = 0;     // busbw / algbw of the row with the largest algbw
    double precision_ = 1; // of the ratio
    double best_ = 0;      // that algbw
    int count_ranks_ = 0;  // size / (count x element): n where the size is that of all ranks
    std::string redop_;
    std::optional<double> root_;
    struct Skipped {
        int lines = 0;
        int first = 0;
    };
    std::map<std::string, Skipped> skipped_;
};

} // namespace echosim
