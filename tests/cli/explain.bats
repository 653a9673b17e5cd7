#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hpcboot explain: the ways of a collective, one of them chosen.

load ../common
setup() {
    common_setup
    hpcboot=$HB_BUILDDIR/hpcboot
    export XDG_CACHE_HOME=$PWD/cache
    unset HPCBOOT_COLL_TUNE
}

explain() { timeout -s KILL "$HB_LIMIT" "$hpcboot" explain "$@"; }

@test "every collective has one way that is chosen" {
    for name in barrier bcast scatter scatterv gather gatherv allgather \
        allgatherv reduce allreduce reduce_scatter reduce_scatter_block \
        alltoall alltoallv scan exscan; do
        size=(-n 64K)
        [ "$name" != barrier ] || size=()
        run explain "$name" "${size[@]}" --ranks 4 --typical
        ended_with 0
        says "^$name, (65536 bytes, )?4 ranks"
        [ "$(grep -c ' chosen$' <<< "$output")" -eq 1 ]
    done
}

@test "buffers of hpcboot_alloc are read where they are" {
    run explain alltoall -n 1M --alloc --typical
    ended_with 0
    says '^shared .* chosen$'
    run explain alltoall -n 1M --typical
    says_not '^shared'
}

@test "a rule decides, and is named" {
    HPCBOOT_COLL_TUNE='allreduce:1M=whole/8K' run explain allreduce -n 1M --ranks 8
    ended_with 0
    says '^whole +8192 .* chosen$'
    says 'a rule of HPCBOOT_COLL_TUNE says so'
    HPCBOOT_COLL_TUNE='allreduce=quickly' run explain allreduce
    ended_with 2
    says 'HPCBOOT_COLL_TUNE: "allreduce=quickly" is no rule'
}

@test "the kernel copies where it may, and that costs less" {
    export HPCBOOT_COLL_TUNE='cma_ns=700 cma_ps=1'
    run explain bcast -n 1M
    ended_with 0
    if [[ $output = *"may not read each other"* ]]; then
        says_not '^cma'
        skip "the kernel refuses"
    fi
    says '^  through the kernel: a call 700 ns, 1000.0 GB/s'
    says '^cma .* chosen$'
    run explain scan -n 1M
    says_not '^cma'
    HPCBOOT_COLL_TUNE='cma_ns=700 cma_ps=1000' run explain bcast -n 1M
    says '^whole .* chosen$'
    run explain bcast -n 1M --typical
    says_not 'through the kernel'
}

@test "where ranks may not read each other, the kernel is no way" {
    # A leak sanitizer would trace its process, too.
    HPCBOOT_COLL_TUNE='cma_ns=700 cma_ps=1' \
        ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
        run timeout -s KILL "$HB_LIMIT" "$(fake noptrace)" "$hpcboot" \
        explain bcast -n 1M
    ended_with 0
    says 'ranks may not read each other here: Operation not permitted'
    says_not '^cma'
    says '^whole .* chosen$'
}

@test "where no process may be made for the question, others are left alone" {
    local n sleeper uid=$((60000 + $$ % 5000))
    need_root
    need setpriv prlimit
    setpriv --reuid $uid --clear-groups test -x "$hpcboot" ||
        skip 'other users cannot reach the build'
    setpriv --reuid $uid --clear-groups sleep 1000 3>&- &
    sleeper=$!
    for n in 2 3 4; do
        # Nobody else is this user, the leak sanitizer needs a process, too.
        ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
            run env -u XDG_CACHE_HOME -u HOME setpriv --reuid $uid \
            --clear-groups prlimit --nproc="$n" timeout -s KILL "$HB_LIMIT" \
            "$hpcboot" explain bcast -n 1M
        kill -0 "$sleeper" # else it was killed with all that this user has
        [ "$n" = 2 ] || ended_with 0
    done
    kill "$sleeper"
}

@test "figures that a probe has kept are taken again" {
    for _ in {1..20}; do # others may be using the CPUs
        run explain barrier
        ended_with 0
        compgen -G 'cache/hpcboot/coll-*' > kept && break
        sleep 0.2
    done
    [ -s kept ] || skip "no probe: one CPU, or a busy machine"
    run explain barrier
    says "^figures of this machine, (measured now, )?kept in $XDG_CACHE_HOME/"
    [ "$(stat -c %a cache/hpcboot/coll-*)" = 600 ]
}

# The probe gives up after 5 ms: who is off its core for so long measures the
# next time.
measured() {
    run explain "$@"
    ended_with 0 && compgen -G 'cache/hpcboot/net-*' > kept
}

