// SPDX-License-Identifier: Apache-2.0
#include "validation/collective_accuracy.h"

#include "comm_models/calibrate.h"
#include "comm_models/calibration_file.h"
#include "comm_models/nccl_model.h"
#include "validation/collective_rows.h"
#include "simulator/core/parallel.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>

namespace echosim {
namespace {

constexpr Bytes kLarge = 4_MiB;

using Constants = std::shared_ptr<const nccl::ModelConstants>;

// Tables that are predicted with one set of constants.
struct Fold {
    std::string key;
    std::vector<std::size_t> tables;
};

std::string fold_key(const CollectiveTable& table) {
    if (table.nodes == 1)
        return fmt::format("{}|{}|{}", table.gpu, table.collective, table.gpus);
    return fmt::format("{}|{}|network", table.hardware, table.network);
}

std::vector<Fold> folds_of(const CollectiveTables& data) {
    std::map<std::string, Fold> folds;
    for (std::size_t t = 0; t < data.tables.size(); ++t) {
        if (!data.tables[t].skipped.empty())
            continue;
        Fold& fold = folds[fold_key(data.tables[t])];
        fold.key = fold_key(data.tables[t]);
        fold.tables.push_back(t);
    }
    std::vector<Fold> list;
    for (auto& [key, fold] : folds)
        list.push_back(std::move(fold));
    return list;
}

bool is_in(const Fold& fold, std::size_t table) {
    return std::ranges::find(fold.tables, table) != fold.tables.end();
}

// Whether the fit without the fold knows nothing of this GPU on this kind of link.
bool is_left_alone(const CollectiveTables& data, const Fold& fold, std::size_t table) {
    for (std::size_t t = 0; t < data.tables.size(); ++t) {
        const CollectiveTable& other = data.tables[t];
        const bool same_kind = other.gpu == data.tables[table].gpu && other.link == data.tables[table].link &&
                               (other.nodes == 1) == (data.tables[table].nodes == 1);
        if (other.skipped.empty() && !other.degraded && same_kind && !is_in(fold, t))
            return false;
    }
    return true;
}

Constants fitted(const CollectiveTables& data, const std::vector<bool>& use,
                 const nccl::ModelConstants& start) {
    const nccl::CalibrationData samples = calibration_data(data, use);
    if (samples.samples.empty())
        return std::make_shared<const nccl::ModelConstants>(start);
    return std::make_shared<const nccl::ModelConstants>(
        nccl::with_calibration(start, nccl::calibrate(samples, start).constants));
}

// The constants of a fold. A link is fitted to tables of one node, a network then to tables on it with the
// links fixed (calibrate.cpp), so a fold of one node needs the tables of its architecture only, and one of
// several nodes the links of all and the other tables of its network. Every fit starts from figures of data
// sheets, not from the presets, which saw the tables that are left out.
class CrossFits {
  public:
    explicit CrossFits(const CollectiveTables& data) : data_(data), derived_(nccl::derived_constants()) {
        links_ = fitted(data, where([](const CollectiveTable& t) { return t.nodes == 1; }), derived_);
    }

    Constants without(const Fold& fold) const {
        const CollectiveTable& left_out = data_.tables[fold.tables[0]];
        const bool one_node = left_out.nodes == 1;
        const std::size_t arch = nccl::tuning_arch(left_out.cluster.gpu.arch);
        std::vector<bool> use = where([&](const CollectiveTable& t) {
            return one_node ? t.nodes == 1 && nccl::tuning_arch(t.cluster.gpu.arch) == arch
                            : t.nodes > 1 && t.cluster.fabric.kind == left_out.cluster.fabric.kind;
        });
        for (const std::size_t t : fold.tables)
            use[t] = false;
        return fitted(data_, use, one_node ? derived_ : *links_);
    }

  private:
    template <class Wanted> std::vector<bool> where(const Wanted& wanted) const {
        std::vector<bool> use(data_.tables.size());
        for (std::size_t t = 0; t < use.size(); ++t)
            use[t] = data_.tables[t].skipped.empty() && wanted(data_.tables[t]);
        return use;
    }

