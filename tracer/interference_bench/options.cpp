// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/options.h"

#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <string_view>

namespace echosim {
namespace {

struct Flag {
    std::string_view name;
    bool BenchOptions::*on;
};
constexpr Flag kFlags[] = {{"--help", &BenchOptions::help},
                           {"-h", &BenchOptions::help},
                           {"--list", &BenchOptions::list},
                           {"--dry-run", &BenchOptions::dry_run},
                           {"-q", &BenchOptions::quiet},
                           {"--quiet", &BenchOptions::quiet},
                           {"--stand-in", &BenchOptions::stand_in},
                           {"--high-priority", &BenchOptions::high_priority}};

std::vector<std::string> parts_of(std::string_view list) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        parts.emplace_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

// Throws InputError unless `text` is a number of `low` to `high`.
template <class T> T number(const std::string& option, std::string_view text, T low, T high) {
    T value{};
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || rest != text.data() + text.size() || !(value >= low && value <= high))
        throw InputError(option, fmt::format("\"{}\" is not a number from {} to {}", text, low, high));
    return value;
}

template <class T> std::vector<T> numbers(const std::string& option, std::string_view list, T low, T high) {
    std::vector<T> values;
    for (const std::string& part : parts_of(list))
        values.push_back(number<T>(option, part, low, high));
    return values;
}

std::vector<LaunchOrder> orders_of(std::string_view list) {
    std::vector<LaunchOrder> orders;
    for (const std::string& part : parts_of(list)) {
        if (part != "comm_first" && part != "kernel_first")
            throw InputError("--orders", fmt::format("\"{}\" is not comm_first or kernel_first", part));
        orders.push_back(part == "comm_first" ? LaunchOrder::comm_first : LaunchOrder::kernel_first);
    }
    return orders;
}

std::vector<CollectiveKind> collectives_of(std::string_view list) {
    std::vector<CollectiveKind> kinds;
    for (const std::string& part : parts_of(list)) {
        const auto kind = collective_from(part);
        if (kind != CollectiveKind::all_reduce && kind != CollectiveKind::all_gather &&
            kind != CollectiveKind::reduce_scatter)
            throw InputError("--collectives",
                             fmt::format("\"{}\" is not all_reduce, all_gather or reduce_scatter", part));
        kinds.push_back(*kind);
    }
    return kinds;
}

void set_value(BenchOptions& options, const std::string& name, std::string_view value) {
    if (name == "--kernels")
        options.kernels = parts_of(value);
    else if (name == "--ctas")
        options.ctas = numbers<int>(name, value, 1, 64);
    else if (name == "--orders")
        options.orders = orders_of(value);
    else if (name == "--collectives")
        options.collectives = collectives_of(value);
    else if (name == "--hbm-per-cta")
        options.hbm_per_cta = numbers<double>(name, value, .0001, .1);
    else if (name == "--repeats")
        options.repeats = number<int>(name, value, 3, 10000);
    else if (name == "--gpus")
        options.gpus = number<int>(name, value, 1, 16);
    else
        options.output = value;
}

const std::vector<std::string>& value_options() {
    static const std::vector<std::string> names = {"--kernels",     "--ctas",    "--orders", "--collectives",
                                                   "--hbm-per-cta", "--repeats", "--gpus",   "-o"};
    return names;
}

// Takes the argument at `at`, and the next where it is the value; returns how many.
std::size_t take(BenchOptions& options, std::span<const char* const> arguments, std::size_t at) {
    std::string name = arguments[at];
    for (const Flag& flag : kFlags)
        if (name == flag.name) {
            options.*flag.on = true;
            return 1;
        }
    std::size_t taken = 2;
    std::string value;
    const std::size_t equals = name.find('=');
    if (name.starts_with("--") && equals != std::string::npos) {
        value = name.substr(equals + 1);
        name.resize(equals);
        taken = 1;
    }
    const auto& known = value_options();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
        std::vector<std::string> all = known;
        for (const Flag& flag : kFlags)
            all.emplace_back(flag.name);
        throw InputError(name, "is not an option" + did_you_mean(all, name), "--help lists the options");
    }
    if (taken == 2) {
        if (at + 1 >= arguments.size())
            throw InputError(name, "needs a value");
        value = arguments[at + 1];
    }
    if (value.empty())
        throw InputError(name, "needs a value");
    set_value(options, name, value);
    return taken;
}

} // namespace

std::string to_string(LaunchOrder order) {
    return order == LaunchOrder::comm_first ? "comm_first" : "kernel_first";
}

BenchOptions parse_bench_options(std::span<const char* const> arguments) {
    BenchOptions options;
    std::vector<Problem> problems;
    for (std::size_t at = 0; at < arguments.size();) {
        try {
            at += take(options, arguments, at);
        } catch (const InputError& error) {
            problems.insert(problems.end(), error.problems().begin(), error.problems().end());
            at += std::string_view(arguments[at]).find('=') != std::string_view::npos ? 1 : 2;
        }
    }
    if (!problems.empty() && !options.help)
        throw InputError(problems);
    return options;
}

std::string bench_help() {
    return R"(Measures how much compute kernels and communication slow each other on this machine's GPUs.

Examples:
  echosim-interference-bench -o samples.csv              all kernels, CTA counts and orders
  echosim-interference-bench --dry-run                   what would be measured and for how long; no GPU needed
  echosim-interference-bench --kernels gemm,layer_norm --ctas 4,24 --repeats 10 -o few.csv
  NCCL_ALGO=Ring echosim-interference-bench --collectives all_reduce -o ring.csv
Then: echosim calibrate interference samples.csv -o calibration.json

With two or more GPUs and libnccl.so.2 communication is NCCL's (one process, all visible GPUs; kernels run on
the first). With one GPU a stand-in kernel holds the CTAs and moves bytes through HBM at a set rate.

Options:
  -o FILE            CSV of samples, written at the end and whole or not at all (default: standard output)
  --kernels LIST     names, or their beginnings ("gemm"), with commas (default: all; --list shows them)
  --ctas LIST        CTAs of communication, 1 to 64 (default: 1,2,4,8,16,24,32)
  --orders LIST      comm_first, kernel_first (default: both)
  --collectives LIST all_reduce, all_gather, reduce_scatter (default: all three; NCCL only)
  --hbm-per-cta LIST share of the HBM bandwidth that a CTA of the stand-in takes, .0001 to .1
                     (default: .003,.012: about what a NIC-bound and an NVLink-bound channel take)
  --repeats N        runs behind each median, 3 to 10000 (default: 30)
  --gpus N           use the first N visible GPUs (default: all)
  --stand-in         use the stand-in though NCCL and several GPUs are there
  --high-priority    communication's stream gets the highest priority
  --list             kernels with their sizes on this GPU, or on an H100 where none is found
  --dry-run          print the plan and the time that it takes; touches no GPU
  -q, --quiet        no progress on standard error
  -h, --help         this text

Exit codes: 0 done, 1 CUDA, cuBLAS or NCCL failed, 2 wrong usage, 130 interrupted (nothing is written).
)";
}

} // namespace echosim
