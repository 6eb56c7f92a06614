// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/export_format.h"

#include "simulator/cli/commands/import_figures.h"
#include "simulator/core/error.h"
#include "traces/chakra.h"
#include "traces/chrome_json.h"
#include "traces/csv.h"
#include "traces/kineto.h"
#include "traces/mapped_file.h"
#include "traces/sqlite_file.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

constexpr std::array<std::pair<std::string_view, ExportFormat>, 5> kWords{
    {{"perfetto", ExportFormat::perfetto},
     {"chrome", ExportFormat::chrome},
     {"chakra", ExportFormat::chakra},
     {"sqlite", ExportFormat::sqlite},
     {"csv", ExportFormat::csv}}};

// Endings that say what a file holds; none of these for .etr, which import writes.
constexpr std::array<std::pair<std::string_view, std::optional<ExportFormat>>, 8> kEndings{
    {{".json", ExportFormat::chrome},
     {".json.gz", ExportFormat::chrome},
     {".et", ExportFormat::chakra},
     {".sqlite", ExportFormat::sqlite},
     {".db", ExportFormat::sqlite},
     {".csv", ExportFormat::csv},
     {".etr", std::nullopt},
     {".nsys-rep", std::nullopt}}};

std::string_view word_of(ExportFormat format) {
    return std::find_if(kWords.begin(), kWords.end(), [&](const auto& word) { return word.second == format; })
        ->first;
}

bool is_json_path(std::string_view path) {
    return path.ends_with(".json") || path.ends_with(".json.gz");
}

// Cells of comma-separated text, one after the other; a quoted cell may hold commas, quotes (twice) and line
// ends.
class CsvCells {
  public:
    explicit CsvCells(std::string_view text) : text_(text) {}
    bool at_end() const { return next_ >= text_.size(); }
    bool ends_row() const { return ends_row_; } // after next()

    std::string_view next() {
        const std::size_t begin = next_;
        bool quoted = false;
        while (next_ < text_.size() && (quoted || (text_[next_] != ',' && text_[next_] != '\n'))) {
            quoted = quoted != (text_[next_] == '"');
            ++next_;
        }
        std::string_view cell = text_.substr(begin, next_ - begin);
        ends_row_ = next_ >= text_.size() || text_[next_] == '\n';
        ++next_;
        return cell.ends_with('\r') ? cell.substr(0, cell.size() - 1) : cell;
    }

  private:
    std::string_view text_;
    std::size_t next_ = 0;
    bool ends_row_ = false;
};

// Rows of the kinds kernel and comm.
std::uint64_t kernels_in_csv(const std::string& path) {
    const MappedFile file(path);
    CsvCells cells({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
    std::uint64_t kernels = 0;
    std::size_t kind = 0;
    std::size_t column = 0;
    for (bool head = true; !cells.at_end();) {
        const std::string_view cell = cells.next();
        if (head) {
            kind = cell == "kind" ? column : kind;
        } else if (column == kind) {
            kernels += cell == "kernel" || cell == "comm" ? 1 : 0;
        }
        head = head && !cells.ends_row();
        column = cells.ends_row() ? 0 : column + 1;
    }
    return kernels;
}

} // namespace

std::optional<ExportFormat> export_format_from(std::string_view word) {
    for (const auto& [text, format] : kWords) {
        if (text == word) {
            return format;
        }
    }
    return std::nullopt;
}

bool is_one_rank_a_file(ExportFormat format) {
    return format == ExportFormat::chrome || format == ExportFormat::chakra;
}

void check_export_path(const std::string& path, ExportFormat format) {
    if (format == ExportFormat::perfetto && !is_json_path(path)) {
        throw InputError("--output", fmt::format("\"{}\" does not end in .json or .json.gz", path),
                         "perfetto writes one file: -o job.json.gz");
    }
    for (const auto& [ending, owner] : kEndings) {
        if (path.ends_with(ending) &&
            owner != (format == ExportFormat::perfetto ? ExportFormat::chrome : std::optional(format))) {
            throw InputError(
                "--output",
                fmt::format("\"{}\" ends in {}, but {} is written", path, ending, word_of(format)),
                "choose the ending of the format");
        }
    }
}

void check_path_of_rank(const std::string& path, ExportFormat format) {
    if (format == ExportFormat::chrome && !is_json_path(path)) {
        throw InputError("--output", fmt::format("\"{}\" does not end in .json or .json.gz", path),
                         "one rank: name a file that ends in .json or .json.gz");
    }
    if (format == ExportFormat::chakra && !path.ends_with(".et")) {
        throw InputError("--output", fmt::format("\"{}\" does not end in .et", path),
                         "one rank: name a file that ends in .et");
    }
}

std::string file_name_of(ExportFormat format, std::uint32_t number, bool is_rank) {
    return format == ExportFormat::chakra
               ? fmt::format("job.{}.et", number)
               : fmt::format("{}_{}.json.gz", is_rank ? "rank" : "process", number);
}

void write_export(const Trace& trace, const std::string& path, ExportFormat format) {
    switch (format) {
    case ExportFormat::perfetto:
        return write_perfetto(trace, path, {.force = true});
    case ExportFormat::chrome:
        return write_chrome(trace, path, {.force = true});
    case ExportFormat::chakra:
        return write_chakra(trace, path);
    case ExportFormat::sqlite:
        return write_sqlite(trace, path);
    case ExportFormat::csv:
        return write_csv(trace, path);
    }
}

std::uint64_t kernels_in_file(const std::string& path, ExportFormat format) {
    switch (format) {
    case ExportFormat::perfetto:
    case ExportFormat::chrome:
        return count_kernels(read_trace_events(path).trace);
    case ExportFormat::chakra:
        return count_kernels(read_chakra(path).trace);
    case ExportFormat::sqlite:
        return count_kernels(read_sqlite(path).trace);
    case ExportFormat::csv:
        return kernels_in_csv(path);
    }
    return 0;
}

std::string usage_of(ExportFormat format, const std::string& path) {
    switch (format) {
    case ExportFormat::perfetto:
        return "; open it in https://ui.perfetto.dev";
    case ExportFormat::chrome:
        return "; for Holistic Trace Analysis, TraceLens, TensorBoard and chrome://tracing";
    case ExportFormat::chakra:
        return "; for ASTRA-sim and other readers of Chakra";
    case ExportFormat::sqlite:
        return fmt::format("; try: sqlite3 {} 'select name, count(*), sum(dur_ns) from slice group by name'",
                           path);
    case ExportFormat::csv:
        break;
    }
    return {};
}

} // namespace echosim
