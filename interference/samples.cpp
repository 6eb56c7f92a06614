// SPDX-License-Identifier: Apache-2.0
#include "interference/samples.h"
#include "interference/kernel_names.h"
#include "interference/samples/forms.h"
#include "simulator/catalogue/topology_gpus.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::size_t kMaxRows = 1'000'000;
constexpr std::size_t kMaxProblems = 20;
constexpr std::size_t kShownColumns = 12;

const SamplesForm& form_of(const CsvRow& header, const std::string& path) {
    const int own = CsvColumns::matches(header, own_form().columns);
    const int echo = CsvColumns::matches(header, echo_form().columns);
    if (std::max(own, echo) < 2) {
        throw InputError(fmt::format("{}:{}", path, header.line),
                         "the first line names no columns of interference samples",
                         "wanted are the columns that interference_bench prints (kernel, alone_us, "
                         "overlapped_us, ...) or those of Echo-slowdown (kShortName, ground_truth, "
                         "duration, overlap_ratio, ...)");
    }
    return own >= echo ? own_form() : echo_form();
}

// A row has as many fields as the header; empty ones at the end do not matter.
void check_width(const CsvRow& row, const CsvColumns& columns, const std::string& where,
                 std::vector<Problem>& problems) {
    std::size_t width = row.fields.size();
    while (width > columns.width() && row.fields[width - 1].empty()) {
        --width;
    }
    if (width != columns.width()) {
        problems.push_back({where, fmt::format("{} fields; the header has {}", width, columns.width()),
                            "a name with a comma stands in quotation marks"});
    }
}

std::string list_of(const std::vector<std::string>& names) {
    if (names.size() <= kShownColumns) {
        return join(names);
    }
    return fmt::format("{} and {} more",
                       join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(kShownColumns)}),
                       names.size() - kShownColumns);
}

void note_columns(const SamplesForm& form, const CsvColumns& columns, const std::string& path,
                  InterferenceSamples& result) {
    for (const std::string& assumption : form.assumptions) {
        result.notes.push_back(fmt::format("{}: {}", path, assumption));
    }
    if (!columns.ignored.empty()) {
        result.notes.push_back(fmt::format("{}: not used: {}", path, list_of(columns.ignored)));
    }
    if (form.has_defaults && !columns.missing.empty()) {
        result.notes.push_back(
            fmt::format("{}: not in the file, defaults are taken: {}", path, list_of(columns.missing)));
    }
}

void read_rows(CsvReader& reader, const SamplesForm& form, const CsvColumns& columns, const Gpu* gpu,
               InterferenceSamples& result) {
    std::vector<Problem> problems;
    while (const auto row = reader.next()) {
        const std::string where = fmt::format("{}:{}", reader.path(), row->line);
        if (result.samples.size() == kMaxRows) {
            throw InputError(where, fmt::format("more than {} rows", kMaxRows), "split or thin the file");
        }
        check_width(*row, columns, where, problems);
        if (problems.empty() || !problems.back().where.ends_with(where)) {
            CsvValues values(columns, *row, where, problems);
            InterferenceSample sample = form.read(values, gpu);
            sample.id = sample.id.empty() ? where : sample.id;
            sample.family = kernel_family(sample.kernel_name);
            sample.kernel.time = sample.time_alone;
            result.samples.push_back(std::move(sample));
        }
        if (problems.size() >= kMaxProblems) {
            problems.resize(kMaxProblems);
            problems.push_back({reader.path(), "more rows may be wrong: reading stopped", {}});
            break;
        }
    }
    if (!problems.empty()) {
        throw InputError(problems);
    }
}

} // namespace

const Gpu* catalogue_gpu(const std::string& words) {
    for (const Gpu& gpu : all_gpus()) {
        if (gpu.name == words) {
            return &gpu;
        }
    }
    TopologyFacts facts;
    note_product(words, 1, facts);
    return facts.gpu ? &find_gpu(facts.gpu.value.name) : nullptr;
}

InterferenceSamples read_interference_csv(const std::string& text, const std::string& path, const Gpu* gpu) {
    CsvReader reader(text, path);
    const auto header = reader.next();
    if (!header) {
        throw InputError(path, "holds no rows", "the first line names the columns");
    }
    const SamplesForm& form = form_of(*header, path);
    const CsvColumns columns(*header, form.columns, path);
    InterferenceSamples result;
    read_rows(reader, form, columns, gpu, result);
    if (result.samples.empty()) {
        throw InputError(path, "holds the names of the columns and no rows");
    }
    note_columns(form, columns, path, result);
    return result;
}

} // namespace echosim
