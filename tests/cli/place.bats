#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Placement as a person sees it: plans on machines that are files, wrong wishes,
# what ranks are told, and hpcboot topo.

load ../common
setup() {
    common_setup
    export HPCBOOT_TOPO_CACHE=$BATS_TEST_TMPDIR/cache
}

machines=$HB_SRCDIR/tests/data/topo
plan() { hb --dry-run "$@" true; }
topo() { timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" topo "$@"; }
cpus_of_ranks() { # of a plan in $output
    sed -n 's/^ *rank [0-9]* bound to .*(CPUs* \(.*\))$/\1/p' <<< "$output" |
        tr '\n' ' '
}

@test "a plan on a machine that is a file says what ranks are bound to" {
    hwloc_is_there
    run plan -H a:8 -n 8 --map-by gpu --topo-of "a=$machines/gpu-8nic.xml"
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-3 4-7 8-11 12-15 16-19 20-23 24-27 28-31 ' ]
    run plan -H a:2,b:2 --map-by ppr:1:package \
        --topo-of '*=synthetic:pack:2 core:2 pu:1'
    ended_with 0
    says 'host b: .*ranks 2-3'
    [ "$(cpus_of_ranks)" = '0-1 2-3 0-1 2-3 ' ]
}

@test "one core and one slot are no cores and no slots" {
    hwloc_is_there
    run plan -H a:auto -n 2 --topo-of '*=synthetic:pack:1 core:1 pu:1'
    ended_with 0
    says '^host a: slots 1 \(1 core in synthetic:'
    run timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" hostfile --why -H a:1
    ended_with 0
    says ' a: .*1 slot($|[^s])'
}

@test "a plan for programs lists every binding; one that cannot be kept is 2" {
    hwloc_is_there
    run plan --json -H a:2,b:2 --map-by ppr:1:package --bind-to core \
        --topo-of '*=synthetic:pack:2 core:2 pu:2'
    ended_with 0
    python3 -c 'import json, sys
a, b = json.loads(sys.argv[1])["hosts"]
assert [x["rank"] for x in a["bindings"] + b["bindings"]] == [0, 1, 2, 3]
assert [x["cpus"] for x in b["bindings"]] == ["0-1", "4-5"]
assert b["bound"] and b["binding_why"]' "$output"
    run plan --json -H a:2 -n 2 --bind-to core --map-by slot:PE=3 \
        --topo-of '*=synthetic:pack:2 core:2 pu:2'
    ended_with 2
    says '"binding_error":"2 ranks of 3 cores each on 4 cores'
    says 'host a: 2 ranks of 3 cores each on 4 cores: there is room for 1'
}

@test "ranks of several CPUs do not go without them where slots are stated" {
    hwloc_is_there
    local eight='*=synthetic:core:8 pu:1'
    run plan -H a:8,b:8 -n 9 --map-by slot:PE=2 --topo-of "$eight"
    ended_with 2
    says '5 ranks of 2 CPUs each would run on a, which has room for 4'
    run plan -H a:8,b:8 -n 8 --cpus-per-rank 2 --topo-of "$eight"
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-1 2-3 4-5 6-7 0-1 2-3 4-5 6-7 ' ]
    run plan -H a:8 -n 5 --map-by slot:PE=2:OVERSUBSCRIBE --topo-of "$eight"
    ended_with 0
    says 'not bound: 5 ranks of 2 cores each'
    run plan -H a:8 -n 5 --map-by slot:PE=2 --bind-to none --topo-of "$eight"
    ended_with 0
}

@test "after a plan that is refused there are no ranks whose ends could be told" {
    hwloc_is_there
    run hb -H localhost:8 -n 2 --map-by "slot:PE=$(nproc)" --print-exit-codes true
    ended_with 2
    says 'which has room for 1'
}

@test "CPUs of ranks that are mapped by hardware threads are such threads" {
    hwloc_is_there
    local smt='a=synthetic:core:4 pu:2'
    run plan -H a:8 -n 2 --map-by hwthread:PE=1 --topo-of "$smt"
    ended_with 0
    [ "$(cpus_of_ranks)" = '0 1 ' ]
    run plan -H a:8 -n 2 --map-by hwthread:PE=3 --topo-of "$smt"
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-2 3-5 ' ]
}

@test "what a machine cannot give is refused in its plan" {
    hwloc_is_there
    run plan -H a:4 -n 1 --map-by slot:PE=17 --topo-of 'a=synthetic:core:8 pu:1'
    ended_with 2
    says 'PE=17: this host has 8 cores'
    run plan -H a:4 -n 2 --map-by ppr:3:l2cache \
        --topo-of 'a=synthetic:l2:4 core:2 pu:1'
    ended_with 2
    says 'host a has no such object .* CPUs for as many ranks'
    run plan -H a:4 -n 2 --gpus-per-rank 9 --topo-of "a=$machines/gpu-8nic.xml"
    ended_with 2
    says 'each rank was to get 9 of the host.s GPUs, and there are 8'
    run hb -n 1 --gpus-per-rank 2000 true
    ended_with 2
    says 'error: --gpus-per-rank 2000: expected GPUs of one host, 1 to 1024$'
    run plan --json -H a:4 -n 2 --gpus-per-rank 2 --bind-to numa \
        --topo-of "a=$machines/gpu-8nic.xml"
    ended_with 0
    says '"gpus":\[\[0,1\],\[4,5\]\]'
}

@test "a plan says which GPUs ranks see, and that they are shared" {
    hwloc_is_there
    local machine="a=$machines/gpu-8nic.xml"
    run plan -H a:8 -n 2 --gpus-per-rank 1 --bind-to numa --topo-of "$machine"
    ended_with 0
    says '^  rank 1 sees GPU 4 \(0000:'
    says_not 'share'
    run plan -H a:16 -n 9 --gpus-per-rank 1 --topo-of "$machine"
    ended_with 0
    says '^  9 ranks that see 1 GPU each share the 8 GPUs here'
    run plan -H a:8 -n 8 --map-by gpu --topo-of "$machine"
    says 'next to its device; it sees all GPUs \(--gpus-per-rank 1: its own\)'
    run plan -H a:8 -n 8 --map-by gpu --gpus-per-rank 1 --topo-of "$machine"
    says 'binding: each rank to the cores next to its device$'
}

@test "GPUs: --explain says who sees which, a warning that they are shared" {
    hwloc_is_there
    with_gpus true || skip "no mounts of a process's own can be made here"
    rmdir dev
    run with_gpus "$hbrun" -n 2 --gpus-per-rank 1 --explain true
    ended_with 0
    says 'rank 0 sees GPU 0 \(0000:a0:00.0\)$'
    says 'rank 1 sees GPU 1 \(0000:a1:00.0\)$'
    says_not 'warning'
    rmdir dev
    run with_gpus "$hbrun" -n 3 --oversubscribe --gpus-per-rank 1 true
    ended_with 0
    says 'warning: .*: 3 ranks that see 1 GPU each share the 2 GPUs here'
    says_not 'sees'
    rmdir dev
    printf '%s slots=4\n' a b c d > hosts
    run with_gpus "$hbrun" -n 16 --gpus-per-rank 1 --launch-with fork \
        --hostfile hosts true
    ended_with 0
    [ "$(grep -c '4 ranks that see 1 GPU each share' <<< "$output")" -eq 1 ]
    says 'start fewer, or take more hosts, with --map-by ppr:2:node$'
    says 'warning: host [a-d] says that too, and others may; -v '
    [ "$(grep -c 'host [a-d] says' <<< "$output")" -eq 1 ]
    rmdir dev
    run with_gpus "$hbrun" -v -n 16 --gpus-per-rank 1 --launch-with fork \
        --hostfile hosts true
    ended_with 0
    [ "$(grep -c '4 ranks that see 1 GPU each share' <<< "$output")" -eq 3 ]
}

@test "torchrun's auto and DeepSpeed's own number: GPUs, else cores" {
    need taskset
    with_gpus true || skip "no mounts of a process's own can be made here"
    local cpu line
    cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
    for line in 'torchrun --nproc-per-node auto' deepspeed \
        'deepspeed --num_gpus -1'; do
        rmdir dev
        # shellcheck disable=SC2086  # several words
        AS_NVIDIA=yes run with_gpus \
            taskset -c "$cpu" "$hbrun" --dry-run $line train.py
        ended_with 0
        says '^host .* slots 2 \(2 NVIDIA GPUs.*, ranks 0-1$'
        # shellcheck disable=SC2086
        run taskset -c "$cpu" "$hbrun" --dry-run $line train.py
        ended_with 0
        [ -n "$(ls /dev/nvidia[0-9]* /dev/dri/renderD* 2> /dev/null)" ] ||
            says '^host .* slots 1 \(1 core .*, ranks 0$'
    done
    # shellcheck disable=SC2086
    run taskset -c "$cpu" "$hbrun" --dry-run --default-slots 3 deepspeed train.py
    says '^host .* slots 3 .*, ranks 0-2$'
}

@test "GPUs that a variable names already are shared out, by whatever names" {
    hwloc_is_there
    with_gpus true || skip "no mounts of a process's own can be made here"
    # shellcheck disable=SC2016  # expanded in the rank
    local list show='echo "$HPCBOOT_RANK has $ROCR_VISIBLE_DEVICES"'
    for list in 0,1 GPU-aa,GPU-bb; do
        rmdir dev
        run with_gpus env "ROCR_VISIBLE_DEVICES=$list" "$hbrun" -n 2 \
            --gpus-per-rank 1 sh -c "$show"
        ended_with 0
        says "^0 has ${list%,*}\$"
        says "^1 has ${list#*,}\$"
    done
    rmdir dev
    run with_gpus env ROCR_VISIBLE_DEVICES=1 "$hbrun" -n 2 --gpus-per-rank 1 \
        --report-bindings sh -c "$show"
    ended_with 0
    [ "$(grep -c 'has 1$' <<< "$output")" -eq 2 ]
    says 'rank 0 sees ROCR_VISIBLE_DEVICES=1$'
    says_not 'sees GPU'
    rmdir dev
    run with_gpus env ROCR_VISIBLE_DEVICES=-1 "$hbrun" -n 2 --gpus-per-rank 1 \
        sh -c "$show"
    ended_with 0
    [ "$(grep -c 'has -1$' <<< "$output")" -eq 2 ]
}

@test "a list of some GPUs: ranks are counted, bound and refused by these" {
    hwloc_is_there
    local machine="a=$machines/gpu-8nic.xml" list
    export CUDA_VISIBLE_DEVICES=4,5
    run plan -H a:8 -n 2 --map-by gpu --gpus-per-rank 1 --topo-of "$machine"
    ended_with 0
    [ "$(cpus_of_ranks)" = '16-23 24-31 ' ]
    says 'rank 0 sees CUDA_VISIBLE_DEVICES=4$'
    says 'rank 1 sees CUDA_VISIBLE_DEVICES=5$'
    run plan -H a:auto --map-by gpu --gpus-per-rank 1 --json --topo-of "$machine"
    ended_with 0
    says '"gpus":\[\[4\],\[5\]\]'
    run plan -H a:auto --map-by gpu -x CUDA_VISIBLE_DEVICES=1,2,7 \
        --topo-of "$machine"
    says 'host a: .*ranks 0-2$'
    for list in 0,1 GPU-aa,GPU-bb; do
        CUDA_VISIBLE_DEVICES=$list
        run plan -H a:8 -n 2 --gpus-per-rank 4 --topo-of "$machine"
        ended_with 2
        says 'each rank was to get 4 of the host.s GPUs, and there are 2'
        run plan -H a:8 -n 4 --gpus-per-rank 1 --topo-of "$machine"
        ended_with 0
        says '4 ranks that see 1 GPU each share the 2 GPUs here'
        run plan -H a:auto --map-by gpu --topo-of "$machine"
        says 'host a: .*ranks 0-1$'
    done
    CUDA_VISIBLE_DEVICES=7,1,1
    run plan -H a:2 --map-by gpu --gpus-per-rank 1 --topo-of "$machine"
    [ "$(cpus_of_ranks)" = '16-31 0-15 ' ]
    says 'rank 0 sees CUDA_VISIBLE_DEVICES=7$'
    says 'rank 1 sees CUDA_VISIBLE_DEVICES=1$'
    # Of a GPU that is not there nothing can be said.
    CUDA_VISIBLE_DEVICES=4,9
    run plan -H a:8 -n 2 --gpus-per-rank 1 --topo-of "$machine"
    says 'rank 1 sees CUDA_VISIBLE_DEVICES=9$'
}

@test "a list of one GPU: an agent goes by it" {
    hwloc_is_there
    with_gpus true || skip "no mounts of a process's own can be made here"
    rmdir dev
    run with_gpus env ROCR_VISIBLE_DEVICES=1 "$hbrun" -n 1 --gpus-per-rank 2 \
        true
    ended_with 2
    says 'each rank was to get 2 of the host.s GPUs, and there are 1'
    rmdir dev
    # shellcheck disable=SC2016  # expanded in the rank
    run with_gpus env ROCR_VISIBLE_DEVICES=1 "$hbrun" -n 2 --oversubscribe \
        --gpus-per-rank 1 sh -c 'echo has $ROCR_VISIBLE_DEVICES'
    ended_with 0
    says 'warning: .*: 2 ranks that see 1 GPU each share the 1 GPU here'
    [ "$(grep -c 'has 1$' <<< "$output")" -eq 2 ]
    rmdir dev
    run with_gpus env ROCR_VISIBLE_DEVICES=1 "$hbrun" -H localhost:auto \
        --map-by gpu echo here
    ended_with 0
    [ "$(grep -c '^here$' <<< "$output")" -eq 1 ]
    rmdir dev
    run with_gpus env ROCR_VISIBLE_DEVICES=1 "$HB_BUILDDIR/hpcboot" topo
    ended_with 0
    says '^gpu 1: 0000:a1:00.0, '
    says_not '^gpu 0: '
    rmdir dev
    # Of programs with lists of their own each rank has a part of its list.
    # shellcheck disable=SC2016
    run with_gpus "$hbrun" --gpus-per-rank 1 --oversubscribe \
        -n 1 -x ROCR_VISIBLE_DEVICES=1 sh -c 'echo has $ROCR_VISIBLE_DEVICES' : \
        -n 1 -x ROCR_VISIBLE_DEVICES=0 sh -c 'echo got $ROCR_VISIBLE_DEVICES'
    ended_with 0
    says 'has 1$'
    says 'got 0$'
}

@test "unasked, a plan binds those that a job would" {
    hwloc_is_there
    run plan -H a:2 -n 2 --pmi pmix --topo-of '*=synthetic:core:4 pu:1'
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-1 2-3 ' ]
    run plan -H a:2 -n 2 --pmi pmi1 --topo-of '*=synthetic:core:4 pu:1'
    ended_with 0
    says 'not bound: nobody asked'
    run hb -n 1 --pmi pmi1 --report-bindings true
    ended_with 0
    says 'ranks are not bound: nobody asked'
}

@test "hosts that are not alike are each placed by their own inside" {
    hwloc_is_there
    run plan -H a:4,b:4 --map-by ppr:1:package \
        --topo-of 'a=synthetic:pack:2 core:2 pu:1' \
        --topo-of 'b=synthetic:pack:1 core:2 pu:1'
    ended_with 0
    says 'host a: .*ranks 0-1$'
    says 'host b: .*ranks 2$'
}

@test "a plan on a list: shared by more ranks, a CPU named twice counts once" {
    hwloc_is_there
    local four=(-H a:4 --topo-of '*=synthetic:core:4 pu:1')
    run plan "${four[@]}" -n 3 --map-by pe-list=0-1:ORDERED
    [ "$(cpus_of_ranks)" = '0-1 0-1 0-1 ' ]
    run plan "${four[@]}" -n 1 --map-by pe-list=1:PE=2 --bind-to core:if-supported
    [ "$(cpus_of_ranks)" = '1 ' ]
    run plan "${four[@]}" -n 2 --map-by pe-list=2,2,1-2:ORDERED
    [ "$(cpus_of_ranks)" = '2 1 ' ]
    run plan "${four[@]}" -n 3 --map-by pe-list=2,0:ORDERED \
        --bind-to core:overload-allowed
    [ "$(cpus_of_ranks)" = '2 0 2 ' ]
    run plan "${four[@]}" -n 3 --map-by pe-list=1,1,0 --bind-to core
    ended_with 2
    says '3 ranks of 1 CPU each on the 2 of pe-list=1,1,0'
}

@test "ppr with overload-allowed: ranks of an object share its CPUs" {
    hwloc_is_there
    run plan -H a:4 --topo-of 'a=synthetic:pack:1 core:2 pu:1' \
        --map-by ppr:2:core
    ended_with 2
    says 'let ranks share CPUs \(--bind-to OBJECT:overload-allowed, or none\)'
    run plan -H a:4 --topo-of 'a=synthetic:pack:1 core:2 pu:1' \
        --map-by ppr:2:core --bind-to core:overload-allowed
    ended_with 0
    [ "$(cpus_of_ranks)" = '0 0 1 1 ' ]
}

@test "a captured system: its CPU set and quota are those of the plan" {
    hwloc_is_there
    mkdir -p pod/etc pod/proc/self pod/sys/fs/cgroup
    cp "$machines/hybrid.xml" pod/topology.xml
    echo 0-7 > pod/etc/cpus
    echo 0::/ > pod/proc/self/cgroup
    echo '1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw' \
        > pod/proc/self/mountinfo
    echo '150000 100000' > pod/sys/fs/cgroup/cpu.max
    run plan -H a -n 3 --pmi pmix --map-by :OVERSUBSCRIBE --topo-of a=pod
    ended_with 0
    says 'not bound: 3 ranks share a quota of 1.5 CPUs'
    run topo --machine pod
    ended_with 0
    says 'allowed: CPUs 0-7; .*quota 1.5 CPUs'
    says '^slots: 2$'
}

@test "ranks that share CPUs are where one has as many as it was promised" {
    hwloc_is_there
    mkdir -p pod/etc
    cp "$machines/gpu-8nic.xml" pod/topology.xml
    echo 0,16-19 > pod/etc/cpus # of one package a core, of the other four
    run plan -H a:2 --map-by package:PE=3 --bind-to core:overload-allowed \
        --topo-of a=pod
    ended_with 0
    [ "$(cpus_of_ranks)" = '16-18 16-18 ' ]
}

@test "more devices than cores: CPUs of a rank's own are kept or refused" {
    hwloc_is_there
    mkdir -p pod/etc
    cp "$machines/gpu-8nic.xml" pod/topology.xml
    plan_on() { # CPUS OPTION...
        echo "$1" > pod/etc/cpus
        run plan -H a:8 --topo-of a=pod "${@:2}"
    }
    plan_on 0-1 --map-by gpu -n 4 --bind-to core
    ended_with 2
    says '4 ranks of 1 core each on 2 cores: there is room for 2'
    plan_on 0-1 --map-by gpu -n 2 --bind-to core
    ended_with 0
    [ "$(cpus_of_ranks)" = '0 1 ' ]
    plan_on 0-1 --map-by gpu -n 4 --bind-to core:overload-allowed
    ended_with 0
    [ "$(cpus_of_ranks)" = '0 1 0 1 ' ]
    plan_on 0-1 --map-by gpu -n 4
    ended_with 0
    [ "$(cpus_of_ranks)" = '0 1 0 1 ' ]
    plan_on 0-1 --map-by gpu:PE=2 -n 4
    ended_with 2
    says '4 ranks of 2 CPUs each would run on a, which has room for 1'
    plan_on 0-1 --map-by gpu:PE=2 -n 1
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-1 ' ]
    # GPUs 2 and 3 have no core left beside them.
    plan_on 0-1,16-31 --map-by gpu -n 6 --bind-to core
    ended_with 0
    [ "$(cpus_of_ranks)" = '0 1 16 20 24 28 ' ]
    plan_on 0-1,16-31 --map-by ppr:1:gpu -n 8 --bind-to core
    ended_with 2
    says '8 ranks of 1 core each on 18 cores: there is room for 6'
    run plan -H a:16 -n 16 --map-by ppr:2:gpu:PE=2 \
        --topo-of "a=$machines/gpu-8nic.xml"
    ended_with 0
    [[ "$(cpus_of_ranks)" = '0-1 2-3 4-5 '*' 28-29 30-31 ' ]]
}

@test "--topo-of: wrong words, files cut short" {
    hwloc_is_there
    run plan -H a -n 1 --topo-of a
    ended_with 2
    says 'expected HOST=FILE'
    run plan -H a -n 1 --topo-of "b=$machines/hybrid.xml"
    ended_with 2
    says 'no host of this job has that name'
    head -c 3000 "$machines/hybrid.xml" > short.xml
    run plan -H a -n 1 --topo-of a=short.xml
    ended_with 2
    says 'short.xml: it is cut short'
    run hb -n 1 --topo-of "a=$machines/hybrid.xml" true
    ended_with 2
    says 'goes with --dry-run'
}

@test "hosts that are addresses of the loopback device are told apart" {
    printf 'rank 0=127.0.0.2 slot=0\nrank 1=127.0.0.1 slot=0\n' > rf
    # shellcheck disable=SC2016  # expanded in the ranks
    run -0 hb --launch-with fork -H 127.0.0.1:1,127.0.0.2:1 --rankfile rf \
        --bind-to none sh -c 'echo "$HPCBOOT_RANK $HPCBOOT_NODE"'
    [ "$(sort <<< "$output")" = $'0 1\n1 0' ]
    echo 'rank 0=127.0.0.1 slot=0' > rf
    run -0 hb -H localhost:1 --rankfile rf --bind-to none echo here
    [ "$output" = here ]
}

@test "a rankfile places and binds; what is wrong in it is named" {
    hwloc_is_there
    printf 'rank 0=b slot=1:0\nrank 1=a slot=0-1\n' > rf
    run plan -H a:2,b:2 --rankfile rf \
        --topo-of '*=synthetic:pack:2 core:2 pu:1'
    ended_with 0
    says 'host a: .*ranks 1$'
    [ "$(cpus_of_ranks)" = '0-1 2 ' ]
    printf 'rank 0=a slot=0\nrank 1=a slot=0-1\n' > rf
    run plan -H a:2 --rankfile rf --topo-of 'a=synthetic:core:4 pu:1'
    ended_with 2
    says 'another rank of this host has CPU 0 already'
    cp rf rf-12:30
    run plan -H a:2 --rankfile rf-12:30 --map-by :HWTCPUS \
        --topo-of 'a=synthetic:core:4 pu:1'
    ended_with 2
    says 'another rank of this host has CPU 0 already'
    run plan -H a:2 --rankfile rf:OVERSUBSRIBE
    ended_with 2
    says 'did you mean "OVERSUBSCRIBE"'
    printf 'rank 0=nowhere\n' > rf
    run plan -H a:2 --rankfile rf
    ended_with 2
    says 'rf:1: rank 0: nowhere is no host of this job'
    printf 'rank 0=a\nrank 0=a\n' > rf
    run plan -H a:2 --rankfile rf
    ended_with 2
    says 'rf:2:6: rank 0 is here again'
    printf 'rank 0=a slot=1:*\n' > rf
    run plan -H a --rankfile rf --topo-of 'a=synthetic:pack:2 core:2 pu:1'
    ended_with 0
    [ "$(cpus_of_ranks)" = '2-3 ' ]
    printf 'rank 0=a slot=0:0;1:0-1\n' > rf
    run plan -H a --rankfile rf --topo-of 'a=synthetic:pack:2 core:2 pu:1'
    ended_with 0
    [ "$(cpus_of_ranks)" = '0,2-3 ' ]
    printf 'rank 0=a\nrank 1=a\n' > rf
    run plan -H a:2 --rankfile rf --bind-to core \
        --topo-of 'a=synthetic:core:4 pu:1'
    ended_with 0
    [ "$(cpus_of_ranks)" = '0 1 ' ]
    printf 'rank 0=%s slot=4711\n' "$(hostname)" > rf
    run hb --rankfile rf true
    ended_with 2
    says 'there is no core 4711 among those that the job may use'
    run plan -H a --rankfile missing
    ended_with 2
    says missing
}

ranks_of() { # HOST of a plan in $output
    sed -n "s/^host $1: .*ranks \(.*\)/\1/p" <<< "$output"
}

@test "srun: all hosts that are used get ranks, in blocks or in turn" {
    ln -s "$hbrun" srun
    local word
    for word in '' '-m block' '-m block:block,NoPack'; do
        # shellcheck disable=SC2086
        run ./srun --dry-run -N2 -n4 -w a:8,b:8,c:8 $word true
        ended_with 0
        [ "$(ranks_of a)+$(ranks_of b)" = 0-1+2-3 ]
    done
    run ./srun --dry-run -N2 -w a:8,b:8 true
    [ "$(ranks_of a)+$(ranks_of b)" = 0+1 ]
    run ./srun --dry-run -n4 -w a:8,b:8 -m cyclic true
    [ "$(ranks_of a)+$(ranks_of b)" = 0,2+1,3 ]
    run ./srun --dry-run -n4 -w a:8,b:8 -m block,Pack true
    [ "$(ranks_of a)+$(ranks_of b)" = 0-3+ ]
    run ./srun --dry-run -n4 -w a:8,b:8 -m block:cyclic true
    ended_with 0
    says 'warning: -m block:cyclic: its part :cyclic is ignored'
}

@test "srun: so many tasks on each host, whatever their order" {
    ln -s "$hbrun" srun
    run ./srun --dry-run --ntasks-per-node=2 -n4 -m block -w a:8,b:8 true
    [ "$(ranks_of a)+$(ranks_of b)" = 0-1+2-3 ]
    run ./srun --dry-run --ntasks-per-node=2 -n4 -m cyclic -w a:8,b:8 true
    [ "$(ranks_of a)+$(ranks_of b)" = 0,2+1,3 ]
}

@test "srun: beside a number of tasks, so many on each host is the most" {
    ln -s "$hbrun" srun
    local three=(./srun --dry-run -w "a:8,b:8,c:8" --ntasks-per-node=2)
    run "${three[@]}" -N3 -n4 true
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)+$(ranks_of c)" = 0-1+2+3 ]
    run "${three[@]}" -n4 -m cyclic true
    [ "$(ranks_of a)+$(ranks_of b)+$(ranks_of c)" = 0,3+1+2 ]
    run "${three[@]}" -n4 -m block,Pack true
    [ "$(ranks_of a)+$(ranks_of b)+$(ranks_of c)" = 0-1+2-3+ ]
    run "${three[@]}" true
    [ "$(ranks_of a)+$(ranks_of b)+$(ranks_of c)" = 0-1+2-3+4-5 ]
    run "${three[@]}" -n7 true
    ended_with 2
    says '2 for each host .* 7 ranks asked for, and the 3 hosts take only 6'
    run ./srun --dry-run -w a:1,b:8 --ntasks-per-node=3 -n4 true
    [ "$(ranks_of a)+$(ranks_of b)" = 0+1-3 ]
    run ./srun --dry-run -w a:8,b:8 --ntasks-per-node=1 -n2 true : -n2 true
    [ "$(ranks_of a)+$(ranks_of b)" = 0,2+1,3 ]
    run hb --dry-run -H a:8,b:8,c:8 --npernode 2 -n 4 true
    [ "$(ranks_of a)+$(ranks_of b)+$(ranks_of c)" = 0-1+2-3+ ]
}

