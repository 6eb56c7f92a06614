// SPDX-License-Identifier: Apache-2.0
#include "interference/learned_slowdown.h"

#include "interference/fit/spread.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace echosim {
namespace {

constexpr double kMostSd = 0.4;          // of the mean, above which the residual knows nothing
constexpr double kFewestRelevant = 0.25; // samples
constexpr double kMargin = 0.25;         // of a feature's range, outside of it

bool inside(const std::vector<FeatureRange>& ranges, std::span<const double> x) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const double margin = kMargin * (ranges[i].high - ranges[i].low);
        if (x[i] < ranges[i].low - margin || x[i] > ranges[i].high + margin)
            return false;
    }
    return true;
}

// Where a feature lies in the data, with the margin; everywhere, where the model is not told of it.
FeatureRange limits_of(const ModelFile& file, Feature feature) {
    const auto found = std::ranges::find(file.columns, feature);
    const auto column = static_cast<std::size_t>(found - file.columns.begin());
    constexpr double kAnywhere = std::numeric_limits<double>::infinity();
    if (column >= file.ranges.size())
        return {-kAnywhere, kAnywhere};
    const FeatureRange range = file.ranges[column];
    const double margin = kMargin * (range.high - range.low);
    return {range.low - margin, range.high + margin};
}

// `load` with other CTAs and HBM traffic; as large a part of the CTAs fits.
CommLoad with(const CommLoad& load, const ModelLoad& other, double sms) {
    CommLoad result = load;
    result.ctas = other.ctas * sms;
    result.ctas_fitting = load.ctas > 0 ? result.ctas * load.ctas_fitting / load.ctas : 0;
    result.hbm_share = other.hbm_share;
    return result;
}

bool no_more(const ModelLoad& a, const ModelLoad& b) {
    return a.ctas <= b.ctas && a.hbm_share <= b.hbm_share;
}

// Factor and band times as much.
SlowdownEstimate moved(SlowdownEstimate estimate, double times) {
    estimate.factor *= times;
    estimate.low *= times;
    estimate.high *= times;
    estimate.expected *= times;
    estimate.source = EstimateSource::residual;
    return estimate;
}

std::vector<double> row_of(const std::vector<Feature>& columns, const FeatureVector& x) {
    std::vector<double> row;
    row.reserve(columns.size());
    for (const Feature feature : columns)
        row.push_back(x[static_cast<std::size_t>(feature)]);
    return row;
}

// How many samples speak of x.
double relevant_samples(const ResidualModel& model, std::span<const double> x) {
    if (model.left_out().empty())
        return 1; // no samples came with the model
    std::vector<double> relevance(model.left_out().size());
    model.relevance(x, relevance);
    return std::accumulate(relevance.begin(), relevance.end(), 0.0);
}

} // namespace

bool LearnedSlowdown::in_data(const KernelFootprint& kernel, std::string_view family) const {
    const ModelFacts& facts = file_->facts;
    if (facts.families.empty() || !file_->known_families_only)
        return true; // a model from elsewhere, or one for all
    if (family.empty())
        return std::ranges::binary_search(facts.classes, kernel.kernel_class);
    return std::ranges::binary_search(facts.families, family, {}, &ModelFamily::name);
}

SlowdownEstimate LearnedSlowdown::at_pair(const KernelFootprint& kernel, const CommLoad& load) const {
    const SlowdownEstimate prior = prior_.estimate(kernel, load, {});
    const std::vector<double> x =
        row_of(file_->columns, features_of(kernel, load, prior_.limits().sms, prior.factor));
    if (!inside(file_->ranges, x))
        return prior;
    const ResidualPrediction residual = file_->residual->predict(x);
    if (residual.sd > kMostSd || relevant_samples(*file_->residual, x) < kFewestRelevant)
        return prior;
    SlowdownEstimate estimate = with_residual(prior, residual, x, *file_->residual);
    // communication does not make kernels faster: what is below 1 is noise
    estimate.factor = std::max(1.0, estimate.factor);
    estimate.expected = std::max(1.0, estimate.expected);
    estimate.high = std::max(estimate.high, estimate.factor);
    return estimate;
}

