// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

// Files of a test in a folder of its own, and what imported graphs look like in words.
namespace echosim {

class WorkloadFiles {
  public:
    WorkloadFiles() {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        folder_ = std::filesystem::temp_directory_path() /
                  (std::string("echosim_") + test->test_suite_name() + "_" + test->name());
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    ~WorkloadFiles() { std::filesystem::remove_all(folder_); }
    WorkloadFiles(const WorkloadFiles&) = delete;
    WorkloadFiles& operator=(const WorkloadFiles&) = delete;

    std::string write(const std::string& name, std::string_view text) const {
        const std::filesystem::path path = folder_ / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
        return path.string();
    }

  private:
    std::filesystem::path folder_;
};

// "attention_layer" or, of a communication, "tp ALLREDUCE".
inline std::string event_text(const Trace& trace, std::uint64_t ref) {
    const Event event = trace.streams.at(stream_of(ref)).events.row(index_of(ref));
    std::string text(trace.text(event.name));
    if (event.kind == EventKind::comm)
        text = std::string(trace.text(trace.comm_ops.at(event.ext).group)) + " " + text;
    return text;
}

// Each flow as "from > to", in the order of the file.
inline std::vector<std::string> flow_texts(const Trace& trace) {
    std::vector<std::string> texts;
    for (const Flow& flow : trace.flows)
        texts.push_back(event_text(trace, flow.from) + " > " + event_text(trace, flow.to));
    return texts;
}

inline std::vector<std::string> stream_names(const Trace& trace) {
    std::vector<std::string> names;
    for (const TraceStream& stream : trace.streams)
        names.emplace_back(trace.text(stream.name));
    return names;
}

// The first event of this name.
inline Event event_named(const Trace& trace, std::string_view name) {
    for (const TraceStream& stream : trace.streams)
        for (std::size_t i = 0; i < stream.events.size(); ++i)
            if (trace.text(stream.events.row(i).name) == name)
                return stream.events.row(i);
    ADD_FAILURE() << "no event " << name;
    return {};
}

} // namespace echosim
