// SPDX-License-Identifier: Apache-2.0
#include "comm_models/calibrate.h"

#include "comm_models/nccl_environment.h"
#include "comm_models/nccl_timing.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <map>

// Levenberg-Marquardt on x = ln(constant), one link profile or fabric at a time: groups of one node decide
// the links, groups of several nodes then the fabric they ran on.
//
//   r_i = ln(predicted_i / measured_i) / 0.05,  rho(r) = 2 (sqrt(1 + r^2) - 1)   (quadratic within 5 %)
//   step: (J' W J + P + lambda diag) dx = -(J' W r + P (x - x0)),  W = weight / sqrt(1 + r^2), P = 1/width^2
//
// What NCCL chooses (algorithm, protocol, channels) does not depend on the constants and is fixed once.
namespace echosim::nccl {
namespace {

constexpr double kScale = 0.05;      // error at which the loss turns from quadratic to linear
constexpr double kFabricWidth = 0.6; // in ln
constexpr double kDifference = 1e-4; // in ln, of the finite differences
constexpr double kLargestStep = 0.7; // in ln
constexpr int kIterations = 40;
constexpr double kEnough = 1e-7; // relative gain at which the fit ends
constexpr Bytes kRanges[] = {0, 64_KiB, 4_MiB, 256_MiB, std::numeric_limits<Bytes>::max()};

struct Unknown {
    double* value;
    double width;
};

// One sample with what is fixed of it; `group` indexes the distinct (cluster, geometry) pairs.
struct Point {
    const CollectiveSample* sample;
    std::size_t group;
    Choice choice;
    double weight;
};
struct Group {
    const Cluster* cluster;
    GroupGeometry geometry;
    Settings settings;
    GroupSystem system;
};

class Samples {
  public:
    Samples(const CalibrationData& data, const ModelConstants& constants);

    const std::vector<Point>& points() const { return points_; }
    const Group& group_of(const Point& point) const { return groups_[point.group]; }
    // us of these points.
    std::vector<double> predict(const std::vector<const Point*>& points,
                                const ModelConstants& constants) const;

  private:
    std::size_t add_group(const CollectiveSample& sample, const ModelConstants& constants);

    std::vector<Cluster> visible_;
    std::vector<Group> groups_;
    std::vector<Point> points_;
};

Choice choice_of(const Collective& collective, const GroupSystem& system, const ModelConstants& constants,
                 const Cluster& cluster) {
    const double latency = fabric_profile(constants, cluster.fabric.kind).nic_latency_tuner;
    const auto entries = tuner_entries(system, collective.kind, latency);
    if (entries.empty())
        return {Algorithm::direct, Protocol::simple};
    const TunerEntry& entry = choose(entries, system, collective);
    return {entry.algorithm, entry.protocol};
}

Samples::Samples(const CalibrationData& data, const ModelConstants& constants) {
    visible_.reserve(data.clusters.size());
    for (const Cluster& cluster : data.clusters)
        visible_.push_back(visible_cluster(cluster, read_settings(cluster.nccl, {})));
    double total = 0;
    for (const CollectiveSample& sample : data.samples) {
        if (sample.us <= 0 || sample.group.ranks < 2 || sample.collective.bytes == 0)
            continue;
        const std::size_t group = add_group(sample, constants);
        const Choice choice =
            choice_of(sample.collective, groups_[group].system, constants, *groups_[group].cluster);
        points_.push_back({&sample, group, choice, sample.weight});
        total += sample.weight;
    }
    if (points_.empty() || total <= 0)
        throw InputError("samples", "there is no measured time to fit to",
                         "give tables with sizes above 0 of at least two ranks");
    for (Point& point : points_)
        point.weight *= static_cast<double>(points_.size()) / total;
}

std::size_t Samples::add_group(const CollectiveSample& sample, const ModelConstants& constants) {
    const Cluster* cluster = &visible_.at(sample.cluster);
    for (std::size_t i = 0; i < groups_.size(); ++i)
        if (groups_[i].cluster == cluster && groups_[i].geometry == sample.group)
            return i;
    const Settings settings = read_settings(cluster->nccl, {});
    groups_.push_back(
        {cluster, sample.group, settings, group_system(*cluster, sample.group, settings, constants)});
    return groups_.size() - 1;
}

std::vector<double> Samples::predict(const std::vector<const Point*>& points,
                                     const ModelConstants& constants) const {
    struct Ready {
        GroupSystem system;
        GroupTiming timing;
    };
    std::map<std::size_t, Ready> ready;
    std::vector<double> result;
    result.reserve(points.size());
    for (const Point* point : points) {
        auto it = ready.find(point->group);
        if (it == ready.end()) {
            const Group& group = groups_[point->group];
            const bool network = group.system.nodes > 1;
            Ready made{network ? group_system(*group.cluster, group.geometry, group.settings, constants)
                               : group.system,
                       {}};
            made.timing = group_timing(*group.cluster, made.system, constants);
            it = ready.emplace(point->group, std::move(made)).first;
        }
        const GroupSystem& system = it->second.system;
        const Collective& call = point->sample->collective;
        const TimeTerms terms = system.nodes > 1
                                    ? network_time(call, point->choice, system, it->second.timing)
                                    : node_time(call, point->choice, system, it->second.timing);
        result.push_back(terms.total());
    }
    return result;
}

// Solves a symmetric positive system in place (Cholesky). False when it is none.
bool solve(std::vector<double> a, std::vector<double>& b) {
    const std::size_t n = b.size();
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < j; ++k)
            for (std::size_t i = j; i < n; ++i)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
        if (!(a[j * n + j] > 0))
            return false;
        const double root = std::sqrt(a[j * n + j]);
        for (std::size_t i = j; i < n; ++i)
            a[i * n + j] /= root;
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k)
            b[i] -= a[k * n + i] * b[k];
        b[i] /= a[i * n + i];
    }
    return true;
}