@test "srun: a host without a count has what is counted there" {
    hwloc_is_there
    ln -s "$hbrun" srun
    run ./srun --dry-run -N2 -n4 -w a,b --topo-of '*=synthetic:core:4 pu:1' true
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0-1+2-3 ]
    run ./srun --dry-run -n 3 -w a:1,b:1 true
    ended_with 2
    says 'not enough slots'
}

@test "srun: ranks get sockets and NUMA nodes in turn" {
    hwloc_is_there
    ln -s "$hbrun" srun
    local two='*=synthetic:pack:2 core:4 pu:1' how
    for how in sockets ldoms verbose,rank_ldom; do
        run ./srun --dry-run -n 3 -w a --cpu-bind=$how --topo-of \
            '*=synthetic:pack:2 numa:1 core:4 pu:1' true
        ended_with 0
        [ "$(cpus_of_ranks)" = '0-3 4-7 0-3 ' ]
    done
    run ./srun --dry-run -n 2 -w a -c 2 -m cyclic --cpu-bind=sockets \
        --topo-of "$two" true
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-3 4-7 ' ]
    run ./srun --dry-run -n 2 -w a --cpu-bind=cores --topo-of "$two" true
    [ "$(cpus_of_ranks)" = '0 1 ' ]
    run ./srun --dry-run -w a:2 --cpu-bind=sockets --topo-of "$two" \
        -n 1 true : -n 1 true
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-3 4-7 ' ]
}

