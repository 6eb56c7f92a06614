// SPDX-License-Identifier: Apache-2.0
#include "interference/kernel_names.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace echosim {
namespace {

struct Named {
    const char* name;
    const char* family;
    KernelClass kernel_class;
};

constexpr const char* kElementwise =
    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
    "namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar)::{lambda()#1}::operator()() "
    "const::{lambda(float)#1}, at::detail::Array<char*, 2> >(int, at::detail::Array<char*, 2>)";
constexpr const char* kReduceSplitK =
    "void "
    "cutlass_cudnn_train::Kernel<cutlass_cudnn_train::reduction::kernel::ReduceSplitK<cutlass_cudnn_train::"
    "MatrixShape<4, 128>, (cutlass_cudnn_train::FloatRoundStyle)2> >(cutlass_cudnn_train::Params)";
constexpr const char* kFlash3 =
    "void "
    "cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloop<2, "
    "cute::tuple<cute::C<1>, cute::C<1> > > > > >(flash::FlashAttnFwdSm90::Params)";
constexpr const char* kTensile =
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256_MI16x16x1_SN_LDSB1";
constexpr const char* kXmma =
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_"
    "execute_segment_k_off_kernel__5x_cublas";
constexpr const char* kGemv =
    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, false>(float)";

const Named kNames[] = {
    // names as Echo-slowdown has them: no template arguments
    {"ampere_sgemm_128x64_tn", "ampere_sgemm_tn", KernelClass::gemm},
    {"ampere_sgemm_64x32_sliced1x4_nt", "ampere_sgemm_sliced_nt", KernelClass::gemm},
    {"GammaBetaBackwardCUDAKernel_32x32", "GammaBetaBackwardCUDAKernel", KernelClass::norm_wgrad},
    {"layer_norm_grad_input_kernel_vectorized", "layer_norm_grad_input_kernel_vectorized", KernelClass::norm},
    {"fmha_cutlassB_f32_aligned_64x64_k64_dropout_sm80", "fmha_cutlassB_f_aligned_k_dropout_sm",
     KernelClass::attention},
    {"CatArrayBatchedCopy_aligned16_contig", "CatArrayBatchedCopy_aligned_contig", KernelClass::copy},
    {"DeviceRadixSortOnesweepKernel", "DeviceRadixSortOnesweepKernel", KernelClass::other},
    // demangled
    {kElementwise, "vectorized_elementwise_kernel", KernelClass::elementwise},
    {kReduceSplitK, "ReduceSplitK", KernelClass::reduction},
    {kFlash3, "FlashAttnFwdSm", KernelClass::attention},
    {kGemv, "gemvx::kernel", KernelClass::gemm},
    {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(Params)",
     "cutlass_tensorop_sgemm_tn_align", KernelClass::gemm},
    {"void (anonymous namespace)::softmax_warp_forward<float, float, 10, true>(float*, float const*)",
     "softmax_warp_forward", KernelClass::softmax},
    {"void <unnamed>::softmax_warp_forward<float, (int)6, (bool)0>(T2 *, const T1 *)", "softmax_warp_forward",
     KernelClass::softmax},
    {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float, int> >(long)",
     "multi_tensor_apply_kernel", KernelClass::optimizer},
    {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "rotary_embedding_kernel",
     KernelClass::elementwise},
    {"void transformer_engine::normalization::rmsnorm_bwd_finalize_general_kernel<float>(int)",
     "rmsnorm_bwd_finalize_general_kernel", KernelClass::norm_wgrad},
    {"void bounds_check_indices_kernel<long>(fbgemm_gpu::Accessor)", "bounds_check_indices_kernel",
     KernelClass::other},
    // tiles of Tensile and xmma, mangled names, Triton
    {kTensile, "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs", KernelClass::gemm},
    {kXmma, "sm_xmma_gemm_bfbf_bff_f_tn_n", KernelClass::gemm},
    {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", "nvjet_hsh_h_bz_coopA_NNT", KernelClass::gemm},
    {"_ZN7example16fused_layer_normIfEEvPT_", "fused_layer_norm", KernelClass::norm},
    {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0EcutoffZZ", "add_rmsnorm_quant_kernel",
     KernelClass::norm},
    {"_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadbl",
     "ImplicitGemmConvolution", KernelClass::gemm},
    {"triton_red_fused_add_mean_mul_7", "triton_red_fused_add_mean_mul", KernelClass::reduction},
    {"triton_poi_fused_silu_3", "triton_poi_fused_silu", KernelClass::elementwise},
};

TEST(KernelNames, FamilyAndClass) {
    for (const Named& named : kNames) {
        EXPECT_EQ(kernel_family(named.name), named.family) << named.name;
        EXPECT_EQ(kernel_class_of(named.name), named.kernel_class)
            << named.name << " is " << to_string(kernel_class_of(named.name));
    }
}

// Names that nobody would write must not hang or read past the end.
TEST(KernelNames, OddNames) {
    for (const char* name :
         {"", "123", "<<<<", ">>>>", "((((", "a<b", "a>b", "operator<", "_Z", "_ZN", "_ZN99999999999",
          "_ZN3ab", "Kernel<Kernel<Kernel<Kernel<Kernel<x> > > > >", "decltype(auto) f(int)"}) {
        EXPECT_FALSE(kernel_family(name).empty()) << name;
    }
    EXPECT_EQ(kernel_family(""), "unnamed");
    EXPECT_EQ(kernel_family("decltype(auto) f(int)"), "f");
    const std::string deep = std::string(100'000, '<') + "x" + std::string(100'000, '>');
    EXPECT_EQ(kernel_family("k" + deep), "k");
}

TEST(KernelNames, TensorCoresAndStreamK) {
    EXPECT_TRUE(uses_tensor_cores("cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4"));
    EXPECT_TRUE(uses_tensor_cores("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT"));
    EXPECT_TRUE(uses_tensor_cores(kXmma));
    EXPECT_FALSE(uses_tensor_cores("ampere_sgemm_128x64_tn"));
    EXPECT_FALSE(uses_tensor_cores("fmha_cutlassB_f32_aligned_64x64_k64_dropout_sm80"));
    EXPECT_FALSE(uses_tensor_cores("vectorized_elementwise_kernel"));
    EXPECT_TRUE(is_stream_k("sm80_xmma_gemm_streamk_bf16"));
    EXPECT_FALSE(is_stream_k("sm80_xmma_gemm_splitk"));
}

// The 404 overlapped rows of Echo-slowdown have 24 families.
TEST(KernelNames, FamiliesOfEchoSlowdown) {
    const std::string path = "../shared/data/tables/echo-slowdown/merged_features.csv";
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << path << " is not here";
    }
    std::ifstream file(path);
    std::set<std::string> families;
    int rows = 0;
    std::string line;
    for (std::getline(file, line); std::getline(file, line);) {
        std::istringstream fields(line);
        std::string id, name, alone, duration, overlap;
        std::getline(fields, id, ',');
        std::getline(fields, name, ',');
        std::getline(fields, alone, ',');
        std::getline(fields, duration, ',');
        std::getline(fields, overlap, ',');
        if (std::stod(overlap) > 0) {
            families.insert(kernel_family(name));
            ++rows;
        }
    }
    EXPECT_EQ(rows, 404);
    EXPECT_EQ(families.size(), 24U);
}

} // namespace
} // namespace echosim
