// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/command.h"

namespace echosim {
namespace {

constexpr std::string_view kSetHelp =
    "Override one resolved value: cluster.PATH (cluster.node.nics.bandwidth=200Gbps), gpu.KEY "
    "(gpu.hbm_bandwidth=1.5x), job.KEY (job.batch.micro=2), "
    "interference=off|constant:F|prior|FILE, contention=off|on. `echosim show` lists the keys. May be given "
    "several times.";

std::vector<CommandOption> make_options() {
    return {
        {.name = "--cluster",
         .value = "NAME|FILE",
         .help = "Cluster of the catalogue (see `echosim show clusters`) or a cluster file.",
         .completes = Completes::cluster,
         .commands = {"simulate", "collective", "calibrate"}},
        {.name = "--gpus",
         .value = "N",
         .help = "Number of GPUs of the job; default: the world size of the launch script, or one node for "
                 "a collective.",
         .commands = {"simulate", "show", "collective", "calibrate"}},
        {.name = "--gpu",
         .value = "NAME",
         .help = "GPU of `echosim show gpus` that the measurements are of, where a file does not say "
                 "(interference).",
         .commands = {"calibrate"}},
        {.name = "--fitter",
         .value = "HOW",
         .help = "What is fitted to interference: gaussian_process (default), ridge (few samples), "
                 "boosted_trees (needs libxgboost).",
         .choices = {"gaussian_process", "ridge", "boosted_trees"},
         .commands = {"calibrate"}},
        {.name = "--known-families",
         .help = "Write a model of interference for the kernel families of the data, the prior elsewhere, if "
                 "it beats the prior, the constants and no interference on them.",
         .commands = {"calibrate"}},
        {.name = "--bytes",
         .value = "SIZES",
         .help =
             "FROM:TO:xFACTOR (default 8:8GiB:x2), FROM:TO:+STEP (1MiB:64MiB:+1MiB), or a list such as "
             "1MiB,16MiB. A number without a unit is bytes; KiB or K, MiB or M, GiB or G are powers of 1024.",
         .commands = {"collective"}},
        {.name = "--ranks",
         .value = "LIST",
         .help =
             "Global ranks of the group in its own order, such as 0,8,16-23; node = rank / GPUs per node.",
         .commands = {"collective"}},
        {.name = "--ranks",
         .value = "LIST",
         .help =
             "Ranks to write, such as 0,8,16-23, or all; default: everything that was recorded, one rank of "
             "each class of identical ranks.",
         .commands = {"export"}},
        {.name = "--format",
         .value = "FORMAT",
         .help = "What to write: perfetto, chrome, chakra, sqlite, csv.",
         .choices = {"perfetto", "chrome", "chakra", "sqlite", "csv"},
         .commands = {"export"}},
        {.name = "--align",
         .value = "HOW",
         .help = "Clocks of the ranks: auto (default; moved where collectives tell that they differ, refused "
                 "where nothing tells), off (as recorded).",
         .choices = {"auto", "off"},
         .commands = {"import", "export"}},
        {.name = "--compress",
         .help = "Compress the .etr (zstd): for archives; it is no longer mapped as it lies.",
         .commands = {"import"}},
        {.name = "--max-events",
         .value = "N",
         .help = "Refuse to write more events than this; default 20000000.",
         .commands = {"export"}},
        {.name = "--stride",
         .value = "K",
         .help = "The group is every K-th of the --gpus GPUs, from rank 0.",
         .commands = {"collective"}},
        {.name = "--nccl",
         .value = "VERSION",
         .help = "NCCL version such as 2.21, instead of the cluster's.",
         .commands = {"collective", "calibrate"}},
        {.name = "--algo",
         .value = "ALGORITHM",
         .help =
             "Only this algorithm, as NCCL_ALGO: ring, tree, nvls, nvlstree, collnetdirect, collnetchain, "
             "pat; several with commas.",
         .commands = {"collective"}},
        {.name = "--proto",
         .value = "PROTOCOL",
         .help = "Only this protocol, as NCCL_PROTO: ll, ll128, simple; several with commas.",
         .commands = {"collective"}},
        {.name = "--env",
         .value = "NAME=VALUE",
         .help = "A variable of the job's environment, such as NCCL_MAX_NCHANNELS=8.",
         .repeatable = true,
         .commands = {"collective"}},
        {.name = "--dtype",
         .value = "TYPE",
         .help = "Element type: float (default), half, bfloat16, fp8, int8, int32, int64.",
         .commands = {"collective"}},
        {.name = "--in-place",
         .help = "What --explain tells is of the call in place.",
         .commands = {"collective"}},
        {.name = "--buffers",
         .value = "KIND",
         .help =
             "How the buffers are known to NCCL: plain (default), registered (ncclCommRegister), symmetric "
             "(windows, NCCL 2.27 and later).",
         .choices = {"plain", "registered", "symmetric"},
         .commands = {"collective"}},
        {.name = "--transport",
         .value = "KIND",
         .help =
             "What moves the bytes: nccl (default), copy-engine (NCCL 2.28 and later), te-ring-exchange or "
             "te-pipeline (user buffers of Transformer Engine), deepep.",
         .choices = {"nccl", "copy-engine", "te-ring-exchange", "te-pipeline", "deepep"},
         .commands = {"collective"}},
        {.name = "--calls",
         .value = "N",
         .help = "The bytes are N operations of one ncclGroup (coalesced buckets).",
         .commands = {"collective"}},
        {.name = "--imbalance",
         .value = "X",
         .help = "all_to_all with unequal pairs: bytes of the busiest rank over the mean, 1 or more.",
         .commands = {"collective"}},
        {.name = "--placement",
         .value = "HOW",
         .help =
             "Nodes of the job in the fabric: packed (default), shuffled:SEED, spread, or a list of places "
             "such as 3,1,2,0.",
         .commands = {"collective"}},
        {.name = "--concurrent",
         .value = "FILE",
         .help =
             "Collectives that run at the same time, a JSON list; prints how they slow each other. Without "
             "KIND.",
         .completes = Completes::file,
         .commands = {"collective"}},
        {.name = "--measured",
         .value = "FILE",
         .help = "Output of nccl-tests, or tables of the schema of nccl_tests.json, to compare with.",
         .completes = Completes::file,
         .commands = {"collective"}},
        {.name = "--explain",
         .help =
             "Show the terms of the time, what NCCL weighs, the sizes at which its choice changes, and the "
             "bytes on every resource.",
         .commands = {"collective"}},
        {.name = "--plot",
         .value = "FILE.svg",
         .help = "Write a chart of the bus bandwidth over the size.",
         .completes = Completes::file,
         .commands = {"collective"}},
        {.name = "--plot",
         .value = "FILE.svg",
         .help = "Write a chart of measured over predicted factors (validate interference).",
         .completes = Completes::file,
         .commands = {"validate"}},
        {.name = "--csv", .help = "Print the table as comma-separated values.", .commands = {"collective"}},
        {.name = "--set",
         .value = "KEY=VALUE",
         .help = kSetHelp,
         .repeatable = true,
         .commands = {"simulate", "show", "validate", "collective", "calibrate"}},
        {.name = "--from",
         .value = "FILE",
         .help =
             "show cluster: make the cluster file from an NCCL topology XML, `nvidia-smi topo -m`, a log of "
             "NCCL_DEBUG=INFO, a network of ASTRA-sim or a topology of SimAI.",
         .completes = Completes::file,
         .commands = {"show"}},
        {.name = "--timeline",
         .value = "FILE",
         .help = "Write the timeline of the step: .etr, or .json and .json.gz for Perfetto.",
         .completes = Completes::file,
         .commands = {"simulate"}},
        {.name = "--timeline-ranks",
         .value = "RANKS",
         .help = "Ranks in the timeline: representative (default; one rank of each class of identical "
                 "ranks), all, "
                 "or a list such as 0,8,16-23.",
         .commands = {"simulate"}},
        {.name = "--data",
         .value = "FILE",
         .help = "Measured steps or collectives, a JSON file; interference: a CSV file; replay: a file or "
                 "folder; all: a folder.",
         .completes = Completes::file,
         .commands = {"validate"}},
        {.name = "--cross",
         .help = "Predict each row with constants that were fitted without it (validate collectives); "
                 "compare all "
                 "ways of predicting on kernels that they were not fitted to (validate interference).",
         .commands = {"validate"}},
        {.name = "--max-error",
         .value = "P%",
         .help = "Exit with 4 when the mean absolute error is larger than this.",
         .commands = {"validate"}},
        {.name = "--calibration",
         .value = "FILE",
         .help = "Parameters from `echosim calibrate` instead of the built-in ones.",
         .completes = Completes::file,
         .commands = {"simulate", "collective", "calibrate", "validate"}},
        {.name = "--strict",
         .help = "Treat flags that Megatron-LM does not know as errors, not warnings.",
         .commands = {"simulate", "show"}},
        {.name = "--force",
         .help = "Write a JSON timeline of any size; without it more than 20 M events are refused.",
         .commands = {"simulate"}},
        {.name = "--force", .help = "Write any number of events.", .commands = {"export"}},
        {.name = "--json",
         .help = "Print one JSON document on stdout instead of text.",
         .commands = {"simulate", "show", "validate", "collective", "calibrate", "import", "export"}},
        {.name = "--output",
         .letter = 'o',
         .value = "FILE",
         .help = "Also write the JSON document to FILE, completely or not at all, without wall-clock values. "
                 "- is stdout, instead of the text.",
         .completes = Completes::file,
         .commands = {"simulate", "show", "validate", "collective", "calibrate"}},
        {.name = "--output",
         .letter = 'o',
         .value = "FILE.etr",
         .help = "Write the timeline, completely or not at all (a network: its cluster file, JSON).",
         .completes = Completes::file,
         .commands = {"import"}},
        {.name = "--output",
         .letter = 'o',
         .value = "OUT",
         .help =
             "The file to write (perfetto and chrome: .json or .json.gz, chakra: .et); chrome and chakra of "
             "more than one rank: a new folder.",
         .completes = Completes::file,
         .commands = {"export"}},
        {.name = "--quiet",
         .letter = 'q',
         .help = "Print only errors on stderr.",
         .commands = {"simulate", "show", "validate", "collective", "calibrate", "import", "export"}},
        {.name = "--verbose",
         .letter = 'v',
         .help = "Print on stderr what is done; in the summary, all rows of every table.",
         .commands = {"simulate", "show", "validate", "collective", "calibrate", "import", "export"}},
        {.name = "--markdown",
         .help = "Print the reference of all commands.",
         .commands = {"help"},
         .hidden = true},
        {.name = "--color",
         .value = "WHEN",
         .help =
             "Colour on stdout: auto (default), always or never. NO_COLOR and CLICOLOR_FORCE are honoured.",
         .choices = {"auto", "always", "never"}},
        {.name = "--help", .letter = 'h', .help = "Print this help; -h is short."},
    };
}

} // namespace

const std::vector<CommandOption>& options() {
    static const std::vector<CommandOption> table = make_options();
    return table;
}

} // namespace echosim
