# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What the command tests share. `make check` says where source and build are;
# run by hand, bats is started in the source tree with HB_BUILDDIR set or the
# build in ./build.
#
# No test measures time. What takes a while is waited for by asking again and
# again, with a deadline that only a broken program reaches.

: "${HB_SRCDIR:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
: "${HB_BUILDDIR:=$HB_SRCDIR/build}"
: "${CC:=cc}"
read -ra cc <<< "$CC" # "ccache gcc", say
hbrun=$HB_BUILDDIR/hbrun
podlab=$HB_SRCDIR/tests/pods/podlab
fakes=$HB_SRCDIR/tests/fakes
bats_require_minimum_version 1.5.0

# A hang must fail its own test, not the whole run.
: "${HB_LIMIT:=90}"

# Nothing of the person's own configuration takes part. The mark is in the
# environment of all that a test starts, so that its strays can be found.
common_setup() {
    export HOME=$BATS_TEST_TMPDIR/home
    export HB_TEST_MARK=$BATS_TEST_TMPDIR
    mkdir -p "$HOME"
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!HPCBOOT_@}" "${!OMPI_@}" "${!HYDRA_@}" "${!SLURM_@}"
    PATH=$HB_BUILDDIR:$PATH
}

# hbrun under a limit; -s KILL: its own clean-up is not what is waited for.
hb() { timeout -s KILL "$HB_LIMIT" "$hbrun" "$@"; }

# Compiles tests/fakes/$1.c once per test file; prints the program's path.
fake() {
    local program=$BATS_FILE_TMPDIR/$1
    [ -x "$program" ] ||
        "${cc[@]}" -O1 -pthread -o "$program" "$fakes/$1.c" || return 1
    echo "$program"
}

# need COMMAND...: skips where one is missing.
need() {
    local command
    for command; do
        command -v "$command" > /dev/null || skip "$command is not installed"
    done
}
# need_module NAME LIBRARY: skips where hpcboot was built without it.
need_module() {
    [ -e "$HB_BUILDDIR/.libs/hb_$1.so" ] || skip "built without $2"
}
hwloc_is_there() { need_module hwloc hwloc; }
need_root() { [ "$(id -u)" = 0 ] || skip 'root is needed'; }

# wait_until COMMAND...: asks until it succeeds.
wait_until() {
    local deadline=$((SECONDS + HB_LIMIT))
    until "$@"; do
        if [ $SECONDS -ge $deadline ]; then
            echo "still not true: $*"
            return 1
        fi
        sleep 0.02
    done
}
lines_in() { [ -e "$1" ] && [ "$(wc -l < "$1")" -ge "$2" ]; }
is_gone() { ! kill -0 "$1" 2> /dev/null; }

is_sanitized() { grep -q '^HB_LDFLAGS = .*fsanitize' "$HB_BUILDDIR/Makefile"; }

# The processes that carry this test's mark, but for bats' own.
marked() {
    local file pid
    for file in $(grep -lsz "^HB_TEST_MARK=$HB_TEST_MARK$" \
        /proc/[0-9]*/environ); do
        pid=${file#/proc/}
        pid=${pid%/environ}
        case $(tr '\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null) in
            '' | *bats* | *"${BASH_SOURCE[0]}"*) ;;
            *) echo "$pid" ;;
        esac
    done
}
none_marked() { [ -z "$(marked)" ]; }
nothing_left() {
    wait_until none_marked || {
        marked | xargs -r ps -o pid,ppid,stat,args -p
        return 1
    }
}

# Fails unless $output has a line that matches the extended expression.
says() {
    grep -Eq -- "$1" <<< "$output" || {
        echo "no line matches: $1"
        echo "$output" | head -c 4000
        return 1
    }
}
says_not() {
    ! grep -Eq -- "$1" <<< "$output" || {
        echo "a line matches: $1"
        echo "$output" | head -c 4000
        return 1
    }
}
# $output without the lines that come where hosts are gathered for long.
but_for_waiting() {
    grep -aEv '^hbrun: (waiting for hosts: |[0-9]+ of [0-9]+ hosts ready )' \
        <<< "$output" || true
}
ended_with() {
    [ "$status" -eq "$1" ] || {
        echo "status $status, expected $1"
        echo "$output" | head -c 4000
        return 1
    }
}

# whole_lines LENGTH FILE: prints how many lines there are, and how many are
# not LENGTH times one letter.
whole_lines() {
    awk -v n="$1" '{ wrong = length($0) != n; c = substr($0, 1, 1)
            gsub(c, ""); bad += wrong || length($0) > 0 }
        END { print NR, bad + 0 }' "$2"
}

# Waits for a background job; its status and what it wrote to `err`.
ends() {
    status=0
    wait "$1" || status=$?
    [ ! -e err ] || output=$(cat err)
}

