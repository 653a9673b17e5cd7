#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Collectives of libhpcboot between hosts, drawn at random and compared with
# the reference; a sample, and with --long more of them, for ten minutes.

load ../common

setup_file() { lab_up collectives 7; }
teardown_file() { lab_down; }
setup() {
    check=$HB_BUILDDIR/tests/pods/netcheck
    ucx=$HB_BUILDDIR/.libs/hb_ucx.so
    cases=25 seconds=2
    if [ "${HB_LONG:-no}" = yes ]; then
        cases=1000 seconds=300
        export HB_LIMIT=900
    fi
}

need_ucx() { [ -e "$ucx" ] || skip 'built without UCX'; }

# over PODS RANKS SEED [OPTION...]: RANKS on each of the first PODS.
over() {
    local pods=$1 ranks=$2 seed=$3 hosts='' i
    shift 3
    for ((i = 0; i < pods; i++)); do
        hosts+=${hosts:+,}pod-$i:$ranks
    done
    # With UCX's modules a sanitizer needs that; net.bats says why.
    run pod_hb -H "$hosts" -x ASAN_OPTIONS=intercept_tls_get_addr=0 "$@" \
        "$check" cases "$seed" "$cases"
    ended_with 0
    says "^$cases calls on $((pods * ranks)) ranks$"
}

@test "two pods, one rank each" { over 2 1 1; }
@test "two pods, four ranks each" { over 2 4 2; }
@test "three pods, two ranks each" { over 3 2 3; }
@test "four pods, two ranks each" { over 4 2 4; }
@test "seven pods, one rank each" { over 7 1 5; }

@test "by UCX" {
    need_ucx
    over 2 2 12 -x HPCBOOT_TRANSPORTS=ucx
    over 4 1 13 -x HPCBOOT_TRANSPORTS=ucx
}

@test "hosts whose transports differ: all choose alike all the same" {
    need_ucx
    # shellcheck disable=SC2016  # expanded by the ranks
    run pod_hb -H pod-0:2,pod-1:2,pod-2:2 sh -c '
        case $HPCBOOT_RANK in [01]) wish=tcp,ucx ;; 2) wish=tcp ;;
        3) wish=tcp,ucx ;; *) wish=ucx,tcp ;; esac
        HPCBOOT_TRANSPORTS=$wish exec "$0" "$@"' "$check" cases 14 "$cases"
    ended_with 0
    says "^$cases calls on 6 ranks$"
}

@test "ranks that go round the pods" { over 3 2 6 --map-by node; }

@test "every rank for itself, and nodes first where it would not pay" {
    over 3 2 7 -x HPCBOOT_COLL_NET=flat
    over 3 2 8 -x HPCBOOT_COLL_NET=nodes,leaders=2,bcast=double_tree:4096
}

@test "leaves of the network: trees go within them before across" {
    over 7 1 15 -x HPCBOOT_LEAVES=0,3,4 \
        -x HPCBOOT_COLL_NET=bcast=knomial:2,reduce=knomial:2,allreduce=knomial:4
    over 4 2 16 -x HPCBOOT_LEAVES=0,2 \
        -x HPCBOOT_COLL_NET=bcast=knomial:2,reduce=knomial:4
}

@test "--order topology tells the ranks where leaves begin" {
    printf 'SwitchName=x Nodes=pod-0,pod-2\nSwitchName=y Nodes=pod-1,pod-3\n' \
        > "$BATS_FILE_TMPDIR/net"
    # shellcheck disable=SC2016  # expanded by the ranks
    run pod_hb -H pod-0:1,pod-1:1,pod-2:1,pod-3:1 --order topology \
        --topology "$BATS_FILE_TMPDIR/net" sh -c 'echo "leaves $HPCBOOT_LEAVES"'
    ended_with 0
    [ "$(grep -c '^leaves 0,2$' <<< "$output")" -eq 4 ]
    # shellcheck disable=SC2016  # expanded by the ranks
    run pod_hb -H pod-0:1,pod-1:1 sh -c 'echo "leaves $HPCBOOT_LEAVES"'
    [ "$(grep -c '^leaves $' <<< "$output")" -eq 2 ]
}

@test "pods of different sizes" {
    run pod_hb -H pod-0:3,pod-1:1,pod-2:2 "$check" cases 9 "$cases"
    ended_with 0
    says "^$cases calls on 6 ranks$"
}

@test "more pods and ranks, with --long" {
    [ "${HB_LONG:-no}" = yes ] || skip 'with --long'
    for pods in 2 3 4 7; do
        for ranks in 1 2 3 4; do
            over "$pods" "$ranks" "$pods$ranks"
            [ "$ranks" -gt 2 ] || [ ! -e "$ucx" ] ||
                over "$pods" "$ranks" "$ranks$pods" -x HPCBOOT_TRANSPORTS=ucx
        done
    done
}

@test "a wish that is none is an error at every rank" {
    run pod_hb -H pod-0:1,pod-1:1 -x HPCBOOT_COLL_NET=allreduce=square \
        "$check" cases 1 1
    says 'allreduce=square" is no wish for collectives between nodes'
    [ "$status" -ne 0 ]
}

@test "leaves that are none are an error at every rank" {
    run pod_hb -H pod-0:1,pod-1:1 -x HPCBOOT_LEAVES=0,2,1 "$check" cases 1 1
    says 'HPCBOOT_LEAVES: "0,2,1" is no list of nodes at which leaves begin'
    [ "$status" -ne 0 ]
}

@test "after a death the others shrink their team and go on" {
    run pod_hb --on-failure continue -H pod-0:2,pod-1:2,pod-2:1 "$check" \
        death 10 "$cases"
    says '^4 of 5 go on$'
    says "^$cases calls on 5 ranks$"
}

do_not_grow() {
    ! is_sanitized || skip 'a sanitizer keeps what was freed'
    run pod_hb -x HPCBOOT_TRANSPORTS="$1" -H pod-0:2,pod-1:1,pod-2:1 "$check" \
        seconds 11 "$seconds"
    ended_with 0
    says '^[0-9]+ calls on 4 ranks$'
}

@test "memory and descriptors do not grow, by TCP" { do_not_grow tcp; }
@test "memory and descriptors do not grow, by UCX" {
    need_ucx
    do_not_grow ucx
}