@test "what messages between hosts cost is measured, kept, and can be said" {
    wait_until measured bcast
    says '^  between hosts, a short message by TCP: [0-9]+ ns to send, [0-9]+ ns'
    [ "$(stat -c %a cache/hpcboot/net-*)" = 600 ]
    sed '/^send_ns/d; /^recv_ns/q' cache/hpcboot/net-* > net
    for _ in 1 2 3 4 5; do # as many takes as there are
        cat net
        echo send_ns=4321
    done > "$(echo cache/hpcboot/net-*)"
    run explain bcast
    says 'by TCP: 4321 ns to send'
    HPCBOOT_COLL_TUNE='send_ns=77 recv_ns=78' run explain bcast
    says 'by TCP: 77 ns to send, 78 ns to receive'
    run explain bcast --typical
    says_not 'by TCP'
}

@test "ranks that share cores add to what the one before has put" {
    run explain scan -n 64K --ranks 8 --cpus 2 --typical
    ended_with 0
    says '^chain .*  chosen$'
    says '^chain: each adds its own to what comes from below'
    run explain scan -n 64K --ranks 2 --typical
    says '^whole .*  chosen$'
    says_not '^chain'
}

@test "ranks run by the same rules" {
    export HPCBOOT_COLL_TUNE='allreduce=slices/8K bcast=/64K scan=chain/8K'
    run hbrun -x HPCBOOT_COLL_TUNE -n 4 "$hpcboot" perf allreduce,bcast,scan \
        --sizes 256K --time 1ms
    ended_with 0
    [ "$(grep -c ' ok$' <<< "$output")" -eq 3 ]
    export HPCBOOT_COLL_TUNE=nonsense
    run hbrun -x HPCBOOT_COLL_TUNE -n 2 "$hpcboot" perf allreduce --sizes 8
    [ "$status" -ne 0 ]
    says 'HPCBOOT_COLL_TUNE: "nonsense" is no rule'
}

@test "every collective has its algorithms between hosts, one of them chosen" {
    for name in barrier bcast scatter scatterv gather gatherv allgather \
        allgatherv reduce allreduce reduce_scatter reduce_scatter_block \
        alltoall alltoallv scan exscan; do
        size=(-n 64K)
        [ "$name" != barrier ] || size=()
        run explain "$name" "${size[@]}" --nodes 4 --typical
        ended_with 0
        says "^$name, (65536 bytes, )?4 hosts of 2 ranks"
        says 'between hosts'
        says '^(ranks of a host first|each rank for itself: )'
        [ "$(grep -c '  chosen$' <<< "$output")" -eq 1 ]
    done
}

@test "a call between so many hosts that none has the memory for it is explained" {
    for name in reduce_scatter reduce_scatter_block; do
        run explain "$name" -n 1G --nodes 1000 --typical
        ended_with 0
        says "^$name, 1073741824 bytes, 1000 hosts of 2 ranks"
        [ "$(grep -c '  chosen$' <<< "$output")" -eq 1 ]
    done
}

@test "hosts work by themselves before and after" {
    run explain allreduce -n 1K --nodes 4 --ranks 8 --typical
    ended_with 0
    says '^reduce on each host, allreduce between hosts, and bcast on each host$'
    says '^allreduce of 1024 bytes between 4 ranks$'
    run explain allreduce -n 1K --nodes 4 --ranks 1 --typical
    says '^allreduce between hosts$'
    HPCBOOT_COLL_NET=flat run explain allreduce -n 1K --nodes 4 --ranks 8 --typical
    says '^allreduce of 1024 bytes between 32 ranks$'
}

@test "why each rank is for itself is told" {
    run explain allreduce --nodes 4 --ranks 2 --typical
    ended_with 0
    says '^ranks of a host first'
    run explain allreduce --nodes 4 --ranks 1 --typical
    says '^each rank for itself: no host has two$'
    run explain alltoall -n 64K --nodes 4 --ranks 2 --typical
    says '^each rank for itself: blocks of more than 4096 bytes '
    run explain alltoall -n 4K --nodes 64 --ranks 64 --typical
    says '^each rank for itself: one rank of a host would need more than 64 '
    run explain alltoallv --nodes 4 --ranks 2 --typical
    says '^each rank for itself: it knows no counts but its own'
    run explain allreduce --nodes 8 --ranks 2 --pods --cpus 2 --typical
    says '^each rank for itself: pods share CPUs, and this would cost '
    run explain scan --nodes 4 --ranks 2 --pods --cpus 2 --typical
    says '^each rank for itself: a chain of all is cheapest'
    HPCBOOT_COLL_NET=flat run explain allreduce --nodes 4 --typical
    says '^each rank for itself: HPCBOOT_COLL_NET says so$'
    HPCBOOT_COLL_NET=nodes run explain scan --nodes 4 --pods --cpus 2 --typical
    says '^ranks of a host first.*: HPCBOOT_COLL_NET says so$'
}

