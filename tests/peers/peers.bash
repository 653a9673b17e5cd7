# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What the tests with other MPIs share. Their wheels go into virtual
# environments in the build folder, one each: their commands have the same names.

load ../common
venvs=$HB_BUILDDIR/peers

# wheel_env MPI: makes its environment; where it cannot, skips with a reason.
# All wheels are got by one test file, so two never write the same folder.
wheel_env() {
    local mpi=$1 packages log
    case $mpi in
        impi) packages='impi-rt impi-devel' ;;
        *) packages=$mpi ;;
    esac
    [ "${HB_PEERS:-no}" = yes ] ||
        skip "wheels are not asked for (make check-peers, ./check)"
    need python3
    [ ! -e "$venvs/$mpi/ready" ] || return 0
    log=$venvs/$mpi.log
    mkdir -p "$venvs"
    # shellcheck disable=SC2086  # a list of words
    { python3 -m venv --clear "$venvs/$mpi" &&
        timeout -k 5 300 "$venvs/$mpi/bin/pip" install $packages; } \
        > "$log" 2>&1 < /dev/null ||
        skip "$packages cannot be installed by pip: $(tail -n 1 "$log")"
    touch "$venvs/$mpi/ready"
}

# compile MPI SOURCE: prints the program's path.
compile() {
    local mpi=$1 source=$2 program compiler
    program=$venvs/bin/$mpi-$(basename "$source" .c)
    mkdir -p "$venvs/bin"
    case $mpi in
        debian-openmpi) compiler=${MPICC_OPENMPI:-mpicc.openmpi} ;;
        debian-mpich) compiler=${MPICC_MPICH:-mpicc.mpich} ;;
        *) compiler=$venvs/$mpi/bin/mpicc ;;
    esac
    [ "$program" -nt "$source" ] ||
        I_MPI_ROOT=$venvs/$mpi "$compiler" -O1 -o "$program" "$source" ||
        return 1
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
