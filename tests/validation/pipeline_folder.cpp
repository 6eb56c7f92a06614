// SPDX-License-Identifier: Apache-2.0
#include "tests/validation/pipeline_folder.h"

#include "simulator/core/files.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace echosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json list(const std::vector<TimedOp>& ops, TimeNs TimedOp::*which, double shift_ms) {
    Json values = Json::array();
    for (const TimedOp& op : ops)
        values.push_back(static_cast<double>(op.*which) * 1e-6 + shift_ms);
    return values;
}

} // namespace

PipelineFolder::PipelineFolder() {
    path_ = (fs::temp_directory_path() / "echosim_pipeline_XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr)
        throw std::runtime_error("no temporary folder");
}

PipelineFolder PipelineFolder::sample() {
    PipelineFolder folder;
    for (const auto& entry : fs::directory_iterator("traces/samples/pipeline_pp2"))
        fs::copy(entry.path(), folder.path());
    return folder;
}

PipelineFolder::PipelineFolder(const PipelineTimeline& timeline, double clock_ms) : PipelineFolder() {
    write("config.json", Json{{"pp_size", timeline.stages}, {"num_mbs", timeline.microbatches}}.dump());
    for (int stage = 0; stage < timeline.stages; ++stage) {
        Json iterations = Json::object();
        for (std::size_t i = 0; i < timeline.iterations.size(); ++i) {
            const StageIteration& times = timeline.times[i][static_cast<std::size_t>(stage)];
            const double shift = stage * clock_ms;
            iterations[std::to_string(timeline.iterations[i])] = {
                {"fwd_start", list(times.forward, &TimedOp::start, shift)},
                {"fwd_end", list(times.forward, &TimedOp::end, shift)},
                {"bwd_start", list(times.backward, &TimedOp::start, shift)},
                {"bwd_end", list(times.backward, &TimedOp::end, shift)}};
        }
        write(fmt::format("pp_rank_{}.json", stage), iterations.dump());
    }
}

PipelineFolder::~PipelineFolder() {
    std::error_code ignored;
    if (!path_.empty())
        fs::remove_all(path_, ignored);
}

PipelineFolder::PipelineFolder(PipelineFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
}

void PipelineFolder::write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
}

void PipelineFolder::remove(const std::string& name) const {
    fs::remove(file(name));
}

void PipelineFolder::edit(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = read_text_file(file(name));
    const std::size_t at = text.find(from);
    if (at == std::string::npos)
        throw std::runtime_error(name + " does not hold " + from);
    write(name, text.replace(at, from.size(), to));
}

PipelineTimeline uniform_pipeline(int stages, int microbatches, TimeNs forward, TimeNs backward) {
    const auto count = static_cast<std::size_t>(microbatches);
    PipelineTimeline timeline;
    timeline.stages = stages;
    timeline.microbatches = microbatches;
    timeline.iterations = {1};
    StageIteration stage;
    stage.forward.assign(count, {0, forward});
    stage.backward.assign(count, {0, backward});
    timeline.times.emplace_back(static_cast<std::size_t>(stages), stage);
    return timeline;
}

} // namespace echosim