@test "srun: tasks that do not all fit into single sockets lie across them" {
    hwloc_is_there
    ln -s "$hbrun" srun
    local six='*=synthetic:pack:2 numa:1 core:3 pu:1' how
    for how in sockets ldoms; do
        run ./srun --dry-run -n 3 -c 2 -w a --cpu-bind=$how --topo-of "$six" true
        ended_with 0
        [ "$(cpus_of_ranks)" = '0-2 0-5 3-5 ' ]
    done
    run ./srun --dry-run -n 4 -c 2 -w a:4 --cpu-bind=sockets --topo-of "$six" \
        true
    ended_with 2
    says 'room for 3'
}

@test "Hydra: ranks get sockets in turn, and share cores when there are more" {
    hwloc_is_there
    ln -s "$hbrun" mpiexec.hydra
    local two='*=synthetic:pack:2 core:2 pu:1'
    run ./mpiexec.hydra --dry-run -hosts a:3 -bind-to socket --topo-of "$two" \
        -n 3 true
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-1 2-3 0-1 ' ]
    run ./mpiexec.hydra --dry-run -hosts a -bind-to socket --topo-of "$two" \
        -n 1 true : -n 2 true
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-1 2-3 0-1 ' ]
    run ./mpiexec.hydra --dry-run -hosts a -bind-to core --topo-of "$two" \
        -n 5 true
    ended_with 0
    [ "$(cpus_of_ranks)" = '0 1 2 3 0 ' ]
}

