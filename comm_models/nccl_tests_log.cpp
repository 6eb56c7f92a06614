// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_tests_log.h"

#include "comm_models/nccl_tests_table.h"
#include "comm_models/nccl_tests_text.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace echosim {
namespace {

using nccl_text::Columns;
using Words = std::vector<std::string_view>;

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::size_t find_word(const Words& words, std::string_view word, std::size_t from = 0) {
    for (std::size_t i = from; i < words.size(); ++i)
        if (words[i] == word)
            return i;
    return kNowhere;
}

bool any_starts_with(const Words& words, std::string_view start) {
    return std::ranges::any_of(words, [&](std::string_view w) { return w.starts_with(start); });
}

// What the header says of the columns after the element type.
struct Layout {
    bool algbw = true;
    double us_per_unit = 1; // "time(ns)" of tables made from logs
    bool cpu_time = false;
    bool in_place_only = false;
};

// What stands in front of a table and belongs to it.
struct Preamble {
    std::optional<CollectiveKind> kind;
    std::set<Bytes> ranks;
    std::set<std::string> hosts;
    std::string gpu;
    std::string nccl;
    bool out_of_place_banner = false, in_place_banner = false;
};

class LogReader {
  public:
    void read(std::string_view line, int number) {
        line_ = number;
        if (line.size() > nccl_text::kMostOfALine)
            ++cut_lines_;
        nccl_text::split_words(line, buffer_, words_);
        if (words_.empty() || !may_matter())
            return;
        if (read_rows() || read_rank() || read_header())
            return;
        read_context();
    }

    std::vector<NcclTestsTable> finish() {
        close_table();
        if (cut_lines_ > 0 && !tables_.empty())
            tables_.front().warnings.push_back(
                fmt::format("{} lines longer than 16 KiB: only their beginnings were read", cut_lines_));
        return std::move(tables_);
    }

    int first_header() const { return first_header_; }

  private:
    // Most lines of a long log are of other programs: one look at the words tells.
    bool may_matter() const {
        return std::ranges::any_of(words_, [](std::string_view word) {
            if (word.size() < 3)
                return false;
            const char c = word[0] == '#' ? word[1] : word[0];
            return std::string_view("RstcionAbNnfhdu").find(c) != std::string_view::npos ||
                   word.find("NCCL") != std::string_view::npos ||
                   word.find("_perf") != std::string_view::npos;
        });
    }

    // Rows: size, count, element type, then the columns; several processes may share a line.
    bool read_rows() {
        bool found = false;
        for (std::size_t i = 2; i < words_.size(); ++i) {
            if (!nccl_text::is_dtype(words_[i]))
                continue;
            const auto bytes = nccl_text::whole_at_end(words_[i - 2]);
            const auto count = nccl_text::whole(words_[i - 1]);
            if (!bytes || !count)
                continue;
            found = true;
            add_row(*bytes, *count, i);
        }
        return found;
    }

    void add_row(Bytes bytes, Bytes count, std::size_t dtype) {
        if (!table_)
            open_table();
        table_->see_count(bytes, count, words_[dtype]);
        if (layout_.cpu_time)
            return table_->skip("the times are those of the CPU (-C 1)", line_);
        NcclTestsRow row;
        row.bytes = bytes;
        row.dtype = words_[dtype];
        row.line = line_;
        std::size_t at = dtype + 1;
        if (at < words_.size() && nccl_text::is_redop(words_[at]))
            table_->see_redop(words_[at++]);
        const auto first = layout_.algbw ? first_columns(at, bytes) : short_columns(at, bytes);
        if (!first)
            return table_->skip("cut off, or size, time and algbw do not agree", line_);
        if (layout_.in_place_only) {
            row.in_place_us = first->us;
            row.in_place_busbw = first->busbw;
        } else {
            row.out_of_place_us = first->us;
            row.out_of_place_busbw = first->busbw;
            if (const auto second = second_columns(at, bytes)) {
                row.in_place_us = second->us;
                row.in_place_busbw = second->busbw;
            }
        }
        table_->add(row, *first);
    }

    // `at` is moved to the column of the time: a root may stand in front.
    std::optional<Columns> first_columns(std::size_t& at, Bytes bytes) {
        if (const auto columns = nccl_text::columns_at(words_, at, bytes))
            return columns;
        const auto columns = nccl_text::columns_at(words_, at + 1, bytes);
        if (columns)
            table_->see_root(words_[at++]);
        return columns;
    }

    // time busbw, without algbw.
    std::optional<Columns> short_columns(std::size_t at, Bytes bytes) const {
        if (at + 1 >= words_.size())
            return std::nullopt;
        const auto time = nccl_text::number(words_[at]), busbw = nccl_text::number(words_[at + 1]);
        if (!time || !busbw || *time <= 0 || *busbw < 0)
            return std::nullopt;
        const double us = *time * layout_.us_per_unit;
        return Columns{us, static_cast<double>(bytes) / us * 1e-3, *busbw};
    }

    // With or without a column of errors between the two halves.
    std::optional<Columns> second_columns(std::size_t at, Bytes bytes) const {
        if (!layout_.algbw)
            return short_columns(at + 2, bytes);
        if (const auto columns = nccl_text::columns_at(words_, at + 4, bytes))
            return columns;
        return nccl_text::columns_at(words_, at + 3, bytes);
    }

