// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/command.h"
#include "simulator/cli/commands/collective_concurrent.h"
#include "simulator/cli/commands/collective_document.h"
#include "simulator/cli/commands/collective_explain.h"
#include "simulator/cli/commands/collective_plot.h"
#include "simulator/cli/commands/collective_rows.h"
#include "simulator/cli/commands/collective_table.h"
#include "simulator/cli/console.h"
#include "simulator/cli/output.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

// Sizes between which --explain looks for switches, whatever --bytes says.
constexpr Bytes kLeastSwitch = 8;
constexpr Bytes kMostSwitch = 8_GiB;

void check_combinations(const Invocation& invocation) {
    if (invocation.has("--csv") && invocation.has("--json"))
        throw InputError("--csv", "cannot be combined with --json", "keep one of them");
    if (invocation.has("--csv") && invocation.has("--explain"))
        throw InputError("--csv", "cannot be combined with --explain", "--json --explain holds everything");
    const auto plot = invocation.value("--plot");
    if (!plot)
        return;
    if (!plot->ends_with(".svg"))
        throw InputError("--plot", fmt::format("the name must end in .svg, read \"{}\"", *plot));
    if (plot == invocation.value("--output"))
        throw InputError("--plot", "is the same file as --output");
    check_writable(*plot);
}

double average_busbw(const CollectiveReport& report) {
    double sum = 0;
    for (const CollectiveRow& row : report.rows)
        for (const CollectiveExplanation* e : {&row.out_of_place, &row.in_place})
            sum += bus_bandwidth(report.request, row.bytes, e->cost.time);
    return report.rows.empty() ? 0 : sum / (2.0 * static_cast<double>(report.rows.size()));
}

CollectiveReport make_report(const Invocation& invocation, const NcclModel& model,
                             CollectiveRequest request) {
    CollectiveReport report;
    Measurements measured;
    if (const auto file = invocation.value("--measured")) {
        measured = read_measurements(*file, request);
        report.measured_file = *file;
        if (!invocation.has("--bytes")) {
            request.sizes = {.step = "as measured"};
            for (const auto& [bytes, times] : measured)
                request.sizes.sizes.push_back(bytes);
        }
    }
    report.rows = collective_rows(model, request, measured);
    if (invocation.has("--explain") || invocation.has("--plot")) {
        const auto [least, most] =
            std::minmax_element(request.sizes.sizes.begin(), request.sizes.sizes.end());
        report.switches =
            find_switches(model, request, std::min(kLeastSwitch, *least), std::max(kMostSwitch, *most));
    }
    report.request = std::move(request);
    report.average_busbw = average_busbw(report);
    return report;
}

Output output_of(const Invocation& invocation, const CollectiveReport& report, const TextStyle& style) {
    const bool explain = invocation.has("--explain");
    Output output;
    if (invocation.has("--json") || invocation.has("--output"))
        output.file = output.json = document_text(collective_document(report, explain));
    output.text = invocation.has("--csv") ? collective_csv(report) : collective_table_text(report);
    if (explain)
        output.text += collective_explain_text(report, invocation.has("--in-place"), style);
    return output;
}

int run_concurrent(const Invocation& invocation, Console& console) {
    CollectiveRequest request = read_concurrent_request(invocation);
    const Output output = concurrent_output(invocation, request, console.style());
    for (const std::string& warning : request.warnings)
        console.warn(warning);
    write_output(invocation, output, console);
    return static_cast<int>(ExitCode::ok);
}

} // namespace

int run_collective(const Invocation& invocation, Console& console) {
    check_combinations(invocation);
    check_output(invocation);
    if (invocation.has("--concurrent"))
        return run_concurrent(invocation, console);
    CollectiveRequest request = read_collective_request(invocation);
    const NcclModel model(request.cluster, request.options);
    const CollectiveReport report = make_report(invocation, model, std::move(request));
    for (const std::string& warning : report.request.warnings)
        console.warn(warning);
    if (const auto plot = invocation.value("--plot")) {
        const HoldSignals held;
        write_file_atomically(*plot, svg_chart(collective_chart(report, model)));
    }
    write_output(invocation, output_of(invocation, report, console.style()), console);
    return static_cast<int>(ExitCode::ok);
}

} // namespace echosim
