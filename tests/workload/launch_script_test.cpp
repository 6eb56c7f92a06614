// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/launch_script.h"
#include "simulator/workload/resolve_flags.h"
#include "tests/workload/job_texts.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

using namespace echosim;
using namespace echosim::test;
using testing::Contains;
using testing::HasSubstr;

namespace {

// The words after --data-path of a script whose last command is torchrun with $ARGS-like text.
std::string data_path(const std::string& script) {
    const JobSource source = read_launch_script(script, "job.sh");
    for (const Flag& flag : source.flags) {
        if (flag.name != "--data-path")
            continue;
        std::string all;
        for (const std::string& value : flag.values)
            all += (all.empty() ? "" : "|") + value;
        return all;
    }
    return "no --data-path";
}

// A script with some lines, then a training command whose data path is `words`.
std::string shown(const std::string& lines, const std::string& words) {
    return data_path(lines + "\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --data-path " +
                     words + "\n");
}

std::string script_error(const std::string& script) {
    return error_of([&] { FlagTable(read_launch_script(script, "job.sh"), false); });
}

// A text `count` times in a row.
std::string times(int count, const std::string& text) {
    std::string all;
    for (int i = 0; i < count; ++i)
        all += text;
    return all;
}

} // namespace

struct ShellCase {
    const char* lines;
    const char* words;
    const char* expected;
};

class ShellFeature : public testing::TestWithParam<ShellCase> {};

TEST_P(ShellFeature, ExpandsLikeBash) {
    EXPECT_EQ(shown(GetParam().lines, GetParam().words), GetParam().expected) << GetParam().lines;
}

