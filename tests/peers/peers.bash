# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What the tests with other MPIs share. Their wheels go into virtual
# environments in the build folder, one each: their commands have the same names.

load ../common
venvs=$HB_BUILDDIR/peers

# venv NAME WHAT MAKE [ARGUMENT...]: the environment $venvs/NAME, made once by
# MAKE NAME ARGUMENT...; where it cannot be, the test is skipped: WHAT, and why.
# Test files that run at once wait for the one that makes it.
venv() {
    local dir=$venvs/$1 log=$venvs/$1.log lock
    mkdir -p "$venvs"
    exec {lock}> "$dir.lock"
    flock "$lock"
    [ -e "$dir/ready" ] || {
        "$3" "$1" "${@:4}" > "$log" 2>&1 < /dev/null ||
            skip "$2: $(tail -n 1 "$log")"
        touch "$dir/ready"
    }
    exec {lock}>&-
}
# from_wheels NAME SECONDS PYTHON PIP_ARGUMENT...
from_wheels() {
    "$3" -m venv --clear "$venvs/$1" &&
        timeout -k 5 "$2" "$venvs/$1/bin/pip" install "${@:4}"
}

# wheel_env MPI: its environment, with mpi4py.
wheel_env() {
    local packages=("$1")
    [ "$1" != impi ] || packages=(impi-rt impi-devel)
    [ "${HB_PEERS:-no}" = yes ] ||
        skip "wheels are not asked for (make check-peers, ./check --peers)"
    need python3
    venv "$1" "${packages[*]} cannot be installed by pip" \
        from_wheels 300 python3 "${packages[@]}" mpi4py
}

# compile MPI SOURCE: prints the program's path. Files that run at once may make
# it twice, and never see half of it.
compile() {
    local mpi=$1 source=$2 program compiler
    program=$venvs/bin/$mpi-$(basename "$source" .c)
    mkdir -p "$venvs/bin"
    case $mpi in
        debian-openmpi) compiler=${MPICC_OPENMPI:-mpicc.openmpi} ;;
        debian-mpich) compiler=${MPICC_MPICH:-mpicc.mpich} ;;
        *) compiler=$venvs/$mpi/bin/mpicc ;;
    esac
    [ "$program" -nt "$source" ] || {
        I_MPI_ROOT=$venvs/$mpi "$compiler" -O1 -o "$program.$$" "$source" -lm &&
            mv "$program.$$" "$program"
    } || return 1
    echo "$program"
}
hello() { compile "$1" "$HB_SRCDIR/examples/hello_mpi.c"; }
trouble() { compile "$1" "$fakes/mpi_trouble.c"; }

# world N: $output is what N ranks of hello say, each once, and the right sum.
world() {
    local rank
    ended_with 0
    for ((rank = 0; rank < $1; rank++)); do
        [ "$(grep -c "^rank $rank of $1 on " <<< "$output")" -eq 1 ] || {
            echo "not one line for rank $rank of $1"
            echo "$output"
            return 1
        }
    done
    says '^sum of all ranks: .*: right$'
}

# two_pods: a lab for a whole file, of whose tests only some need it: they say
# need_pods, and skip where there can be none.
two_pods() {
    export PODLAB_NAME=peers-$$
    "$podlab" up 2 --see "$HB_SRCDIR" --see "$HB_BUILDDIR" --owner $$ \
        > "$BATS_FILE_TMPDIR/lab" 2>&1 || true
}
need_pods() {
    "$podlab" list > /dev/null 2>&1 || skip "$(cat "$BATS_FILE_TMPDIR/lab")"
}
# An sshd may be silent for long where many tests run; that is not tested here.
over_pods() { # COMMAND...
    pod 0 timeout -s KILL "$HB_LIMIT" "$hbrun" \
        --connect-timeout "$HB_LIMIT" -H pod-0:2,pod-1:2 "$@"
}

# over_pods_mpich N PROGRAM: `run over_pods` for the N ranks of hello of MPICH
# 4.0 with UCX 1.13. Over TCP one of them may wait for ever in MPI_Finalize, as
# often under MPICH's mpiexec (1 of 10 runs on a loaded machine): it ends its
# connections by UCX, while the others, who are through with that, wait for it
# in PMI and drive UCX no longer. Such a run has said all it has to say; it is
# told of, must leave nothing, and is done again, twice at most.
over_pods_mpich() {
    local try
    for try in 1 2 3; do
        HB_LIMIT=45 run over_pods "$2"
        [ "$status" -eq 137 ] || return 0
        status=0
        world "$1" || return 0
        status=137
        echo "# try $try: all was said, and a rank stays in MPI_Finalize" >&3
        pods_clean 0 1
    done
}

# each_mpi FUNCTION [ARGUMENT...]: with each of Debian's MPIs that is there.
each_mpi() {
    local mpi n=0
    for mpi in debian-openmpi debian-mpich; do
        command -v "mpicc.${mpi#debian-}" > /dev/null || continue
        "$1" "$mpi" "${@:2}"
        n=$((n + 1))
    done
    [ $n -gt 0 ] || skip 'neither mpicc.openmpi nor mpicc.mpich is installed'
}

# rank_process PROGRAM RANK: its pid, also where it runs in a pod. Other tests
# run the same program here at the same time, each in a folder of its own.
rank_process() {
    local file pid
    for file in /proc/[0-9]*/environ; do
        pid=${file//[!0-9]/}
        [ "/proc/$pid/exe" -ef "$1" ] || continue
        [ "/proc/$pid/cwd" -ef . ] ||
            ! [ "/proc/$pid/ns/mnt" -ef /proc/self/ns/mnt ] || continue
        ! grep -qsz "^HPCBOOT_RANK=$2$" "$file" || echo "$pid"
    done
}

# ending KIND: the status, and the final line after "rank 1 on HOST ".
ending() {
    case $1 in
        abort) echo 7 'aborted the job with code 7' ;;
        exit) echo 3 'exited with status 3' ;;
        segv) echo 139 'was ended by signal 11: SIGSEGV.*' ;;
        kill) echo 137 'was ended by signal 9: SIGKILL.*' ;;
        leave) echo 1 'exited with status 0 without finalizing MPI.*' ;;
    esac
}

# ends_by MPI KIND HOST COMMAND...: rank 1 of COMMAND ends so.
ends_by() {
    local program kind=$2 host=$3 want words job
    program=$(trouble "$1")
    read -r want words <<< "$(ending "$kind")"
    [ "$kind" != kill ] || kind=wait
    rm -f out # of the MPI before, where "rank 1 waits" stands already
    "${@:4}" "$program" $kind > out 2> err < /dev/null &
    job=$!
    if [ "$kind" = wait ]; then
        wait_until grep -q 'rank 1 waits' out
        kill -KILL "$(rank_process "$program" 1)"
    fi
    ends $job
    ended_with "$want"
    [[ $(tail -n 1 err) =~ ^"hbrun: error: rank 1 on "$host" "$words$ ]] || {
        echo "not the last line: rank 1 on $host $words"
        tail -n 5 err
        return 1
    }
}