// The prior times exp(shift) in the ranges; never falls.
double LearnedSlowdown::prior_shape(const KernelFootprint& kernel, const CommLoad& load, double shift) const {
    const FeatureRange ctas = limits_of(*file_, Feature::comm_ctas);
    const FeatureRange hbm = limits_of(*file_, Feature::comm_hbm_share);
    const double sms = prior_.limits().sms;
    const ModelLoad here{load.ctas / sms, load.hbm_share};
    const double prior = prior_.factor(kernel, load);
    const ModelLoad nearest{std::clamp(here.ctas, ctas.low, ctas.high),
                            std::clamp(here.hbm_share, hbm.low, hbm.high)};
    const double shifted = prior_.factor(kernel, with(load, nearest, sms)) * std::exp(shift);
    const bool below = here.ctas < ctas.low || here.hbm_share < hbm.low;
    const bool above = here.ctas > ctas.high || here.hbm_share > hbm.high;
    if (above)
        return below ? prior : std::max(prior, shifted);
    return below ? std::min(prior, shifted) : shifted;
}

double LearnedSlowdown::rising_factor(const KernelFootprint& kernel, const CommLoad& load) const {
    const std::vector<ModelLoad>& loads = file_->loads;
    const double sms = prior_.limits().sms;
    std::vector<double> factors;
    double shift = 0;
    for (const ModelLoad& other : loads) {
        const CommLoad at = with(load, other, sms);
        factors.push_back(at_pair(kernel, at).factor);
        shift += std::log(factors.back() / prior_.factor(kernel, at)) / static_cast<double>(loads.size());
    }
    const ModelLoad here{load.ctas / sms, load.hbm_share};
    double least = 1, most = std::numeric_limits<double>::infinity();
    for (const ModelLoad& other : loads) {
        double highest = 1; // M
        for (std::size_t j = 0; j < loads.size(); ++j)
            if (no_more(loads[j], other))
                highest = std::max(highest, factors[j]);
        if (no_more(other, here))
            least = std::max(least, highest);
        if (no_more(here, other))
            most = std::min(most, highest);
    }
    return std::clamp(prior_shape(kernel, load, shift), least, most);
}

SlowdownEstimate LearnedSlowdown::estimate(const KernelFootprint& kernel, const CommLoad& load,
                                           std::string_view family) const {
    if (!load.any() || !in_data(kernel, family))
        return prior_.estimate(kernel, load, family);
    const SlowdownEstimate pair = at_pair(kernel, load);
    if (file_->loads.empty())
        return pair;
    const double times = rising_factor(kernel, load) / pair.factor;
    return times == 1 ? pair : moved(pair, times);
}

void LearnedSlowdown::rates(std::span<const Running> on_one_gpu, std::span<double> rate) const {
    prior_.rates(on_one_gpu, rate); // of communication; of kernels replaced below
    for (std::size_t i = 0; i < on_one_gpu.size(); ++i)
        if (const KernelFootprint* kernel = on_one_gpu[i].kernel)
            if (const CommLoad load = prior_.load_beside(on_one_gpu, i); load.any())
                rate[i] = 1 / estimate(*kernel, load, {}).factor;
}

Seconds LearnedSlowdown::start_delay(const Running& starting, std::span<const Running> on_one_gpu,
                                     std::span<const Seconds> remaining) const {
    return prior_.start_delay(starting, on_one_gpu, remaining);
}

LearnedSlowdown LearnedSlowdown::on_gpu(const GpuLimits& limits) const {
    LearnedSlowdown other = *this;
    other.prior_ = PriorSlowdown(limits);
    return other;
}

void LearnedSlowdown::describe(std::string written_by, std::vector<std::string> files,
                               std::vector<ModelFigures> figures) {
    ModelFile described = *file_;
    described.facts.written_by = std::move(written_by);
    described.facts.files = std::move(files);
    described.facts.figures = std::move(figures);
    file_ = std::make_shared<const ModelFile>(std::move(described));
}

std::string LearnedSlowdown::to_json_text() const {
    return model_file_text(*file_);
}

std::unique_ptr<LearnedSlowdown>
LearnedSlowdown::from_json_text(const std::string& text, const std::string& where, const GpuLimits& limits) {
    std::unique_ptr<LearnedSlowdown> model(new LearnedSlowdown);
    model->prior_ = PriorSlowdown(limits);
    model->file_ = std::make_shared<const ModelFile>(read_model_file(text, where));
    return model;
}

} // namespace echosim