// Compared with bash 5.2 (printf of the words), but for the values that bash would take from outside:
// variables that are set nowhere keep their name, date is not known.
INSTANTIATE_TEST_SUITE_P(
    Bash, ShellFeature,
    testing::Values(
        ShellCase{"A=1; B=\"x y\"", "$A \"$B\" $B", "1|x y|x|y"}, ShellCase{"A='$B'", "\"$A\" \\$A", "$B|$A"},
        ShellCase{"", "${A:-7} ${B:=8} $B ${C-9}", "7|8|8|9"},
        ShellCase{"A=", "${A:-7} ${A-8} x${A:+no}${B+no}", "7|x"},
        ShellCase{"A=(a 'b c' d)", "\"${A[@]}\" ${#A[@]} ${A[1]} \"${A[-1]}\"", "a|b c|d|3|b|c|d"},
        ShellCase{"A=(a b)\nA+=(c)\nA[5]=z", "\"${A[*]}\" ${!A[@]}", "a b c z|0|1|2|5"},
        ShellCase{"declare -A M=([x]=1 [y]=2)\nM[z]=3", "${M[x]}${M[y]}${M[z]}", "123"},
        ShellCase{"N=4", "$((N*8+1)) $(( $N / 3 )) $((2**10)) $(( N > 3 ? 1 : 0 )) $((0x10)) $((-7 % 3))",
                  "33|1|1024|1|16|-1"},
        ShellCase{"((I = 3)); let J=I*2; I+=1", "$I $J", "31|6"},
        ShellCase{"F=/a/b/c.tar.gz", "${F##*/} ${F%/*} ${F%%.*} ${F#/a} ${#F}",
                  "c.tar.gz|/a/b|/a/b/c|/b/c.tar.gz|13"},
        ShellCase{"F=aXbXc", "${F/X/-} ${F//X/-} ${F:1:3} ${F: -2} ${F^^} ${F,,}",
                  "a-bXc|a-b-c|XbX|Xc|AXBXC|axbxc"},
        ShellCase{"f() { local A=$1; B=$((A+1)); }\nA=5; f 10", "$A $B", "5|11"},
        ShellCase{"function g { echo \"<$1>\"; }", "$(g hi) `g there`", "<hi>|<there>"},
        ShellCase{"S=big\nif [ \"$S\" = small ]; then L=1; elif [[ $S == b* ]]; then L=2; else L=3; fi", "$L",
                  "2"},
        ShellCase{"S=7b\ncase $S in 13b|70b) L=1;; *b) L=2;; *) L=3;; esac", "$L", "2"},
        ShellCase{"for i in 1 2 3; do A=\"$A$i\"; done", "${A}", "$A123"},
        ShellCase{"A=; for ((i=0; i<4; i++)); do if ((i == 2)); then continue; fi; A+=$i; done", "$A", "013"},
        ShellCase{"A=; for i in {1..3} {x,y}; do A+=$i; done", "$A", "123xy"},
        ShellCase{"N=0; while [ $N -lt 5 ]; do N=$((N+1)); [ $N -eq 3 ] && break; done", "$N", "3"},
        ShellCase{"N=0; until ((N >= 3)); do ((N++)); done", "$N", "3"},
        ShellCase{"[ 3 -gt 2 -a 1 -eq 1 ] && A=yes || A=no", "$A", "yes"},
        ShellCase{"if [[ -z \"$UNSET\" && ! 2 -gt 3 ]]; then A=1; else A=2; fi", "$A", "1"},
        ShellCase{"eval \"A=5; B=\\$((A+1))\"", "$A $B", "5|6"},
        ShellCase{"export A=1 B=\"2 3\"; readonly C=4", "$A \"$B\" $C", "1|2 3|4"},
        ShellCase{"A=x\nB=${!C}\nN=A", "${!N}", "x"}, ShellCase{"(A=inner); A=${A:-outer}", "$A", "outer"},
        ShellCase{"A=1 # comment ' with quote\n# another \" one", "$A#b", "1#b"},
        ShellCase{"A=one\\\ntwo", "$A", "onetwo"},
        ShellCase{"cat <<'EOF'\nif then \" ' $((\nEOF\nA=1", "$A", "1"},
        ShellCase{"read -r -d '' A <<EOF\na b\nEOF", "$A", "a|b"},
        ShellCase{"set -- p q", "$1 $2 $# \"$@\"", "p|q|2|p|q"},
        ShellCase{"f() { shift; A=\"$*\"; }; f 1 2 3", "$A", "2|3"},
        ShellCase{"A=$(basename /x/y.sh .sh); B=$(dirname /x/y.sh); C=$(expr 3 + 4)", "$A $B $C", "y|/x|7"},
        ShellCase{"A=$'a\\tb'; B=$(printf '%03d' 7); C=$(seq 2 4)", "$A $B $C", "a|b|007|2|3|4"},
        ShellCase{"A=5; unset A", "${A:-gone}", "gone"},
        ShellCase{"set -euo pipefail; trap 'x' EXIT; mkdir -p /tmp/x && cd /tmp/x; A=1", "$A", "1"},
        ShellCase{"A=$(date +%s)\nB=${A:-x}", "/logs/$B", "/logs/$(...)"},
        ShellCase{"if [ -f /etc/x ]; then echo usage; exit 1; fi; A=1", "$A", "1"},
        ShellCase{"[ $# -lt 1 ] && exit 1; A=${1:-d}", "$A", "d"}, // would only print its usage
        ShellCase{"A=()", "x \"$@\" \"${@:2}\" \"${A[@]}\" \"${A[*]}\" y", "x||y"},
        ShellCase{"set -- a; B=(b)", "\"x$@\" \"${@:2}\" \"${B[@]}\"", "xa|b"},
        ShellCase{
            "A=1; while [[ $# -gt 0 ]]; do case \"$1\" in -a) A=\"$2\"; shift 2;; *) exit 1;; esac; done",
            "$A $#", "1|0"},
        ShellCase{"if [ -z \"$1\" ]; then A=8b; else A=$1; fi", "$A", "8b"},
        ShellCase{"exec > >(tee -a log.txt) 2>&1; A=1", "$A", "1"},
        ShellCase{"A=3; mapfile -t H < <(scontrol show hostnames); cat <(echo x)", "$A /${H[0]}",
                  "3|/$H (read)"},
        ShellCase{"while read -r L; do A=$L; done < <(ls | grep x)\nB=2", "$B", "2"}));