@test "Hydra: --map-by deals what is bound to the objects of a host in turn" {
    hwloc_is_there
    ln -s "$hbrun" mpiexec.hydra
    local sockets='*=synthetic:pack:2 core:2 pu:2'
    hydra() { run ./mpiexec.hydra --dry-run --topo-of "$sockets" "$@" true; }
    hydra -hosts a -n 3 -bind-to core -map-by socket
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-1 4-5 2-3 ' ]
    says_not 'ignored'
    hydra -hosts a,b -ppn 3 -n 6 -map-by socket -bind-to hwthread
    ended_with 0
    [ "$(cpus_of_ranks)" = '0 4 1 0 4 1 ' ]
    hydra -hosts a -n 3 -bind-to socket -map-by core
    [ "$(cpus_of_ranks)" = '0-3 0-3 4-7 ' ]
    hydra -hosts a -n 2 -bind-to core:2 -map-by hwthread
    [ "$(cpus_of_ranks)" = '0-3 4-7 ' ]
    hydra -hosts a -n 2 -map-by socket
    ended_with 0
    says 'nobody asked'
    hydra -hosts a -n 2 -bind-to core -map-by socket:2
    ended_with 0
    says 'map-by socket:2 is ignored'
    [ "$(cpus_of_ranks)" = '0-1 2-3 ' ]
}

