#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Families of process management where their server cannot be had.

load ../common

setup() { common_setup; }

# The programs without their module of libpmix, wherever it may be installed.
without_pmix() {
    mkdir -p bare/empty
    cp "$HB_BUILDDIR/hbrun" "$HB_BUILDDIR/hpcbootd" bare/
    touch bare/empty/hb_pmix.so
    export HPCBOOT_MODULE_DIR=$PWD/bare/empty
    export hbrun=$PWD/bare/hbrun
}

@test "without PMIx a program of uncertain family runs, with a note" {
    without_pmix
    # shellcheck disable=SC2016  # expanded by the ranks
    printf '#!/bin/sh\necho "rank $HPCBOOT_RANK"\n' > script
    chmod +x script
    LD_LIBRARY_PATH=$PWD run hb -n 2 ./script
    ended_with 0
    says '^rank 0$'
    says '^rank 1$'
    touch libmpi.so.40 # what makes the default rule choose PMIx
    LD_LIBRARY_PATH=$PWD run hb -n 2 ./script
    ended_with 0
    says '^rank 1$'
    says 'warning: PMIx programs.* pmi1 is used instead'
    LD_LIBRARY_PATH=$PWD run hb --explain -n 2 ./script
    says 'process management: pmi1 .not certain.: pmix cannot be served'
}

@test "without PMIx a script that names no mpi4py runs, where there is one" {
    need python3
    without_pmix
    mkdir mpi4py
    echo 'int MPI_Init; int ompi_version;' > mpi.c
    "${CC:-cc}" -shared -fPIC -Wl,-soname,libmpi.so.40 -o libmpi.so.40 mpi.c
    "${CC:-cc}" -shared -fPIC -Wl,--no-as-needed -o mpi4py/MPI.so -x c \
        /dev/null -x none libmpi.so.40
    echo 'import os; print("rank", os.environ["HPCBOOT_RANK"])' > script.py
    local python # itself: what is in PATH may be a script that starts it
    python=$(python3 -c 'import sys; print(sys.executable)')
    export PYTHONPATH=$PWD LD_LIBRARY_PATH=$PWD
    run hb --explain -n 2 "$python" script.py
    ended_with 0
    says '^rank 1$'
    says 'process management: pmi1 .not certain.: .*mpi4py/MPI.so links libmpi'
    says 'warning: PMIx programs.* pmi1 is used instead'
    echo '# a wrapper of mpi4py' >> script.py
    run hb -n 2 "$python" script.py
    ended_with 2
    says 'error: .*PMIx programs .Open MPI. cannot be served'
    run hb --pmi pmix -n 2 true
    ended_with 2
}

# Rank 0 has died and waits for its next life.
@test "who has not called its server is told of, and no rank that does not live" {
    echo 'int MPI_Init; int ompi_version;' > mpi.c
    "${CC:-cc}" -shared -fPIC -Wl,-soname,libmpi.so.40 -o libmpi.so.40 mpi.c
    cat > main.c << 'END'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    return atoi(getenv("HPCBOOT_RANK")) == 0 ? 3 : (int)sleep(1000);
}
END
    "${CC:-cc}" -o main main.c -Wl,--no-as-needed libmpi.so.40
    export LD_LIBRARY_PATH=$PWD
    "$hbrun" -n 2 --oversubscribe --pmi pmi1 --on-failure respawn \
        --restart-delay 1h ./main 2> err &
    local launcher=$!
    wait_until grep -q 'has not called its' err
    kill -TERM $launcher
    ends $launcher
    says 'rank 1 on .* links an MPI library and has not called its pmi1 server'
    says_not 'rank 0 on .* has not called'
    nothing_left
}

@test "without PMIx a plain program runs, and says nothing" {
    without_pmix
    run hb -n 1 true
    ended_with 0
    [ -z "$output" ]
}

@test "without PMIx, --pmi pmix is refused in words" {
    without_pmix
    run hb --pmi pmix -n 2 true
    ended_with 2
    says 'cannot be served.*--pmi pmi1'
}

# None has room for such a module.
@test "modules that find no memory are worth another try, not to be installed" {
    ! is_sanitized || skip 'a sanitizer has memory of its own'
    without_pmix
    echo 'char large[1ul << 52];' > large.c
    "${cc[@]}" -shared -fPIC -o bare/empty/hb_pmix.so large.c ||
        skip 'no module can be so large here'
    run hb --pmi pmix -n 2 true
    ended_with 75
    says 'cannot be served: cannot load .*hb_pmix.so.*memory'
    says_not 'install'
    cp bare/empty/hb_pmix.so bare/empty/hb_ssh.so
    run timeout -s KILL "$HB_LIMIT" bare/hpcbootd serve
    ended_with 75
    says '^hpcbootd: error: cannot load .*hb_ssh.so.*memory'
}

@test "a stack too small for PMIx is refused in words" {
    need_module pmix libpmix
    ulimit -s 128
    run hb --pmi pmix -n 2 true
    ended_with 2
    says 'PMIx server needs a stack .*ulimit'
    run hb -n 2 true
    ended_with 0
}

