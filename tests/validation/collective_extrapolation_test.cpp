// SPDX-License-Identifier: Apache-2.0
#include "comm_models/calibration_file.h"
#include "comm_models/log_samples.h"
#include "comm_models/nccl_model.h"
#include "comm_models/nccl_tests_log.h"
#include "simulator/core/files.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>

// NetX-lab/Echo's nccl-tests logs: all_reduce of float on A100 nodes with 8 x 200 Gb/s InfiniBand, NCCL 2.10.
// Fitted to 2, 4, 8 and 16 GPUs, the model has to say what 32 GPUs take. One row of that log is noise: 2 KiB
// in 147 us between 53 us for 1 KiB and 59 us for 4 KiB.
namespace echosim::nccl {
namespace {

constexpr const char* kLogs = "../shared/data/tables/echo-nccl-test-log/";

CalibrationData samples_of(std::initializer_list<int> gpus) {
    const LogSettings settings{find_cluster("ndv4-a100-40g"), 0, "2.10"};
    CalibrationData data;
    LogSamples log;
    for (const int n : gpus) {
        const std::string path = fmt::format("{}nccl_{}.log", kLogs, n);
        for (const NcclTestsTable& table : read_nccl_tests(read_text_file(path), path))
            add_samples(table, path, settings, data, log);
    }
    return data;
}

double mean_error(const CalibrationData& data, std::shared_ptr<const ModelConstants> constants) {
    const NcclModel model(data.clusters.at(0), {{}, {}, std::move(constants)});
    double sum = 0;
    for (const CollectiveSample& sample : data.samples)
        sum += std::abs(model.estimate(sample.collective, sample.group).time * 1e6 / sample.us - 1);
    return 100 * sum / static_cast<double>(data.samples.size());
}

TEST(CollectiveExtrapolationData, FittedUpTo16GpusPredicts32) {
    if (!std::filesystem::exists(kLogs))
        GTEST_SKIP() << kLogs << " is not there";
    const CalibrationData known = samples_of({2, 4, 8, 16});
    const CalibrationData asked = samples_of({32});
    ASSERT_EQ(known.clusters.size(), 4U);
    ASSERT_EQ(asked.samples.size(), 22U);
    const ModelConstants start = derived_constants(); // knows none of the logs
    const auto constants =
        std::make_shared<const ModelConstants>(with_calibration(start, calibrate(known, start).constants));
    const double fitted = mean_error(known, constants), predicted = mean_error(asked, constants);
    RecordProperty("predicted", std::to_string(predicted));
    EXPECT_LE(fitted, 6);
    EXPECT_LE(predicted, 8);
}

} // namespace
} // namespace echosim::nccl
