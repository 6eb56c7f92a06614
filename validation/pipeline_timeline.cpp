// SPDX-License-Identifier: Apache-2.0
#include "validation/pipeline_timeline.h"

#include "simulator/core/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr double kMaxMilliseconds = 1e9; // an iteration of eleven days
constexpr TimeNs kClockGrain = 2'000;    // single-precision milliseconds of an iteration of 16 s
constexpr std::size_t kMaxProblems = 20; // of a file
constexpr int kMaxStages = 4096;
constexpr int kMaxMicrobatches = 1 << 24;

std::string stage_file(const std::string& folder, int stage) {
    return (fs::path(folder) / fmt::format("pp_rank_{}.json", stage)).string();
}

void throw_problems(std::vector<Problem> problems) {
    if (problems.empty())
        return;
    if (problems.size() > kMaxProblems)
        problems.resize(kMaxProblems);
    throw InputError(std::move(problems));
}

struct Config {
    int world = 0, dp = 1, tp = 1, pp = 0, vp = 1, microbatches = 0, iterations = 0;
};

Config read_config(const std::string& folder) {
    const std::string file = (fs::path(folder) / "config.json").string();
    const Json json = read_json_file(file);
    std::vector<Problem> problems;
    ObjectReader reader(json, file, "", problems);
    Config c;
    reader.read({.key = "pp_size", .required = true, .min = 1, .max = kMaxStages}, c.pp);
    reader.read({.key = "num_mbs", .required = true, .min = 1, .max = kMaxMicrobatches}, c.microbatches);
    reader.read({.key = "world_size", .min = 1}, c.world);
    reader.read({.key = "dp_size", .min = 1}, c.dp);
    reader.read({.key = "tp_size", .min = 1}, c.tp);
    reader.read({.key = "vp_size", .min = 1}, c.vp);
    reader.read({.key = "train_iters", .min = 1}, c.iterations);
    throw_problems(problems);
    if (c.vp != 1)
        throw InputError(file, fmt::format("vp_size is {}: interleaved pipelines are not replayed", c.vp),
                         "an entry of a list does not say which model chunk it belongs to; allowed: 1");
    const double ranks = static_cast<double>(c.dp) * c.tp * c.pp;
    if (c.world != 0 && ranks != c.world)
        throw InputError(file,
                         fmt::format("world_size is {}, but dp_size x tp_size x pp_size is {} x {} x {}",
                                     c.world, c.dp, c.tp, c.pp));
    return c;
}

// Entries of one list, in nanoseconds.
std::vector<TimeNs> read_times(ObjectReader& reader, std::string_view key, int count,
                               std::vector<Problem>& problems, const std::string& file) {
    std::vector<TimeNs> times;
    const Json* list = reader.array({.key = key, .required = true});
    if (list == nullptr)
        return times;
    if (list->size() != static_cast<std::size_t>(count))
        reader.fail(key, fmt::format("{} entries, but num_mbs of config.json is {}", list->size(), count));
    for (const Json& entry : *list) {
        const double ms = entry.is_number() ? entry.get<double>() : -1;
        if (!(ms >= 0 && ms <= kMaxMilliseconds)) {
            problems.push_back(
                {fmt::format("{}: {}[{}]", file, reader.path_of(key), times.size()),
                 fmt::format("read {}; allowed: milliseconds from 0 to {:g}",
                             entry.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 40),
                             kMaxMilliseconds),
                 {}});
            return times;
        }
        times.push_back(std::llround(ms * 1e6));
    }
    return times;
}

std::vector<TimedOp> read_ops(ObjectReader& reader, const std::string& name, int count,
                              std::vector<Problem>& problems, const std::string& file) {
    const std::vector<TimeNs> starts = read_times(reader, name + "_start", count, problems, file);
    const std::vector<TimeNs> ends = read_times(reader, name + "_end", count, problems, file);
    std::vector<TimedOp> ops;
    for (std::size_t i = 0; i < std::min(starts.size(), ends.size()); ++i) {
        if (ends[i] < starts[i])
            problems.push_back({fmt::format("{}: {}_end[{}]", file, reader.path_of(name), i),
                                fmt::format("{:.6f} ms is before {}_start[{}], {:.6f} ms",
                                            static_cast<double>(ends[i]) * 1e-6, name, i,
                                            static_cast<double>(starts[i]) * 1e-6),
                                {}});
        ops.push_back({starts[i], ends[i]});
    }
    return ops;
}

StageIteration read_iteration(const Json& json, const std::string& file, const std::string& key,
                              const Config& config) {
    std::vector<Problem> problems;
    ObjectReader reader(json, file, key, problems);
    StageIteration it;
    it.forward = read_ops(reader, "fwd", config.microbatches, problems, file);
    it.backward = read_ops(reader, "bwd", config.microbatches, problems, file);
    double total = -1;
    reader.read({.key = "total", .min = 0, .max = kMaxMilliseconds}, total);
    if (total >= 0)
        it.total = std::llround(total * 1e6);
    throw_problems(std::move(problems));
    return it;
}

