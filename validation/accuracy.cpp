// SPDX-License-Identifier: Apache-2.0
#include "validation/accuracy.h"

#include "simulator/catalogue/gpu.h"
#include "simulator/core/error.h"
#include "simulator/core/parallel.h"
#include "simulator/core/suggest.h"
#include "simulator/run/run.h"
#include "validation/step_rows.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

// The row with this micro-batch.
Job job_of(const StepRow& row, int micro) {
    JobSource source = row.job;
    source.flags.push_back({"--micro-batch-size", {std::to_string(micro)}, row.id});
    return resolve_job(source, row.options);
}

// Largest power of two that fits in memory and divides the batch, for the rows whose source does not state
// the micro-batch; nullopt when none does.
std::optional<int> largest_micro_batch(const StepRow& row) {
    constexpr int most = 1 << 12;
    std::optional<int> best;
    for (int micro = 1; micro <= most; micro *= 2) {
        try {
            if (!run(job_of(row, micro), row.cluster, {}).result.memory.fits)
                break;
            best = micro;
        } catch (const InputError&) {
            break; // does not divide the batch
        }
    }
    return best;
}

Job job_with_micro_batch(const StepRow& row, std::vector<std::string>& notes) {
    const bool stated =
        std::ranges::any_of(row.job.flags, [](const Flag& f) { return f.name == "--micro-batch-size"; });
    if (stated)
        return resolve_job(row.job, row.options);
    const std::optional<int> micro = largest_micro_batch(row);
    if (micro)
        notes.push_back(fmt::format(
            "micro_batch is not stated: {}, the largest power of two that divides the batch and fits",
            *micro));
    else
        notes.emplace_back("micro_batch is not stated: 1, no power of two fits");
    return job_of(row, micro.value_or(1));
}

void note_limits(const Result& result, std::vector<std::string>& notes) {
    std::vector<std::string> lost;
    for (const FlagVerdict& verdict : result.job.flags)
        if (verdict.verdict == "not modelled")
            lost.push_back(verdict.flag);
    if (!lost.empty())
        notes.push_back("not modelled: " + join(lost));
    if (!result.memory.fits)
        notes.push_back(fmt::format("does not fit in memory by our estimate ({:.1f} of {:.1f} GB)",
                                    static_cast<double>(result.memory.peak) / 1e9,
                                    static_cast<double>(result.memory.capacity) / 1e9));
}

void predict(const StepRow& row, const ValidateOptions& options, ValidationRow& out) {
    try {
        const Job job = job_with_micro_batch(row, out.notes);
        RunOptions run_options;
        run_options.interference = options.interference;
        run_options.calibration = options.calibration;
        const Result result = run(job, row.cluster, run_options).result;
        if (!std::isfinite(result.step.time) || result.step.time <= 0) {
            out.skipped = "the simulation gives no step time";
            return;
        }
        note_limits(result, out.notes);
        out.predicted = result.step.time;
        out.p05 = result.step.p05;
        out.p95 = result.step.p95;
        out.error_percent = 100 * (result.step.time - row.measured_s) / row.measured_s;
    } catch (const InputError& error) {
        out.skipped = reason_of(error, row.id);
    } catch (const DeadlockError& error) {
        out.skipped = std::string("the step does not finish: ") + error.what();
    }
}

std::map<std::string, std::string> groups_of(const StepRow& row) {
    return {{"gpu", row.gpu},
            {"source", row.source},
            {"tp", std::to_string(row.tp)},
            {"pp", std::to_string(row.pp)},
            {"recompute", row.recompute},
            {"precision", row.precision},
            {"software", row.software},
            {"confidence", row.confidence},
            {"gpus", std::to_string(row.gpus)}};
}

double percentile(std::vector<double> values, double share) {
    std::ranges::sort(values);
    const double at = share * static_cast<double>(values.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, values.size() - 1);
    return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

} // namespace

std::string reason_of(const InputError& error, const std::string& row) {
    const Problem& problem = error.problems().front();
    return problem.where.empty() || problem.where == row ? problem.message
                                                         : problem.where + ": " + problem.message;
}

ValidationReport validate_steps(const std::string& data_path, const ValidateOptions& options) {
    const std::vector<StepRow> rows = read_step_rows(data_path);
    ValidationReport report{"steps", std::vector<ValidationRow>(rows.size())};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        report.rows[i].id = rows[i].id;
        report.rows[i].measured = rows[i].measured_s;
        report.rows[i].skipped = rows[i].skipped;
        report.rows[i].notes = rows[i].notes;
        report.rows[i].groups = groups_of(rows[i]);
    }
    for_each_index(rows.size(), options.threads, [&](std::size_t i) {
        if (rows[i].skipped.empty())
            predict(rows[i], options, report.rows[i]);
    });
    return report;
}

ValidationSummary summarise(const std::vector<ValidationRow>& rows) {
    ValidationSummary s;
    std::vector<double> errors;
    int with_interval = 0, inside = 0;
    for (const ValidationRow& row : rows) {
        if (!row.error_percent) {
            ++s.skipped;
            continue;
        }
        ++s.rows;
        s.bias_percent += *row.error_percent;
        errors.push_back(std::abs(*row.error_percent));
        if (row.p05 && row.p95) {
            ++with_interval;
            inside += row.measured >= *row.p05 && row.measured <= *row.p95 ? 1 : 0;
        }
    }
    if (errors.empty())
        return s;
    for (const double e : errors)
        s.mean_abs_error_percent += e;
    s.mean_abs_error_percent /= s.rows;
    s.bias_percent /= s.rows;
    s.median_abs_error_percent = percentile(errors, 0.5);
    s.p90_abs_error_percent = percentile(errors, 0.9);
    if (with_interval > 0)
        s.interval_coverage_percent = 100.0 * inside / with_interval;
    return s;
}

std::vector<ValidationRow> counted_rows(const ValidationReport& report) {
    std::vector<ValidationRow> rows;
    std::ranges::copy_if(report.rows, std::back_inserter(rows),
                         [](const ValidationRow& row) { return row.apart.empty(); });
    return rows;
}

std::vector<ValidationRow> rows_with(const ValidationReport& report, const std::string& group,
                                     const std::string& value) {
    std::vector<ValidationRow> rows;
    for (const ValidationRow& row : report.rows) {
        const auto it = row.groups.find(group);
        const bool wanted = group == "apart"
                                ? row.apart == value
                                : row.apart.empty() && it != row.groups.end() && it->second == value;
        if (wanted)
            rows.push_back(row);
    }
    return rows;
}

} // namespace echosim