TEST(LaunchScript, FlagsCarryTheLineTheyWereWrittenOn) {
    const JobSource source = read_launch_script(
        "A=(\n  --num-layers 4\n  --bf16\n)\nB=\"--hidden-size 8 \\\n   --seq-length 16\"\n"
        "torchrun --nproc_per_node=8 --nnodes 2 x.py ${A[@]} $B \\\n  --fp16\n",
        "dir/job.sh");
    ASSERT_EQ(source.flags.size(), 5U);
    EXPECT_EQ(source.flags[0].origin, "dir/job.sh:2");
    EXPECT_EQ(source.flags[1].origin, "dir/job.sh:3");
    EXPECT_EQ(source.flags[2].origin, "dir/job.sh:5");
    EXPECT_EQ(source.flags[3].origin, "dir/job.sh:6");
    EXPECT_EQ(source.flags[4].origin, "dir/job.sh:8");
    EXPECT_EQ(source.world_size, 16);
    EXPECT_EQ(source.name, "job.sh");
}

struct LauncherCase {
    const char* script;
    int world_size; // 0 = not stated
};

class Launchers : public testing::TestWithParam<LauncherCase> {};

TEST_P(Launchers, GiveTheWorldSize) {
    const JobSource source = read_launch_script(GetParam().script, "job.sh");
    EXPECT_EQ(source.world_size.value_or(0), GetParam().world_size) << GetParam().script;
    ASSERT_FALSE(source.flags.empty());
    EXPECT_EQ(source.flags[0].name, "--num-layers");
}

INSTANTIATE_TEST_SUITE_P(
    All, Launchers,
    testing::Values(
        LauncherCase{"torchrun --nnodes 4 --nproc-per-node 8 p.py --num-layers 4", 32},
        LauncherCase{"torchrun p.py --num-layers 4", 0},
        LauncherCase{"python -m torch.distributed.launch --nproc_per_node=4 p.py --num-layers 4", 4},
        LauncherCase{
            "python3 -u -m torch.distributed.run --nproc_per_node 8 --nnodes 2 -m pkg.train --num-layers 4",
            16},
        LauncherCase{"srun -N 4 --ntasks-per-node=8 python p.py --num-layers 4", 32},
        LauncherCase{"srun -N4 -n 64 numactl -l python p.py --num-layers 4", 64},
        LauncherCase{"#!/bin/bash\n#SBATCH --nodes=16 --gpus-per-node=4\n#SBATCH --ntasks-per-node 4\nsrun "
                     "python p.py --num-layers 4",
                     64},
        LauncherCase{"#SBATCH -N 2\n#SBATCH --gres=gpu:h100:8\nsrun torchrun --nnodes $SLURM_NNODES "
                     "--nproc_per_node 8 p.py --num-layers 4",
                     16},
        LauncherCase{"#SBATCH -N 2\nsrun --ntasks-per-node=1 bash -c \"torchrun --nnodes \\$SLURM_NNODES "
                     "--nproc_per_node 8 p.py --num-layers 4\"",
                     16},
        LauncherCase{"mpirun -np 24 -x PATH python p.py --num-layers 4", 24},
        LauncherCase{"deepspeed --num_nodes 3 --num_gpus 8 p.py --num-layers 4", 24},
        LauncherCase{"export A=1; CUDA_VISIBLE_DEVICES=0 exec nohup env X=2 torchrun --nproc_per_node=2 p.py "
                     "--num-layers 4 2>&1 | tee log",
                     2},
        LauncherCase{
            "apptainer exec --nv image.sif torchrun --nnodes=2 --nproc_per_node=4 p.py --num-layers 4 &", 8},
        LauncherCase{"CMD=\"torchrun --nproc_per_node 8 --nnodes 1:3 p.py --num-layers 4\"\necho $CMD\n$CMD",
                     24},
        LauncherCase{"eval \"torchrun --nproc_per_node 8 p.py --num-layers 4\"", 8},
        LauncherCase{"run() { torchrun --nproc_per_node 8 p.py \"$@\"; }\nrun --num-layers 4", 8},
        LauncherCase{"srun -n 8 bash <<EOF\npython p.py --num-layers 4\nEOF", 8},
        LauncherCase{
            "cat > run.sh <<'EOF'\npython p.py --num-layers $L\nEOF\nexport L=4\nsrun -n 8 bash run.sh", 8},
        LauncherCase{"while true; do torchrun --nproc_per_node 8 p.py --num-layers 4; sleep 5; done", 8},
        LauncherCase{"if ! torchrun --nproc_per_node 8 p.py --num-layers 4; then echo failed; fi", 8},
        LauncherCase{"python tools/convert.py --input x\npython3 p.py --num-layers 4", 0}));

