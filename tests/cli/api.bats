#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Ranks of libhpcboot on this host: alone, under hbrun, behind wrappers, one
# program after the other, and when one of them ends early.

load ../common
setup() {
    common_setup
    probe=$HB_BUILDDIR/tests/cli/apiprobe
}

all='who kvs blobs coll requests teams messages heap misuse place'

@test "a rank alone uses everything" {
    # shellcheck disable=SC2086  # words
    run timeout -s KILL "$HB_LIMIT" "$probe" $all
    ended_with 0
    says '^rank 0 of 1, local 0 of 1, node 0 of 1, host [^ ]+, by alone$'
}

@test "ranks of hbrun use everything" {
    # shellcheck disable=SC2086
    run hb -n 3 "$probe" $all
    ended_with 0
    for i in 0 1 2; do
        says "^rank $i of 3, local $i of 3, node 0 of 1, host .*, by hbrun$"
    done
}

@test "two ranks, which have no third to wait for" {
    # shellcheck disable=SC2086
    run hb -n 2 "$probe" $all
    ended_with 0
}

@test "a wrapper that closes what the rank inherited" {
    cat > wrapper << 'END'
for fd in /proc/self/fd/*; do
    fd=${fd##*/}
    [ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
done
exec "$@"
END
    run hb -n 2 bash wrapper "$probe" who kvs coll
    ended_with 0
    says '^rank 1 of 2, .* by hbrun$'
}

@test "a wrapper that has another file in the socket's place" {
    run hb -n 2 bash -c 'exec 43> "file.$HPCBOOT_RANK"; exec "$@"' - \
        "$probe" coll
    ended_with 0
    [ -e file.0 ] && [ ! -s file.0 ] && [ ! -s file.1 ]
}

@test "several programs one after the other" {
    run hb -n 3 bash -c '"$0" kvs coll && "$0" messages heap && "$0" who' \
        "$probe"
    ended_with 0
    says '^rank 2 of 3'
}

@test "a rank that is killed: the others hear who, where and why" {
    run hb -n 3 "$probe" killed
    says '^rank 0 hears: rank 1 on .* was killed by signal 9'
    says '^rank 2 hears: rank 1 on .* was killed by signal 9'
    says '^rank 0 event: rank 1, rank 1 on .* was killed by signal 9'
    nothing_left
}

@test "a rank that ends without finalize is as dead" {
    run hb -n 2 "$probe" left
    says '^rank 0 hears: rank 1 on .* ended with exit status 0 and without'
}

@test "a rank that never comes" {
    run hb -n 3 bash -c '[ "$HPCBOOT_RANK" != 1 ] || exit 0; exec "$0"' \
        "$probe"
    [ "$status" -ne 0 ]
    says 'rank 1 on .* exited with status 0 and never'
}

@test "deadlines of an init, a call, and a wait" {
    run hb -n 2 "$probe" late
    ended_with 0
}

@test "a small heap says so" {
    run hb -n 2 -x HPCBOOT_HEAP_MB=1 "$probe" full
    ended_with 0
}
