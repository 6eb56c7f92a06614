// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/calibrate_interference.h"
#include "interference/learned_slowdown.h"
#include "simulator/cli/output.h"
#include "simulator/core/error.h"
#include "simulator/run/version.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

void check_options(const Invocation& invocation) {
    if (invocation.arguments.size() < 2) {
        throw InputError("echosim calibrate", "no measurements are given",
                         "name CSV files of interference_bench, or recorded traces (files or folders)");
    }
    for (const char* option : {"--gpus", "--nccl", "--calibration", "--set"}) {
        if (invocation.has(option)) {
            throw InputError(option, "does not concern interference: the files name what was measured",
                             "--gpu names the GPU where a file does not");
        }
    }
}

std::vector<ModelFigures> model_figures(const InterferenceAssessment& assessment) {
    std::vector<ModelFigures> result;
    for (std::size_t i = 0; i < assessment.folds.size(); ++i) {
        if (!assessment.folds[i].not_possible.empty()) {
            continue;
        }
        const CrossFigures& learned = assessment.ways[assessment.learned].figures[i];
        const CrossFigures& prior = assessment.ways[assessment.prior].figures[i];
        result.push_back({fold_key(assessment.folds[i].fold), learned.rows, learned.mean_abs_error_percent,
                          prior.mean_abs_error_percent, learned.total_error_percent,
                          learned.coverage_percent});
    }
    return result;
}

std::string model_text(const InterferenceData& data, const InterferenceAssessment& assessment) {
    FitOptions options = assessment.ways[assessment.learned].predictor.fit;
    options.known_families_only = assessment.known_families;
    const auto model = fit_slowdown(data.samples, options);
    std::vector<std::string> files;
    for (const InterferenceSource& source : data.sources) {
        files.push_back(std::filesystem::path(source.path).filename().string());
    }
    model->describe(fmt::format("echosim {}", version()), files, model_figures(assessment));
    return model->to_json_text();
}

// What the command says last, and the hint when it refuses.
std::string ending(const Invocation& invocation, const InterferenceAssessment& assessment,
                   const TextStyle& style) {
    std::string text = "\n" + wrap(assessment.verdict, style.width, 0) + "\n";
    if (!assessment.advice.empty()) {
        text += wrap(assessment.advice, style.width, 0) + "\n";
    }
    const auto output = invocation.value("--output");
    if (!assessment.accepted) {
        return text +
               (!assessment.known_families
                    ? "nothing is written; --known-families writes a model for the families of the data "
                      "only, if it is the best on them\n"
                : assessment.advice.empty() ? "nothing is written; simulate with --set interference=prior\n"
                                            : "nothing is written\n");
    }
    text += output ? fmt::format("written: {}; use it with --set interference={}\n", *output, *output)
                   : std::string("nothing is written: give -o FILE\n");
    return text;
}

} // namespace

int run_calibrate_interference(const Invocation& invocation, Console& console) {
    check_options(invocation);
    check_output(invocation);
    const InterferenceData data = read_interference_data(invocation);
    const InterferenceAssessment assessment = assess_interference(data, invocation, console);
    const std::string text =
        interference_text(data, assessment, console) + ending(invocation, assessment, console.style());
    Json document = interference_document(data, assessment);
    if (assessment.accepted) {
        const std::string file = model_text(data, assessment);
        document["model"] = Json::parse(file);
        write_output(invocation, {.text = text, .json = document_text(document), .file = file}, console);
        return static_cast<int>(ExitCode::ok);
    }
    document["model"] = nullptr;
    if (invocation.has("--json")) {
        console.out() << document_text(document);
    } else if (prints_text(invocation)) {
        console.print(text);
    }
    console.error("gate: " + assessment.verdict);
    return static_cast<int>(ExitCode::gate_failed);
}

} // namespace echosim
