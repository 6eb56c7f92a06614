// SPDX-License-Identifier: Apache-2.0
#include "traces/import.h"
#include "simulator/catalogue/cluster.h"
#include "simulator/catalogue/network_settings.h"
#include "simulator/catalogue/topology_source.h"
#include "simulator/cli/command.h"
#include "simulator/cli/commands/import_options.h"
#include "simulator/cli/commands/import_text.h"
#include "simulator/cli/output.h"
#include "simulator/cli/printable.h"
#include "simulator/cli/text_table.h"
#include "simulator/core/error.h"
#include "traces/etr.h"
#include "traces/import/notes.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kHead = 65'536;
constexpr std::uint64_t kWorthTelling = 32_MiB; // smaller files are read before anybody reads a line

std::string first_bytes(const std::string& path) {
    std::error_code error;
    std::string head(kHead, '\0');
    std::ifstream file;
    if (std::filesystem::is_regular_file(path, error)) {
        file.open(path, std::ios::binary);
    }
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    return head;
}

bool is_text(const std::string& head) {
    return !head.empty() && head.find('\0') == std::string::npos;
}

// A file of another simulator that describes a network: its cluster file.
bool is_network(const std::string& head) {
    const auto kind = topology_kind(head);
    return kind == TopologyKind::astra_network || kind == TopologyKind::simai_topology;
}

std::string network_text(const ImportedCluster& imported, const std::string& path, const std::string& output,
                         const TextStyle& style) {
    std::string text = fmt::format("{}\n\n  format     {}: a network, no trace\n", style.bold(path),
                                   to_string(imported.kind));
    if (imported.nodes > 0) {
        text += fmt::format("  nodes      {}\n", imported.nodes);
    }
    TextTable assumed({{"assumed"}, {""}});
    for (const ValueOrigin& origin : imported.origins) {
        if (origin.assumed) {
            assumed.add({origin.key, origin.text});
        }
    }
    if (!assumed.empty()) {
        text += "\n" + assumed.text(style, 2);
    }
    return text +
           (output.empty()
                ? fmt::format("\n{}\n  echosim import {} -o mine.json\n      its cluster file; nothing is "
                              "written without -o\n",
                              style.bold("Next"), path)
                : fmt::format("\nwritten: {}\n\n{}\n  echosim simulate JOB --cluster {}\n", output,
                              style.bold("Next"), output));
}

int import_network(const Invocation& invocation, Console& console) {
    check_output(invocation);
    const std::string& path = invocation.arguments[0];
    if (const auto file = invocation.value("--output"); file && *file != "-" && !file->ends_with(".json")) {
        throw InputError("--output", fmt::format("\"{}\" does not end in .json", *file),
                         fmt::format("{} is a network: its cluster file is JSON", path));
    }
    const ImportedCluster imported = read_topology_file(path);
    const std::string file = document_text(cluster_to_json(imported.cluster));
    const auto output = invocation.value("--output");
    const std::string text = network_text(imported, path, output.value_or(""), console.style());
    for (const std::string& warning : imported.warnings) {
        console.warn(warning);
    }
    write_output(invocation, {.text = text, .json = file, .file = file}, console);
    return static_cast<int>(ExitCode::ok);
}

// Before the files are read: --output of a trace is an .etr file in a folder that can be written.
std::optional<std::string> etr_path(const Invocation& invocation) {
    const auto output = invocation.value("--output");
    if (!output) {
        if (invocation.has("--compress")) {
            throw InputError("--compress", "needs -o FILE.etr");
        }
        return output;
    }
    if (!output->ends_with(".etr")) {
        throw InputError("--output", fmt::format("\"{}\" does not end in .etr", *output),
                         "import writes .etr; `echosim export` writes the other formats");
    }
    check_output(invocation);
    return output;
}

std::uint64_t bytes_of(const std::vector<std::string>& files) {
    std::uint64_t sum = 0;
    for (const std::string& file : files) {
        std::error_code error;
        const std::uint64_t size = std::filesystem::file_size(file, error);
        sum += error ? 0 : size;
    }
    return sum;
}

} // namespace

ImportOptions import_options(const Invocation& invocation) {
    ImportOptions options;
    options.align = invocation.value("--align") == "off" ? AlignMode::off : AlignMode::automatic;
    if (::isatty(STDERR_FILENO) == 0 || invocation.has("--quiet")) {
        return options;
    }
    options.on_file = [](const std::string& path) {
        if (const std::uint64_t bytes = bytes_of({path}); bytes >= kWorthTelling) {
            fmt::print(stderr, "reading {} ({})\n", printable(path), format_bytes(bytes));
        }
    };
    return options;
}

int run_import(const Invocation& invocation, Console& console) {
    if (invocation.arguments.empty()) {
        throw InputError("echosim import", "the file or folder is missing",
                         "write: echosim import FILE|FOLDER [-o job.etr]");
    }
    const std::string& path = invocation.arguments[0];
    const std::string head = first_bytes(path);
    if (is_text(head)) {
        if (const auto problem = foreign_setting(head, path)) {
            throw InputError({*problem});
        }
        if (invocation.arguments.size() == 1 && is_network(head)) {
            return import_network(invocation, console);
        }
    }
    const auto output = etr_path(invocation);
    const ImportOptions options = import_options(invocation);
    Imported imported = import_trace(invocation.arguments, options);
    if (output) {
        refuse_to_overwrite(*output, imported.report.files);
        keep_notes(imported);
        const HoldSignals held;
        write_etr(imported.trace, *output, invocation.has("--compress") ? EtrCodec::zstd : EtrCodec::raw);
    }
    const ImportSummary summary{.paths = invocation.arguments,
                                .imported = &imported,
                                .figures = figures_of(imported.trace),
                                .written = output.value_or(""),
                                .align = options.align == AlignMode::automatic,
                                .all_rows = console.verbose()};
    if (invocation.has("--json")) {
        console.out() << document_text(import_document(summary));
    } else {
        console.print(import_text(summary, console.style()));
    }
    return static_cast<int>(ExitCode::ok);
}

} // namespace echosim
