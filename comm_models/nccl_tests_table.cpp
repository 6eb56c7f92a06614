// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_tests_table.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr int kMostRanks = 1 << 24;

enum class Family { unknown, two_sided, share, whole }; // 2(n-1)/n, (n-1)/n, 1

Family family_of(CollectiveKind kind) {
    switch (kind) {
    case CollectiveKind::all_reduce:
        return Family::two_sided;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
        return Family::share;
    default:
        return Family::whole;
    }
}

double ratio_of(Family family, double ranks) {
    if (family == Family::two_sided)
        return 2 * (ranks - 1) / ranks;
    return family == Family::share ? (ranks - 1) / ranks : 1;
}

// n of ratio = scale (n - 1) / n, if rounding leaves one whole number.
int ranks_of(double scale, double ratio, double precision) {
    const auto solve = [&](double r) { return r >= scale ? 1e12 : scale / (scale - r); };
    const double low = solve(ratio - precision), high = solve(ratio + precision);
    const double n = std::round(solve(ratio));
    if (n < 1 || n > kMostRanks || high > n + 0.5 || low < n - 0.5)
        return 0;
    return static_cast<int>(n);
}

} // namespace

void NcclTestsTableBuilder::start(const Stated& stated) {
    table_.kind = stated.kind;
    table_.ranks = stated.ranks;
    table_.nodes = stated.nodes;
    table_.gpu = stated.gpu;
    table_.nccl = stated.nccl;
}

void NcclTestsTableBuilder::see_count(Bytes bytes, Bytes count, std::string_view dtype) {
    const double own = static_cast<double>(count) * nccl_text::dtype_bytes(dtype);
    if (own <= 0 || bytes < 4096) // small sizes are rounded
        return;
    const double ranks = static_cast<double>(bytes) / own;
    if (ranks > 1 && ranks < kMostRanks)
        count_ranks_ = static_cast<int>(std::lround(ranks));
}

void NcclTestsTableBuilder::see_redop(std::string_view name) {
    if (redop_.empty())
        redop_ = name;
}

void NcclTestsTableBuilder::see_root(std::string_view text) {
    if (!root_)
        root_ = nccl_text::number(text);
}

void NcclTestsTableBuilder::add(const NcclTestsRow& row, const nccl_text::Columns& columns) {
    table_.rows.push_back(row);
    if (columns.algbw <= best_)
        return;
    best_ = columns.algbw;
    // without the column algbw the size and the time give it exactly
    const double algbw = static_cast<double>(row.bytes) / columns.us * 1e-3;
    ratio_ = columns.busbw / algbw;
    precision_ = 0.006 / algbw + 6e-4 * ratio_; // two decimals of busbw, four digits of the time
}

void NcclTestsTableBuilder::skip(const char* reason, int line) {
    Skipped& skipped = skipped_[reason];
    if (skipped.lines++ == 0)
        skipped.first = line;
}

// The columns overrule the name: a page quotes several programs, the numbers belong to one.
void NcclTestsTableBuilder::decide_kind() {
    if (best_ < 0.1)
        return; // too slow for its two decimals: no ratio
    Family family = Family::unknown;
    if (ratio_ - precision_ > 1)
        family = Family::two_sided;
    else if (ratio_ + precision_ < 1 && ratio_ > 0.4)
        family = Family::share;
    const std::optional<CollectiveKind> named = table_.kind;
    if (named && (family == Family::unknown || family_of(*named) == family))
        return;
    if (family == Family::two_sided)
        table_.kind = CollectiveKind::all_reduce;
    else if (family == Family::share && redop_ != "none" && !redop_.empty())
        table_.kind = CollectiveKind::reduce_scatter;
    else if (family == Family::share)
        table_.kind = std::nullopt;
    else if (root_ && *root_ >= 0 && ratio_ > 0.9)
        table_.kind = redop_ == "none" ? CollectiveKind::broadcast : CollectiveKind::reduce;
    else if (!redop_.empty() && redop_ != "none" && ratio_ > 0.9)
        table_.kind = CollectiveKind::all_reduce; // of two ranks
    if (named)
        warn(fmt::format("the log names {}, but busbw / algbw is {:.3f}, as of {}", to_string(*named), ratio_,
                         table_.kind ? to_string(*table_.kind) : "an all_gather or all_to_all"));
}

void NcclTestsTableBuilder::decide_ranks() {
    if (!table_.kind || best_ < 0.1)
        return;
    const Family family = family_of(*table_.kind);
    const int stated = table_.ranks;
    int measured = 0;
    if (ratio_ < 0.01)
        measured = 1;
    else if (family != Family::whole)
        measured = ranks_of(family == Family::two_sided ? 2 : 1, ratio_, precision_);
    if (measured == 0 && stated == 0 && family == Family::share && count_ranks_ > 1 &&
        std::abs(ratio_of(family, count_ranks_) - ratio_) < 2 * precision_)
        measured = count_ranks_;
    if (stated == 0) {
        table_.ranks = measured;
        return;
    }
    if (measured == stated || ratio_ < 0.01 || std::abs(ratio_of(family, stated) - ratio_) <= 2 * precision_)
        return;
    if (ratio_ < ratio_of(family, stated)) { // a list may be cut, but holds no rank that did not run
        warn(
            fmt::format("{} ranks are listed, but busbw / algbw is {:.3f}, not {:.3f}: the rows are left out "
                        "(decimal commas?)",
                        stated, ratio_, ratio_of(family, stated)));
        table_.rows.clear();
        return;
    }
    warn(fmt::format("{} ranks are listed, but busbw / algbw is {:.3f}{}", stated, ratio_,
                     measured > 0 ? fmt::format(", as with {}: {} is taken", measured, measured)
                                  : std::string(": the list may be cut")));
    if (measured > 0) {
        table_.ranks = measured;
        table_.nodes = 0;
    }
}

void NcclTestsTableBuilder::describe_skipped() {
    for (const auto& [reason, skipped] : skipped_)
        warn(fmt::format("{} row{} left out, the first in line {}: {}", skipped.lines,
                         skipped.lines == 1 ? "" : "s", skipped.first, reason));
}

NcclTestsTable NcclTestsTableBuilder::finish() {
    table_.root_column = root_.has_value();
    decide_kind();
    decide_ranks();
    describe_skipped();
    return std::move(table_);
}

} // namespace echosim
