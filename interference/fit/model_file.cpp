// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/model_file.h"

#include "interference/fit/boosted_trees.h"
#include "interference/fit/gaussian_process.h"
#include "interference/fit/residual_json.h"
#include "interference/fit/ridge.h"
#include "interference/fit/xgboost_model.h"
#include "simulator/catalogue/gpu.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "echosim.interference/1";
constexpr double kMostSamples = 1e9;
constexpr const char* kKnownFamilies = "known_families"; // scopes
constexpr const char* kAll = "all";

std::string hash_text() {
    return fmt::format("{:016x}", feature_schema_hash());
}

Json gpus_json(const std::vector<ModelGpu>& gpus) {
    Json json = Json::array();
    for (const ModelGpu& gpu : gpus)
        json.push_back({{"name", gpu.name}, {"sms", gpu.sms}});
    return json;
}

Json ranges_json(const std::vector<FeatureRange>& ranges) {
    Json json = Json::array();
    for (const FeatureRange& range : ranges)
        json.push_back({range.low, range.high});
    return json;
}

Json loads_json(const std::vector<ModelLoad>& loads) {
    Json json = Json::array();
    for (const ModelLoad& load : loads)
        json.push_back({load.ctas, load.hbm_share});
    return json;
}

Json data_json(const ModelFile& file) {
    const ModelFacts& facts = file.facts;
    Json families = Json::array();
    for (const ModelFamily& family : facts.families)
        families.push_back({{"name", family.name}, {"samples", family.samples}});
    Json classes = Json::array();
    for (const KernelClass kernel_class : facts.classes)
        classes.push_back(to_string(kernel_class));
    return {{"files", facts.files},
            {"samples", facts.samples},
            {"communication", facts.communication},
            {"loads", loads_json(file.loads)},
            {"classes", classes},
            {"families", families}};
}

Json figures_json(const std::vector<ModelFigures>& figures) {
    Json json = Json::array();
    for (const ModelFigures& f : figures)
        json.push_back({{"left_out", f.left_out},
                        {"rows", f.rows},
                        {"mean_abs_error_percent", f.mean_abs_error_percent},
                        {"prior_mean_abs_error_percent", f.prior_mean_abs_error_percent},
                        {"total_error_percent", f.total_error_percent},
                        {"coverage_percent", f.coverage_percent}});
    return json;
}

std::vector<std::string> names_of(const std::vector<Feature>& columns) {
    std::vector<std::string> names;
    for (const Feature feature : columns)
        names.emplace_back(to_string(feature));
    return names;
}

// Reads one object of a list of objects; its problems and its unknown keys are reported.
template <class Read>
void each_object(ObjectReader& reader, const Json* list, const char* key, const std::string& where,
                 std::vector<Problem>& problems, const Read& read) {
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        ObjectReader entry((*list)[i], where, reader.path_of(fmt::format("{}[{}]", key, i)), problems);
        read(entry);
        entry.finish();
    }
}

// The texts of a list.
std::vector<std::string> texts(ObjectReader& reader, const char* key) {
    std::vector<std::string> all;
    const Json* list = reader.array({.key = key, .required = true});
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
        if ((*list)[i].is_string())
            all.push_back((*list)[i].get<std::string>());
        else
            reader.fail(fmt::format("{}[{}]", key, i), "expected a text");
    return all;
}

class Reader {
  public:
    Reader(const Json& json, std::string where)
        : where_(std::move(where)), top_(json, where_, "", problems_) {}