@test "what a way costs, and why it is taken, agree with where ranks are" {
    run explain bcast --nodes 4 --ranks 2 --pods --cpus 2 --typical
    ended_with 0
    flat=$(sed -n 's/^each rank for itself.* would cost \(.*\) us, the.*/\1/p' \
        <<< "$output")
    says "^[a-z]+ .* ${flat%.*}\.[0-9]+  chosen\$"
    says '^knomial: the next, pipeline, would cost '
    run explain scatterv --nodes 4 --ranks 2 --typical
    says '^each rank for itself: '
    says '^linear: taken as a rank knows no counts but its own'
    run explain gatherv -n 64 --nodes 8 --ranks 1 --typical
    says_not 'ranks of a host come first'
}

@test "a wish decides between hosts, and is named" {
    HPCBOOT_COLL_NET=allreduce=ring run explain allreduce --nodes 4 --typical
    ended_with 0
    says '^ring .*  chosen$'
    says '^ring: HPCBOOT_COLL_NET says so'
    HPCBOOT_COLL_NET=allreduce=square run explain allreduce --nodes 4
    ended_with 2
    says 'HPCBOOT_COLL_NET: "allreduce=square" is no wish'
}

@test "the network that the choice rests on is told" {
    wait_until measured bcast --nodes 4
    says '^network: (tcp|rdma)'
    run explain bcast --nodes 4 --network tcp
    says "by TCP: [0-9]+ ns to send, .*kept in $XDG_CACHE_HOME/hpcboot/net-"
    HPCBOOT_COLL_TUNE='send_ns=77 recv_ns=78' run explain bcast --nodes 4 \
        --network tcp --pods --cpus 3
    says ', pods of one machine$'
    says 'by TCP: 77 ns to send, 78 ns to receive, .*HPCBOOT_COLL_TUNE'
    says 'sending 154, receiving 78' # as between pods
    says 'and 3 CPUs for all ranks'
    HPCBOOT_COLL_TUNE='send_ns=77 recv_ns=78' run explain bcast --nodes 4 \
        --network tcp
    says 'sending 77, receiving 78'
    run explain allreduce -n 8K --nodes 16 --ranks 1 --typical --mbps 1000
    says '^network: tcp, 1000 Mb/s$'
    says '^halving .*  chosen$'
    run explain allreduce -n 8K --nodes 16 --ranks 1 --typical
    says '^doubling .*  chosen$'
    run explain allreduce --nodes 4 --network rdma --mbps 200000 --typical
    says '0.040 ns a byte'
}

@test "a line that is wrong is named" {
    run explain bcast --nodes 0
    ended_with 2
    run explain bcast --nodes 4 --network tin
    ended_with 2
    says '\-\-network tin: expected one of tcp, rdma, soft'
    run "$hpcboot" --completion bash
    says "explain:--network\) words='tcp rdma soft'"
    run explain bcast --pods
    ended_with 2
    says '\-\-pods goes with \-\-nodes, two or more$'
    run explain bcast --nodes 65536 --ranks 1024
    ended_with 2
    says '1048576 ranks in all'
    run explain
    ended_with 2
    run explain allreduse
    ended_with 2
    says 'no collective allreduse \(did you mean allreduce\?\)'
    run explain bcast -n much
    ended_with 2
    says 'expected a number'
    run explain bcast 64K
    ended_with 2
    says '64K: one word too many; is -n 64K meant \(bytes of the vector'
    run explain 4 bcast
    ended_with 2
    says '4: one word too many; is -n 4 meant'
    run explain bcast reduce
    ended_with 2
    says 'reduce: one word too many; hpcboot explain --help lists the options$'
    run explain bcast --ranks 0
    ended_with 2
    says 'ranks 0: expected a number from 1 to 1024$'
    run explain bcast -n 0
    ended_with 2
    says 'bytes 0: expected a number from 1 to [0-9]+, such as 64 or 1M$'
}

@test "an option that decides nothing about the question is named" {
    idle() { # EXPRESSION WORDS...
        run explain "${@:2}"
        ended_with 2
        says "$1"
    }
    idle '\-\-bytes goes with a collective that has bytes$' barrier -n 8
    idle '\-\-alloc goes with a collective that has bytes$' barrier --alloc
    idle '\-\-mbps goes with' bcast --nodes 1 --mbps 1000
    idle '\-\-alloc goes with the choice on one host' bcast --nodes 2 --alloc
    idle '\-\-cpus goes with \-\-pods' bcast --nodes 2 --cpus 2
}
