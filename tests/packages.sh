# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What ./quickstart and ./check share: the Debian packages that the build, the
# demonstration and the tests need, how they are installed, and the build.
# Sourced; the sourcing script has set `top` (the source tree) and `self` (the
# name that stands before its messages).
#
# shellcheck disable=SC2034,SC2154

build_packages="autoconf automake libtool pkg-config make gcc libc6-dev
    libevent-dev libssl-dev libssh-dev libpmix-dev libhwloc-dev libibverbs-dev libucx-dev
    libcairo2-dev libjansson-dev libcurl4-openssl-dev"
# Pods and a real MPI program over them.
demo_packages="openmpi-bin libopenmpi-dev openssh-server openssh-client
    iproute2 util-linux procps"
test_packages="libcmocka-dev bats mpich libmpich-dev libpmi2-0-dev python3
    python3-mpi4py python3-venv python3-prometheus-client dnsmasq-base iptables slurm-wlm
    munge tcsh zsh fish shellcheck cppcheck g++ gfortran cmake groff-base mandoc strace git openssl etcd-server
    qemu-system-x86 busybox-static hwloc-nox"

# What frameworks are tested with besides Python wheels: for --frameworks of
# torch, and for all of --peers.
torch_packages="python3-torch"
peer_packages="python3-torch libtorch-dev pybind11-dev cmake
    openjdk-17-jre-headless"

say() { echo "$self: $*"; }
die() { echo "$self: $*" >&2; exit 1; }

# What is wrong with the command line. The sourcing script has `usage`.
wrong_call() {
    echo "$self: $*" >&2
    usage >&2
    exit 2
}
# need_value "$@": where the option $1 is followed by nothing.
need_value() { [ -n "${2:-}" ] || wrong_call "$1 needs a value"; }

# Prints those of its arguments that are not installed.
missing_packages() {
    local package
    for package; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null |
            grep -qx installed || echo "$package"
    done
}

# Installs what is missing of its arguments. Packages bring services (sshd,
# slurmd, munged); none of them is started here.
install_packages() {
    local missing policy=/usr/sbin/policy-rc.d ours='' log status=0
    command -v dpkg-query > /dev/null ||
        die "this is not Debian: install what tests/packages.sh lists," \
            "then use --no-install"
    missing=$(missing_packages "$@" | tr '\n' ' ')
    [ -n "$missing" ] || return 0
    [ "$(id -u)" = 0 ] ||
        die "root is needed to install packages: sudo ./$self, or as root:" \
            "apt-get install $missing"
    say "installing: $missing"
    log=$(mktemp)
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' > "$policy"
        chmod +x "$policy"
        ours=$policy
    fi
    # shellcheck disable=SC2086  # a list of words
    { DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND
      apt-get -q update && apt-get -q install --yes --no-install-recommends \
          -o DPkg::Lock::Timeout=300 $missing; } > "$log" 2>&1 < /dev/null ||
        status=$?
    [ -z "$ours" ] || rm -f "$ours"
    [ $status -eq 0 ] || { tail -n 30 "$log" >&2; rm -f "$log"
        die "apt-get could not install: $missing"; }
    rm -f "$log"
}

# Whether the folder $1 has to be configured: for the first time, with an
# argument that it was not given, or because packages have come since, which
# make tests possible that were left out.
needs_configure() {
    local folder=$1 known word
    shift
    [ -f "$folder/Makefile" ] || return 0
    known=$("$folder/config.status" --config 2> /dev/null) || return 0
    for word; do
        [[ $known == *"$word"* ]] || return 0
    done
    [ "${DPKG_STATUS:-/var/lib/dpkg/status}" -nt "$folder/config.status" ]
}

# Bootstraps, configures and makes the tree in the folder $1; further arguments
# go to configure. Quiet, unless it fails.
build_tree() {
    local folder=$1 log
    shift
    [[ $top != *[[:space:]]* ]] ||
        die "the path of the tree, $top, has a blank in it, which configure" \
            "refuses: move it, or clone it elsewhere"
    mkdir -p "$folder"
    log=$folder/build.log
    {
        if [ ! -x "$top/configure" ] ||
            [ -n "$(find "$top" -path "$top/build*" -prune -o \
                \( -name '*.mk' -o -name Makefile.am -o -name configure.ac \) \
                -newer "$top/configure" -print -quit)" ]; then
            "$top/bootstrap"
        fi &&
        cd "$folder" &&
        if needs_configure . "$@"; then "$top/configure" -q "$@"; fi &&
        make -j"$(nproc)" all
    } > "$log" 2>&1 < /dev/null ||
        { tail -n 40 "$log" >&2; die "the build failed, see $log"; }
}