    ModelFile read() {
        check_schema();
        const Json* features = top_.object({.key = "features", .required = true});
        if (features != nullptr)
            read_features(*features);
        stop_at_problems(); // of another version: the rest is about other features
        top_.read({.key = "written_by"}, file_.facts.written_by);
        read_scope();
        const Json* gpus = top_.array({.key = "gpus", .required = true});
        each_object(top_, gpus, "gpus", where_, problems_, [&](ObjectReader& entry) {
            ModelGpu& gpu = file_.facts.gpus.emplace_back();
            entry.read({.key = "name", .required = true}, gpu.name);
            entry.read({.key = "sms", .required = true, .min = 1, .max = 10'000}, gpu.sms);
        });
        file_.facts.nccl_versions = texts(top_, "nccl");
        if (const Json* data = top_.object({.key = "data", .required = true}))
            read_data(*data);
        if (const Json* figures = top_.array({.key = "figures"}))
            read_figures(*figures);
        const Json* residual = top_.object({.key = "residual", .required = true});
        top_.finish();
        stop_at_problems();
        read_residual(*residual);
        return std::move(file_);
    }

  private:
    void stop_at_problems() {
        if (!problems_.empty())
            throw InputError(std::move(problems_));
    }

    void check_schema() {
        std::string schema;
        top_.read({.key = "schema", .required = true}, schema);
        if (!schema.empty() && schema != kSchema)
            top_.fail("schema", fmt::format("\"{}\" is not \"{}\", which `echosim calibrate interference` "
                                            "writes",
                                            schema, kSchema));
        stop_at_problems();
    }

    void read_scope() {
        std::string scope;
        top_.read({.key = "scope", .required = true}, scope);
        file_.known_families_only = scope != kAll;
        if (!scope.empty() && scope != kAll && scope != kKnownFamilies)
            top_.fail("scope", fmt::format("read \"{}\"; allowed: {}, {}", scope, kKnownFamilies, kAll));
    }

    void read_features(const Json& json) {
        ObjectReader reader(json, where_, "features", problems_);
        std::string hash;
        reader.read({.key = "hash", .required = true}, hash);
        if (!hash.empty() && hash != hash_text()) {
            problems_.push_back(
                {fmt::format("{}: features.hash", where_),
                 fmt::format("\"{}\": written by another version of the features (this one is "
                             "\"{}\")",
                             hash, hash_text()),
                 "calibrate again: echosim calibrate interference DATA... -o FILE"});
            return;
        }
        for (const std::string& name : texts(reader, "columns")) {
            const auto found = std::ranges::find(feature_names(), name);
            const auto feature = static_cast<Feature>(found - feature_names().begin());
            if (found == feature_names().end())
                reader.fail("columns",
                            fmt::format("\"{}\" is no feature{}", name, did_you_mean(feature_names(), name)));
            else if (std::ranges::find(file_.columns, feature) != file_.columns.end())
                reader.fail("columns", fmt::format("\"{}\" stands there twice", name));
            else
                file_.columns.push_back(feature);
        }
        const std::size_t columns = file_.columns.size();
        const std::vector<double> ends =
            read_rows(reader, {.key = "ranges", .least = columns, .most = columns}, 2);
        for (std::size_t i = 0; i + 1 < ends.size(); i += 2)
            file_.ranges.push_back({ends[i], ends[i + 1]});
        reader.finish();
    }

    void read_data(const Json& json) {
        ObjectReader reader(json, where_, "data", problems_);
        file_.facts.files = texts(reader, "files");
        reader.read({.key = "samples", .required = true, .min = 0, .max = kMostSamples}, file_.facts.samples);
        file_.facts.communication = texts(reader, "communication");
        const std::vector<double> loads = read_rows(reader, {.key = "loads", .most = kMostLoads}, 2);
        for (std::size_t i = 0; i + 1 < loads.size(); i += 2)
            file_.loads.push_back({loads[i], loads[i + 1]});
        for (const std::string& name : texts(reader, "classes"))
            if (const auto kernel_class = class_from(name))
                file_.facts.classes.push_back(*kernel_class);
            else
                reader.fail("classes", fmt::format("\"{}\" is no class of kernels", name));
        const Json* families = reader.array({.key = "families", .required = true});
        each_object(reader, families, "families", where_, problems_, [&](ObjectReader& entry) {
            ModelFamily& family = file_.facts.families.emplace_back();
            entry.read({.key = "name", .required = true}, family.name);
            entry.read({.key = "samples", .required = true, .min = 1, .max = kMostSamples}, family.samples);
        });
        reader.finish();
        std::ranges::sort(file_.facts.classes);
        std::ranges::sort(file_.facts.families, {}, &ModelFamily::name);
    }

    static std::optional<KernelClass> class_from(const std::string& name) {
        for (int i = 0; i <= static_cast<int>(KernelClass::norm_wgrad); ++i)
            if (to_string(static_cast<KernelClass>(i)) == name)
                return static_cast<KernelClass>(i);
        return std::nullopt;
    }

    void read_figures(const Json& json) {
        each_object(top_, &json, "figures", where_, problems_, [&](ObjectReader& entry) {
            ModelFigures& f = file_.facts.figures.emplace_back();
            constexpr double kMost = 1e12; // percent
            const auto percent = [&](const char* key, double low, double& value) {
                entry.read({.key = key, .required = true, .min = low, .max = kMost}, value);
            };
            entry.read({.key = "left_out", .required = true}, f.left_out);
            entry.read({.key = "rows", .required = true, .min = 0, .max = kMostSamples}, f.rows);
            percent("mean_abs_error_percent", 0, f.mean_abs_error_percent);
            percent("prior_mean_abs_error_percent", 0, f.prior_mean_abs_error_percent);
            percent("total_error_percent", -kMost, f.total_error_percent);
            percent("coverage_percent", 0, f.coverage_percent);
        });
    }

    void read_residual(const Json& json) {
        const auto found = json.find("name");
        const std::string name = found != json.end() && found->is_string() ? found->get<std::string>() : "";
        const std::size_t columns = file_.columns.size();
        if (name == "gaussian_process")
            file_.residual = gaussian_process_from_json(json, where_, columns);
        else if (name == "ridge")
            file_.residual = ridge_from_json(json, where_, columns);
        else if (name == "boosted_trees")
            file_.residual =
                boosted_trees_from_json(json, {.where = where_, .columns = names_of(file_.columns)});
        else
            throw InputError(
                fmt::format("{}: residual.name", where_),
                fmt::format("read \"{}\"; allowed: gaussian_process, ridge, boosted_trees", name));
    }

    std::string where_;
    std::vector<Problem> problems_;
    ObjectReader top_;
    ModelFile file_;
};

ModelFile from_xgboost(const Json& json, const std::string& where) {
    ModelFile file;
    std::vector<Problem> problems;
    for (const std::string& name : xgboost_feature_names(json, where)) {
        const auto found = std::ranges::find(feature_names(), name);
        if (found == feature_names().end())
            problems.push_back(
                {fmt::format("{}: learner.feature_names", where),
                 fmt::format("\"{}\" is no feature{}", name, did_you_mean(feature_names(), name)),
                 {}});
        else
            file.columns.push_back(static_cast<Feature>(found - feature_names().begin()));
    }
    if (!problems.empty()) {
        problems.back().hint = fmt::format("features: {}", join(feature_names()));
        throw InputError(std::move(problems));
    }
    file.known_families_only = false; // which families it has seen is not said
    file.residual = boosted_trees_from_xgboost(json, {where});
    return file;
}

} // namespace

std::string model_file_text(const ModelFile& file) {
    const Json json = {
        {"schema", kSchema},
        {"written_by", file.facts.written_by},
        {"scope", file.known_families_only ? kKnownFamilies : kAll},
        {"features",
         {{"hash", hash_text()}, {"columns", names_of(file.columns)}, {"ranges", ranges_json(file.ranges)}}},
        {"gpus", gpus_json(file.facts.gpus)},
        {"nccl", file.facts.nccl_versions},
        {"data", data_json(file)},
        {"figures", figures_json(file.facts.figures)},
        {"residual", file.residual->to_json()}};
    // a key a line: tables of thousands of numbers are not for reading
    std::string text;
    for (const auto& [key, value] : json.items())
        text += fmt::format("{} {}: {}", text.empty() ? "{\n" : ",\n", Json(key).dump(),
                            value.dump(-1, ' ', false, Json::error_handler_t::replace));
    return text + "\n}\n";
}

ModelFile read_model_file(const std::string& text, const std::string& where) {
    const Json json = parse_json(text, where);
    if (is_xgboost_model(json))
        return from_xgboost(json, where);
    return Reader(json, where).read();
}

void check_gpu(const ModelFacts& facts, const Gpu& gpu, const std::string& where) {
    std::vector<std::string> names;
    for (const ModelGpu& known : facts.gpus) {
        if (known.sms == gpu.sms || known.name == gpu.name || known.name == gpu.description)
            return;
        names.push_back(fmt::format("{} with {} SMs", known.name.empty() ? "a GPU" : known.name, known.sms));
    }
    if (names.empty())
        return;
    throw InputError(
        where,
        fmt::format("was fitted to {}; this is {} with {} SMs", join(names, " and "), gpu.name, gpu.sms),
        "interference=prior needs no measurements; `echosim calibrate interference` makes a file "
        "from those of this GPU");
}

} // namespace echosim
