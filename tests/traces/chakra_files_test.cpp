// SPDX-License-Identifier: Apache-2.0
#include "tests/traces/chakra_wire.h"
#include "tests/traces/sample_trace.h"
#include "traces/chakra.h"

#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const std::string kInputs = "../shared/data/inputs/";

// What a decoder of its own finds in a file.
struct Counted {
    std::uint64_t nodes = 0;
    std::uint64_t dependencies = 0;
    std::uint64_t device_work = 0; // COMP, COMM_* without is_cpu_op, or with false
};

Counted count_in(const std::string& path) {
    const std::vector<std::byte> bytes = read_bytes(path);
    Counted counted;
    bool first = true;
    for (const std::string& message :
         messages_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) {
        if (std::exchange(first, false)) {
            continue;
        }
        ++counted.nodes;
        bool on_device = true;
        for (const WireField& field : fields_of(message)) {
            if (field.number == 4 || field.number == 5) {
                counted.dependencies += field.wire == 2 ? packed(field.bytes).size() : 1;
            } else if (field.number == 10) {
                const std::vector<WireField> parts = fields_of(field.bytes);
                on_device = on_device && !(parts[0].bytes == "is_cpu_op" && parts[1].value != 0);
            }
        }
        counted.device_work += on_device ? 1 : 0;
    }
    return counted;
}

void expect_counts(const std::string& path, const Imported& result) {
    const Counted counted = count_in(path);
    EXPECT_EQ(result.report.events, counted.nodes) << path;
    EXPECT_EQ(result.trace.event_count(), counted.nodes) << path;
    EXPECT_EQ(result.report.kernels, counted.device_work) << path;
    const auto warned = [&](const char* kind) {
        const auto found = result.report.warnings.find(kind);
        return found == result.report.warnings.end() ? 0 : found->second;
    };
    EXPECT_EQ(result.trace.flows.size() + warned("missing_dependency") + warned("self_dependency"),
              counted.dependencies)
        << path;
}

TEST(ChakraFiles, ResnetOfAConverterOf2023) {
    const std::string path = kInputs + "chakra/chakra.0.et";
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << path << " is not there";
    }
    const Imported result = read_chakra(path);
    expect_counts(path, result);
    EXPECT_EQ(result.report.events, 3664U);
    EXPECT_EQ(result.report.kernels, 1216U);
    EXPECT_EQ(result.trace.comm_ops.size(), 7U);
    EXPECT_THAT(result.report.warnings,
                ElementsAre(Pair("dependency_cycle", 1628), Pair("missing_dependency", 1277),
                            Pair("self_dependency", 383)));
    const std::string copy = temporary_path(".0.et");
    write_chakra(result.trace, copy);
    EXPECT_TRUE(read_chakra(copy).trace == result.trace);
}

TEST(ChakraFiles, WorkloadsOfAstraSim) {
    const std::string folder = kInputs + "astra-sim";
    if (!std::filesystem::exists(folder)) {
        GTEST_SKIP() << folder << " is not there";
    }
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.path().extension() != ".et") {
            continue;
        }
        const Imported result = read_chakra(entry.path().string());
        expect_counts(entry.path().string(), result);
        EXPECT_THAT(result.report.warnings, IsEmpty());
        // NAME.RANK.et
        EXPECT_EQ(expand_ranks(result.trace.classes.at(0).ranks),
                  std::vector<int>{std::stoi(entry.path().stem().extension().string().substr(1))});
        ++files;
    }
    EXPECT_EQ(files, 120U);
}

struct JsonFile {
    const char* name;
    std::uint64_t events;
    std::size_t collectives;
    std::size_t control;  // all nodes but the root
    std::size_t backward; // nodes with an fw_parent
};

// Counted with Python's json.
TEST(ChakraFiles, ExecutionTracesOfPyTorch) {
    std::vector<JsonFile> files{{"linear_et.json.gz", 931, 0, 930, 108},
                                {"resnet_1gpu_et_1.0.3-chakra.0.0.4.json.gz", 14391, 21, 14390, 1026}};
    if (!std::filesystem::exists(kInputs + "chakra/" + files[0].name)) {
        GTEST_SKIP() << kInputs << "chakra is not there";
    }
    for (const JsonFile& file : files) {
        const Trace trace = read_chakra(kInputs + "chakra/" + file.name).trace;
        const auto count = [&](FlowKind kind) {
            return static_cast<std::size_t>(std::count_if(
                trace.flows.begin(), trace.flows.end(), [&](const Flow& flow) { return flow.kind == kind; }));
        };
        EXPECT_EQ(trace.event_count(), file.events) << file.name;
        EXPECT_EQ(trace.comm_ops.size(), file.collectives) << file.name;
        EXPECT_EQ(count(FlowKind::control), file.control) << file.name;
        EXPECT_EQ(count(FlowKind::forward_backward), file.backward) << file.name;
    }
}

TEST(ChakraFiles, EightRanksOfDlrm) {
    const std::string folder = kInputs + "chakra/dlrm_8rank_pytorch_et/";
    if (!std::filesystem::exists(folder)) {
        GTEST_SKIP() << folder << " is not there";
    }
    for (int rank = 0; rank < 8; ++rank) {
        const Imported result = read_chakra(folder + "dlrm_eg_" + std::to_string(rank) + ".json");
        EXPECT_THAT(result.report.warnings, IsEmpty());
        EXPECT_EQ(expand_ranks(result.trace.classes.at(0).ranks), std::vector<int>{rank});
        // 4 all_to_allv, 1 all_to_all, 3 allreduce; the largest of the gradients 394241 floats
        EXPECT_EQ(result.trace.comm_ops.size(), 8U);
        EXPECT_EQ(result.trace.comm_ops.at(4).bytes, 394'241U * 4);
    }
}

TEST(ChakraFiles, ChakraJson) {
    const std::string path = kInputs + "chakra/small_chakra.0.json";
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << path << " is not there";
    }
    const Imported result = read_chakra(path);
    EXPECT_EQ(result.report.events, 7U);
    EXPECT_EQ(result.report.kernels, 2U); // 430 and 435
    EXPECT_THAT(result.report.warnings, ElementsAre(Pair("missing_dependency", 7)));
    EXPECT_EQ(result.trace.flows.size(), 6U);
}

} // namespace
} // namespace echosim::test
