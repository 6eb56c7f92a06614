#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# collect.sh against programs that only say how they were called: order, arguments, files and exit codes.
set -euo pipefail
collect=$(cd "$(dirname "$0")/../../tracer/interference_bench" && pwd)/collect.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin
cat >bin/echosim-interference-bench <<'END'
#!/bin/sh
echo "bench $*" >>calls
[ "$1" = --dry-run ] && { echo plan; exit 0; }
[ "${BENCH_STATUS-0}" = 0 ] || exit "$BENCH_STATUS"
echo kernel >"$2"
END
cat >bin/echosim <<'END'
#!/bin/sh
echo "echosim $*" >>calls
echo "report of the fit"
[ "${FIT_STATUS-0}" = 0 ] && echo '{}' >"$5"
exit "${FIT_STATUS-0}"
END
chmod +x bin/*

failed=0
# expect WHAT EXPECTED ACTUAL
expect() {
    [ "$2" = "$3" ] && return
    printf '%s\n  expected: %s\n  actual:   %s\n' "$1" "$2" "$3" >&2
    failed=1
}
# run ARGUMENTS: exit code in $code, output in ./output.
run() {
    rm -f calls
    code=0
    "$collect" --bin bin "$@" >output 2>&1 || code=$?
}

run -o out -- --kernels gemm
expect "exit code" 0 $code
expect "calls" "bench -o $work/out/samples.csv --kernels gemm
echosim calibrate interference $work/out/samples.csv -o $work/out/calibration.json" "$(cat calls)"
expect "the report is kept" "report of the fit" "$(cat out/calibration.txt)"
expect "what to do with it" 1 "$(grep -c "interference=$work/out/calibration.json" output)"

run --dry-run -- --ctas 4
expect "dry run" "bench --dry-run --ctas 4" "$(cat calls)"

FIT_STATUS=4 run -o kept
expect "the prior is kept" 0 $code
expect "and that is said" 1 "$(grep -c 'interference=prior' output)"

FIT_STATUS=2 run -o wrong
expect "a wrong file" 2 $code

BENCH_STATUS=1 run -o broken
expect "the benchmark failed" 1 $code
expect "nothing was fitted" 1 "$(wc -l <calls)"

run --kernels gemm
expect "options without --" 2 $code
run -o
expect "an option without value" 2 $code
exit $failed
