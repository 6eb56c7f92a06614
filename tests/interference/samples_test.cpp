// SPDX-License-Identifier: Apache-2.0
#include "interference/samples.h"
#include "simulator/catalogue/gpu.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>

namespace echosim {
namespace {

const std::string kEchoHeader =
    "id,kShortName,ground_truth,duration,overlap_ratio,slowdown,Compute throughput,SM,Memory throughput,DRAM "
    "throughput,Achieved occupancy,Maximum occupancy,L1 hit rate,L2 hit rate\n";
const std::string kEchoRow =
    "7,ampere_sgemm_128x64_tn,100000,130000,0.5,0.6,80.0,108,40.0,30.0,25.0,50.0,1,2\n";

const std::string kOwnHeader =
    "kernel,gpu,sms,nccl,collective,bytes,ctas,comm_hbm_share,nvlink_share,order,high_priority,grid,block,"
    "registers,shared_bytes,blocks_per_sm,hbm_share,compute_share,tensor_cores,persistent,alone_us,"
    "overlapped_us,"
    "overlap_ratio,comm_alone_us,comm_overlapped_us,repeats\n";
const std::string kOwnRow = "\"void copy<float, 4>(float*)\",NVIDIA H100 80GB "
                            "HBM3,132,2.21.5,all_reduce,67108864,24,0.1,0.4,comm_first,0,"
                            "64x33,16x16,32,49152,4,0.8,0.1,0,1,200,250,0.9,400,450,30\n";

// The problems of reading `text`, as one text.
std::string errors_of(const std::string& text, const Gpu* gpu = nullptr) {
    try {
        read_interference_csv(text, "s.csv", gpu);
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// 80 % compute, 30 % DRAM; limit 50 % of 2,048 threads = 1,024 = 4 blocks of 256; 25 % achieved of 50 % is
// half of what fits; 130 / 100 us = 1.3.
TEST(InterferenceCsv, EchoRow) {
    const auto read = read_interference_csv(kEchoHeader + kEchoRow, "echo.csv");
    ASSERT_EQ(read.samples.size(), 1U);
    const InterferenceSample& s = read.samples[0];
    EXPECT_EQ(s.id, "7");
    EXPECT_EQ(s.family, "ampere_sgemm_tn");
    EXPECT_EQ(s.kernel.kernel_class, KernelClass::gemm);
    EXPECT_DOUBLE_EQ(s.time_alone, 100e-6);
    EXPECT_DOUBLE_EQ(s.kernel.time, 100e-6);
    EXPECT_DOUBLE_EQ(s.factor(), 1.3);
    EXPECT_DOUBLE_EQ(s.overlap, 0.5);
    EXPECT_DOUBLE_EQ(s.sms, 108);
    EXPECT_DOUBLE_EQ(s.kernel.hbm_share, 0.3);
    EXPECT_DOUBLE_EQ(s.kernel.compute_share, 0.8);
    EXPECT_DOUBLE_EQ(s.kernel.blocks_per_sm, 4);
    EXPECT_DOUBLE_EQ(s.kernel.occupancy_ratio, 0.5);
    EXPECT_DOUBLE_EQ(s.kernel.blocks, 0);
    EXPECT_DOUBLE_EQ(s.load.ctas, 2);
    EXPECT_DOUBLE_EQ(s.load.hbm_share, 0.07);
    EXPECT_FALSE(s.kernel.tensor_cores);
    EXPECT_FALSE(read.notes.empty()) << "what is assumed is said";
}

TEST(InterferenceCsv, OwnRow) {
    const auto read = read_interference_csv(kOwnHeader + kOwnRow, "own.csv");
    ASSERT_EQ(read.samples.size(), 1U);
    const InterferenceSample& s = read.samples[0];
    EXPECT_EQ(s.id, "own.csv:2");
    EXPECT_EQ(s.kernel_name, "void copy<float, 4>(float*)");
    EXPECT_EQ(s.family, "copy");
    EXPECT_EQ(s.gpu, "h100-sxm");
    EXPECT_EQ(s.nccl_version, "2.21.5");
    EXPECT_EQ(s.communication, "all_reduce 24 CTAs 64.0 MiB, communication first");
    EXPECT_DOUBLE_EQ(s.kernel.blocks, 64 * 33);
    EXPECT_EQ(s.kernel.threads_per_block, 256);
    EXPECT_EQ(s.kernel.registers_per_thread, 32);
    EXPECT_DOUBLE_EQ(s.kernel.blocks_per_sm, 4);
    EXPECT_TRUE(s.kernel.persistent);
    EXPECT_FALSE(s.load.kernel_first);
    EXPECT_DOUBLE_EQ(s.load.ctas, 24);
    EXPECT_DOUBLE_EQ(s.load.hbm_share, 0.1);
    EXPECT_DOUBLE_EQ(s.load.nvlink_share, 0.4);
    EXPECT_DOUBLE_EQ(s.factor(), 1.25);
    EXPECT_DOUBLE_EQ(s.comm_time_alone, 400e-6);
    EXPECT_DOUBLE_EQ(s.comm_time_overlapped, 450e-6);
}

// Without blocks_per_sm: 256 threads of 132 KiB each fit once into the H100's 228 KiB of shared memory.
TEST(InterferenceCsv, OwnDefaults) {
    const std::string text =
        "overlapped_us, ALONE_US ,Kernel,ctas,comm hbm share,order,hbm_share,overlap_ratio,block,"
        "shared_bytes\n20,10,k,8,0.05,kernel_first,0.5,1,256,135168\n";
    const auto read = read_interference_csv(text, "own.csv", &find_gpu("h100-sxm"));
    ASSERT_EQ(read.samples.size(), 1U);
    EXPECT_EQ(read.samples[0].gpu, "h100-sxm");
    EXPECT_DOUBLE_EQ(read.samples[0].sms, 132);
    EXPECT_DOUBLE_EQ(read.samples[0].kernel.blocks_per_sm, 1);
    EXPECT_TRUE(read.samples[0].load.kernel_first);
    EXPECT_DOUBLE_EQ(read.samples[0].factor(), 2);
    const std::string noted = read.notes.empty() ? "" : read.notes.back();
    EXPECT_TRUE(has(noted, "defaults are taken") && has(noted, "registers")) << noted;
    EXPECT_TRUE(has(errors_of(text), "own") || has(errors_of(text), "--gpu"))
        << "neither sms nor GPU is known";
}

TEST(InterferenceCsv, QuotesLineEndsAndComments) {
    const std::string text = "\xef\xbb\xbf# measured on Tuesday\r\n\r\n" +
                             kOwnHeader.substr(0, kOwnHeader.size() - 1) + ",\"a, b\"\r\n" +
                             kOwnRow.substr(0, kOwnRow.size() - 1) + ",\"x \"\"y\"\"\r\nz\"\r\n" +
                             kOwnRow.substr(0, kOwnRow.size() - 1) + ",";
    const auto read = read_interference_csv(text, "q.csv");
    ASSERT_EQ(read.samples.size(), 2U);
    EXPECT_EQ(read.samples[0].id, "q.csv:4");
    EXPECT_EQ(read.samples[1].id, "q.csv:6") << "the quoted field spans a line";
    EXPECT_TRUE(
        std::ranges::any_of(read.notes, [](const std::string& n) { return has(n, "not used: a, b"); }));
}

struct Wrong {
    const char* field; // of kEchoRow
    const char* with;
    const char* message;
};

TEST(InterferenceCsv, WrongFields) {
    const Wrong cases[] = {
        {"100000", "abc", "s.csv:2: ground_truth: \"abc\" is no number"},
        {"100000", "-5", "s.csv:2: ground_truth: -5 ns is not allowed: above 0 ns"},
        {"100000", "0", "s.csv:2: ground_truth: 0 ns is not allowed: above 0 ns"},
        {"100000", "nan", "\"nan\" is no number"},
        {"100000", "1e400", "\"1e400\" is no number"},
        {"100000", "", "s.csv:2: ground_truth: is empty"},
        {"130000", "12us", "s.csv:2: duration: \"12us\" is no number"},
        {"0.5,0.6", "1.5,0.6", "s.csv:2: overlap_ratio: 1.5 is not allowed: at most 1"},
        {"0.5,0.6", "-0.1,0.6", "s.csv:2: overlap_ratio: -0.1 is not allowed: at least 0"},
        {"30.0", "130", "s.csv:2: DRAM throughput: 130 % is not allowed: at most 100 %"},
        {"50.0", "0", "s.csv:2: Maximum occupancy: 0 % is not allowed: above 0 %"},
        {",1,2", ",1", "s.csv:2: 13 fields; the header has 14"},
        {",1,2", ",1,2,3", "s.csv:2: 15 fields; the header has 14"},
        {"7,ampere", "7,\"ampere", "s.csv:2: a quotation mark is not closed"},
    };
    for (const Wrong& wrong : cases) {
        std::string row = kEchoRow;
        row.replace(row.find(wrong.field), std::string(wrong.field).size(), wrong.with);
        const std::string errors = errors_of(kEchoHeader + row);
        EXPECT_TRUE(has(errors, wrong.message)) << wrong.message << "\n" << errors;
    }
}

TEST(InterferenceCsv, WrongWordsOfOurForm) {
    const Wrong cases[] = {
        {"comm_first", "first", "s.csv:2: order: \"first\" is neither kernel_first nor comm_first"},
        {"all_reduce", "allreduce", "s.csv:2: collective: \"allreduce\" is no collective"},
        {"64x33", "64x", "s.csv:2: grid: \"64x\" is no size: 1024 or 32x32x1"},
        {"64x33", "1x2x3x4", "s.csv:2: grid: \"1x2x3x4\" is no size"},
        {"16x16", "64x32", "s.csv:2: block: 2048 threads are not allowed: at most 1024"},
        {",0,1,200", ",0,maybe,200", "s.csv:2: persistent: \"maybe\" is neither 0 nor 1"},
    };
    for (const Wrong& wrong : cases) {
        std::string row = kOwnRow;
        row.replace(row.find(wrong.field), std::string(wrong.field).size(), wrong.with);
        const std::string errors = errors_of(kOwnHeader + row);
        EXPECT_TRUE(has(errors, wrong.message)) << wrong.message << "\n" << errors;
    }
}

TEST(InterferenceCsv, MissingColumns) {
    std::string header = kEchoHeader;
    header.replace(header.find("ground_truth"), 12, "ground_trut");
    const std::string errors = errors_of(header + kEchoRow);
    EXPECT_TRUE(has(errors, "s.csv:1: the column \"ground_truth\" is missing; did you mean \"ground_trut\"?"))
        << errors;
    EXPECT_TRUE(has(errors_of("a,b\n1,2\n"), "names no columns of interference samples"));
    EXPECT_TRUE(has(errors_of("id," + kEchoHeader + "1," + kEchoRow), "the column \"id\" stands twice"));
    EXPECT_TRUE(has(errors_of(kEchoHeader), "no rows"));
    EXPECT_TRUE(has(errors_of("\n\n"), "holds no rows"));
}

// All problems at once, and no more than twenty.
TEST(InterferenceCsv, CollectsProblems) {
    std::string text = kEchoHeader;
    for (int i = 0; i < 100; ++i) {
        text += "7,k,x,1,0.5,0,1,108,1,1,1,1,1,1\n";
    }
    const std::string errors = errors_of(text);
    EXPECT_TRUE(has(errors, "s.csv:2: ") && has(errors, "s.csv:21: ")) << errors;
    EXPECT_FALSE(has(errors, "s.csv:22: ")) << errors;
    EXPECT_TRUE(has(errors, "reading stopped"));
}

// Of 619 rows 404 are overlapped, in 24 families; 124 of these ran faster than alone.
TEST(InterferenceCsv, EchoSlowdownFile) {
    const std::string path = "../shared/data/tables/echo-slowdown/merged_features.csv";
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << path << " is not here";
    }
    const auto read = read_interference_csv(read_text_file(path), path);
    EXPECT_EQ(read.samples.size(), 619U);
    const auto overlapped = [](const InterferenceSample& s) { return s.overlap > 0; };
    EXPECT_EQ(std::ranges::count_if(read.samples, overlapped), 404);
    EXPECT_EQ(std::ranges::count_if(
                  read.samples, [&](const InterferenceSample& s) { return overlapped(s) && s.factor() < 1; }),
              124);
    // few-block kernels: the occupancy ratio is .55 or less in 120 of the overlapped rows
    EXPECT_EQ(std::ranges::count_if(read.samples,
                                    [&](const InterferenceSample& s) {
                                        return overlapped(s) && s.kernel.occupancy_ratio <= 0.55;
                                    }),
              120);
}

} // namespace
} // namespace echosim