@test "so many on each host, and a policy that says something else" {
    run plan -H a:8,b:8 --npernode 2 --map-by node
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0,2+1,3 ]
    run plan -H a:8,b:8 --npernode 2 --map-by package
    ended_with 2
    says '2 ranks for each host and --map-by package: both say where ranks go'
    run plan -H a:8,b:8 --mca rmaps_base_mapping_policy slot \
        --mca hwloc_base_cpu_list 0-1
    ended_with 2
    says 'parameter rmaps_base_mapping_policy says already where ranks go'
    # What is typed goes before what a variable says.
    OMPI_MCA_rmaps_base_mapping_policy=package run plan -H a:8,b:8 --npernode 2
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0-1+2-3 ]
}

@test "modifiers are added to a policy, also under another name; two clash" {
    hwloc_is_there
    local two='*=synthetic:core:4 pu:1'
    run plan -H a:1 --cpu-set 2-3 --map-by :OVERSUBSCRIBE -n 2 --topo-of "$two"
    ended_with 0
    [ "$(cpus_of_ranks)" = '2-3 2-3 ' ]
    run plan -H a:1,b:1 --map-by :OVERSUBSCRIBE --bynode -n 4
    ended_with 0
    says 'map-by = node:OVERSUBSCRIBE '
    [ "$(ranks_of a)+$(ranks_of b)" = 0,2+1,3 ]
    run plan -H a:2 --cpu-set 2-3 --map-by core
    ended_with 2
    says '--map-by: --cpu-set says already where ranks go \(--map-by pe-list=2'
    run plan -H a:1,b:1 --map-by node --map-by slot
    ended_with 0
    run plan -H a:2 --mca hwloc_base_cpu_list 2-3 --topo-of "$two"
    ended_with 0
    [ "$(cpus_of_ranks)" = '2-3 2-3 ' ]
}

@test "ranks that outnumber the CPUs of a list stay on them" {
    hwloc_is_there
    [ "$(nproc)" -ge 2 ] || skip 'one CPU alone'
    local first
    run hb -n 1 --cpu-set 0 grep Cpus_allowed_list /proc/self/status
    ended_with 0
    first=$output
    [[ $first != *[-,]* ]] || skip 'a core has several CPUs'
    run hb -q -n 3 --oversubscribe --cpu-set 0 grep Cpus_allowed_list \
        /proc/self/status
    ended_with 0
    [ "$(grep -cxF "$first" <<< "$output")" -eq 3 ]
    run hb -n 3 --oversubscribe --cpu-set 0 --report-bindings true
    says 'binding: 3 ranks share pe-list=0$'
}

