# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Shared by quickstart and check: the Debian packages that echosim needs, and how missing ones are installed.
# docs/third_party.md says what each library is for.

# shellcheck disable=SC2034  # the lists are used by the scripts that source this file
build_packages=(ca-certificates git g++ cmake ninja-build pkg-config
    nlohmann-json3-dev libfmt-dev libzstd-dev zlib1g-dev libboost-dev
    libsimdjson-dev libsqlite3-dev libprotobuf-dev protobuf-compiler libyaml-cpp-dev libeigen3-dev)
# shellcheck disable=SC2034
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev libsimgrid-dev libxgboost0)
# shellcheck disable=SC2034
long_packages=(clang clang-tidy clang-format shellcheck)

say() { printf '==> %s\n' "$*"; }

# Prints those of the packages that are not installed.
missing_packages() {
    local installed package
    installed=" $(dpkg-query -W -f='${Package}:${db:Status-Status} ' "$@" 2>/dev/null || true)"
    for package in "$@"; do
        case "$installed" in
        *" $package:installed "*) ;;
        *) printf '%s\n' "$package" ;;
        esac
    done
}

# Installs those of the packages that are missing; touches neither apt nor the network when none is.
install_packages() {
    if ! command -v dpkg-query >/dev/null; then
        say "This is not a Debian system: nothing is installed. The build needs (Debian names): $*"
        return
    fi
    local list missing=() as_root=()
    list=$(missing_packages "$@")
    [ -z "$list" ] || mapfile -t missing <<<"$list"
    if [ ${#missing[@]} -eq 0 ]; then
        say "Packages: all $# are installed"
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            printf 'These packages are missing: %s\n' "${missing[*]}" >&2
            printf 'Run this script as root, or install them: apt-get install %s\n' "${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    say "Installing ${missing[*]}"
    # An unreachable mirror is no reason to stop while the package lists and archives are at hand.
    "${as_root[@]}" apt-get -q update || say "apt-get update failed; trying with the package lists that are here"
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "${missing[@]}"; then
        printf 'apt-get could not install: %s\n' "${missing[*]}" >&2
        exit 1
    fi
}

# configure PRESET [CMAKE OPTION]...; uses ccache where it is installed.
configure() {
    local preset=$1
    shift
    if command -v ccache >/dev/null; then
        export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
    fi
    say "Configuring build/$preset"
    cmake --preset "$preset" "$@"
}

# build PRESET [CMAKE BUILD OPTION]...
build() {
    local preset=$1
    shift
    say "Building build/$preset with $(nproc) jobs"
    cmake --build --preset "$preset" --parallel "$(nproc)" "$@"
}
