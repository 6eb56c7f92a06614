// SPDX-License-Identifier: Apache-2.0
#include "interference/kernel_names.h"
#include "interference/occupancy.h"
#include "interference/samples/forms.h"
#include "simulator/core/suggest.h"

#include <array>
#include <fmt/format.h>

// Columns that interference_bench prints, one row a pair (docs/formats.md).
namespace echosim {
namespace {

constexpr double kMaxUs = 1e12; // 11 days
constexpr std::array kClasses{KernelClass::gemm,        KernelClass::attention, KernelClass::norm,
                              KernelClass::elementwise, KernelClass::softmax,   KernelClass::embedding,
                              KernelClass::loss,        KernelClass::reduction, KernelClass::optimizer,
                              KernelClass::copy,        KernelClass::memset,    KernelClass::other,
                              KernelClass::norm_wgrad};

// What the names of the row are checked against.
struct Setting {
    GpuLimits limits;
    std::string collective;
    double bytes = 0;
    bool kernel_first = false;
};

KernelClass class_of(CsvValues& values, const std::string& name) {
    const std::string text = values.text("class");
    std::vector<std::string> known;
    for (const KernelClass value : kClasses) {
        if (text == to_string(value)) {
            return value;
        }
        known.emplace_back(to_string(value));
    }
    if (!text.empty()) {
        values.wrong("class", fmt::format("\"{}\" is no class of kernels{}", text, did_you_mean(known, text)),
                     "allowed: " + join(known));
    }
    return kernel_class_of(name);
}

int whole(CsvValues& values, std::string_view column, double high, int otherwise = 0) {
    return static_cast<int>(
        values.number(column, {.high = high, .otherwise = static_cast<double>(otherwise)}));
}

Setting setting_of(CsvValues& values, InterferenceSample& sample, const Gpu* gpu) {
    Setting setting;
    sample.gpu = values.text("gpu");
    const Gpu* known = sample.gpu.empty() ? gpu : catalogue_gpu(sample.gpu);
    if (known != nullptr) {
        sample.gpu = known->name;
        setting.limits = limits_of(*known);
    }
    const double catalogue_sms = known != nullptr ? known->sms : 0;
    sample.sms = values.number("sms", {.low = 1, .high = 10000, .otherwise = catalogue_sms});
    if (sample.sms <= 0) {
        values.wrong("sms", "is empty, and the GPU is not of the catalogue",
                     "give the number of SMs, or --gpu with a name of `echosim show gpus`");
        sample.sms = 1;
    }
    setting.limits.sms = sample.sms;
    sample.nccl_version = values.text("nccl");
    setting.collective = values.text("collective");
    setting.bytes = values.number("bytes", {.high = 1e15});
    const std::string order = values.text("order");
    if (order != "kernel_first" && order != "comm_first") {
        values.wrong("order", fmt::format("\"{}\" is neither kernel_first nor comm_first", order));
    }
    setting.kernel_first = order == "kernel_first";
    return setting;
}

KernelFootprint kernel_of(CsvValues& values, const std::string& name, const GpuLimits& limits) {
    KernelFootprint kernel;
    kernel.kernel_class = class_of(values, name);
    kernel.hbm_share = values.number("hbm_share", {.needed = true});
    kernel.compute_share = values.number("compute_share", {});
    kernel.occupancy_ratio = values.number("occupancy_ratio", {});
    kernel.blocks = values.product("grid");
    const double threads = values.product("block");
    if (threads > 1024) {
        values.wrong("block", fmt::format("{} threads are not allowed: at most 1024", threads));
    } else {
        kernel.threads_per_block = static_cast<int>(threads);
    }
    kernel.registers_per_thread = whole(values, "registers", 255);
    kernel.shared_bytes = values.number("shared_bytes", {.high = 1 << 20});
    kernel.blocks_per_sm = values.number("blocks_per_sm", {.low = 1, .high = 64, .otherwise = 0});
    if (kernel.blocks_per_sm <= 0) {
        kernel.blocks_per_sm = blocks_that_fit(kernel, limits);
    }
    kernel.tensor_cores = values.flag("tensor_cores");
    kernel.persistent = values.flag("persistent");
    kernel.yields_sms = values.flag("yields_sms");
    kernel.tiles = values.number("tiles", {.high = 1e12});
    return kernel;
}

CommFootprint comm_of(CsvValues& values, const Setting& setting) {
    CommFootprint comm;
    comm.ctas = values.number("ctas", {.high = 1024, .needed = true});
    comm.hbm_share = values.number("comm_hbm_share", {.needed = true});
    comm.nvlink_share = values.number("nvlink_share", {});
    comm.nic_share = values.number("nic_share", {});
    comm.threads_per_cta = whole(values, "comm_threads", 1024, comm.threads_per_cta);
    comm.registers_per_thread = whole(values, "comm_registers", 255, comm.registers_per_thread);
    comm.shared_bytes = values.number("comm_shared_bytes", {.high = 1 << 20, .otherwise = comm.shared_bytes});
    comm.high_priority = values.flag("high_priority");
    const auto kind = collective_from(setting.collective);
    if (kind) {
        comm.kind = *kind;
    } else if (!setting.collective.empty() && setting.collective != "copy_engine") {
        values.wrong(
            "collective", fmt::format("\"{}\" is no collective", setting.collective),
            "allowed: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, "
            "scatter, send_recv, copy_engine");
    }
    return comm;
}

std::string words_of(const CommFootprint& comm, const Setting& setting) {
    const std::string name = setting.collective.empty() ? "communication" : setting.collective;
    const std::string size =
        setting.bytes > 0 ? " " + format_bytes(static_cast<Bytes>(setting.bytes)) : std::string();
    return fmt::format("{} {} CTAs{}, {} first{}", name, comm.ctas, size,
                       setting.kernel_first ? "kernel" : "communication",
                       comm.high_priority ? ", high priority" : "");
}

InterferenceSample read_own(CsvValues& values, const Gpu* gpu) {
    const CsvValues::Range time{
        .high = kMaxUs, .above_low = true, .needed = true, .otherwise = 1, .unit = "us"};
    InterferenceSample sample;
    sample.kernel_name = values.text("kernel");
    if (sample.kernel_name.empty()) {
        values.wrong("kernel", "is empty; the kernel's name is needed");
    }
    const Setting setting = setting_of(values, sample, gpu);
    sample.kernel = kernel_of(values, sample.kernel_name, setting.limits);
    const std::array comms{comm_of(values, setting)};
    sample.load = load_of(sample.kernel, comms, setting.kernel_first);
    sample.communication = words_of(comms[0], setting);
    sample.time_alone = values.number("alone_us", time) * 1e-6;
    sample.time_overlapped = values.number("overlapped_us", time) * 1e-6;
    sample.overlap = values.number("overlap_ratio", {.needed = true});
    sample.comm_time_alone = values.number("comm_alone_us", {.high = kMaxUs}) * 1e-6;
    sample.comm_time_overlapped = values.number("comm_overlapped_us", {.high = kMaxUs}) * 1e-6;
    values.number("repeats", {.high = 1e9});
    return sample;
}

} // namespace

const SamplesForm& own_form() {
    static const SamplesForm form{{{"kernel", true},
                                   {"gpu"},
                                   {"sms"},
                                   {"nccl"},
                                   {"collective"},
                                   {"bytes"},
                                   {"ctas", true},
                                   {"comm_hbm_share", true},
                                   {"nvlink_share"},
                                   {"nic_share"},
                                   {"comm_threads"},
                                   {"comm_registers"},
                                   {"comm_shared_bytes"},
                                   {"order", true},
                                   {"high_priority"},
                                   {"grid"},
                                   {"block"},
                                   {"registers"},
                                   {"shared_bytes"},
                                   {"blocks_per_sm"},
                                   {"hbm_share", true},
                                   {"compute_share"},
                                   {"occupancy_ratio"},
                                   {"tensor_cores"},
                                   {"persistent"},
                                   {"yields_sms"},
                                   {"tiles"},
                                   {"class"},
                                   {"alone_us", true},
                                   {"overlapped_us", true},
                                   {"overlap_ratio", true},
                                   {"comm_alone_us"},
                                   {"comm_overlapped_us"},
                                   {"repeats"}},
                                  read_own,
                                  {},
                                  true};
    return form;
}

} // namespace echosim