    // Rank  0 Group  0 Pid  65741 on node-0 device  0 [0x00] NVIDIA H100 80GB HBM3
    bool read_rank() {
        std::size_t at = find_word(words_, "Rank");
        if (at == kNowhere)
            at = find_word(words_, "#Rank");
        const std::size_t on = at == kNowhere ? kNowhere : find_word(words_, "on", at);
        const std::size_t device = on == kNowhere ? kNowhere : find_word(words_, "device", on);
        if (device == kNowhere || at + 1 >= words_.size())
            return false;
        const auto rank = nccl_text::whole(words_[at + 1]);
        if (!rank)
            return false;
        leave_table();
        next_.ranks.insert(*rank);
        next_.hosts.emplace(words_[on + 1]);
        std::size_t name = device + 1;
        while (name < words_.size() && !words_[name].ends_with("]"))
            ++name;
        next_.gpu.clear();
        for (++name; name < words_.size(); ++name)
            next_.gpu += (next_.gpu.empty() ? "" : " ") + std::string(words_[name]);
        return true;
    }

    bool read_header() {
        const bool out = any_starts_with(words_, "out-of-place"), in = any_starts_with(words_, "in-place");
        if (out || in) {
            leave_table();
            next_.out_of_place_banner |= out;
            next_.in_place_banner |= in;
        }
        const bool size = any_starts_with(words_, "size");
        const bool time = any_starts_with(words_, "time") || any_starts_with(words_, "cputime");
        if (!size || !time || !any_starts_with(words_, "busbw"))
            return false;
        leave_table();
        if (first_header_ == 0)
            first_header_ = line_;
        layout_ = {.algbw = any_starts_with(words_, "algbw"),
                   .us_per_unit = any_starts_with(words_, "time(ns)") ? 1e-3 : 1,
                   .cpu_time = any_starts_with(words_, "cputime"),
                   .in_place_only = next_.in_place_banner && !next_.out_of_place_banner};
        open_table();
        return true;
    }

    void read_context() {
        if (find_word(words_, "nThread") != kNowhere || find_word(words_, "#nThread") != kNowhere) {
            leave_table();
            next_.ranks.clear();
            next_.hosts.clear();
        }
        if (const std::size_t avg = find_word(words_, "Avg");
            avg != kNowhere && any_starts_with(words_, "bandwidth"))
            leave_table();
        if (table_ && find_word(words_, "bounds") != kNowhere && find_word(words_, "FAILED") != kNowhere)
            table_->warn(fmt::format("line {}: the run reports wrong results", line_));
        read_version();
        read_program();
    }

    void read_version() {
        std::string version;
        const std::size_t at = find_word(words_, "version");
        if (at != kNowhere && at > 0 && at + 1 < words_.size() && words_[at - 1].ends_with("NCCL") &&
            !words_[at + 1].empty() && words_[at + 1][0] >= '0' && words_[at + 1][0] <= '9')
            version = words_[at + 1];
        for (const std::string_view word : words_)
            if (word.starts_with("nccl-library="))
                if (const auto code = nccl_text::whole(word.substr(word.find('=') + 1)))
                    version = nccl_text::version_of_code(*code);
        if (version.empty())
            return;
        if (table_ && table_->nccl().empty() && table_->empty())
            table_->set_nccl(version);
        else
            next_.nccl = version;
    }

    // One program in a line is that of the run; a line with several is prose about nccl-tests.
    void read_program() {
        std::optional<CollectiveKind> kind;
        for (const std::string_view word : words_) {
            const auto named = nccl_text::program_kind(word);
            if (named && kind && *named != *kind)
                return;
            if (named)
                kind = named;
        }
        if (!kind)
            return;
        leave_table();
        next_.kind = kind;
    }

    void open_table() {
        table_.emplace(line_);
        table_->start({.kind = next_.kind,
                       .ranks = static_cast<int>(std::min<std::size_t>(next_.ranks.size(), 1U << 30U)),
                       .nodes = static_cast<int>(std::min<std::size_t>(next_.hosts.size(), 1U << 30U)),
                       .gpu = next_.gpu,
                       .nccl = next_.nccl});
        next_ = {};
    }

    // A table with rows ends where something of another run begins.
    void leave_table() {
        if (table_ && !table_->empty())
            close_table();
    }

    void close_table() {
        if (table_ && !table_->empty())
            tables_.push_back(table_->finish());
        table_.reset();
        layout_ = {};
    }

    int line_ = 0;
    int first_header_ = 0;
    int cut_lines_ = 0;
    std::string buffer_;
    Words words_;
    Layout layout_;
    Preamble next_;
    std::optional<NcclTestsTableBuilder> table_;
    std::vector<NcclTestsTable> tables_;
};

} // namespace

std::vector<NcclTestsTable> read_nccl_tests(std::string_view text, const std::string& name) {
    LogReader reader;
    int number = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++number;
        while (!line.empty()) { // a carriage return starts a line over: progress bars
            const std::size_t stop = line.find('\r');
            reader.read(line.substr(0, stop), number);
            line.remove_prefix(stop == std::string_view::npos ? line.size() : stop + 1);
        }
    }
    const int header = reader.first_header();
    std::vector<NcclTestsTable> tables = reader.finish();
    if (!tables.empty())
        return tables;
    const char* hint =
        "give the output of all_reduce_perf, all_gather_perf or their relatives; a row has the "
        "columns size count type [redop root] time algbw busbw, in this order, separated by "
        "blanks, commas or |";
    if (header > 0)
        throw InputError(fmt::format("{}:{}", name, header),
                         "the header of an nccl-tests table, without a single readable row", hint);
    throw InputError(name,
                     fmt::format("holds no nccl-tests table: {} lines without a row of size, count, "
                                 "type, time, algbw and busbw",
                                 number),
                     hint);
}

} // namespace echosim
