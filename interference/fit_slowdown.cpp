// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/boosted_trees.h"
#include "interference/fit/gaussian_process.h"
#include "interference/fit/ridge.h"
#include "interference/learned_slowdown.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace echosim {
namespace {

constexpr double kLeast = 0.3; // of 1 + s

struct Table {
    std::vector<FeatureVector> x;
    std::vector<double> y, weight;
};

// ln(1 + s) - ln S_prior of a sample; its features.
void add_sample(const InterferenceSample& sample, Table& table) {
    GpuLimits limits;
    limits.sms = sample.sms;
    const double prior = PriorSlowdown(limits).factor(sample.kernel, sample.load);
    const double factor = 1 + (sample.factor() - 1) / sample.overlap; // of the overlapped part
    const double overlap = std::min(1.0, sample.overlap);
    table.x.push_back(features_of(sample.kernel, sample.load, sample.sms, prior));
    table.y.push_back(std::log(std::max(kLeast, factor)) - std::log(prior));
    table.weight.push_back(overlap * overlap);
}

bool is_of_communication(Feature feature) {
    return feature >= Feature::comm_ctas && feature <= Feature::comm_priority;
}

// A column says something when more than one row in a hundred, and at least five, differ from its most
// frequent value.
bool varies(const std::vector<FeatureVector>& x, std::size_t column) {
    std::map<double, std::size_t> counts;
    for (const FeatureVector& row : x)
        ++counts[row[column]];
    std::size_t most = 0;
    for (const auto& [value, count] : counts)
        most = std::max(most, count);
    return x.size() - most >= std::max<std::size_t>(5, x.size() / 100);
}

// Where the communication is the same in all samples, the prior's factor is left out too: it would tell the
// model of another communication that the kernel is unlike the data, and the factor would fall back to the
// prior's, below that of less communication.
std::vector<Feature> varying(const std::vector<FeatureVector>& x) {
    std::vector<Feature> columns;
    bool communication = false;
    for (std::size_t i = 0; i < kFeatures; ++i) {
        const auto feature = static_cast<Feature>(i);
        if (!varies(x, i) || (feature == Feature::log_prior && !communication))
            continue;
        columns.push_back(feature);
        communication = communication || is_of_communication(feature);
    }
    return columns;
}

FitData data_of(Table table, const std::vector<Feature>& columns) {
    FitData data;
    data.columns = columns.size();
    for (const FeatureVector& row : table.x)
        for (const Feature feature : columns)
            data.x.push_back(row[static_cast<std::size_t>(feature)]);
    data.y = std::move(table.y);
    data.weight = std::move(table.weight);
    return data;
}

std::unique_ptr<ResidualModel> fit(const FitData& data, const std::vector<Feature>& columns, Fitter fitter) {
    if (fitter == Fitter::ridge)
        return fit_ridge(data);
    if (fitter == Fitter::gaussian_process)
        return fit_gaussian_process(data);
    TreeColumns names;
    for (const Feature feature : columns) {
        names.names.emplace_back(to_string(feature));
        const bool more_is_slower = feature == Feature::comm_ctas || feature == Feature::comm_hbm_share;
        names.monotone.push_back(more_is_slower ? 1 : 0);
    }
    return fit_boosted_trees(data, names);
}

std::vector<FeatureRange> ranges_of(const std::vector<FeatureVector>& x,
                                    const std::vector<Feature>& columns) {
    std::vector<FeatureRange> ranges;
    for (const Feature feature : columns) {
        const auto column = static_cast<std::size_t>(feature);
        const auto [low, high] =
            std::ranges::minmax(x, {}, [&](const FeatureVector& row) { return row[column]; });
        ranges.push_back({low[column], high[column]});
    }
    return ranges;
}

// The configurations with the most samples; none where the residual is told of neither CTAs nor HBM traffic.
std::vector<ModelLoad> loads_of(const std::vector<FeatureVector>& x, const std::vector<Feature>& columns) {
    const auto at = [](const FeatureVector& row, Feature f) { return row[static_cast<std::size_t>(f)]; };
    if (std::ranges::find(columns, Feature::comm_ctas) == columns.end() &&
        std::ranges::find(columns, Feature::comm_hbm_share) == columns.end())
        return {};
    std::map<std::pair<double, double>, std::size_t> counts;
    for (const FeatureVector& row : x)
        ++counts[{at(row, Feature::comm_ctas), at(row, Feature::comm_hbm_share)}];
    std::vector<std::pair<std::pair<double, double>, std::size_t>> order(counts.begin(), counts.end());
    std::ranges::stable_sort(order, std::greater<>(), [](const auto& entry) { return entry.second; });
    std::vector<ModelLoad> loads;
    for (const auto& [load, count] : order)
        if (loads.size() < kMostLoads)
            loads.push_back({load.first, load.second});
    return loads;
}

ModelFacts facts_of(const std::vector<const InterferenceSample*>& samples) {
    ModelFacts facts;
    std::map<std::string, int> families;
    std::set<KernelClass> classes;
    std::set<std::string> nccl, communication;
    std::set<std::pair<std::string, double>> gpus;
    for (const InterferenceSample* sample : samples) {
        ++families[sample->family];
        classes.insert(sample->kernel.kernel_class);
        gpus.insert({sample->gpu, sample->sms});
        if (!sample->nccl_version.empty())
            nccl.insert(sample->nccl_version);
        if (!sample->communication.empty())
            communication.insert(sample->communication);
    }
    facts.samples = static_cast<int>(samples.size());
    for (const auto& [name, sms] : gpus)
        facts.gpus.push_back({name, sms});
    for (const auto& [name, count] : families)
        facts.families.push_back({name, count});
    facts.classes.assign(classes.begin(), classes.end());
    facts.nccl_versions.assign(nccl.begin(), nccl.end());
    facts.communication.assign(communication.begin(), communication.end());
    return facts;
}

} // namespace

std::unique_ptr<LearnedSlowdown> fit_slowdown(const std::vector<InterferenceSample>& samples,
                                              const FitOptions& options) {
    std::vector<const InterferenceSample*> used;
    Table table;
    for (const InterferenceSample& sample : samples) {
        if (sample.overlap <= 0)
            continue;
        used.push_back(&sample);
        add_sample(sample, table);
    }
    if (used.size() < kFewestSamples)
        throw InputError("interference samples",
                         fmt::format("{} of {} overlap communication; a fit takes {} or more", used.size(),
                                     samples.size(), kFewestSamples),
                         "interference=prior needs none");
    const std::vector<Feature> columns = varying(table.x);
    if (columns.empty())
        throw InputError("interference samples", "no property of the kernels varies: nothing to fit");
    ModelFile file;
    file.facts = facts_of(used);
    file.known_families_only = options.known_families_only;
    file.columns = columns;
    file.ranges = ranges_of(table.x, columns);
    file.loads = loads_of(table.x, columns);
    file.residual = fit(data_of(std::move(table), columns), columns, options.fitter);
    std::unique_ptr<LearnedSlowdown> model(new LearnedSlowdown);
    GpuLimits limits;
    limits.sms = used.front()->sms;
    model->prior_ = PriorSlowdown(limits);
    model->file_ = std::make_shared<const ModelFile>(std::move(file));
    return model;
}

} // namespace echosim
