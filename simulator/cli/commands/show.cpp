// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/cluster.h"
#include "simulator/catalogue/gpu.h"
#include "simulator/catalogue/model.h"
#include "simulator/catalogue/topology_source.h"
#include "simulator/cli/command.h"
#include "simulator/cli/job_input.h"
#include "simulator/cli/output.h"
#include "simulator/cli/text_table.h"
#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

struct Shown {
    std::string text;
    Json document;
    std::vector<std::string> warnings = {}; // on stderr
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

// The value at "node.nics.count" of a cluster document, as text; the name stands for a whole GPU.
std::string value_at(const Json& document, const std::string& key) {
    const Json* at = &document;
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
        end = key.find('.', begin);
        at = &at->at(key.substr(begin, end - begin));
    }
    if (key == "gpu")
        at = &at->at("name");
    return at->is_string() ? at->get<std::string>() : shortened(at->dump(), 40);
}

// A cluster file from a topology file or a log, with the origin of each value. --set cluster.gpu names the
// GPU before the rest is derived from it; other settings replace values of the result.
Shown show_cluster_from(const Invocation& invocation, const Console& console) {
    Overrides overrides = read_overrides(invocation.values("--set"));
    if (!overrides.flags.empty() || overrides.interference || overrides.contention)
        throw InputError("echosim show cluster --from",
                         "takes --set cluster.PATH=VALUE and gpu.KEY=VALUE only");
    std::string gpu;
    for (const auto& [path, value] : overrides.cluster)
        if (path == "gpu")
            gpu = value;
    ImportedCluster imported = read_topology_file(*invocation.value("--from"), gpu);
    for (const auto& [path, value] : overrides.cluster) {
        if (path == "gpu")
            continue;
        set_value(imported.cluster, path, value);
        const std::string& key = path;
        std::erase_if(imported.origins, [&](const ValueOrigin& origin) { return origin.key == key; });
        imported.origins.push_back({key, "--set", false});
    }
    Shown shown;
    shown.document = cluster_to_json(imported.cluster);
    const std::string from = *invocation.value("--from");
    const std::string name = std::filesystem::path(from).filename().string();
    TextTable table({{"key"}, {"value"}, {"origin"}});
    for (const ValueOrigin& origin : imported.origins) {
        const std::string read =
            origin.text.starts_with(from) ? name + origin.text.substr(from.size()) : origin.text;
        const std::string text = origin.assumed ? "assumed: " + origin.text : read;
        table.add({"cluster." + origin.key, value_at(shown.document, origin.key), text});
        if (origin.assumed && !prints_text(invocation))
            shown.warnings.push_back(fmt::format("assumed: {} = {} ({})", origin.key,
                                                 value_at(shown.document, origin.key), origin.text));
    }
    shown.text = console.style().bold(imported.cluster.name) + "\n\n" + table.text(console.style(), 2);
    if (imported.nodes > 0) {
        const std::int64_t gpus = std::int64_t{imported.nodes} * imported.cluster.node.gpus;
        shown.text += console.style().dim(fmt::format(
                          "the file describes {} node{}, {} GPU{}; for jobs on more, switches "
                          "and levels are continued as they are",
                          imported.nodes, imported.nodes == 1 ? "" : "s", gpus, gpus == 1 ? "" : "s")) +
                      "\n";
    }
    if (!invocation.has("--output"))
        shown.text += console.style().dim("-o FILE writes the cluster file that --cluster takes") + "\n";
    shown.warnings.insert(shown.warnings.end(), imported.warnings.begin(), imported.warnings.end());
    return shown;
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
    const bool from = invocation.has("--from");
    if (from && topic != "cluster")
        throw InputError("--from", fmt::format("belongs to echosim show cluster, not to show {}", topic));
    if (from && invocation.arguments.size() > 1)
        throw InputError(
            "echosim show cluster",
            fmt::format("takes a name or --from, read both \"{}\" and --from", invocation.arguments[1]));
    if (!list && topic != "job" && !from && invocation.arguments.size() < 2)
        throw InputError("echosim show " + topic, "the name is missing",
                         fmt::format("echosim show {}s lists the names", topic));
    if (topic == "job")
        return;
    for (const char* option : {"--gpus", "--set", "--strict"})
        if (invocation.has(option) && !(from && std::string_view(option) == "--set"))
            throw InputError(option, fmt::format("belongs to echosim show job, not to show {}", topic));
    if (!invocation.rest.empty())
        throw InputError("echosim show " + topic,
                         fmt::format("takes no words after --, read \"{}\"", invocation.rest[0]));
}

Shown show(const Invocation& invocation, const Console& console) {
    const std::string& topic = invocation.arguments[0];
    if (topic == "job")
        return show_job(invocation, console);
    if (topic == "cluster" && invocation.has("--from"))
        return show_cluster_from(invocation, console);
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
    for (const std::string& warning : shown.warnings)
        console.warn(warning);
    const std::string document = document_text(shown.document);
    write_output(invocation, {.text = shown.text, .json = document, .file = document}, console);
    return static_cast<int>(ExitCode::ok);
}

} // namespace echosim