// One fit: some points, the constants they decide, and the whole set these are part of.
class Fit {
  public:
    Fit(const Samples& samples, std::vector<const Point*> points, std::vector<Unknown> unknowns,
        const ModelConstants& constants);
    void run();

  private:
    void set(const std::vector<double>& x);
    std::vector<double> residuals();
    double cost(const std::vector<double>& residuals, const std::vector<double>& x) const;
    void linearise(const std::vector<double>& x, const std::vector<double>& r);
    bool improve(std::vector<double>& x, std::vector<double>& r, double& value);

    const Samples& samples_;
    std::vector<const Point*> points_;
    std::vector<Unknown> unknowns_;
    const ModelConstants& constants_;
    std::vector<double> start_;
    std::vector<double> matrix_, gradient_;
    double lambda_ = 1e-3;
};

Fit::Fit(const Samples& samples, std::vector<const Point*> points, std::vector<Unknown> unknowns,
         const ModelConstants& constants)
    : samples_(samples), points_(std::move(points)), unknowns_(std::move(unknowns)), constants_(constants) {
    std::erase_if(unknowns_, [](const Unknown& u) { return u.width <= 0 || *u.value <= 0; });
    for (const Unknown& u : unknowns_)
        start_.push_back(std::log(*u.value));
}

void Fit::set(const std::vector<double>& x) {
    for (std::size_t i = 0; i < x.size(); ++i)
        *unknowns_[i].value = std::exp(x[i]);
}

std::vector<double> Fit::residuals() {
    std::vector<double> r = samples_.predict(points_, constants_);
    for (std::size_t i = 0; i < r.size(); ++i)
        r[i] = std::log(r[i] / points_[i]->sample->us) / kScale;
    return r;
}

double Fit::cost(const std::vector<double>& r, const std::vector<double>& x) const {
    double sum = 0;
    for (std::size_t i = 0; i < r.size(); ++i)
        sum += points_[i]->weight * 2 * (std::sqrt(1 + r[i] * r[i]) - 1);
    for (std::size_t p = 0; p < x.size(); ++p)
        sum += std::pow((x[p] - start_[p]) / unknowns_[p].width, 2);
    return sum;
}

void Fit::linearise(const std::vector<double>& x, const std::vector<double>& r) {
    const std::size_t n = x.size();
    std::vector<std::vector<double>> slopes(n);
    for (std::size_t p = 0; p < n; ++p) {
        *unknowns_[p].value = std::exp(x[p] + kDifference);
        slopes[p] = residuals();
        for (std::size_t i = 0; i < r.size(); ++i)
            slopes[p][i] = (slopes[p][i] - r[i]) / kDifference;
        *unknowns_[p].value = std::exp(x[p]);
    }
    matrix_.assign(n * n, 0);
    gradient_.assign(n, 0);
    for (std::size_t p = 0; p < n; ++p) {
        const double pull = 1 / (unknowns_[p].width * unknowns_[p].width);
        matrix_[p * n + p] = pull;
        gradient_[p] = pull * (x[p] - start_[p]);
        for (std::size_t i = 0; i < r.size(); ++i) {
            const double weighted = points_[i]->weight / std::sqrt(1 + r[i] * r[i]) * slopes[p][i];
            gradient_[p] += weighted * r[i];
            for (std::size_t q = 0; q <= p; ++q)
                matrix_[p * n + q] += weighted * slopes[q][i];
        }
    }
    for (std::size_t p = 0; p < n; ++p)
        for (std::size_t q = p + 1; q < n; ++q)
            matrix_[p * n + q] = matrix_[q * n + p];
}

// One step that lowers the cost; false when there is none.
bool Fit::improve(std::vector<double>& x, std::vector<double>& r, double& value) {
    for (int attempt = 0; attempt < 10; ++attempt) {
        std::vector<double> damped = matrix_;
        std::vector<double> step = gradient_;
        for (std::size_t p = 0; p < x.size(); ++p)
            damped[p * x.size() + p] *= 1 + lambda_;
        if (solve(std::move(damped), step)) {
            std::vector<double> next = x;
            for (std::size_t p = 0; p < x.size(); ++p)
                next[p] -= std::clamp(step[p], -kLargestStep, kLargestStep);
            set(next);
            std::vector<double> after = residuals();
            const double lower = cost(after, next);
            if (lower < value) {
                x = std::move(next);
                r = std::move(after);
                value = lower;
                lambda_ = std::max(1e-9, lambda_ / 5);
                return true;
            }
        }
        lambda_ *= 8;
    }
    set(x);
    return false;
}