# in_time WORDS FIRST COMMAND...: runs it with $wait where it has WAIT: that is
# FIRST, or longer where on a busy machine what is there has not come by then.
in_time() {
    local words=$1 first=$2
    shift 2
    for wait in "$first" 5 30; do
        run "${@/#WAIT/$wait}"
        ! grep -Eq -- "$words" <<< "$output" || return 0
    done
    says "$words"
}
# until_said WORDS WAIT OPTION...: hbrun in_pod.
until_said() { in_time "$1" "$2" in_pod "$hbrun" --wait-hosts WAIT "${@:3}"; }

# Runs a command where this host seems to have two GPUs: a /sys and a /dev of
# the command's own, in which hwloc and the driver's nodes show them: AMD's, or
# with AS_NVIDIA NVIDIA's. Each time in another directory, or after rmdir dev.
with_gpus() {
    cat > gpus.sh <<'END'
set -e
mkdir dev
mount -t tmpfs none dev
mkdir dev/shm dev/pts dev/dri
for node in null zero full random urandom tty; do
    : > "dev/$node"
    mount --bind "/dev/$node" "dev/$node"
done
mount -t tmpfs none /sys/bus/pci/devices
[ -z "${AS_NVIDIA:-}" ] || mount -t tmpfs none /proc/driver
for n in 0 1; do
    at=/sys/bus/pci/devices/0000:a$n:00.0
    mkdir -p "$at/drm/renderD12$n"
    : > "dev/dri/renderD12$n"
    vendor=0x1002 device=0x74a1 config='\2\20\241\164'
    if [ -n "${AS_NVIDIA:-}" ]; then
        : > "dev/nvidia$n"
        given=/proc/driver/nvidia/gpus/0000:a$n:00.0
        mkdir -p "$given"
        echo "Device Minor: $n" > "$given/information"
        vendor=0x10de device=0x2330 config='\336\20\60\43'
    fi
    echo 0x030200 > "$at/class"
    echo $vendor | tee "$at/vendor" > "$at/subsystem_vendor"
    echo $device | tee "$at/device" > "$at/subsystem_device"
    { printf "$config"; head -c 252 /dev/zero; } > "$at/config"
done
mount --rbind dev /dev
HPCBOOT_TOPO_CACHE=off exec "$@"
END
    timeout -s KILL "$HB_LIMIT" unshare -m bash gpus.sh "$@"
}

# --- pods ---------------------------------------------------------------------

# lab_up NAME N [OPTION...]: a lab of this test file, with source, build and
# the file's folder in view. Skips where pods cannot be made.
lab_up() {
    local status=0 why
    export PODLAB_NAME=$1-$$
    shift
    why=$("$podlab" up "$@" --see "$HB_SRCDIR" --see "$HB_BUILDDIR" \
        --see "$BATS_RUN_TMPDIR" --owner $$ 2>&1) || status=$?
    [ $status -ne 77 ] || skip "$why"
    [ $status -eq 0 ] || { echo "$why"; return 1; }
}
lab_down() { [ -z "${PODLAB_NAME:-}" ] || "$podlab" down; }

pod() { "$podlab" exec "$@"; }

# pmix_client PROGRAM: made of tests/fakes/NAME.c, NAME being its last part.
pmix_client() {
    pkg-config --exists pmix || skip 'no PMIx client library to build with'
    # shellcheck disable=SC2046  # several words
    "${cc[@]}" -o "$1" "$HB_SRCDIR/tests/fakes/${1##*/}.c" \
        $(pkg-config --cflags --libs pmix)
}

# hbrun from pod-0, in a folder that all pods see.
pod_hb() {
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'cd "$0" && exec timeout -s KILL "$@"' "$BATS_FILE_TMPDIR" \
        "$HB_LIMIT" "$hbrun" "$@"
}

# answered COMMAND...: run, and once more where a probe of traffic between hosts
# was given up, as one that a busy machine keeps from its core is.
answered() {
    run "$@"
    [[ $output != *'no answer within 2 s'* ]] || run "$@"
}

# pod_job COMMAND...: in the background of pod-0, as $job; its pid there is in
# /tmp/launcher, its words in /tmp/out and /tmp/err: its own, not those of the
# job before, whoever looks how soon. Its limit is for several waits of a test.
pod_job() {
    pod 0 rm -f /tmp/launcher /tmp/out /tmp/err
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 timeout -s KILL $((3 * HB_LIMIT)) bash -c 'echo $$ > /tmp/launcher
        exec "$@" > /tmp/out 2> /tmp/err' - "$@" &
    job=$!
}
pod_job_ends() {
    ends "$job"
    output=$(pod 0 cat /tmp/out /tmp/err)
}

# What runs in pod I besides its sshd (and the ps that asks). A session of sshd
# whose peer is gone without a word is sshd's own matter.
pod_processes() {
    pod "$1" ps -eo pid=,args= |
        grep -Ev '^ *1 |ps -eo|sshd: ' || true
}
pod_is_clean() { [ -z "$(pod_processes "$1")" ]; }
pods_clean() { # I...
    local i
    for i; do
        wait_until pod_is_clean "$i" || { pod_processes "$i"; return 1; }
    done
}
