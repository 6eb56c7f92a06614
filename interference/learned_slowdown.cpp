// SPDX-License-Identifier: Apache-2.0
#include "interference/learned_slowdown.h"

#include "interference/spread.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace echosim {
namespace {

constexpr double kMostSd = 0.4;          // of the mean, above which the residual knows nothing
constexpr double kFewestRelevant = 0.25; // samples

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
    if (facts.families.empty() || !known_families_only_)
        return true; // a model from elsewhere, or asked on purpose
    if (family.empty())
        return std::ranges::binary_search(facts.classes, kernel.kernel_class);
    return std::ranges::binary_search(facts.families, family, {}, &ModelFamily::name);
}

SlowdownEstimate LearnedSlowdown::estimate(const KernelFootprint& kernel, const CommLoad& load,
                                           std::string_view family) const {
    const SlowdownEstimate prior = prior_.estimate(kernel, load, family);
    if (!load.any() || !in_data(kernel, family))
        return prior;
    const std::vector<double> x =
        row_of(file_->columns, features_of(kernel, load, prior_.limits().sms, prior.factor));
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