@test "programs with hosts of their own share the slots that those have" {
    hwloc_is_there
    printf 'a slots=2 max_slots=3\nb slots=4\n' > hosts
    run plan --hostfile hosts -n 2 -H a:2 true : -n 2 -H a:2
    ended_with 2
    says '2 ranks of true asked for, 0 slots there'
    says '^hbrun: error:   a  0  hosts:1 \(at most 3\) \(2 taken by programs before\)'
    run plan --hostfile hosts -n 2 -H a true : -H a
    ended_with 2
    says ' 1 rank of true asked for, 0 slots there'
    run plan --hostfile hosts -n 2 -H a:2 true : -n 2 -H a:2,b:2
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0-1+2-3 ]
    run plan --hostfile hosts --oversubscribe -n 2 -H a true : -n 2 -H a
    ended_with 2
    says 'max_slots of a allows 3, however CPUs are shared'
    run plan --hostfile hosts --oversubscribe -n 2 -H a true : -n 1 -H a
    ended_with 0
    [ "$(ranks_of a)" = 0-2 ]
    # A list neither raises slots nor, without a count, lowers them.
    run plan --hostfile hosts -n 5 -H b:9 true : -n 1 -H a
    ended_with 2
    says '5 ranks of true asked for, 4 slots there'
    run plan --hostfile hosts -n 2 -H a true : -n 3 -H b
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0-1+2-4 ]
    run plan --map-by slot:PE=2 -n 2 -H a:4 true : -n 2 -H a:4,b:4 \
        --topo-of '*=synthetic:core:4 pu:1'
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0-1+2-3 ]
    run plan --map-by seq -n 3 -H a,b,a true : -n 2 -H b,a
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0,2,4+1,3 ]
    # Each goes by the order of its own list.
    run plan -n 1 -H a:2,c:1 true : -n 1 -H b:1,a:2 true : -n 1 -H c:1,a:2
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)+$(ranks_of c)" = 0+1+2 ]
}

@test "a file of places is for the whole job, also where programs have hosts" {
    hwloc_is_there
    printf 'rank 0=a slot=0\nrank 1=+n1 slot=1\n' > rf
    run plan --rankfile rf -n 1 -H a:2 true : -n 1 -H b:2 \
        --topo-of '*=synthetic:core:4 pu:1'
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0+1 ]
    [ "$(cpus_of_ranks)" = '0 1 ' ]
    run plan --rankfile rf -n 1 -H b:2 true : -n 1 -H a:2
    ended_with 2
    says 'rank 0 is to run on a by the file of --map-by, .* -H b:2$'
    printf 'b\na\n' > seq
    run plan --map-by seq:FILE=seq -n 1 -H b:2 true : -n 1 -H a:2
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 1+0 ]
    run plan --map-by seq:FILE=seq -n 1 -H a:2 true : -n 1 -H b:2
    ended_with 2
    says 'rank 0 is to run on b by the file of --map-by, .* -H a:2$'
}

@test "an elastic job begins with as many ranks as its policy has room for" {
    hwloc_is_there
    local eight='*=synthetic:pack:2 core:4 pu:1'
    run plan --np 1:40 --cpus-per-rank 2 -H a:8 --topo-of "$eight"
    ended_with 0
    [ "$(ranks_of a)" = 0-3 ]
    run plan --np 5:40 --cpus-per-rank 2 -H a:8 --topo-of "$eight"
    ended_with 2
    says 'the hosts have slots for 4'
    run plan --np 1:40 --map-by ppr:3:package -H a:8,b:8 --topo-of "$eight"
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0-5+6-11 ]
    run plan --np 1:4 --nolocal -H localhost:2,b:2
    ended_with 0
    [ "$(ranks_of b)" = 0-1 ]
}

@test "a plan has the ranks of the job, also where more slots than cores are stated" {
    local n=$(($(nproc) + 3)) option
    for option in --pmi=none --map-by=core; do
        run plan -H "localhost:$n" "$option"
        ended_with 0
        [ "$(ranks_of localhost)" = "0-$((n - 1))" ]
        run hb -q -H "localhost:$n" "$option" echo here
        ended_with 0
        [ "$(grep -c '^here$' <<< "$output")" -eq "$n" ]
    done
}

@test "localhost in a file of ranks or hosts is the launcher's own" {
    printf 'rank 0=localhost slot=0\nrank 1=127.0.0.1\n' > rf
    run hb --rankfile rf --bind-to none echo here
    ended_with 0
    [ "$(grep -c '^here$' <<< "$output")" -eq 2 ]
    echo localhost > seq
    run hb --map-by seq:FILE=seq echo here
    ended_with 0
    run plan -H a:2 --rankfile rf
    ended_with 2
    says 'rf:1: rank 0: localhost is no host of this job'
}

@test "a host that is named twice is looked at twice in a plan" {
    run plan -H '127.0.0.1:1,[::1]:1' --map-by core --bind-to core
    ended_with 0
    says 'host ::1: .*ranks 1$'
}

@test "seq with a file: a rank for each line" {
    printf 'b\n# none\na\nb\n' > seq
    run plan -H a:2,b:2 --map-by seq:FILE=seq
    ended_with 0
    says 'host a: .*ranks 1$'
    says 'host b: .*ranks 0,2$'
    echo c > seq
    run plan -H a:2,b:2 --map-by seq:FILE=seq
    ended_with 2
    says 'seq:1:1: c is no host of this job'
}

@test "--grid keeps groups on a host; its size must be right" {
    run plan -H a:6,b:4,c:4 --grid tp=4,dp=3
    ended_with 0
    says 'host a: .*ranks 0-3$'
    says 'host c: .*ranks 8-11$'
    run plan -H a:6 -n 5 --grid tp=2,dp=2
    ended_with 2
    says 'the numbers must be the same'
}

@test "--grid beside what else says where ranks go" {
    run plan -H a:8,b:8 --grid tp=2,dp=2 --npernode 2
    ended_with 0
    says 'host a: .*ranks 0-1$'
    says 'host b: .*ranks 2-3$'
    run plan -H a:8,b:8 --grid tp=4,dp=2 --map-by ppr:3:node
    ended_with 2
    says '3 for each host .* 8 ranks asked for, and the 2 hosts take only 6'
    printf 'rank %d=b\n' 0 1 2 3 > rf
    echo b > seq
    local policy
    for policy in rankfile:FILE=rf seq:FILE=seq seq node ppr:1:core; do
        run plan -H a:8,b:8 --grid tp=2,dp=2 --map-by $policy
        ended_with 2
        says "--grid tp=2,dp=2 and --map-by $policy: both say on which hosts"
        HPCBOOT_MAP_BY=$policy run plan -H a:8,b:8 --grid tp=2,dp=2
        ended_with 0
        says 'host a: .*ranks 0-3$'
    done
    run plan -H a:8,b:8 --grid tp=2,dp=2 --map-by core
    ended_with 0
}