TEST(LaunchScript, ExportedVariablesAreKept) {
    const JobSource source = read_launch_script(
        "export CUDA_DEVICE_MAX_CONNECTIONS=1\nLOCAL=2\nNCCL_DEBUG=WARN torchrun p.py --num-layers 4",
        "job.sh");
    EXPECT_EQ(source.environment.at("CUDA_DEVICE_MAX_CONNECTIONS"), "1");
    EXPECT_EQ(source.environment.at("NCCL_DEBUG"), "WARN");
    EXPECT_EQ(source.environment.count("LOCAL"), 0U);
}

TEST(LaunchScript, UnknownValuesOfNcclAreAWarning) {
    const JobSource source = read_launch_script("export NCCL_ALGO=$(cat algo)\n"
                                                "export NCCL_SOCKET_IFNAME=$(ls /sys/class/net)\n"
                                                "torchrun p.py --num-layers 4\n",
                                                "job.sh");
    EXPECT_EQ(source.environment.count("NCCL_ALGO"), 0U);
    EXPECT_THAT(source.warnings,
                testing::ElementsAre(HasSubstr("NCCL_ALGO: value not known ($(...), job.sh:1), ignored")));
}

TEST(LaunchScript, UnknownValuesMatterOnlyWhereTheFlagDoes) {
    EXPECT_THAT(script_error("A=1\ntorchrun p.py --num-layers $LAYERS --bf16\n"),
                HasSubstr("job.sh:2: --num-layers depends on $LAYERS (job.sh:2)"));
    EXPECT_THAT(script_error("L=$(python count.py)\ntorchrun p.py --num-layers $L --bf16\n"),
                HasSubstr("--num-layers depends on $(...) (job.sh:1)"));
    EXPECT_THAT(script_error("torchrun p.py --num-layers 4 --micro-batch-size $1\n"),
                HasSubstr("--micro-batch-size depends on $1"));
    EXPECT_THAT(script_error("[ $# -eq 1 ] || exit 1\ntorchrun p.py --num-layers $1\n"),
                HasSubstr("--num-layers depends on $1"));
    EXPECT_EQ(script_error(
                  "torchrun p.py --num-layers 4 --save $1 --load ${DIR}/ckpt --data-path $(find . | head)\n"),
              "no error");
    const JobSource source =
        read_launch_script("torchrun p.py --num-layers 4 $EXTRA_ARGS --bf16\n", "job.sh");
    EXPECT_EQ(source.flags.size(), 2U);
    EXPECT_THAT(source.warnings, Contains("job.sh:1: $EXTRA_ARGS is not set in the script: taken as empty"));
}

TEST(LaunchScript, ABranchThatIsNotKnownLeavesItsVariablesUnknown) {
    const std::string lines = "L=4\nif nvidia-smi | grep -q H100; then L=8; fi\n";
    EXPECT_THAT(script_error(lines + "torchrun p.py --num-layers $L\n"),
                HasSubstr("$L (set under a condition that is not known)"));
    EXPECT_EQ(script_error(lines + "torchrun p.py --num-layers 4 --save $L\n"), "no error");
}