    const CollectiveTables& data_;
    nccl::ModelConstants derived_;
    Constants links_;
};

std::string choice_text(const CommCost& cost) {
    return fmt::format("{} {}", to_string(cost.algorithm), to_string(cost.protocol));
}

// `scope` is the group of the headline figures.
std::map<std::string, std::string> groups_of(const CollectiveTable& table, Bytes bytes) {
    const std::string size = bytes >= kLarge ? ">= 4 MiB" : "< 4 MiB";
    std::map<std::string, std::string> groups = {
        {"scope", table.nodes == 1 ? "single node" : "multi-node " + table.link},
        {"link", table.link},
        {"gpu", table.gpu},
        {"collective", table.collective},
        {"gpus", std::to_string(table.gpus)},
        {"nodes", std::to_string(table.nodes)},
        {"size", size},
        {"table", table.name}};
    // boards of eight GPUs behind NVSwitch
    if (table.cluster.node.gpus == 8 && table.cluster.node.nvlink.nvswitch)
        groups["dgx-class size"] = size + (table.nodes == 1 ? ", one node" : ", several nodes");
    return groups;
}

std::string word_apart(const CollectiveTable& table, bool assumed) {
    if (table.degraded)
        return "degraded";
    const bool other_network = table.nodes > 1 && table.link != "InfiniBand/RoCE" && table.link != "AMD";
    if (other_network)
        return assumed ? table.link + ", assumed" : table.link;
    return assumed ? "assumed" : "";
}

// All rows of some tables with one model a table.
class Predictor {
  public:
    Predictor(const CollectiveTables& data, ValidationReport& report) : data_(data), report_(report) {
        rows_of_.resize(data.tables.size());
        for (std::size_t i = 0; i < data.rows.size(); ++i)
            if (data.rows[i].skipped.empty())
                rows_of_[data.rows[i].table].push_back(i);
    }

    // nullopt: what the model says of its own constants decides whether a row is assumed.
    void predict(std::size_t table, const Constants& constants, std::optional<bool> assumed) const {
        const CollectiveTable& t = data_.tables[table];
        const NcclModel model(t.cluster, {{}, {}, constants});
        for (const std::size_t i : rows_of_[table]) {
            ValidationRow& out = report_.rows[i];
            const CommCost cost = model.estimate(collective_of(t, data_.rows[i]), t.group);
            const double us = cost.time * 1e6;
            if (!std::isfinite(us) || us <= 0) {
                out.skipped = "the model gives no time";
                continue;
            }
            out.predicted = us;
            out.error_percent = 100 * (us - out.measured) / out.measured;
            out.groups["choice"] = choice_text(cost);
            out.apart = word_apart(t, assumed.value_or(cost.provenance == Provenance::assumed));
        }
    }

    void refuse(std::size_t table, const InputError& error) const {
        for (const std::size_t i : rows_of_[table])
            report_.rows[i].skipped = reason_of(error, data_.tables[table].name);
    }

  private:
    const CollectiveTables& data_;
    ValidationReport& report_;
    std::vector<std::vector<std::size_t>> rows_of_;
};

ValidationReport empty_report(const CollectiveTables& data) {
    ValidationReport report{"collectives", std::vector<ValidationRow>(data.rows.size())};
    for (std::size_t i = 0; i < data.rows.size(); ++i) {
        ValidationRow& row = report.rows[i];
        row.id = data.rows[i].id;
        row.measured = data.rows[i].us;
        row.skipped = data.rows[i].skipped;
        if (!row.skipped.empty())
            continue;
        row.notes = data.tables[data.rows[i].table].notes;
        row.groups = groups_of(data.tables[data.rows[i].table], data.rows[i].bytes);
    }
    return report;
}

void predict_fold(const CollectiveTables& data, const CrossFits& fits, const Fold& fold,
                  const Predictor& predictor) {
    try {
        const Constants constants = fits.without(fold);
        for (const std::size_t t : fold.tables)
            predictor.predict(t, constants, is_left_alone(data, fold, t));
    } catch (const InputError& error) {
        for (const std::size_t t : fold.tables)
            predictor.refuse(t, error);
    }
}

} // namespace

ValidationReport validate_collectives(const std::string& data_path,
                                      const CollectiveValidateOptions& options) {
    const Constants constants = nccl::load_constants(options.calibration);
    const CollectiveTables data = read_collective_tables(data_path);
    ValidationReport report = empty_report(data);
    const Predictor predictor(data, report);
    if (options.cross) {
        const std::vector<Fold> folds = folds_of(data);
        const CrossFits fits(data);
        for_each_index(folds.size(), options.threads,
                       [&](std::size_t i) { predict_fold(data, fits, folds[i], predictor); });
        return report;
    }
    for_each_index(data.tables.size(), options.threads, [&](std::size_t t) {
        if (!data.tables[t].skipped.empty())
            return;
        try {
            predictor.predict(t, constants, std::nullopt);
        } catch (const InputError& error) {
            predictor.refuse(t, error);
        }
    });
    return report;
}

} // namespace echosim