std::map<int, StageIteration> read_stage(const std::string& file, const Config& config) {
    if (!fs::exists(file))
        throw InputError(file, fmt::format("is missing: pp_size of config.json is {}", config.pp),
                         "the folder needs a file a stage, pp_rank_0.json to the last");
    const Json json = read_json_file(file);
    if (!json.is_object() || json.empty())
        throw InputError(file, "holds no iterations",
                         "expected an object with the iterations, {\"1\": {\"fwd_start\": [...], ...}, ...}");
    std::map<int, StageIteration> iterations;
    for (const auto& [key, value] : json.items()) {
        int number = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
        if (error != std::errc() || end != key.data() + key.size() || number < 0)
            throw InputError(fmt::format("{}: \"{}\"", file, key.substr(0, 40)),
                             "is no number of an iteration");
        if (!iterations.try_emplace(number, read_iteration(value, file, key, config)).second)
            throw InputError(file, fmt::format("iteration {} occurs twice", number));
    }
    return iterations;
}

std::string op_name(const ScheduleStep& step) {
    return fmt::format("{}[{}]", step.kind == ScheduleStep::Kind::forward ? "fwd_start" : "bwd_start",
                       step.microbatch);
}

// The next op does not start before the one before it ends.
void check_order(const PipelineTimeline& timeline, std::size_t iteration, int stage) {
    const StageIteration& times = timeline.times[iteration][static_cast<std::size_t>(stage)];
    const ScheduleStep* before = nullptr;
    const PipelineSchedule schedule = schedule_of(timeline, stage);
    for (const ScheduleStep& step : schedule.steps) {
        if (step.kind == ScheduleStep::Kind::exchange)
            continue;
        if (before != nullptr && times.op(step).start + kClockGrain < times.op(*before).end)
            throw InputError(
                fmt::format("{}: {}.{}", stage_file(timeline.folder, stage), timeline.iterations[iteration],
                            op_name(step)),
                fmt::format("{:.6f} ms is before the end of {}, {:.6f} ms: not the order of 1F1B",
                            static_cast<double>(times.op(step).start) * 1e-6, op_name(*before),
                            static_cast<double>(times.op(*before).end) * 1e-6),
                "replayed is the schedule of Megatron-LM without interleaving");
        before = &step;
    }
}

void refuse_further_stage(const std::string& folder, int stages) {
    const std::string further = stage_file(folder, stages);
    if (fs::exists(further))
        throw InputError(further,
                         fmt::format("is beyond the pipeline: pp_size of config.json is {}", stages));
}

void add_stage(PipelineTimeline& timeline, int stage, std::map<int, StageIteration> iterations) {
    std::vector<int> numbers;
    for (const auto& [number, times] : iterations)
        numbers.push_back(number);
    if (stage == 0) {
        timeline.iterations = numbers;
        timeline.times.resize(numbers.size());
    } else if (numbers != timeline.iterations) {
        throw InputError(stage_file(timeline.folder, stage),
                         fmt::format("has {} iterations, {} to {}; pp_rank_0.json has {}, {} to {}",
                                     numbers.size(), numbers.front(), numbers.back(),
                                     timeline.iterations.size(), timeline.iterations.front(),
                                     timeline.iterations.back()),
                         "all stages must have the same iterations");
    }
    std::size_t row = 0;
    for (auto& [number, times] : iterations)
        timeline.times[row++].push_back(std::move(times));
}

} // namespace

const TimedOp& StageIteration::op(const ScheduleStep& step) const {
    const std::vector<TimedOp>& ops = step.kind == ScheduleStep::Kind::forward ? forward : backward;
    return ops[static_cast<std::size_t>(step.microbatch)];
}

bool is_pipeline_timeline(const std::string& folder) {
    std::error_code ignored;
    const auto is_stage = [](const fs::directory_entry& entry) {
        const std::string name = entry.path().filename().string();
        return name.starts_with("pp_rank_") && name.ends_with(".json");
    };
    return std::ranges::any_of(fs::directory_iterator(folder, ignored), is_stage);
}

PipelineTimeline read_pipeline_timeline(const std::string& folder) {
    const Config config = read_config(folder);
    PipelineTimeline timeline;
    timeline.folder = folder;
    timeline.stages = config.pp;
    timeline.microbatches = config.microbatches;
    for (int stage = 0; stage < config.pp; ++stage) {
        add_stage(timeline, stage, read_stage(stage_file(folder, stage), config));
        for (std::size_t i = 0; i < timeline.iterations.size(); ++i)
            check_order(timeline, i, stage);
    }
    refuse_further_stage(folder, config.pp);
    const int found = static_cast<int>(timeline.iterations.size());
    if (config.iterations != 0 && config.iterations != found)
        timeline.notes.push_back(fmt::format("train_iters of config.json is {}, the files have {} iterations",
                                             config.iterations, found));
    return timeline;
}

PipelineSchedule schedule_of(const PipelineTimeline& timeline, int stage) {
    ParallelLayout layout;
    layout.pp = timeline.stages;
    return make_schedule(layout, true, timeline.microbatches, stage);
}

} // namespace echosim
