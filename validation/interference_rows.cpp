// SPDX-License-Identifier: Apache-2.0
#include "validation/interference_rows.h"

#include "interference/band.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace echosim {
namespace {

std::string class_words(const InterferenceSample& sample) {
    switch (band_class_of(sample.kernel, sample.sms)) {
    case BandClass::full_grid:
        return "big grid";
    case BandClass::memory:
        return "memory-bound";
    case BandClass::few_blocks:
        return "few blocks";
    case BandClass::norm_wgrad:
        return "norm gradient";
    }
    return {};
}

std::map<std::string, std::string> groups_of(const InterferenceSample& sample) {
    std::map<std::string, std::string> groups = {
        {"family", sample.family},
        {"class", class_words(sample)},
        {"kernel class", std::string(to_string(sample.kernel.kernel_class))},
        {"overlap", overlap_group(sample.overlap)}};
    if (!sample.gpu.empty())
        groups["gpu"] = sample.gpu;
    if (!sample.communication.empty())
        groups["communication"] = sample.communication;
    return groups;
}

double error_of(const InterferenceSample& sample, double factor) {
    return 100 * (factor / sample.factor() - 1);
}

void fill(const InterferenceSample& sample, const CrossPrediction& p, ValidationRow& row) {
    row.predicted = p.factor;
    row.error_percent = error_of(sample, p.factor);
    if (p.high > p.low) { // a constant has no band
        row.p05 = p.low;
        row.p95 = p.high;
    }
    if (p.too_few)
        row.notes.push_back(
            fmt::format("predicted with the prior: fewer than {} samples were left to fit", kFewestSamples));
    else if (p.source == EstimateSource::residual)
        row.notes.emplace_back("predicted with the prior and the fitted residual");
}

double share(double part, double all) {
    return all > 0 ? 100 * part / all : 0;
}

} // namespace

std::string overlap_group(double overlap) {
    return overlap < 0.5 ? "under 0.5" : overlap <= 0.9 ? "0.5 - 0.9" : "over 0.9";
}

ValidationReport report_of(const std::vector<InterferenceSample>& samples,
                           const std::vector<CrossPrediction>& predictions) {
    ValidationReport report{"interference", std::vector<ValidationRow>(samples.size())};
    for (std::size_t i = 0; i < samples.size(); ++i) {
        report.rows[i].id = samples[i].id;
        report.rows[i].measured = samples[i].factor();
        report.rows[i].groups = groups_of(samples[i]);
        report.rows[i].skipped = "no overlap with communication";
    }
    for (const CrossPrediction& p : predictions) {
        report.rows[p.sample].skipped.clear();
        fill(samples[p.sample], p, report.rows[p.sample]);
    }
    return report;
}

std::vector<FamilyShare> family_shares(const std::vector<InterferenceSample>& samples,
                                       const std::vector<CrossPrediction>& predictions) {
    std::map<std::string, std::vector<CrossPrediction>> families;
    double time = 0, none = 0, error = 0;
    for (const CrossPrediction& p : predictions) {
        const InterferenceSample& sample = samples[p.sample];
        families[sample.family].push_back(p);
        time += sample.time_overlapped;
        none += std::abs(error_of(sample, 1));
        error += std::abs(error_of(sample, p.factor));
    }
    std::vector<FamilyShare> shares;
    for (const auto& [family, rows] : families) {
        FamilyShare f;
        f.family = family;
        f.rows = static_cast<int>(rows.size());
        f.figures = figures_of(samples, rows);
        double of_time = 0, of_none = 0, excess = 0;
        for (const CrossPrediction& p : rows) {
            const InterferenceSample& sample = samples[p.sample];
            f.kernel_class = to_string(sample.kernel.kernel_class);
            of_time += sample.time_overlapped;
            of_none += std::abs(error_of(sample, 1));
            excess += p.factor * sample.time_alone - sample.time_overlapped;
        }
        f.time_share = share(of_time, time);
        f.no_effect_share = share(of_none, none);
        f.error_share = share(f.figures.mean_abs_error_percent * f.rows, error);
        f.total_share = share(excess, time);
        shares.push_back(std::move(f));
    }
    std::ranges::stable_sort(shares, std::greater<>(), &FamilyShare::error_share);
    return shares;
}

} // namespace echosim
