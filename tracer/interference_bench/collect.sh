#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures on this machine's GPUs how compute and communication slow each other, and fits echosim's model to it.
#   tracer/interference_bench/collect.sh                                everything, about 10 minutes on 8 GPUs
#   tracer/interference_bench/collect.sh --dry-run                      builds, says what would be measured
#   tracer/interference_bench/collect.sh -o a100 -- --kernels gemm --ctas 4,24
# Options:
#   -o DIR      where samples.csv, calibration.txt and calibration.json go (default: interference_samples)
#   --bin DIR   use the programs in DIR (default: build them in build/release)
#   --dry-run   measure nothing
#   -- ...      options of echosim-interference-bench
# Exit codes: those of the step that failed; 0 also when the model that was fitted is not better than the prior,
# which is then kept.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

usage() { sed -n '3,13s/^# \{0,1\}//p' "$here/collect.sh"; }
fail() { printf 'collect.sh: %s\n' "$1" >&2; exit "${2-1}"; }
wrong() { printf 'collect.sh: %s\n' "$1" >&2; usage >&2; exit 2; }

out=interference_samples
bin=
dry=no
while [ $# -gt 0 ]; do
    case "$1" in
    -o | --bin)
        [ $# -ge 2 ] || wrong "$1 needs a value"
        if [ "$1" = -o ]; then out=$2; else bin=$2; fi
        shift 2 ;;
    --dry-run) dry=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    *) wrong "unknown argument \"$1\"; options of the benchmark go after --" ;;
    esac
done

build_programs() {
    bin=$root/build/release/bin
    cd "$root"
    # shellcheck source=cmake/packages.sh
    . cmake/packages.sh
    install_packages "${build_packages[@]}"
    local tests=ON
    [ -z "$(missing_packages "${test_packages[@]}")" ] || tests=OFF
    configure release -DECHOSIM_TESTS=$tests
    cmake --build --preset release --target help | grep -q 'echosim-interference-bench' ||
        fail "there is no CUDA compiler: put nvcc of CUDA 12.0 or later on the PATH (export PATH=/usr/local/cuda/bin:\$PATH)"
    build release --target echosim echosim-interference-bench
}

case "$out" in /*) ;; *) out=$PWD/$out ;; esac
[ -n "$bin" ] || build_programs
bench=$bin/echosim-interference-bench
[ -x "$bench" ] || fail "there is no program $bench" 2

if [ $dry = yes ]; then
    exec "$bench" --dry-run "$@"
fi
mkdir -p "$out"
"$bench" -o "$out/samples.csv" "$@"
printf '==> Samples are in %s\n' "$out/samples.csv"

status=0
"$bin/echosim" calibrate interference "$out/samples.csv" -o "$out/calibration.json" >"$out/calibration.txt" || status=$?
cat "$out/calibration.txt"
if [ -e "$out/calibration.json" ] && [ $status -eq 0 ]; then
    printf '==> Use it: echosim simulate JOB --set interference=%s\n' "$out/calibration.json"
elif [ $status -eq 4 ]; then
    printf '==> The prior is kept: --set interference=prior\n'
    status=0
fi
exit $status
