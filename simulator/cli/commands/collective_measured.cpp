// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/collective_measured.h"

#include "comm_models/log_samples.h"
#include "comm_models/nccl_tests_log.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

struct Repeats {
    std::vector<double> out_of_place, in_place;
};
using RepeatsBySize = std::map<Bytes, Repeats>;

std::optional<double> median(std::vector<double> values) {
    if (values.empty())
        return std::nullopt;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string asked_for(const CollectiveRequest& request) {
    return fmt::format("{} of {} ranks", to_string(request.call.kind), request.group.ranks);
}

bool is_asked(const NcclTestsTable& table, const CollectiveRequest& request) {
    return (!table.kind || *table.kind == request.call.kind) &&
           (table.ranks == 0 || table.ranks == static_cast<int>(request.ranks.size()));
}

void warn_of_others(const std::string& file, const std::string& used, const std::vector<std::string>& others,
                    CollectiveRequest& request) {
    if (!others.empty())
        request.warnings.push_back(fmt::format("{}: {} is used, the first of {} of {}; not used: {}", file,
                                               used, others.size() + 1, asked_for(request), join(others)));
}

void add_table(const std::string& file, const NcclTestsTable& table, CollectiveRequest& request,
               RepeatsBySize& found) {
    if (!table.gpu.empty() && !nccl::names_gpu(table.gpu, request.cluster.gpu.name))
        request.warnings.push_back(fmt::format("{}: measured on {}, while cluster {} has {}", file, table.gpu,
                                               request.cluster.name, request.cluster.gpu.name));
    const std::string used = request.cluster.nccl;
    if (!table.nccl.empty() && !table.nccl.starts_with(used.empty() ? "?" : used))
        request.warnings.push_back(fmt::format("{}: measured with NCCL {}; --nccl {} predicts that version",
                                               file, table.nccl, table.nccl));
    for (const std::string& warning : table.warnings)
        request.warnings.push_back(file + ": " + warning);
    for (const NcclTestsRow& row : table.rows) {
        if (row.out_of_place_us)
            found[row.bytes].out_of_place.push_back(*row.out_of_place_us);
        if (row.in_place_us)
            found[row.bytes].in_place.push_back(*row.in_place_us);
    }
}

void add_log(const std::string& file, CollectiveRequest& request, RepeatsBySize& found,
             std::set<std::string>& others) {
    std::string used;
    std::vector<std::string> left;
    for (const NcclTestsTable& table : read_nccl_tests(read_text_file(file), file)) {
        const std::string line = fmt::format("line {}", table.line);
        if (!is_asked(table, request)) {
            others.insert(fmt::format("{} of {} ranks", table.kind ? to_string(*table.kind) : "a collective",
                                      table.ranks));
        } else if (used.empty()) {
            used = "the table of " + line;
            add_table(file, table, request, found);
        } else {
            left.push_back(line);
        }
    }
    warn_of_others(file, used, left, request);
}

bool same_kind(const Json& name, CollectiveKind kind) {
    try {
        return name.is_string() && parse_collective_kind("", name.get<std::string>()) == kind;
    } catch (const InputError&) {
        return false;
    }
}

// Names of the tables that fit, in the order of the file.
std::vector<std::string> fitting_tables(const Json& document, const CollectiveRequest& request,
                                        std::set<std::string>& others) {
    std::vector<std::string> names;
    const GroupGeometry& group = request.group;
    for (const Json& table : document["tables"]) {
        if (!table.is_object() || !table.value("table", Json()).is_string())
            continue;
        const Json gpu = table.value("gpu", Json());
        const Json nodes = table.value("nodes", Json());
        const bool machine = (!gpu.is_string() || gpu == request.cluster.gpu.name) &&
                             (!nodes.is_number_integer() || nodes == group.nodes);
        if (machine && same_kind(table.value("collective", Json()), request.call.kind) &&
            table.value("gpus", Json()) == group.ranks)
            names.push_back(table["table"].get<std::string>());
        else if (others.size() < 8 && machine)
            others.insert(fmt::format("{} of {} ranks", table.value("collective", Json("?")).dump(),
                                      table.value("gpus", Json(0)).dump()));
    }
    return names;
}

void add_tables(const std::string& file, CollectiveRequest& request, RepeatsBySize& found,
                std::set<std::string>& others) {
    const Json document = read_json_file(file);
    for (const char* key : {"tables", "rows"})
        if (!document.is_object() || !document.contains(key) || !document[key].is_array())
            throw InputError(file, fmt::format("has no list \"{}\"", key),
                             "give a log of nccl-tests or a file of the schema of nccl_tests.json");
    std::vector<std::string> names = fitting_tables(document, request, others);
    if (names.empty())
        return;
    const std::string used = names.front();
    names.erase(names.begin());
    warn_of_others(file, fmt::format("table \"{}\"", used), names, request);
    for (const Json& row : document["rows"]) {
        if (!row.is_object() || row.value("table", Json()) != used ||
            !row.value("bytes", Json()).is_number_unsigned())
            continue;
        Repeats& repeats = found[row["bytes"].get<Bytes>()];
        const auto take = [&](const char* key, std::vector<double>& values) {
            const Json value = row.value(key, Json());
            if (value.is_number() && value.get<double>() > 0)
                values.push_back(value.get<double>());
        };
        take("time_us", repeats.out_of_place);
        take("inplace_time_us", repeats.in_place);
    }
}

// Whether the text is a table of JSON rather than a log.
bool is_json(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string::npos && text[first] == '{';
}

} // namespace

void take_measured_version(const std::string& file, CollectiveRequest& request) {
    const std::string text = read_text_file(file);
    if (!request.cluster.nccl.empty() || is_json(text))
        return;
    for (const NcclTestsTable& table : read_nccl_tests(text, file)) {
        if (!is_asked(table, request))
            continue;
        const nccl::LogVersion found = nccl::version_of_log(table, request.cluster);
        request.cluster.nccl = found.nccl;
        request.nccl_origin =
            found.assumed.empty() ? "as the log prints" : "no version in the log: " + found.assumed;
        return;
    }
}

Measurements read_measurements(const std::string& file, CollectiveRequest& request) {
    RepeatsBySize found;
    std::set<std::string> others;
    const std::string text = read_text_file(file);
    if (is_json(text))
        add_tables(file, request, found, others);
    else
        add_log(file, request, found, others);
    Measurements measured;
    for (const auto& [bytes, repeats] : found)
        if (!repeats.out_of_place.empty() || !repeats.in_place.empty())
            measured[bytes] = {median(repeats.out_of_place), median(repeats.in_place)};
    if (measured.empty())
        throw InputError(file, "has no table of " + asked_for(request),
                         others.empty() ? "no table of this GPU and number of nodes"
                                        : "it holds: " + join({others.begin(), others.end()}));
    return measured;
}

} // namespace echosim