@test "a small stack is widened where that is allowed, the ranks' is not" {
    need_module pmix libpmix
    ulimit -Ss 128
    run hb --pmi pmix -n 1 sh -c 'ulimit -Ss'
    ended_with 0
    says '^128$'
}

@test "a stack larger than all memory that a process may have: PMIx starts" {
    need_module pmix libpmix
    ! is_sanitized || skip 'a sanitizer maps more than the limit'
    ulimit -Ss 3000000 || skip 'the hard limit is lower'
    ulimit -v 2500000 || skip 'the hard limit is lower'
    run hb --pmi pmix -n 1 sh -c 'ulimit -Ss'
    ended_with 0
    says '^3000000$'
}

# As Fedora has it; ldconfig takes several patterns, and those of a file in it
# as relative to that one.
@test "includes of ld.so.conf are relative to the file that has them" {
    need_root
    unshare -m true || skip "no mount namespaces here"
    [ -f /etc/ld.so.conf ] && [ -d /etc/ld.so.conf.d ] ||
        skip "the loader has no such files here"
    mkdir etc lib
    touch lib/libmpi.so.40 script
    chmod +x script
    echo 'include none.conf  /dev/null ld.so.conf.d/*.conf' > ld.so.conf
    echo 'include fam*.part' > etc/family.conf
    echo "$PWD/lib" > etc/family.part
    run unshare -m bash -c 'mount --bind etc /etc/ld.so.conf.d &&
        mount --bind ld.so.conf /etc/ld.so.conf && exec "$@"' - \
        timeout -s KILL "$HB_LIMIT" "$hbrun" --dry-run -n 2 ./script
    says "default rule: pmix, .*on the loader's path: $PWD/lib/libmpi.so.40"
}

@test "typed as for Hydra, a script that may start anything has PMI-1" {
    # shellcheck disable=SC2016  # expanded by the ranks
    printf '#!/bin/sh\necho "rank $PMI_RANK of $PMI_SIZE"\n' > script
    chmod +x script
    touch libmpi.so.40 # what makes the default rule choose PMIx
    export LD_LIBRARY_PATH=$PWD
    run hb -genv A 1 -n 2 ./script
    ended_with 0
    says '^rank 1 of 2$'
    run hb --dry-run -genv A 1 -n 2 ./script
    says "management: pmi1 .not certain.: pmi1, as the dialect is Hydra's, else: "
    run hb --dry-run -genv A 1 --pmi pmix -n 2 ./script
    says 'management: pmix: --pmi'
}

# as_mpich DIR: DIR/prog links a library in DIR/lib that links MPICH's.
as_mpich() {
    mkdir -p "$1/lib"
    printf 'int main(void) { return 0; }\n' > prog.c
    : > nothing.c
    "${CC:-cc}" -shared nothing.c -Wl,-soname,libmpich.so.12 \
        -o "$1/lib/libmpich.so.12"
    "${CC:-cc}" -shared nothing.c -Wl,-soname,libown.so,--no-as-needed \
        "$1/lib/libmpich.so.12" -o "$1/lib/libown.so"
    "${CC:-cc}" prog.c -Wl,--no-as-needed "$1/lib/libown.so" \
        -Wl,-rpath-link,"$1/lib" -o "$1/prog"
}

@test "a program is looked at where its ranks will find it" {
    local found='^process management: pmi1: .*/there/prog links libmpich.so.12'
    as_mpich "$PWD/there"
    run hb --dry-run -n 2 -x LD_LIBRARY_PATH="$PWD/there/lib" there/prog
    says "$found"
    export LD_LIBRARY_PATH=$PWD/there/lib
    run hb --dry-run -n 2 prog
    says 'prog is not on this host'
    run hb --dry-run -n 2 --path "$PWD/there" prog
    says "$found"
    run hb --dry-run -n 2 -x PATH="$PWD/there:$PATH" env prog
    says "$found"
    run hb --dry-run -n 1 true : -n 1 --prepend-env PATH="$PWD/there" prog
    says "$found"
    echo "PATH=$PWD/there:$PATH" > variables
    run hb --dry-run -n 2 --env-file variables prog
    says "$found"
}

# sh opens it as it is named: neither PATH nor its mode has a say.
@test "a script given to a shell is looked at where its ranks will find it" {
    local found='^process management: pmi1: .*/there/./prog links libmpich.so.12'
    as_mpich "$PWD/there"
    export LD_LIBRARY_PATH=$PWD/there/lib
    echo './prog' > there/run.sh
    chmod 644 there/run.sh
    run hb --dry-run -n 2 --wdir "$PWD/there" sh ./run.sh
    says "$found"
    echo true > run.sh
    run hb --dry-run -n 2 --wdir "$PWD/there" sh ./run.sh
    says "$found"
    run hb --dry-run -n 2 --wdir there sh ./run.sh
    says "$found"
    printf '#!/bin/sh\nexec ./prog\n' > there/script
    chmod 755 there/script
    run hb --dry-run -n 2 --wdir there ./script
    says "$found"
    mkdir bin
    echo true > bin/run.sh
    chmod 755 bin/run.sh
    PATH=$PWD/bin:$PATH run hb --dry-run -n 2 --wdir "$PWD/there" sh run.sh
    says "$found"
}
