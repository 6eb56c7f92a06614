// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "tests/traces/kineto_file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

const std::string kFolder = "../shared/data/inputs/kineto/";

void expect_import(const std::string& path, const nlohmann::json& expected) {
    const Imported imported = read_trace_events(path);
    check_trace(imported.trace, path);
    const auto figure = [&](const char* key, const char* other) {
        return expected.contains(key) ? expected[key].get<std::uint64_t>()
                                      : expected[other].get<std::uint64_t>();
    };
    EXPECT_EQ(imported.report.events, figure("events", "events_in_file"));
    EXPECT_EQ(imported.report.complete_events, figure("complete_events", "complete_events_in_file"));
    EXPECT_EQ(imported.report.kernels, figure("kernels", "kernels_in_file"));
    EXPECT_EQ(nlohmann::json(imported.report.warnings).dump(), expected["warnings"].dump());
}

// The offset in "FILE:OFFSET" is the one expected, or the start of the token that holds it.
void expect_refusal(const std::string& path, const nlohmann::json& expected) {
    try {
        read_trace_events(path);
        ADD_FAILURE() << "was accepted";
    } catch (const InputError& error) {
        const std::string where = error.problems().front().where;
        EXPECT_EQ(where, path + ":" + std::to_string(expected["error_byte_offset"].get<std::uint64_t>()));
    }
}

TEST(KinetoExpected, OddFilesBehaveAsTheirExpectationSays) {
    std::ifstream file(kFolder + "odd_own/expected.json");
    if (!file) {
        GTEST_SKIP() << kFolder << "odd_own is absent";
    }
    const nlohmann::json expected = nlohmann::json::parse(file);
    ASSERT_EQ(expected["files"].size(), 17U);
    for (const auto& [name, row] : expected["files"].items()) {
        SCOPED_TRACE(name);
        if (row["outcome"] == "refuse") {
            expect_refusal(kFolder + "odd_own/" + name, row);
        } else {
            expect_import(kFolder + "odd_own/" + name, row);
        }
    }
}

TEST(KinetoExpected, EveryRecordedFileImportsWithAllOfItsKernels) {
    if (!std::filesystem::exists(kFolder)) {
        GTEST_SKIP() << kFolder << " is absent";
    }
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
        const std::string path = entry.path().string();
        if (path.find(".json") == std::string::npos || path.find("odd_own") != std::string::npos) {
            continue;
        }
        SCOPED_TRACE(path);
        ++files;
        const Imported imported = read_trace_events(path);
        check_trace(imported.trace, path);
        std::uint64_t kernels = 0;
        for (const TraceStream& stream : imported.trace.streams) {
            for (const EventKind kind : stream.events.kind) {
                kernels += kind == EventKind::kernel || kind == EventKind::comm ? 1U : 0U;
            }
        }
        EXPECT_EQ(kernels, imported.report.kernels);
    }
    EXPECT_GE(files, 32);
}

} // namespace
} // namespace echosim
