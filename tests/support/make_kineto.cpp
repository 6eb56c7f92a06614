// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <string_view>

// make_kineto FILE [MB]: a file as the PyTorch profiler writes it of a Megatron-like step (tensor parallel
// 8), 600 MB unless said otherwise: Python functions around operators with shapes, their calls, kernels with
// all arguments, arrows between them, NCCL metadata. The same size gives the same bytes.
namespace {

constexpr std::uint64_t kFlushBytes = 1U << 20U;

class Writer {
  public:
    explicit Writer(std::FILE* file) : file_(file) {}

    template <class... Values> void event(fmt::string_view format, const Values&... values) {
        text_ += first_ ? "\n  {\n    " : ",\n  {\n    ";
        first_ = false;
        fmt::vformat_to(std::back_inserter(text_), format, fmt::make_format_args(values...));
        text_ += "\n  }";
        if (text_.size() > kFlushBytes) {
            flush();
        }
    }
    void put(std::string_view text) { text_ += text; }
    void flush() {
        if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) {
            std::perror("make_kineto");
            std::exit(1);
        }
        written_ += text_.size();
        text_.clear();
    }
    std::uint64_t bytes() const { return written_ + text_.size(); }

  private:
    std::FILE* file_;
    std::string text_;
    std::uint64_t written_ = 0;
    bool first_ = true;
};

