// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/text.h"
#include "traces/nccl_names.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

TEST(NcclNames, KernelsOfAllReleases) {
    const NcclKernelName old = parse_nccl_kernel("ncclAllReduceRingLLKernel_sum_f16(ncclColl)");
    EXPECT_EQ(old.kind, CollectiveKind::all_reduce);
    EXPECT_EQ(old.algorithm, Algorithm::ring);
    EXPECT_EQ(old.protocol, Protocol::ll);
    EXPECT_EQ(old.dtype, DType::fp16);
    const NcclKernelName middle =
        parse_nccl_kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, int)");
    EXPECT_EQ(middle.kind, CollectiveKind::send_recv);
    EXPECT_EQ(middle.protocol, Protocol::simple);
    EXPECT_EQ(middle.dtype, kNoDType); // int8 stands for data of every type
    EXPECT_EQ(parse_nccl_kernel("ncclKernel_AllReduce_RING_LL_Sum_int8_t(int)").dtype, DType::int8);
    const NcclKernelName now =
        parse_nccl_kernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL128(ncclDevKernelArgs)");
    EXPECT_EQ(now.kind, CollectiveKind::reduce_scatter);
    EXPECT_EQ(now.protocol, Protocol::ll128);
    EXPECT_EQ(now.dtype, DType::fp32);
    const NcclKernelName tree = parse_nccl_kernel("ncclDevKernel_AllReduce_Sum_bf16_NVLS_TREE_SIMPLE(int)");
    EXPECT_EQ(tree.algorithm, Algorithm::nvls_tree);
    const NcclKernelName rccl = parse_nccl_kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)");
    EXPECT_EQ(rccl.kind, kNoCollective);
    EXPECT_EQ(rccl.dtype, kNoDType);
    EXPECT_TRUE(is_nccl_kernel("void ncclDevKernel_Generic_4(int)"));
    EXPECT_FALSE(is_nccl_kernel("gemm_nccl"));
}

TEST(NcclNames, CollectivesOfTorch) {
    EXPECT_EQ(collective_named("_allgather_base")->kind, CollectiveKind::all_gather);
    EXPECT_FALSE(collective_named("_allgather_base")->plain);
    EXPECT_TRUE(collective_named("allreduce")->plain);
    EXPECT_EQ(collective_named("nccl:all_to_all")->kind, CollectiveKind::all_to_all);
    EXPECT_EQ(collective_named("all_to_allv")->kind, CollectiveKind::all_to_all);
    EXPECT_EQ(collective_named("recv")->direction, Direction::receive);
    EXPECT_EQ(collective_named("send")->kind, CollectiveKind::send_recv);
    EXPECT_FALSE(collective_named("barrier"));
}

TEST(NcclNames, MessagesAreCountedAsNcclTestsDoes) {
    EXPECT_EQ(message_bytes(CollectiveKind::all_gather, 100, 800, 8, 2), 1600U);     // receive buffer
    EXPECT_EQ(message_bytes(CollectiveKind::all_gather, 100, 0, 8, 2), 1600U);       // in x 8 ranks
    EXPECT_EQ(message_bytes(CollectiveKind::reduce_scatter, 800, 100, 8, 2), 1600U); // send buffer
    EXPECT_EQ(message_bytes(CollectiveKind::all_to_all, 800, 640, 8, 4), 3200U);
    EXPECT_EQ(message_bytes(CollectiveKind::all_reduce, 100, 100, 8, 4), 400U);
    EXPECT_EQ(element_type("c10::BFloat16")->bytes, 2U);
    EXPECT_EQ(element_type("Double")->bytes, 8U);
    EXPECT_FALSE(element_type("Double")->exact);
}

TEST(KinetoText, DecimalsAreExact) {
    EXPECT_EQ(decimal_ns("1708722576381804.123", 1000), 1708722576381804123);
    EXPECT_EQ(decimal_ns("0.0004", 1000), 0);
    EXPECT_EQ(decimal_ns("0.0005", 1000), 1);
    EXPECT_EQ(decimal_ns("12e2", 1000), 1200000);
    EXPECT_EQ(decimal_ns("\"7\"", 1), 7);
    EXPECT_EQ(decimal_ns("9223372036854775807", 1), 9223372036854775807);
    EXPECT_FALSE(decimal_ns("9223372036854775808", 1));
    EXPECT_FALSE(decimal_ns("1e400", 1000));
    EXPECT_EQ(decimal_ns("1e-999999999999", 1000), 0);
    EXPECT_FALSE(decimal_ns("1.", 1000));
    EXPECT_FALSE(decimal_ns("nan", 1000));
}

} // namespace
} // namespace echosim