void Fit::run() {
    std::vector<double> x = start_;
    std::vector<double> r = residuals();
    double value = cost(r, x);
    for (int i = 0; i < kIterations && !unknowns_.empty(); ++i) {
        const double before = value;
        linearise(x, r);
        if (!improve(x, r, value) || before - value < kEnough * before)
            break;
    }
    set(x);
}

// Where the fitted entries stand in `constants`.
struct Touched {
    std::vector<std::size_t> links, fabrics;
};

// A GPU that only has its architecture's profile gets one of its own, or its times would become those of the
// other GPU.
void add_own_profiles(const CalibrationData& data, const Samples& samples, ModelConstants& constants) {
    for (const Point& point : samples.points()) {
        const Group& group = samples.group_of(point);
        const std::string& gpu = data.clusters[point.sample->cluster].gpu.name;
        if (group.system.nodes > 1 || gpu.empty())
            continue;
        const LinkProfile& found =
            link_profile(constants, *group.cluster, group.system.version, group.system.nvlink);
        if (fits(found, gpu))
            continue;
        LinkProfile own = found;
        own.name = group.system.nvlink ? gpu : gpu + "-pcie";
        own.gpus = {gpu};
        constants.links.insert(constants.links.begin(), own);
    }
}

std::size_t link_index(const Group& group, const ModelConstants& constants) {
    const LinkProfile& found =
        link_profile(constants, *group.cluster, group.system.version, group.system.nvlink);
    return static_cast<std::size_t>(&found - constants.links.data());
}

std::size_t fabric_index(const Group& group, const ModelConstants& constants) {
    const FabricProfile& found = fabric_profile(constants, group.cluster->fabric.kind);
    return static_cast<std::size_t>(&found - constants.fabrics.data());
}

void fit_links(const Samples& samples, ModelConstants& constants, std::vector<std::size_t>& touched) {
    std::map<std::size_t, std::vector<const Point*>> points;
    for (const Point& point : samples.points())
        if (samples.group_of(point).system.nodes < 2)
            points[link_index(samples.group_of(point), constants)].push_back(&point);
    for (auto& [index, list] : points) {
        LinkProfile& link = constants.links[index];
        std::vector<Unknown> unknowns;
        for (const LinkConstant& c : link_constants(link))
            unknowns.push_back({c.value, c.width});
        Fit(samples, std::move(list), std::move(unknowns), constants).run();
        link.fitted = true;
        touched.push_back(index);
    }
}

void fit_fabrics(const Samples& samples, ModelConstants& constants, std::vector<std::size_t>& touched) {
    std::map<std::size_t, std::vector<const Point*>> points;
    for (const Point& point : samples.points())
        if (samples.group_of(point).system.nodes > 1)
            points[fabric_index(samples.group_of(point), constants)].push_back(&point);
    for (auto& [index, list] : points) {
        FabricProfile& fabric = constants.fabrics[index];
        std::vector<Unknown> unknowns;
        for (double* value : fitted_constants(fabric))
            unknowns.push_back({value, kFabricWidth});
        Fit(samples, std::move(list), std::move(unknowns), constants).run();
        fabric.fitted = true;
        touched.push_back(index);
    }
}

std::vector<SizeRangeError> range_errors(const Samples& samples, const ModelConstants& before,
                                         const ModelConstants& after) {
    std::vector<const Point*> points;
    for (const Point& point : samples.points())
        points.push_back(&point);
    const std::vector<double> then = samples.predict(points, before);
    const std::vector<double> now = samples.predict(points, after);
    std::vector<SizeRangeError> result;
    for (std::size_t i = 0; i + 1 < std::size(kRanges); ++i) {
        SizeRangeError range{.from = kRanges[i], .to = kRanges[i + 1]};
        for (std::size_t k = 0; k < points.size(); ++k) {
            const Bytes bytes = points[k]->sample->collective.bytes;
            if (bytes < range.from || bytes >= range.to)
                continue;
            ++range.samples;
            range.before += 100 * std::abs(then[k] / points[k]->sample->us - 1);
            range.after += 100 * std::abs(now[k] / points[k]->sample->us - 1);
        }
        if (range.samples == 0)
            continue;
        range.before /= range.samples;
        range.after /= range.samples;
        result.push_back(range);
    }
    return result;
}

} // namespace

Calibration calibrate(const CalibrationData& data, const ModelConstants& start) {
    const Samples samples(data, start);
    ModelConstants constants = start;
    add_own_profiles(data, samples, constants);
    Touched touched;
    fit_links(samples, constants, touched.links);
    fit_fabrics(samples, constants, touched.fabrics);
    Calibration result;
    result.errors = range_errors(samples, start, constants);
    for (const std::size_t i : touched.links)
        result.constants.links.push_back(constants.links[i]);
    for (const std::size_t i : touched.fabrics)
        result.constants.fabrics.push_back(constants.fabrics[i]);
    return result;
}

} // namespace echosim::nccl
