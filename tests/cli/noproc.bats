#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# A host without /proc: jobs run and end; what cannot be seen there is said.

load ../common
setup() {
    common_setup
    need_root
    need unshare
    ! grep -q __asan_init "$hbrun" ||
        skip 'the address sanitizer itself needs /proc'
    unshare --mount true || skip 'no mount namespace can be made'
}
teardown() { # what such a host cannot clean up
    local pid
    for pid in $(marked); do
        kill -KILL "$pid" 2> /dev/null || true
    done
}

# hbrun where /proc is empty, started by the name in $1.
blind() {
    unshare --mount bash -c 'mount -t tmpfs tmpfs /proc &&
        exec timeout -s KILL "$@"' - "$HB_LIMIT" "$@"
}

@test "without /proc the agent is found, by any name of hbrun" {
    local name
    ln -s "$hbrun" mpirun
    for name in "$hbrun" hbrun ./mpirun; do
        run blind "$name" -n 2 echo words
        ended_with 0
        [ "$(grep -c '^words$' <<< "$output")" -eq 2 ]
    done
}

@test "without /proc the ranks are still told to end" {
    run blind "$hbrun" -n 2 sh -c \
        '[ "$HPCBOOT_RANK" = 0 ] && exit 3; sleep 1000'
    ended_with 3
    says 'rank 0 on .* exited with status 3'
}

@test "what cannot be found without /proc holds nothing up, and is told of" {
    run blind "$hbrun" -n 1 sh -c 'setsid sleep 1000 & echo words'
    ended_with 0
    says '^words$'
    says 'left behind run on: they cannot be found without /proc'
}