TEST(LaunchScript, AnUnknownValueThatIsOverriddenLaterIsNoProblem) {
    const std::string lines = "L=4\nif nvidia-smi | grep -q H100; then L=8; fi\nN=$SLURM_NNODES\n";
    const std::string command =
        "torchrun --nnodes $N --nproc-per-node 8 p.py --num-layers $L --global-batch-size $((N*8*8))";
    EXPECT_EQ(script_error(lines + command + " --num-layers 4 --global-batch-size 256\n"), "no error");
    EXPECT_THAT(script_error(lines + command + " --num-layers 4\n"),
                HasSubstr("--global-batch-size depends on $SLURM_NNODES (job.sh:3)"));
    EXPECT_THAT(script_error(lines + "torchrun p.py --num-layers 4 --num-layers $L\n"),
                HasSubstr("--num-layers depends on $L"));

    JobSource source = read_launch_script(lines + command + "\n", "job.sh");
    EXPECT_FALSE(source.world_size.has_value());
    source.flags.push_back(parse_flags({"--global-batch-size", "256"}, "command line").at(0));
    source.flags.push_back(flag_for_key("model.layers", "12"));
    FlagTable table(source, false);
    EXPECT_EQ(table.integer("--global-batch-size", 1, 1000), 256);
    EXPECT_EQ(table.integer("--num-layers", 1, 1000), 12);
    EXPECT_TRUE(table.problems.empty());
}

TEST(LaunchScript, FlagsOfAnUnknownConditionAreKnownWhereItsBranchesAgree) {
    const std::string lines = "X=(--bf16 --num-layers 4)\nif nvidia-smi | grep -q H100; then\n"
                              "X+=(--tensor-model-parallel-size 2)\nfi\n";
    const std::string command = "torchrun p.py --hidden-size 64 ${X[@]}";
    EXPECT_THAT(script_error(lines + command + "\n"),
                HasSubstr("--tensor-model-parallel-size depends on $X (set under a condition that is not"));
    FlagTable table(read_launch_script(lines + command + " --tensor-model-parallel-size 8\n", "job.sh"),
                    false);
    EXPECT_EQ(table.integer("--tensor-model-parallel-size", 1, 8), 8);
    EXPECT_EQ(table.integer("--num-layers", 1, 8), 4);
    EXPECT_TRUE(table.has("--bf16"));
    const std::string again = "if foo; then X+=(--fp16); fi\n"; // 2 x 2 branches
    EXPECT_THAT(script_error(lines + again + command + " --tensor-model-parallel-size 8\n"),
                HasSubstr("--fp16 depends on $X (set under"));
    EXPECT_EQ(script_error("A=\"--num-layers 4\"\nif foo; then A+=\" --save x\"; fi\ntorchrun p.py --bf16 "
                           "--seq-length 8 $A\n"),
              "no error");
}

TEST(LaunchScript, DeepNestingIsRefused) {
    const int deep = 100'000;
    const std::vector<std::string> scripts = {"[[ " + times(deep, "! ") + "1 ]]\n",
                                              "[[ " + times(deep, "( ") + "1" + times(deep, " )") + " ]]\n",
                                              "[ " + times(deep, "! ") + "1 ]\n",
                                              "A=$((1" + times(deep, "**1") + "))\n",
                                              "A=$((1" + times(deep, "?1:1") + "))\n",
                                              times(deep, "f() ") + "{ :; }\n",
                                              "cat " + times(deep, "<(cat ") + times(deep, ")") + "\n"};
    for (const std::string& script : scripts)
        EXPECT_THAT(script_error(script), HasSubstr("nested too deep")) << script.substr(0, 20);
    const std::string many = "if test 1" + times(deep, " -a 1") + "; then A=5; fi";
    EXPECT_EQ(shown(many, "$A"), "5"); // long, but not deep
}

TEST(LaunchScript, TextsThatGrowWithoutEndAreRefused) {
    // 4 bytes doubled 18 times are 1 MiB, once more is too long.
    EXPECT_THAT(script_error("\nf() { g $1$1; }; g() { f $1$1; }\nf aaaa\n"),
                HasSubstr("job.sh:2: a word is longer than 1 MiB"));
    EXPECT_THAT(script_error("A=aaaa\nwhile true; do A=$A$A; done\n"),
                HasSubstr("job.sh:2: a word is longer than 1 MiB"));
    const std::string half_mib = "A=aaaa\nfor i in {1..17}; do A=$A$A; done\n"; // 4 x 2^17 bytes
    EXPECT_THAT(script_error(half_mib + "for i in {1..600}; do B=$A; done\n"),
                HasSubstr("job.sh:3: the expansions of the script take more than 256 MiB"));
    EXPECT_THAT(script_error(half_mib + "B=${A//a/$A}\n"), HasSubstr("a word is longer than 1 MiB"));
}