@test "what a machine that is a file has is counted as its agent would" {
    hwloc_is_there
    local smt='*=synthetic:pack:1 core:2 pu:2' gpus="*=$machines/gpu-8nic.xml"
    run plan -H a:auto,b:auto --use-hwthread-cpus --topo-of "$smt"
    ended_with 0
    says 'host a: slots 4 \(4 hardware threads, 2 cores in .*, ranks 0-3$'
    says 'host b: slots 4 .*, ranks 4-7$'
    run plan -H a:gpu,b:gpu --topo-of "$gpus"
    ended_with 0
    says 'host a: slots 8 \(8 GPUs in .*, ranks 0-7$'
    says 'host b: slots 8 .*, ranks 8-15$'
    CUDA_VISIBLE_DEVICES=0,3 run plan -H a:gpu --topo-of "$gpus"
    ended_with 0
    says 'host a: slots 2 '
    run plan -H a:gpu --topo-of "$smt"
    ended_with 2
    says 'its slots are to be its GPUs .*, and it has none: 0 GPUs in'
    mkdir -p pod/etc pod/sys/devices/system/cpu/cpu{0,1}/topology
    cp "$machines/hybrid.xml" pod/topology.xml
    echo 0-2 > pod/etc/cpus
    echo 0-1 | tee pod/sys/devices/system/cpu/cpu{0,1}/topology/core_cpus_list
    run plan -H a:auto --topo-of a=pod
    ended_with 0
    says 'host a: slots 2 \(2 cores in the CPU set\)'
    run plan -H a:auto --use-hwthread-cpus --topo-of a=pod
    ended_with 0
    says 'host a: slots 3 \(3 hardware threads, 2 cores in the CPU set\)'
}

@test "words of a policy may be cut short, as Open MPI 5 has them" {
    hwloc_is_there
    local machine='*=synthetic:pack:2 l3:1 core:2 pu:1' word
    for word in l3 L3cache pack sock; do
        run plan -H a:4 -n 2 --bind-to $word:overload:if --topo-of "$machine"
        ended_with 0
        [ "$(cpus_of_ranks)" = '0-1 2-3 ' ]
        run plan -H a:4 -n 2 --map-by ppr:1:$word --topo-of "$machine"
        ended_with 0
        [ "$(cpus_of_ranks)" = '0-1 2-3 ' ]
    done
}

@test "by objects each of several programs begins with the first one" {
    hwloc_is_there
    local four=(-H 'a:8,b:8' --topo-of '*=synthetic:pack:2 core:4 pu:1')
    run hb --dry-run --map-by package "${four[@]}" -n 2 true : -n 2 true
    ended_with 0
    [ "$(cpus_of_ranks)" = '0-3 4-7 0-3 4-7 ' ]
    run hb --dry-run --map-by ppr:1:package "${four[@]}" -n 4 true : -n 4 true
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0-1,4-5+2-3,6-7 ]
    [ "$(cpus_of_ranks)" = '0-3 4-7 0-3 4-7 0-3 4-7 0-3 4-7 ' ]
    run hb --dry-run --map-by package --bind-to core "${four[@]}" \
        -n 3 true : -n 2 true
    [ "$(cpus_of_ranks)" = '0 1 4 2 5 ' ]
    run hb --dry-run --map-by core "${four[@]}" -n 2 true : -n 2 true
    [ "$(cpus_of_ranks)" = '0 1 2 3 ' ]
    run hb --dry-run --map-by package:PE=2 "${four[@]}" -n 1 true : -n 2 true
    [ "$(cpus_of_ranks)" = '0-1 2-3 4-5 ' ]
    run hb --dry-run --map-by ppr:1:core -H 'a:4,b:4' "${four[@]:2}" \
        -n 3 true : -n 2 true
    [ "$(ranks_of a)+$(ranks_of b)" = 0-3+4 ]
    run hb --dry-run --map-by ppr:4:package --bind-to core -H a:16 \
        "${four[@]:2}" -n 4 true : -n 8 true
    ended_with 2
    says '12 ranks of 1 core each on 8 cores: there is room for 8'
}

@test "ranks of a list that are bound to cores have one each" {
    hwloc_is_there
    local eight=(-H a:4 -n 2 --topo-of '*=synthetic:pack:2 core:4 pu:2')
    run plan "${eight[@]}" --cpu-set 3,1 --bind-to core
    ended_with 0
    [ "$(cpus_of_ranks)" = '6-7 2-3 ' ]
    run plan "${eight[@]}" --cpu-set 3,1 --bind-to hwthread
    [ "$(cpus_of_ranks)" = '3 1 ' ]
    run plan "${eight[@]}" --map-by pe-list=1-4:PE=2 --bind-to core
    [ "$(cpus_of_ranks)" = '2-5 6-9 ' ]
    run plan "${eight[@]}" --cpu-set 3,1 --bind-to package
    [ "$(cpus_of_ranks)" = '2-3,6-7 2-3,6-7 ' ]
}

@test "ranks are numbered by objects as mpirun(1) of Open MPI 4 draws it" {
    hwloc_is_there
    local two=(-H 'a:4,b:4' --topo-of '*=synthetic:pack:2 core:2 pu:1')
    run plan "${two[@]}" --map-by ppr:2:socket --rank-by core
    [ "$(ranks_of a)+$(ranks_of b)" = 0-3+4-7 ]
    [ "$(cpus_of_ranks)" = '0-1 0-1 2-3 2-3 0-1 0-1 2-3 2-3 ' ]
    run plan "${two[@]}" --map-by ppr:2:socket --rank-by socket
    [ "$(ranks_of a)+$(ranks_of b)" = 0-3+4-7 ]
    [ "$(cpus_of_ranks)" = '0-1 2-3 0-1 2-3 0-1 2-3 0-1 2-3 ' ]
    run plan "${two[@]}" --map-by ppr:2:socket --rank-by socket:span
    [ "$(ranks_of a)+$(ranks_of b)" = 0-1,4-5+2-3,6-7 ]
    [ "$(cpus_of_ranks)" = '0-1 2-3 0-1 2-3 0-1 2-3 0-1 2-3 ' ]
    run plan "${two[@]}" -n 4 --map-by numa:PE=1 --rank-by numa \
        --topo-of '*=synthetic:pack:1 numa:2 core:2 pu:1'
    [ "$(cpus_of_ranks)" = '0 2 1 3 ' ]
}

@test "-mca rmaps seq: a rank for each mention of a host" {
    printf 'a slots=4\nb slots=4\na slots=4\n' > hosts
    run plan --hostfile hosts -mca rmaps seq
    ended_with 0
    [ "$(ranks_of a)+$(ranks_of b)" = 0,2+1 ]
}

@test "--order topology: neighbours side by side" {
    printf 'SwitchName=x Nodes=a,c\nSwitchName=y Nodes=b\n' > net
    run plan -H a:1,b:1,c:1 -n 2 --order topology --topology net
    ended_with 0
    says 'host c: .*ranks 1$'
    run plan -H a:1 -n 1 --order topology --topology missing
    ended_with 2
    run plan -H a:1 -n 1 --order near
    ended_with 2
}

@test "wishes that this host cannot grant end with status 2" {
    hwloc_is_there
    run hb -n 1 --map-by ppr:1:nic true
    [ -e /sys/class/infiniband ] || ended_with 2
    run hb -n 1 --map-by slot:PE=9999 --bind-to core true
    ended_with 2
    says 'PE=9999: this host has'
    run hb -n 1 --map-by pe-list=9999 true
    ended_with 2
    run hb -n 1 --map-by pe-list=4294967296 true
    ended_with 2
    says 'expected a list of cores'
    run hb -n 1 --gpus-per-rank 99 true
    ended_with 2
    says 'each rank was to get 99 of the host.s GPUs'
    run hb -n 1 --mem-bind most true
    ended_with 2
}

