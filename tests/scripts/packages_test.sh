#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the package step of quickstart and check with stand-ins for dpkg-query, apt-get, sudo and id.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

stand_in() { # NAME BODY
    printf '#!/bin/bash\n%s\n' "$2" >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}

# Runs install_packages with only the stand-ins in PATH; fills $status, $output and $calls (of apt-get).
install() { # USER_ID PACKAGE...
    local user_id=$1
    shift
    stand_in id "echo $user_id"
    : >"$scratch/calls"
    status=0
    output=$(PATH=$scratch/bin CALLS=$scratch/calls /bin/bash -c \
        'set -euo pipefail; . "$0"; install_packages "$@"' "$source_dir/cmake/packages.sh" "$@" 2>&1) || status=$?
    calls=$(<"$scratch/calls")
}

expect() { # WHAT ACTUAL WANTED-PATTERN
    # shellcheck disable=SC2053  # the right side is a pattern
    if [[ $2 != $3 ]]; then
        printf 'FAILED %s\n  wanted: %s\n  got:    %s\n' "$1" "$3" "$2"
        failures=$((failures + 1))
    fi
}

mkdir "$scratch/bin"
ln -s "$(command -v env)" "$scratch/bin/env"
ln -s /bin/bash "$scratch/bin/bash"
# g++ and cmake are installed; gone was removed, its configuration files are left.
stand_in dpkg-query 'echo "g++:installed cmake:installed gone:config-files "; exit 1'
# shellcheck disable=SC2016  # the stand-ins expand these
stand_in apt-get 'echo "$*" >>"$CALLS"; [[ $FAIL != *" $2 "* && $FAIL != *" $1 "* ]]'
export FAIL=' none '

install 0 g++ cmake
expect "nothing missing: status" "$status" 0
expect "nothing missing: apt-get is not called" "$calls" ""

install 0 g++ absent cmake gone
expect "as root: status" "$status" 0
expect "as root: only what is missing is installed" "$calls" \
    $'-q update\ninstall -q -y --no-install-recommends absent gone'

install 1000 g++ absent
expect "no root, no sudo: status" "$status" 1
expect "no root, no sudo: names the package" "$output" "*missing: absent*apt-get install absent*"
expect "no root, no sudo: apt-get is not called" "$calls" ""

# shellcheck disable=SC2016
stand_in sudo 'echo "sudo $1" >>"$CALLS"; exec "$@"'
install 1000 absent
expect "sudo: status" "$status" 0
expect "sudo: used for both steps" "$calls" \
    $'sudo apt-get\n-q update\nsudo env\ninstall -q -y --no-install-recommends absent'

FAIL=' update ' install 0 absent
expect "stale package lists: install is still tried" "$status $calls" "0 *install*absent"
FAIL=' install ' install 0 absent
expect "install fails: status and message" "$status $output" "1 *could not install: absent"

rm "$scratch/bin/dpkg-query"
install 1000 absent
expect "not Debian: goes on and names the packages" "$status $output" "0 *not a Debian system*absent"

[ $failures -eq 0 ] && echo "all package cases passed"
exit $((failures > 0))
