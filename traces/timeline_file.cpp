// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline_file.h"

#include "simulator/core/error.h"
#include "traces/chrome_json.h"

namespace echosim {

void check_timeline_path(const std::string& path) {
    const std::string_view text = path;
    if (!text.ends_with(".etr") && !text.ends_with(".json") && !text.ends_with(".json.gz")) {
        throw InputError(path,
                         "a timeline ends in .etr (echosim-viewer), .json or .json.gz (ui.perfetto.dev)");
    }
}

void write_timeline(const Trace& trace, const std::string& path, const TimelineOptions& options) {
    check_timeline_path(path);
    if (std::string_view(path).ends_with(".etr")) {
        write_etr(trace, path, options.codec);
    } else {
        write_perfetto(trace, path, PerfettoOptions{.force = options.force});
    }
}

} // namespace echosim