@test "ranks of several CPUs are told the number of threads, unless it is set" {
    hwloc_is_there
    [ "$(nproc)" -ge 2 ] || skip 'one CPU'
    run hb -n 1 --map-by slot:PE=2 sh -c 'echo $OMP_NUM_THREADS $OMP_PLACES'
    ended_with 0
    says '^2 cores$'
    run hb -n 1 --map-by slot:PE=2 -x OMP_NUM_THREADS=7 \
        sh -c 'echo $OMP_NUM_THREADS'
    says '^7$'
    run hb -n 1 sh -c 'echo "none${OMP_NUM_THREADS-}"'
    says '^none$'
}

# shellcheck disable=SC2016  # expanded by the rank
@test "who says in a runtime's own words where threads are is not overruled" {
    hwloc_is_there
    [ "$(nproc)" -ge 2 ] || skip 'one CPU'
    local said
    for said in GOMP_CPU_AFFINITY=0-1 KMP_AFFINITY=compact; do
        run hb -n 1 --map-by slot:PE=2 -x $said \
            sh -c 'echo "$OMP_NUM_THREADS ${OMP_PLACES-none}"'
        ended_with 0
        says '^2 none$'
    done
}

# shellcheck disable=SC2016  # expanded by the rank
@test "ranks that may run on the same CPUs are told no places for threads" {
    hwloc_is_there
    [ "$(nproc)" -ge 2 ] || skip 'one CPU'
    local how show='echo "$OMP_NUM_THREADS ${OMP_PLACES-none}"'
    for how in '--map-by slot:PE=2 --bind-to none' \
        '--map-by slot:PE=2:OVERSUBSCRIBE' \
        '--map-by slot:PE=2 --bind-to core:overload-allowed'; do
        # shellcheck disable=SC2086  # words
        run hb -n "$(nproc)" $how sh -c "$show"
        ended_with 0
        says '^2 none$'
        says_not 'cores'
    done
}

@test "what is bound is what the rank's kernel says" {
    hwloc_is_there
    run hb -n 1 --bind-to core --report-bindings \
        grep Cpus_allowed_list: /proc/self/status
    ended_with 0
    local told
    told=$(sed -n 's/.*(CPUs* \(.*\))$/\1/p' <<< "$output")
    says "^Cpus_allowed_list:[[:space:]]*$told$"
}

need_refusals() {
    refuse=$(fake refuse)
    "$refuse" mbind true || skip 'no seccomp filter can be set here'
}
refusing() { # CALLS COMMAND...: as in a container with a seccomp profile
    timeout -s KILL "$HB_LIMIT" "$refuse" "$@"
}

@test "a container that refuses sched_setaffinity: unasked, nothing is said" {
    hwloc_is_there
    need_module pmix libpmix # others are not bound unasked
    need_refusals
    run refusing sched_setaffinity "$hbrun" -n 1 --pmi pmix true
    ended_with 0
    [ -z "$output" ]
}

@test "a container that refuses sched_setaffinity: unbound, or status 2" {
    hwloc_is_there
    need_refusals
    run refusing sched_setaffinity "$hbrun" -n 1 --report-bindings \
        --bind-to core:if-supported echo ran
    ended_with 0
    says '^ran$'
    says 'not bound: this container may not set CPU affinities'
    run refusing sched_setaffinity "$hbrun" -n 1 --bind-to core true
    ended_with 2
    says 'cannot bind: this container may not set CPU affinities'
}

@test "memory follows the CPUs; a container that refuses it is told verbosely" {
    hwloc_is_there
    need_refusals
    [ -r /proc/self/numa_maps ] || skip 'this kernel has no NUMA'
    local bound='grep -o -m 1 -E (bind|prefer[^:]*):[0-9]+ /proc/self/numa_maps'
    # shellcheck disable=SC2086
    run hb -n 1 --bind-to core --mem-bind bind $bound
    ended_with 0
    says '^bind:[0-9]+$'
    # shellcheck disable=SC2086
    run hb -n 1 --bind-to core --mem-bind preferred $bound
    ended_with 0
    says '^prefer.*:[0-9]+$'
    run refusing mbind,set_mempolicy "$hbrun" -n 1 --bind-to core \
        --mem-bind bind echo ran
    ended_with 0
    [ "$output" = ran ]
    run refusing mbind,set_mempolicy "$hbrun" -vv -n 1 --bind-to core \
        --mem-bind bind echo ran
    ended_with 0
    says 'memory does not follow .*the container forbids set_mempolicy'
}

@test "the topology is read once: the second job finds it in the cache" {
    hwloc_is_there
    run hb -vv -n 1 --bind-to core true
    ended_with 0
    says 'the topology came from hwloc in'
    run hb -vv -n 1 --bind-to core true
    says 'the topology came from an earlier look in'
    # Damaged, or somebody else's: hwloc is asked again.
    local file
    file=$(echo "$HPCBOOT_TOPO_CACHE"/*)
    head -c 100 "$file" > "$file.cut" && mv "$file.cut" "$file"
    run hb -vv -n 1 --bind-to core true
    ended_with 0
    says 'the topology came from hwloc in'
    chmod 777 "$HPCBOOT_TOPO_CACHE"
    run hb -vv -n 1 --bind-to core true
    says 'the topology came from hwloc in'
}

@test "hpcboot topo: text, JSON, SVG, PNG, and wrong words" {
    hwloc_is_there
    run topo
    ended_with 0
    says '^allowed: CPUs '
    topo --format json -n 2 --machine "$machines/gpu-8nic.xml" --map-by gpu \
        > t.json
    python3 -c 'import json; t = json.load(open("t.json"))
assert [r["cpus"] for r in t["ranks"]] == ["0-3", "4-7"]
assert len(t["devices"]["nic"]) == 8 and t["quota"] is None'
    topo --format svg --output t.svg --machine "$machines/hybrid.xml"
    python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("t.svg")'
    cp "$machines/hybrid.xml" $'odd<&\x01\xff\xef\xbf\xbf.xml'
    topo --format svg --output t.svg --machine odd*.xml
    python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("t.svg")'
    if [ -e "$HB_BUILDDIR/.libs/hb_cairo.so" ]; then
        # fontconfig keeps what it has read.
        ASAN_OPTIONS=detect_leaks=0 \
            topo --format png --output t.png --machine "$machines/hybrid.xml"
        [ "$(head -c 4 t.png | tail -c 3)" = PNG ]
    fi
    run topo --machine missing.xml
    ended_with 2
    run topo --np 0
    ended_with 2
    run topo --np 2 --bind-to nothing
    ended_with 2
    run topo --np 2 --map-by ppr:1:node
    ended_with 2
    says '2 ranks asked for, and the 1 host takes only 1'
    run topo --np 2 --map-by rankfile:FILE=nope
    ended_with 2
    says 'see hbrun --dry-run$'
    run topo --map-by core
    ended_with 2
    says '--map-by goes with --np$'
}
