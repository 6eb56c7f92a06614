// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/command.h"

#include <algorithm>

namespace echosim {
namespace {

constexpr std::string_view kSimulateDescription =
    "Predicts one training step of the job on the cluster: time, throughput, time split, memory, "
    "communication.\n"
    "\n"
    "JOB is a Megatron-LM launch script (parsed, never executed), a file with a plain list of Megatron "
    "flags, a model "
    "name (see `echosim show models`) or an earlier result document, which reproduces it. Megatron flags "
    "after -- "
    "override those of the job.\n"
    "\n"
    "The exit code is 3 when the job does not fit in memory; the result is complete all the same, with the "
    "nearest "
    "change that fits.";

constexpr std::string_view kCollectiveDescription =
    "Prints the table of nccl-tests, modelled: time, algorithm and bus bandwidth for each size, out of place "
    "and in place, with the algorithm, protocol and channels that NCCL chooses.\n"
    "\n"
    "KIND is all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter or "
    "send_recv; all-reduce, alltoall and all_reduce_perf are understood too.\n"
    "\n"
    "The group is --gpus N GPUs that fill nodes in order, every K-th of them with --stride K (the "
    "data-parallel group of a job with TP=8: --stride 8), or the ranks of --ranks. Sizes count as in "
    "nccl-tests: all_gather the receive buffer, the others the send buffer.";

constexpr std::string_view kCalibrateDescription =
    "Reads the output of nccl-tests as people paste it, or tables of the schema of nccl_tests.json, and fits "
    "the constants of the collective model to them. Prints the mean error before and after for each range "
    "of sizes and writes a calibration file for --calibration.\n"
    "\n"
    "`calibrate interference` reads how long kernels take alone and beside communication: CSV of "
    "interference_bench or of Echo-slowdown, and recorded traces (Kineto, Nsight Systems SQLite, .etr; files "
    "or folders), in which it finds the same kernel (name, grid, block) with and without NCCL beside it. It "
    "fits what the built-in equations (the prior) miss, tests it on kernel families, communication "
    "configurations "
    "and GPUs that it has not seen, lists the samples that it cannot explain, and writes a model for --set "
    "interference=FILE. If the model does not beat the prior, the constants 1.10 and 1.19 and no "
    "interference on families that it has not seen, nothing is written and the exit code is 4.";

constexpr std::string_view kImportDescription =
    "Reads what profilers and other simulators write and says what is in it: files, ranks, streams, kernels, "
    "what was mended or dropped, what cannot be known. -o writes it as .etr; nothing is written without it.\n"
    "\n"
    "Formats are told by content: trace events of the PyTorch profiler (Kineto) and of Chrome, plain or "
    "gzip; "
    "the SQLite export of Nsight Systems; Chakra and PyTorch execution traces; workloads of SimAI, ASTRA-sim "
    "and AICB; .etr. The files of a folder are the ranks of one job. A network description of SimAI or "
    "ASTRA-sim becomes a cluster file.\n"
    "\n"
    "Clocks of different nodes are off by microseconds to minutes. The ends of collectives that ranks share "
    "tell by how much; ranks that cannot be put on one clock are refused unless --align off is given.";

constexpr std::string_view kExportDescription =
    "Writes a recorded or simulated timeline for other tools. FILE is anything that `echosim import` reads.\n"
    "\n"
    "perfetto: one JSON file with all ranks. chrome: one file for each rank, as the PyTorch profiler writes "
    "it "
    "(Holistic Trace Analysis, TraceLens, TensorBoard). chakra: one Chakra ET for each rank (ASTRA-sim). "
    "sqlite: a database with the view `slice`. csv: a row for each event. For chrome and chakra OUT is a "
    "folder when there is more than one rank, else a file that ends in .json, .json.gz or .et. A graph "
    "without "
    "times is refused for perfetto and chrome, which show a time axis. Outputs appear whole or not at all, "
    "and are read again: as many kernels "
    "as "
    "went in.";

std::vector<Command> make_commands() {
    return {
        {.name = "simulate",
         .arguments = "JOB --cluster NAME|FILE [OPTIONS] [-- MEGATRON FLAGS]",
         .summary = "predict one training step of a job on a cluster",
         .description = kSimulateDescription,
         .examples =
             {{"echosim simulate pretrain.sh --cluster dgx-h100", "the script's own world size"},
              {"echosim simulate pretrain.sh --cluster dgx-h100 -- --tensor-model-parallel-size 4",
               "the same with another layout"},
              {"echosim simulate pretrain.sh --cluster dgx-h100 --set cluster.node.nics.bandwidth=200Gbps",
               "on a slower network"},
              {"echosim simulate pretrain.sh --cluster dgx-h100 --timeline step.json.gz",
               "timeline for ui.perfetto.dev"}},
         .completes = Completes::job,
         .takes_rest = true,
         .run = run_simulate},
        {.name = "show",
         .arguments =
             "job JOB | cluster NAME|FILE | cluster --from FILE | gpu NAME | models | clusters | gpus",
         .summary = "print resolved values with their origin, or what the catalogue holds",
         .description =
             "`show job` resolves a job as Megatron-LM would and prints every value with its origin and "
             "every flag with its verdict: modelled, harmless, or not modelled.\n"
             "\n"
             "`show cluster` and `show gpu` print all figures under the keys that --set takes, with their "
             "source. `show models`, `show clusters` and `show gpus` list names and aliases.\n"
             "\n"
             "`show cluster --from FILE` makes a cluster file from an NCCL topology XML, the output of "
             "`nvidia-smi topo -m`, a log of NCCL_DEBUG=INFO, a network of ASTRA-sim or a topology of SimAI, "
             "and says what it had to assume.",
         .examples = {{"echosim show job pretrain.sh", "every value with its origin"},
                      {"echosim show cluster dgx-h100", "the keys of --set cluster.*"},
                      {"echosim show cluster --from nccl.log -o mine.json",
                       "a cluster file of one's own machine"},
                      {"echosim show models", "model names and aliases"}},
         .words = {"job", "cluster", "gpu", "models", "clusters", "gpus"},
         .completes = Completes::job,
         .most_arguments = 2,
         .takes_rest = true,
         .run = run_show},
        {.name = "validate",
         .arguments = "steps|collectives|interference|replay|all [--data FILE|FOLDER] [--cross] [--max-error "
                      "P%]",
         .summary = "compare predictions with measurements",
         .description =
             "Simulates every row of the measurements, prints measured and predicted times with the "
             "error, and a summary. A row that cannot be simulated is listed with the reason.\n"
             "\n"
             "`validate collectives --cross` fits the constants again for each row without the tables of its "
             "own kind (the same GPU, collective and number of GPUs; the same hardware and network).\n"
             "\n"
             "`validate interference` compares how much longer kernels take beside communication: a CSV file "
             "of interference_bench or of Echo-slowdown, predicted by --set interference=prior (default), "
             "off, constant:F or a model file. With --cross it compares all ways of predicting on kernel "
             "families, random fifths, communication configurations and GPUs that they were not fitted "
             "to.\n"
             "\n"
             "`validate replay` takes recorded durations, lets the engine start the work, and compares "
             "with the recorded starts: of a folder of pipeline timelines (config.json, pp_rank_N.json) or "
             "of a recorded trace. `validate all` takes a folder: its tables, and the interference "
             "samples and pipeline timelines below it.\n"
             "\n"
             "With --max-error the exit code is 4 when the mean absolute error is larger.",
         .examples = {{"echosim validate steps --data runs.json", "errors by GPU and layout"},
                      {"echosim validate steps --data runs.json --json", "every row, as one JSON document"},
                      {"echosim validate steps --data runs.json --max-error 10%", "as a gate in CI"},
                      {"echosim validate collectives --data nccl_tests.json --cross",
                       "collectives, each predicted from other machines' tables"},
                      {"echosim validate interference --data samples.csv --cross --plot factors.svg",
                       "slowdown of kernels beside communication, all ways of predicting"},
                      {"echosim validate replay profile/", "a recorded step, run again by the engine"}},
         .words = {"steps", "collectives", "interference", "replay", "all"},
         .completes = Completes::file,
         .most_arguments = 100000,
         .run = run_validate},
        {.name = "collective",
         .arguments = "KIND --cluster NAME|FILE [--bytes SIZES] [--gpus N] [OPTIONS]",
         .summary = "predict one collective: the table of nccl-tests for any cluster",
         .description = kCollectiveDescription,
         .examples =
             {{"echosim collective all_reduce --cluster dgx-h100 --gpus 64",
               "8 B to 8 GiB, as nccl-tests prints it"},
              {"echosim collective reduce_scatter --cluster dgx-h100 --gpus 128 --stride 8 --bytes 160MiB "
               "--explain",
               "the gradients of one data-parallel group under TP=8: why this time"},
              {"echosim collective all_reduce --cluster ndv4-a100-40g --gpus 16 --measured nccl.log --plot "
               "ar.svg",
               "beside your own measurement, with a chart"},
              {"echosim collective all_reduce --cluster dgx-h100 --gpus 64 --algo ring --proto simple",
               "as with NCCL_ALGO and NCCL_PROTO"},
              {"echosim collective all_to_all --cluster dgx-h100 --gpus 64 --imbalance 1.5",
               "expert parallelism with a hot rank"}},
         .words = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all",
                   "gather", "scatter", "send_recv"},
         .run = run_collective},
        {.name = "calibrate",
         .arguments = "collectives FILE... --cluster NAME|FILE -o CALIBRATION.json | interference DATA... -o "
                      "MODEL.json",
         .summary = "fit the models to your own measurements",
         .description = kCalibrateDescription,
         .examples =
             {{"echosim calibrate collectives all_reduce.log all_gather.log --cluster mine.json -o "
               "calibration.json",
               "from logs of nccl-tests"},
              {"echosim collective all_reduce --cluster mine.json --gpus 64 --calibration calibration.json",
               "with the fitted constants"},
              {"echosim calibrate interference samples.csv traces/ -o slowdown.json",
               "interference_bench's samples and a folder of Kineto traces"},
              {"echosim simulate pretrain.sh --cluster mine.json --set interference=slowdown.json",
               "with the fitted slowdown"}},
         .words = {"collectives", "interference"},
         .completes = Completes::file,
         .most_arguments = 1000,
         .run = run_calibrate},
        {.name = "import",
         .arguments = "FILE|FOLDER... [-o job.etr] [--align auto|off]",
         .summary = "read recorded traces and workloads of other tools, put ranks on one clock",
         .description = kImportDescription,
         .examples = {{"echosim import rank0.pt.trace.json.gz", "what is in it"},
                      {"echosim import traces/ -o job.etr", "a folder of ranks, as one timeline"},
                      {"echosim import job.sqlite -o job.etr", "nsys export --type sqlite made it"},
                      {"echosim import topology.yml -o mine.json",
                       "a network of ASTRA-sim, as a cluster file"}},
         .completes = Completes::file,
         .most_arguments = 100000,
         .run = run_import},
        {.name = "export",
         .arguments = "FILE|FOLDER --format perfetto|chrome|chakra|sqlite|csv -o OUT",
         .summary = "write a timeline for Perfetto, Holistic Trace Analysis, ASTRA-sim, SQL or a spreadsheet",
         .description = kExportDescription,
         .examples = {{"echosim export job.etr --format perfetto -o job.json.gz", "for ui.perfetto.dev"},
                      {"echosim export job.etr --format chrome --ranks 0,8 -o ranks/",
                       "a file for each rank"},
                      {"echosim export job.etr --format sqlite -o job.sqlite", "for questions in SQL"}},
         .completes = Completes::file,
         .most_arguments = 100000,
         .run = run_export},
        {.name = "completion",
         .arguments = "bash|zsh|fish",
         .summary = "print a completion script for a shell",
         .description = "Prints the script on stdout.",
         .examples = {{"source <(echosim completion bash)", "for this shell"},
                      {"echosim completion fish > ~/.config/fish/completions/echosim.fish", "for good"}},
         .words = {"bash", "zsh", "fish"},
         .run = run_completion},
        {.name = "help",
         .arguments = "[COMMAND]",
         .summary = "print the help of a command",
         .description = "The same as `echosim COMMAND --help`.",
         .examples = {{"echosim help simulate", ""}},
         .hidden = true,
         .run = run_help},
    };
}

} // namespace

bool CommandOption::belongs_to(std::string_view command) const {
    return commands.empty() || std::find(commands.begin(), commands.end(), command) != commands.end();
}

const std::vector<Command>& commands() {
    static const std::vector<Command> table = make_commands();
    return table;
}

const std::vector<std::string_view>& commands_to_come() {
    static const std::vector<std::string_view> names = {"search", "plan", "explain", "compare", "trace",
                                                        "report", "view", "merge",   "doctor"};
    return names;
}

const Command* find_command(std::string_view name) {
    for (const Command& command : commands())
        if (command.name == name)
            return &command;
    return nullptr;
}

std::vector<const CommandOption*> options_of(const Command& command) {
    std::vector<const CommandOption*> found;
    for (const CommandOption& option : options())
        if (option.belongs_to(command.name))
            found.push_back(&option);
    return found;
}

const CommandOption* find_option(const Command& command, std::string_view name) {
    for (const CommandOption* option : options_of(command))
        if (option->name == name)
            return option;
    return nullptr;
}

const CommandOption* find_option(const Command& command, char letter) {
    for (const CommandOption* option : options_of(command))
        if (option->letter == letter)
            return option;
    return nullptr;
}

} // namespace echosim
