// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/gpu.h"
#include "simulator/core/footprint.h"
#include "simulator/kernels/kernel_time.h"

// What a kernel of a simulated graph occupies of its GPU: grid, blocks of an SM, HBM and arithmetic share.
//
// All kernels, with t the time alone, B the bytes and F the operations of KernelTime:
//   hbm_share = B / (t BW), compute_share = F / (t peak of its type), both at most 1.
//
// GEMM m x n x k, `batch` of them (cuBLAS names its tiles in the kernel names: ampere_bf16_s16816gemm_bf16_
// 256x128_..., sm90_xmma_gemm_..._tilesize128x256x64, nvjet_tst_128x256_...):
//   T = ceil(m / bm) ceil(n / bn) batch tiles, of 256 x 128 with the long edge along the longer side, and of
//   the next smaller of kGemmTiles while T is below the number of SMs M. Where T is below M / 2 all the same
//   the sum over k is split over s = 2, 4, 8 blocks (split-K) until s T >= M / 2.
//   Volta, Ampere, Ada: a block a tile. 256 x 128: 256 threads, on Ampere 147 KB of shared memory (three
//   stages of 64 columns of k), q = 1 block an SM. 128 x 128: 128 threads, 98 KB, q = 1. Smaller: 128
//   threads, q = 2 (registers).
//   Hopper, Blackwell: persistent, min(M, s T) blocks of 384 threads (a warp group that copies, two that
//   multiply) and about 200 KB each loop over the tiles, q = 1.
//
// Attention, b sequences, h heads: T = ceil(seq / 128) h b; forward over blocks of query rows, backward over
// blocks of key rows (FlashAttention 2, arXiv 2307.08691, section 3.2).
//   FlashAttention 2: forward 128 threads, 64 KB at head dimension 128, q = 2; backward 256 threads, 144 KB,
//   q = 1. FlashAttention 3 and cuDNN (Hopper, Blackwell; arXiv 2407.08608): 384 threads and most of the
//   shared memory, q = 1; forward persistent, and its blocks fetch tiles from a counter when causal: they
//   share whatever SMs remain (yields_sms).
//
// Kernels bound by memory: a block moves `bytes` of the traffic (half read, half written):
//   elementwise, copy, memset   2 KiB (512 elements of 16 bits, PyTorch's block_work_size), 128 threads,
//                               q = 16
//   norm                        persistent, 4 blocks of 128 threads an SM, a row at a time (Apex, Transformer
//                               Engine); tiles of 16 KiB
//   norm_wgrad                  a block for each 32 columns (PyTorch: GammaBetaBackward) and its rows: 1 MiB,
//                               512 threads, q = 4
//   softmax                     4 rows, 32 KiB, 128 threads, q = 5
//   embedding, loss, reduction, other   16 KiB, 64 KiB, 64 KiB, 16 KiB; 256 or 512 threads, q = 8 or 4
//   optimizer                   multi_tensor_apply: chunks of 65,536 elements, of 28 bytes each for Adam:
//                               1.8 MB, 512 threads, q = 2
// These are orders of magnitude: such kernels have many waves and wait for HBM, their grids hardly matter.
//
// Example: 8192 x 12288 x 12288 in bf16. A100: T = 32 x 96 = 3072 blocks, 28.4 waves on 108 SMs. H100: 132
// blocks loop over the 3072 tiles.
namespace echosim {

KernelFootprint footprint_of(const GemmShape& shape, const KernelTime& alone, const Gpu& gpu);
KernelFootprint footprint_of(const AttentionShape& shape, const KernelTime& alone, const Gpu& gpu);
KernelFootprint footprint_of(const MemoryShape& shape, const KernelTime& alone, const Gpu& gpu);

} // namespace echosim
