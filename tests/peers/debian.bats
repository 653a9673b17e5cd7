#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Unmodified programs of Debian's MPIs, on this host and over pods.

load peers

setup() { common_setup; }
setup_file() { two_pods; }
teardown_file() { "$podlab" down; }

@test "Open MPI 4: 1, 2 and 5 ranks find each other" {
    need mpicc.openmpi
    local program n
    program=$(hello debian-openmpi)
    for n in 1 2 5; do
        run hb -n $n "$program"
        world $n
    done
    nothing_left
}

@test "Open MPI 4 over two pods" {
    need mpicc.openmpi
    need_pods
    run over_pods "$(hello debian-openmpi)"
    world 4
    pods_clean 0 1
}

@test "Open MPI 4 through a script" {
    need mpicc.openmpi
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$(hello debian-openmpi)" > script
    chmod +x script
    run hb -n 2 --pmi pmix ./script
    world 2
}

@test "MPICH 4: 1, 2 and 4 ranks find each other" {
    need mpicc.mpich
    local program n
    program=$(hello debian-mpich)
    for n in 1 2 4; do
        run hb -n $n "$program"
        world $n
    done
    nothing_left
}

@test "MPICH 4 over two pods" {
    need mpicc.mpich
    need_pods
    over_pods_mpich 4 "$(hello debian-mpich)"
    world 4
    pods_clean 0 1
}

@test "mpi4py of Debian" {
    /usr/bin/python3 -c 'import mpi4py' 2> /dev/null ||
        skip 'python3-mpi4py is not installed'
    run hb -n 3 /usr/bin/python3 -c '
from mpi4py import MPI
w = MPI.COMM_WORLD
total = w.allreduce(w.rank)
print(f"rank {w.rank} of {w.size} on host", flush=True)
w.Barrier()
if w.rank == 0:
    print(f"sum of all ranks: {total}:", "right" if total == 3 else "WRONG")'
    world 3
}

alone() {
    run hb -n 2 --pmi none "$(hello "$1")"
    says 'alone'
}
@test "ranks that believed to be alone are told of" { each_mpi alone; }

@test "MPICH under another family's server is told of, not killed" {
    need mpicc.mpich
    run hb -n 2 --pmi pmix "$(hello debian-mpich)"
    says 'alone'
}

# What rank 0 loads is looked at while it runs, so this one stays for a while.
told_of() {
    run hb -n 2 "$@"
    ended_with 0
    says 'rank 0 of 1 stays'
    says 'rank 0 has loaded .*libmpich.*guess.*--pmi pmi1'
}
not_told_of() {
    run hb "$@"
    world 2
    says_not 'has loaded'
}
@test "an MPI that the command line hid, and another family's, is told of" {
    local app
    need mpicc.mpich mpicc.openmpi perl
    app=$(trouble debian-mpich)
    told_of perl -e "system('$app stay')"
    told_of sh -c "\${UNSET:-$app} stay"
    if [ -x /usr/bin/python3 ]; then # be there an mpi4py of Open MPI or none
        printf 'import os\nos.execv("%s", ["it", "stay"])\n' "$app" > starts.py
        told_of /usr/bin/python3 starts.py
    fi
    # Ranks of another launcher call its server.
    run hb -n 2 sh -c "'$hbrun' -q -n 2 $app stay"
    ended_with 0
    says 'rank 0 of 2 stays'
    says_not 'has loaded'
    app=$(hello debian-mpich)
    not_told_of --pmi pmi1 -n 2 perl -e "system('$app')"
    app=$(hello debian-openmpi)
    not_told_of -n 2 perl -e "system('$app')"
}

@test "an MPI that a program loads by itself is told of" {
    need mpicc.openmpi
    cat > loads.c << 'END'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    void *mpi = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
    int (*init)(void *, void *) =
        (int (*)(void *, void *))(mpi != NULL ? dlsym(mpi, "MPI_Init") : NULL);

    if (init == NULL || init(NULL, NULL) != 0) {
        return 1;
    }
    puts("it is in");
    fflush(stdout);
    _exit(sleep(1));
}
END
    "${CC:-cc}" -o loads loads.c -ldl
    run hb -n 2 ./loads
    says 'it is in'
    says 'rank 0 has loaded .*libmpi.*there is none.*--pmi pmix'
    run hb --pmi none -n 2 ./loads
    says_not 'has loaded'
}

@test "--explain says which library decided" {
    need mpicc.mpich
    run hb --explain -n 1 "$(hello debian-mpich)"
    says 'libmpich|libmpi'
}