// Microseconds with three decimals.
std::string us(std::int64_t ns) {
    return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

constexpr std::string_view kGemm = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_"
                                   "warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas";
constexpr std::string_view kElementwise =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";
constexpr std::string_view kNorm =
    "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<"
    "transformer_engine::normalization::Kernel_traits<__nv_bfloat16, __nv_bfloat16, "
    "__nv_bfloat16, float, unsigned int, 4096u, 1u, 1u, 4u, 16u> >"
    "(transformer_engine::normalization::ForwardKernelParams)";
constexpr std::string_view kAllReduce =
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

class Step {
  public:
    explicit Step(Writer& out) : out_(out) {}

    void layer(int index) {
        python(fmt::format("megatron/core/transformer/transformer_layer.py(449): forward layer {}", index),
               60000);
        op("aten::linear", kGemm, 41200, 7, 0);
        op("TERowParallelLinear", kGemm, 61700, 7, 0);
        op("RMSNorm", kNorm, 9100, 7, 0);
        op("aten::add_", kElementwise, 6300, 7, 0);
        op("aten::mul", kElementwise, 5200, 7, 0);
        op("c10d::allreduce_", kAllReduce, 88400, 20, 16777216);
    }

  private:
    void python(std::string_view name, std::int64_t duration) {
        out_.event(
            "\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"{}\", \"pid\": 4711, \"tid\": 4711,\n"
            "    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"Python parent id\": {}, \"Python id\": "
            "{}, "
            "\"Ev Idx\": {}\n    }}",
            name, us(now_), us(duration), id_ / 8, id_, id_);
    }

    void call(std::string_view name, int cbid) {
        out_.event(
            "\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"{}\", \"pid\": 4711, \"tid\": 4711,\n"
            "    \"ts\": {}, \"dur\": 4.{:03},\n    \"args\": {{\n      \"External id\": {},\n      "
            "\"cbid\": {}, "
            "\"correlation\": {}\n    }}",
            name, us(now_ + 1500), id_ % 1000, id_, cbid, correlation_);
    }

    void arrow(std::string_view phase, int pid, int tid, std::int64_t time, std::string_view rest) {
        out_.event(
            "\"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {},\n    \"cat\": \"ac2g\", "
            "\"name\": \"ac2g\"{}",
            phase, correlation_, pid, tid, us(time), rest);
    }

    void op(std::string_view name, std::string_view kernel, std::int64_t duration, int stream,
            std::int64_t elements) {
        ++id_;
        ++correlation_;
        out_.event("\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{}\", \"pid\": 4711, \"tid\": 4711,\n"
                   "    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {},\"Record "
                   "function id\": 0, "
                   "\"Concrete Inputs\": [\"\", \"\", \"1\"], \"Input type\": [\"c10::BFloat16\", "
                   "\"c10::BFloat16\", "
                   "\"Scalar\"], \"Input Strides\": [[4096, 1], [4096, 1], []], \"Input Dims\": [[8192, {}], "
                   "[8192, {}], "
                   "[]], \"Ev Idx\": {}\n    }}",
                   name, us(now_), us(8000 + id_ % 700), id_, 512 << (id_ % 4), 512 << (id_ % 4), id_);
        python(fmt::format("torch/nn/modules/module.py({}): _call_impl", 1500 + id_ % 40), 7900);
        call("cudaLaunchKernel", 211);
        arrow("s", 4711, 4711, now_ + 1500, "");
        const std::int64_t begin = now_ + 9000;
        device(kernel, begin, duration, stream, elements);
        arrow("f", 0, stream, begin, ", \"bp\": \"e\"");
        ++correlation_;
        call("cudaEventRecord", 135);
        arrow("f", 4711, 4711, now_ + 1500, ", \"bp\": \"e\"");
        now_ += duration + 1200;
    }

    void device(std::string_view kernel, std::int64_t begin, std::int64_t duration, int stream,
                std::int64_t elements) {
        std::string more;
        if (elements > 0) {
            more = fmt::format(
                ",\n      \"Collective name\": \"allreduce\", \"In msg nelems\": {}, \"Out msg nelems\": {}, "
                "\"Group size\": 8, \"dtype\": \"BFloat16\", \"In split size\": \"[]\", \"Out split size\": "
                "\"[]\", \"Process Group Name\": \"3\", \"Process Group Description\": "
                "\"TENSOR_MODEL_PARALLEL_GROUP\", \"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, 6, 7]\"",
                elements, elements);
        }
        out_.event(
            "\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{}\", \"pid\": 0, \"tid\": {},\n"
            "    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {},\n      \"queued\": "
            "0, "
            "\"device\": 0, \"context\": 1,\n      \"stream\": {}, \"correlation\": {},\n      "
            "\"registers per thread\": 168, \"shared memory\": 213248,\n      \"blocks per SM\": 7.757576,\n "
            "     "
            "\"warps per SM\": 93.090912,\n      \"grid\": [{}, 1, 1],\n      \"block\": [384, 1, 1],\n      "
            "\"est. achieved occupancy %\": 19{}\n    }}",
            kernel, stream, us(begin), us(duration), id_, stream, correlation_, 128 << (id_ % 3), more);
    }

    Writer& out_;
    std::int64_t now_ = 4'458'676'000'000'000;
    std::uint64_t id_ = 0;
    std::uint64_t correlation_ = 100;
};

} // namespace

int main(int argc, char** argv) {
    if (argc < 2 || argc > 3) {
        std::fputs("make_kineto FILE [MB]\n", stderr);
        return 2;
    }
    std::uint64_t megabytes = 600;
    if (argc == 3) {
        const std::string_view text = argv[2];
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), megabytes);
        if (error != std::errc{} || end != text.data() + text.size()) {
            std::fputs("make_kineto FILE [MB]\n", stderr);
            return 2;
        }
    }
    std::FILE* file = std::fopen(argv[1], "wb");
    if (file == nullptr) {
        std::perror(argv[1]);
        return 1;
    }
    Writer out(file);
    out.put("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100 80GB "
            "HBM3\"}],\n"
            "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8},\n"
            "  \"baseTimeNanoseconds\": 1711964646000000000,\n  \"traceEvents\": [");
    Step step(out);
    for (int layer = 0; out.bytes() < megabytes * 1'000'000; ++layer) {
        step.layer(layer % 32);
    }
    out.put("\n  ],\n  \"traceName\": \"rank3.json\",\n  \"displayTimeUnit\": \"ms\"\n}\n");
    out.flush();
    return std::fclose(file) == 0 ? 0 : 1;
}