struct BrokenScript {
    const char* script;
    const char* message;
};

class BrokenScripts : public testing::TestWithParam<BrokenScript> {};

TEST_P(BrokenScripts, AreRefusedWithALine) {
    EXPECT_THAT(script_error(GetParam().script), HasSubstr(GetParam().message)) << GetParam().script;
}

INSTANTIATE_TEST_SUITE_P(
    Messages, BrokenScripts,
    testing::Values(
        BrokenScript{"A=1\nB=\"x\n", "job.sh:2: a \" quote is never closed"},
        BrokenScript{"A=1\nB='x\n", "job.sh:2: a ' quote is never closed"},
        BrokenScript{"\nif [ 1 = 1 ]; then\n A=1\n", "job.sh:2: a if without fi, it is never closed"},
        BrokenScript{"for i in 1 2; do\n A=1\n", "job.sh:1: a for without done, it is never closed"},
        BrokenScript{"cat <<EOF\nx\n", "job.sh:1: the here-document << EOF is never closed"},
        BrokenScript{"A=(1 2\n", "job.sh:1: the array A=( is never closed"},
        BrokenScript{"A=${B\n", "job.sh:1: a ${B is never closed"},
        BrokenScript{"A=$((1+\n", "job.sh:1: a $(( is never closed"},
        BrokenScript{"A=$(echo \n", "job.sh:1: a $( is never closed"},
        BrokenScript{"f() {\n echo\n", "job.sh:1: a { is never closed"},
        BrokenScript{"case x in\n a) echo\n", "job.sh:1: a case without esac, it is never closed"},
        BrokenScript{"torchrun p.py --num-layers 4 &&\n", "&& has nothing after it"},
        BrokenScript{"A=$((1/0))\n", "job.sh:1: division by zero"},
        BrokenScript{"echo hello\n", "no command that starts Megatron-LM training"},
        BrokenScript{"A=\x01\n", "job.sh:1: is binary or holds control characters"},
        BrokenScript{"f() { f; }\nf\n", "functions call each other without end"},
        BrokenScript{"A=x\nwhile true; do for i in {1..9000}; do A=y; done; done\n",
                     "is there a loop without end?"},
        BrokenScript{"fi\ntorchrun p.py --num-layers 4 )\n", "unexpected ')'"}));

TEST(LaunchScript, SourcesFilesBesideItAndNoOthers) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path(testing::TempDir()) / "echosim_launch_script";
    fs::create_directories(folder);
    std::ofstream(folder / "env.sh") << "L=12\nM=(--bf16)\n";
    const std::string path = (folder / "job.sh").string();
    for (const char* line : {"source env.sh", ". ./env.sh", "source $(dirname $0)/env.sh",
                             "source \"$(dirname \"${BASH_SOURCE[0]}\")/env.sh\"",
                             "DIR=$(cd \"$(dirname \"$0\")\" && pwd); source $DIR/env.sh"}) {
        const JobSource source =
            read_launch_script(std::string(line) + "\ntorchrun p.py --num-layers $L ${M[@]}\n", path);
        ASSERT_EQ(source.flags.size(), 2U) << line;
        EXPECT_EQ(source.flags[0].values[0], "12") << line;
        EXPECT_THAT(source.flags[1].origin, HasSubstr("env.sh:2")) << line;
    }
    const JobSource source = read_launch_script("source /etc/profile\ntorchrun p.py --num-layers 4\n", path);
    EXPECT_THAT(source.warnings, Contains(HasSubstr("/etc/profile is not read")));
    fs::remove_all(folder);
}
