// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/cluster.h"
#include "simulator/catalogue/gpu.h"
#include "simulator/catalogue/model.h"
#include "simulator/cli/command.h"
#include "simulator/cli/job_input.h"
#include "simulator/cli/output.h"
#include "simulator/cli/text_table.h"
#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

struct Shown {
    std::string text;
    Json document;
};

std::string lines_of(const std::string& title, const std::vector<std::string>& lines,
                     const TextStyle& style) {
    if (lines.empty())
        return "";
    std::string out = "\n" + title + "\n";
    for (const std::string& line : lines)
        out += "  " + wrap(line, style.width, 4) + "\n";
    return out;
}

std::string shortened(const std::string& text, std::size_t most) {
    return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

Shown show_job(const Invocation& invocation, const Console& console) {
    const Overrides overrides = read_overrides(invocation.values("--set"));
    if (!overrides.cluster.empty() || overrides.interference || overrides.contention)
        throw InputError("echosim show job", "takes --set job.KEY=VALUE only");
    const Job job = resolve_job_argument(invocation, overrides, 1);
    const TextStyle& style = console.style();

    Shown shown;
    shown.document = {{"schema", "echosim.job/1"}, {"name", job.name}, {"job", job_to_json(job)}};
    shown.document["values"] = Json::array();
    TextTable values({{"key"}, {"value"}, {"origin"}});
    for (const ResolvedValue& v : job.values) {
        values.add({v.key, v.value, v.origin});
        shown.document["values"].push_back({{"key", v.key}, {"value", v.value}, {"origin", v.origin}});
    }
    shown.document["flags"] = Json::array();
    TextTable flags({{"flag"}, {"value"}, {"verdict"}, {"origin"}, {"note"}});
    for (const FlagVerdict& f : job.flags) {
        flags.add({f.flag, shortened(f.value, 32), f.verdict, f.origin, f.note});
        shown.document["flags"].push_back({{"flag", f.flag},
                                           {"value", f.value},
                                           {"verdict", f.verdict},
                                           {"note", f.note},
                                           {"origin", f.origin}});
    }
    shown.document["not_modelled"] = job.not_modelled;
    shown.document["warnings"] = job.warnings;
    shown.text = style.bold(job.name) + "\n\n" + values.text(style, 2);
    if (!flags.empty())
        shown.text += "\n" + style.bold("Flags") + "\n" + flags.text(style, 2);
    shown.text += lines_of(style.bad("Cannot be simulated"), job.not_modelled, style);
    shown.text += lines_of(style.caution("Warnings"), job.warnings, style);
    return shown;
}

// Leaves of a JSON object as rows "path value".
void add_leaves(const Json& json, const std::string& path, TextTable& table) {
    const bool nested = json.is_object() || (json.is_array() && !json.empty() && json.front().is_object());
    if (!nested)
        return table.add({path, json.is_string() ? json.get<std::string>() : json.dump()});
    for (const auto& item : json.items()) {
        const std::string key = path.empty() ? item.key() : path + "." + item.key();
        add_leaves(item.value(), key, table);
    }
}

Shown show_figures(const std::string& title, Json document, const std::string& prefix,
                   const Console& console) {
    TextTable table({{"key"}, {"value"}});
    for (const auto& item : document.items())
        if (item.key() != "schema")
            add_leaves(item.value(), item.key().starts_with("gpu") ? item.key() : prefix + item.key(), table);
    return {.text = console.style().bold(title) + "\n\n" + table.text(console.style(), 2),
            .document = std::move(document)};
}

Shown show_cluster(const std::string& name, const Console& console) {
    const Cluster cluster = find_cluster(name);
    return show_figures(cluster.name, cluster_to_json(cluster), "cluster.", console);
}

Shown show_gpu(const std::string& name, const Console& console) {
    const Gpu& gpu = find_gpu(name);
    return show_figures(gpu.description, gpu_to_json(gpu), "gpu.", console);
}

Shown show_models(const TextStyle& style) {
    Shown shown;
    shown.document = {{"schema", "echosim.models/1"}, {"models", Json::array()}};
    TextTable table({{"model"}, {"description"}, {"aliases"}});
    for (const CatalogueModel& model : all_models()) {
        table.add({model.id, shortened(model.description, 36), join(model.aliases)});
        std::string flags;
        for (const auto& [flag, value] : model.flags)
            flags += (flags.empty() ? "" : " ") + flag + (value.empty() ? "" : " " + value);
        shown.document["models"].push_back({{"id", model.id},
                                            {"aliases", model.aliases},
                                            {"description", model.description},
                                            {"flags", flags},
                                            {"source", model.source}});
    }
    shown.text = table.text(style, 0);
    return shown;
}

Shown show_clusters(const TextStyle& style) {
    Shown shown;
    shown.document = {{"schema", "echosim.clusters/1"}, {"clusters", Json::array()}};
    TextTable table(
        {{"cluster"}, {"GPUs/node", TextTable::Align::right}, {"GPU"}, {"NVLink"}, {"NICs"}, {"fabric"}});
    for (const Cluster& cluster : all_clusters()) {
        const Nics& nics = cluster.node.nics;
        const bool nvlink = cluster.node.nvlink.bandwidth > 0;
        table.add({cluster.name, std::to_string(cluster.node.gpus), cluster.gpu.name,
                   nvlink ? format_bandwidth(cluster.node.nvlink.bandwidth) : "none",
                   fmt::format("{} x {:.4g} Gb/s", nics.count, nics.bandwidth * 8e-9),
                   std::string(to_string(cluster.fabric.kind))});
        shown.document["clusters"].push_back(cluster_to_json(cluster));
    }
    shown.text = table.text(style, 0) + style.dim("NVLink: per GPU, one direction; NICs: per node") + "\n";
    return shown;
}

std::string tflops(FlopsPerSecond rate) {
    return rate > 0 ? fmt::format("{:.4g}", rate / 1e12) : "-";
}

Shown show_gpus(const TextStyle& style) {
    constexpr auto right = TextTable::Align::right;
    Shown shown;
    shown.document = {{"schema", "echosim.gpus/1"}, {"gpus", Json::array()}};
    TextTable table({{"GPU"},
                     {"memory", right},
                     {"bandwidth", right},
                     {"bf16", right},
                     {"fp16", right},
                     {"fp8", right},
                     {"description"}});
    for (const Gpu& gpu : all_gpus()) {
        table.add({gpu.name, format_bytes(gpu.memory), format_bandwidth(gpu.memory_bandwidth),
                   tflops(gpu.bf16_flops), tflops(gpu.fp16_flops), tflops(gpu.fp8_flops), gpu.description});
        shown.document["gpus"].push_back(gpu_to_json(gpu));
    }
    shown.text = table.text(style, 0) + style.dim("rates: dense TFLOP/s of matrix products") + "\n";
    return shown;
}

void check_topic(const Invocation& invocation) {
    const std::vector<std::string> topics(invocation.command->words.begin(), invocation.command->words.end());
    if (invocation.arguments.empty())
        throw InputError("echosim show", "the topic is missing", "topics: " + join(topics));
    const std::string& topic = invocation.arguments[0];
    bool known = false;
    for (const std::string& name : topics)
        known = known || name == topic;
    if (!known)
        throw InputError("echosim show",
                         fmt::format("unknown topic \"{}\"{}", topic, did_you_mean(topics, topic)),
                         "topics: " + join(topics));
    const bool list = topic.ends_with("s");
    if (list && invocation.arguments.size() > 1)
        throw InputError("echosim show " + topic,
                         fmt::format("takes no name, read \"{}\"", invocation.arguments[1]));
    if (!list && topic != "job" && invocation.arguments.size() < 2)
        throw InputError("echosim show " + topic, "the name is missing",
                         fmt::format("echosim show {}s lists the names", topic));
    if (topic == "job")
        return;
    for (const char* option : {"--gpus", "--set", "--strict"})
        if (invocation.has(option))
            throw InputError(option, fmt::format("belongs to echosim show job, not to show {}", topic));
    if (!invocation.rest.empty())
        throw InputError("echosim show " + topic,
                         fmt::format("takes no words after --, read \"{}\"", invocation.rest[0]));
}

Shown show(const Invocation& invocation, const Console& console) {
    const std::string& topic = invocation.arguments[0];
    if (topic == "job")
        return show_job(invocation, console);
    if (topic == "cluster")
        return show_cluster(invocation.arguments[1], console);
    if (topic == "gpu")
        return show_gpu(invocation.arguments[1], console);
    if (topic == "models")
        return show_models(console.style());
    if (topic == "clusters")
        return show_clusters(console.style());
    return show_gpus(console.style());
}

} // namespace

int run_show(const Invocation& invocation, Console& console) {
    check_topic(invocation);
    check_output(invocation);
    const Shown shown = show(invocation, console);
    const std::string document = document_text(shown.document);
    write_output(invocation, {.text = shown.text, .json = document, .file = document}, console);
    return static_cast<int>(ExitCode::ok);
}

} // namespace echosim
