#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Ranks of libhpcboot on this host: alone, under hbrun, behind wrappers, one
# program after the other, and when one of them ends early.

load ../common
setup() {
    common_setup
    probe=$HB_BUILDDIR/tests/cli/apiprobe
}

all='who kvs blobs coll requests teams messages heap misuse place'

@test "a rank alone uses everything" {
    # shellcheck disable=SC2086  # words
    run timeout -s KILL "$HB_LIMIT" "$probe" $all
    ended_with 0
    says '^rank 0 of 1, local 0 of 1, node 0 of 1, host [^ ]+, by alone$'
}

@test "ranks of hbrun use everything" {
    # shellcheck disable=SC2086
    run hb -n 3 "$probe" $all
    ended_with 0
    for i in 0 1 2; do
        says "^rank $i of 3, local $i of 3, node 0 of 1, host .*, by hbrun$"
    done
}

@test "programs whose standard descriptors are closed" {
    local closed
    # shellcheck disable=SC2016  # expanded in the ranks
    for closed in '<&-' '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
        run hb -n 2 bash -c "exec \"\$0\" closed $closed" \
            "$HB_BUILDDIR/tests/cli/apilost"
        ended_with 0
        run timeout -s KILL "$HB_LIMIT" bash -c \
            "exec \"\$0\" who kvs coll heap $closed" "$probe"
        ended_with 0
    done
}

@test "two ranks, which have no third to wait for" {
    # shellcheck disable=SC2086
    run hb -n 2 "$probe" $all
    ended_with 0
}

@test "a fence whose deadline has passed is made up for later" {
    run timeout -s KILL "$HB_LIMIT" "$probe" fences kvs
    ended_with 0
    run hb -n 3 "$probe" fences
    ended_with 0
    says_not 'broke the protocol'
}

@test "a wrapper that closes what the rank inherited" {
    run hb -n 2 "$fakes/closes_fds.sh" "$probe" who kvs coll
    ended_with 0
    says '^rank 1 of 2, .* by hbrun$'
}

@test "a wrapper that has another file in the socket's place" {
    run hb -n 2 bash -c 'exec 43> "file.$HPCBOOT_RANK"; exec "$@"' - \
        "$probe" coll
    ended_with 0
    [ -e file.0 ] && [ ! -s file.0 ] && [ ! -s file.1 ]
}

@test "several programs one after the other" {
    run hb -n 3 bash -c '"$0" kvs coll && "$0" messages heap && "$0" who' \
        "$probe"
    ended_with 0
    says '^rank 2 of 3'
}

# mix RANKS SEED [HBRUN'S WORDS...]
mix() {
    local ranks=$1 seed=$2
    shift 2
    echo "seed $seed"
    run hb -n "$ranks" "$@" "$HB_BUILDDIR/tests/cli/apimix" "$seed" 200
    ended_with 0
    [ "$(grep -c '^200 steps$' <<< "$output")" = "$ranks" ]
}

@test "random programs of everything at once" {
    mix 2 1
    mix 3 2
    mix 5 3
    mix 3 4 -x HPCBOOT_CHECK=1
    if [ "${HB_LONG:-no}" = yes ]; then
        for seed in $(seq 3000 3060); do mix $((seed % 8 + 2)) "$seed"; done
    fi
    nothing_left
}

@test "random programs of several threads in each rank" {
    for ranks in 2 3; do
        run hb -n $ranks "$HB_BUILDDIR/tests/cli/apithreads" $ranks 60
        ended_with 0
        [ "$(grep -c '^60 steps of 3 threads$' <<< "$output")" -eq $ranks ]
    done
}

@test "random programs under mpiexec of MPICH" {
    need mpiexec.mpich
    run timeout -s KILL "$HB_LIMIT" mpiexec.mpich -n 3 \
        "$HB_BUILDDIR/tests/cli/apimix" 5 150
    ended_with 0
}

@test "messages that are given up: nothing of them is lost, no buffer is touched" {
    run hb -n 2 "$HB_BUILDDIR/tests/cli/apinet" waive
    ended_with 0
}

@test "every function used wrongly: an error with text" {
    misuse=$HB_BUILDDIR/tests/cli/apimisuse
    diff <("$misuse" names | sort) \
        <(sed -nE 's/^ *(hpcboot_[a-z_]+);/\1/p' \
            "$HB_SRCDIR/lib/api/libhpcboot.map" | sort)
    run timeout -s KILL "$HB_LIMIT" "$misuse"
    ended_with 0
    run hb -n 3 "$misuse"
    ended_with 0
    says 'started: .*rank 1 has a process that has called hpcboot_init and has'
    says_not 'warning'
    run hb -n 2 "$misuse" threads
    ended_with 0
    if type mpiexec.mpich > /dev/null 2>&1; then
        run timeout -s KILL "$HB_LIMIT" mpiexec.mpich -n 2 "$misuse"
        ended_with 0
    fi
}

@test "memory of a device is refused in words, whoever's it is" {
    for driver in CUDA:libcuda.so.1 ROCM:libhsa-runtime64.so.1 \
        ZE:libze_loader.so.1; do
        "${cc[@]}" -shared -fPIC -D"${driver%%:*}" -o "${driver#*:}" \
            -Wl,-soname,"${driver#*:}" "$HB_SRCDIR/tests/fakes/gpudriver.c"
        run hb -n 2 "$HB_BUILDDIR/tests/cli/apidevice" "./${driver#*:}"
        ended_with 0
    done
}

# fake_cuda [FLAG]: the driver of a device which is none; -DCOPIES: it copies.
fake_cuda() {
    "${cc[@]}" -shared -fPIC -DCUDA "$@" -o libcuda.so.1 \
        -Wl,-soname,libcuda.so.1 "$HB_SRCDIR/tests/fakes/gpudriver.c"
}
# fake_ucx: and a UCX that knows it, in ./modules.
fake_ucx() {
    mkdir -p modules
    "${cc[@]}" -shared -fPIC -I"$HB_SRCDIR" -I"$HB_BUILDDIR" \
        -o modules/hb_ucx.so "$HB_SRCDIR/tests/fakes/ucxmove.c"
}
# gpu WHAT RANKS [ARGUMENT...]: tests with such memory; those of all calls, or
# what apigpu has another word for.
# A LeakSanitizer that breaks down itself (it does in one of some 40 of these)
# has found nothing, and is asked again.
gpu() {
    local what=()
    [ "$1" = calls ] || what=("$1")
    shift
    for _ in 1 2 3; do
        run hb -n "$@" "$HB_BUILDDIR/tests/cli/apigpu" ./libcuda.so.1 \
            "${what[@]}"
        grep -q 'LeakSanitizer has encountered a fatal error' \
            <<< "$output" || break
    done
}

@test "memory of a device is used as the host's is: its driver copies" {
    fake_cuda -DCOPIES
    for ranks in 1 2 4; do
        gpu calls $ranks
        ended_with 0
        says "^$ranks ranks: as on the host"
    done
    printf 'a slots=2\nb slots=1\n' > hosts
    gpu calls 3 --launch-with fork --hostfile hosts
    ended_with 0
    says '^3 ranks: as on the host'
    gpu calls 2 -x FAKE_CUDA_FAILS=1
    ended_with 1
    says 'CUDA cannot copy [0-9]+ bytes (to|from) a device: the device is on fire'
}

@test "memory of a device: what is copied through again and again is pinned" {
    fake_cuda -DCOPIES
    pins() { # TIMES HOW [WORDS]: of the host's memory, in each rank
        gpu "$2" 2 -x FAKE_CUDA_COUNTS=1 "${@:3}"
        ended_with 0
        [ "$(grep -c "^pinned $1 times, 0 left$" <<< "$output")" -eq 2 ]
    }
    pins 0 once
    pins 1 starts
    pins 4 several
    pins 5 mixed # that of the short ones as well
    pins 0 several -x FAKE_CUDA_INACTIVE=1
    gpu calls 2 -x FAKE_CUDA_COUNTS=1
    ended_with 0
    [ "$(grep -cE '^pinned [1-9][0-9]* times, 0 left$' <<< "$output")" -eq 2 ]
}

@test "memory of a device: requests that are left to hpcboot_finalize" {
    fake_cuda -DCOPIES
    printf 'a slots=1\nb slots=1\n' > hosts
    for where in '--launch-with fork --hostfile hosts' ''; do
        # shellcheck disable=SC2086
        gpu leave 2 $where
        ended_with 0
    done
}

@test "memory of a device is used as the host's is: UCX copies" {
    fake_cuda
    fake_ucx
    gpu calls 3 -x HPCBOOT_MODULE_DIR="$PWD/modules"
    ended_with 0
    says '^3 ranks: as on the host'
    gpu calls 2 -x HPCBOOT_MODULE_DIR="$PWD/modules" -x FAKE_UCX_FAILS=1
    ended_with 1
    says 'UCX cannot copy [0-9]+ bytes (to|from) a device: the device is on fire'
}

@test "memory of a device that is really there" {
    [ -e /dev/nvidia0 ] || skip 'no NVIDIA device here'
    run hb -n 2 "$HB_BUILDDIR/tests/cli/apigpu" libcuda.so.1
    ended_with 0
    says '^2 ranks: as on the host'
    run hb -n 3 "$HB_BUILDDIR/tests/cli/apigpukinds" libcuda.so.1
    ended_with 0
    says '^hpcboot_alloc, registered: as the host'
}

@test "a rank that is killed: the others hear who, where and why" {
    run hb -n 3 "$probe" killed
    says '^rank 0 hears: rank 1 on .* was killed by signal 9'
    says '^rank 2 hears: rank 1 on .* was killed by signal 9'
    says '^rank 0 event: rank 1, rank 1 on .* was killed by signal 9'
    nothing_left
}

@test "a rank that is killed: calls of little time hear of it, not of the time" {
    run hb --on-failure continue -n 2 "$HB_BUILDDIR/tests/cli/apilost" brief
    ended_with 137
    says '^receive: rank 1 on .* was killed by signal 9'
    says '^barrier: rank 1 on .* was killed by signal 9'
}

@test "ranks that wait for one which has called hpcboot_finalize are told" {
    printf 'a slots=2\nb slots=1\n' > hosts
    for where in '--launch-with fork --hostfile hosts' ''; do
        for how in ended threads; do
            # shellcheck disable=SC2086
            run hb -n 3 $where "$HB_BUILDDIR/tests/cli/apilost" $how
            ended_with 0
            for i in 0 2; do
                says "^rank $i: .*rank [02] allreduce, rank 1 hpcboot_finalize"
            done
        done
    done
}

# lost RANKS WAY HEARS: on one host and on two, also where calls are checked.
lost() {
    local where check
    printf 'a slots=2\nb slots=%d\n' $(($1 - 2)) > hosts
    for where in '--launch-with fork --hostfile hosts' ''; do
        for check in 0 1; do
            # shellcheck disable=SC2086  # words
            run hb -n "$1" $where -x HPCBOOT_CHECK=$check \
                "$HB_BUILDDIR/tests/cli/apilost" "$2"
            ended_with 0
            "$3"
        done
    done
}

hear_of_destroy() {
    for i in 0 2; do
        says "^rank $i: .*rank [02] barrier, rank 1 hpcboot_team_destroy"
    done
}
@test "who asks for what a rank of a lost host has put is told" {
    printf 'a slots=1\nb slots=1\n' > hosts
    run hb --launch-with fork --hostfile hosts --on-failure continue \
        --heartbeat 1 -n 2 "$HB_BUILDDIR/tests/cli/apilost" asked
    says "^rank 0 gets: rank 1 on b is lost with its host: .*\"key\" is gone"
    nothing_left
}

@test "half a message of a dead rank is not what any receive meets" {
    run hb --on-failure continue -n 3 "$HB_BUILDDIR/tests/cli/apilost" half
    ended_with 137
    says '^rank 0 receives 7 of rank 1$'
}

@test "what a dead rank shared of the heap is there for new teams" {
    run hb --on-failure continue -n 3 -x HPCBOOT_HEAP_MB=8 \
        "$HB_BUILDDIR/tests/cli/apilost" heirs
    ended_with 137
    says '^rank 0 has room for as many$'
    says '^rank 1 has room for as many$'
}

@test "ranks that wait for one which has left their team are told" {
    lost 3 left hear_of_destroy
}

hear_of_finalize() {
    says '^rank 0: rank 0 waits in team_shrink for rank 1, which is in'
    says '^rank 2: .*waits in team_shrink'
}
@test "ranks that wait for one which could not make their team are told" {
    printf 'a slots=1\nb slots=1\n' > hosts
    run hb -n 2 --launch-with fork --hostfile hosts \
        "$HB_BUILDDIR/tests/cli/apilost" unmade
    ended_with 0
    says '^rank 1 hears: no memory for a team of one$'
    says '^rank 0 hears: rank 1 takes no more part in the team: no memory for '
}

@test "a shrink waits for no rank that has called hpcboot_finalize" {
    lost 3 shrinks hear_of_finalize
}

@test "a shrink waits for a rank that comes late" {
    lost 4 late true
}

@test "a shrink's own words are nothing that a receive of any tag meets" {
    lost 3 any true
}

# elastic COMMAND: on the hosts of ./hosts, as the text of a shell.
elastic() {
    hb --np 1:4 --launch-with fork --hostfile hosts --on-failure continue \
        -x GROW_TO=4 bash -c "$1" "$probe"
}

@test "a rank that dies in an elastic job: it grows no more, and a line says why" {
    printf 'a slots=2\nb slots=1\n' > hosts
    # shellcheck disable=SC2016  # expanded in the ranks
    elastic 'echo $$ > "pid.$HPCBOOT_RANK"; exec "$0" grow' > out 2> err &
    wait_until lines_in out 3
    kill -KILL "$(cat pid.1)"
    wait_until lines_in out 5
    echo 'c slots=1' >> hosts
    wait_until grep -q 'is not taken in' err
    kill -KILL "$(cat pid.0)" "$(cat pid.2)"
    ends $!
    ended_with 137
    says 'host c has come into the gang .*is not taken in: a rank has ended on a'
    for i in 0 2; do grep -q "^rank $i is told: rank 1 on a was killed" out; done
    run ! grep -q 'begins on c' out
    nothing_left
}

@test "a rank that never comes in an elastic job: who waits for it hears that" {
    printf 'a slots=2\nb slots=1\n' > hosts
    for end in 'exit 0' 'exit 5' 'kill -KILL $$'; do
        # shellcheck disable=SC2016
        run elastic '[ $HPCBOOT_RANK != 2 ] || '"$end"'; exec "$0" who'
        [ "$status" -ne 0 ]
        [ "$status" -ne 124 ]
        [ "$(grep -c 'rank 2 on b .*; no rank can begin' <<< "$output")" -eq 2 ]
    done
    # shellcheck disable=SC2016
    run elastic '"$0" who; [ $HPCBOOT_RANK != 2 ] || exit 5; exec "$0" who'
    ended_with 5
    [ "$(grep -c 'rank 2 on b .*; no rank can begin' <<< "$output")" -eq 2 ]
    nothing_left
}

@test "survivors shrink their team and go on" {
    run hb -n 4 "$probe" shrink
    says '^rank 0 goes on as 0 of 3'
    says '^rank 2 goes on as 1 of 3'
    says '^rank 3 goes on as 2 of 3'
}

@test "a rank that ends without finalize is as dead" {
    run hb -n 2 "$probe" left
    says '^rank 0 hears: rank 1 on .* ended with exit status 0 and without'
    says 'rank 1 on .* exited with status 0 without hpcboot_finalize while other'
}

@test "a rank that never comes" {
    run hb -n 3 bash -c '[ "$HPCBOOT_RANK" != 1 ] || exit 0; exec "$0"' \
        "$probe"
    [ "$status" -ne 0 ]
    says 'rank 1 on .* exited with status 0 and never called hpcboot_init, '
}

# Ranks of a higher priority on the agent's only CPU run as soon as it wakes
# them, and have ended before it looks for the next end.
@test "a rank that never comes: those that hear of it end before all is seen" {
    local cpu
    cpu=$(sed -n 's/^Cpus_allowed_list:\t*\([0-9]*\).*/\1/p' /proc/self/status)
    hb -n 1 chrt -f 1 true || skip 'ranks may not have a real-time priority'
    run timeout -s KILL "$HB_LIMIT" taskset -c "$cpu" "$hbrun" -n 3 \
        --bind-to none --events "$PWD/events" bash -c '
            [ "$HPCBOOT_RANK" = 1 ] || exec chrt -f 5 "$0"
            until grep -q host_initialised "$1"; do sleep 0.02; done
            ' "$probe" "$PWD/events"
    [ "$status" -ne 0 ]
    says 'rank 1 on .* exited with status 0 and never called hpcboot_init, '
    nothing_left
}

@test "deadlines of an init, a call, and a wait" {
    run hb -n 2 "$probe" late
    ended_with 0
}

@test "a small heap says so" {
    run hb -n 2 -x HPCBOOT_HEAP_MB=1 "$probe" full
    ended_with 0
}

@test "the heap is as large as the largest wish of the programs on the node" {
    run hb -n 1 "$probe" full : -n 1 -x HPCBOOT_HEAP_MB=1 "$probe" full
    ended_with 0
    run hb -n 1 -x HPCBOOT_HEAP_MB=1 "$probe" heap : \
        -n 1 -x HPCBOOT_HEAP_MB=64 "$probe" heap
    ended_with 0
}

# Wherever the ranks run, and whoever has started them.
@test "nonsense in the library's variables is an error that says what is allowed" {
    while IFS='|' read -r setting words; do
        for ranks in 1 2; do
            # The rest of the list is not for rank 0's standard input.
            run hb -n $ranks -x "$setting" "$probe" who < /dev/null
            [ "$status" -ne 0 ]
            says "$words"
        done
        run env "$setting" "$probe" who
        [ "$status" -ne 0 ]
        says "$words"
    done << 'END'
HPCBOOT_HEAP_MB=lots|HPCBOOT_HEAP_MB: "lots" is no number of MiB from 1 to 16777216
HPCBOOT_HEAP_MB=0|HPCBOOT_HEAP_MB: "0" is no number
HPCBOOT_CHECK=maybe|HPCBOOT_CHECK: "maybe" is neither 0 nor 1
HPCBOOT_DETERMINISTIC=2|HPCBOOT_DETERMINISTIC: "2" is neither 0 nor 1
HPCBOOT_COLL_NET=allreduce=square|HPCBOOT_COLL_NET: "allreduce=square" is no wish .*: flat, nodes,
HPCBOOT_TRANSPORTS=pigeon|HPCBOOT_TRANSPORTS: "pigeon" is none; known are tcp and ucx
HPCBOOT_RAILS=9|HPCBOOT_RAILS: "9" is no number from 1 to 4
HPCBOOT_COLL_TUNE=bcast=square|HPCBOOT_COLL_TUNE: .*square
END
    for setting in HPCBOOT_HEAP_MB= HPCBOOT_CHECK=0 HPCBOOT_CHECK=1 \
        HPCBOOT_DETERMINISTIC= HPCBOOT_COLL_NET=flat HPCBOOT_TRANSPORTS=tcp; do
        run hb -n 2 -x "$setting" "$probe" who
        ended_with 0
    done
}

# build LANGUAGE-COMPILER SOURCE: against the library of the build.
build() {
    local compiler source=$2
    read -ra compiler <<< "$1"
    shift 2
    "${compiler[@]}" "$@" -Wall -Wextra -I"$HB_SRCDIR/include" \
        -I"$HB_BUILDDIR/include" "$source" -o program \
        -L"$HB_BUILDDIR/.libs" -lhpcboot -lm \
        -Wl,-rpath,"$HB_BUILDDIR/.libs"
}
need_plain_build() { # sanitized: no
    ! is_sanitized ||
        skip 'a sanitized library wants a sanitized program'
}

@test "the stencil of the examples: as many ranks as one likes" {
    need_plain_build
    build "$CC" "$HB_SRCDIR/examples/stencil.c" -std=c11
    for n in 1 2 3; do
        run hb -n $n ./program
        ended_with 0
        says "^$n ranks, [0-9]+ steps, heat [0-9.]+$"
        heat=${output##*steps, }
        [ "${first:=$heat}" = "$heat" ]
    done
}

@test "a program in C++" {
    need_plain_build
    need c++
    cat > program.cc << 'END'
#include <hpcboot/hpcboot.h>
#include <cstdio>
int main() {
    hpcboot_error err = {};
    hpcboot_init_options options = HPCBOOT_INIT_OPTIONS_INIT;
    options.threads = HPCBOOT_THREADS_MULTIPLE;
    double x = 1, y = 0;
    if (hpcboot_init(&options, &err) < 0 ||
        hpcboot_allreduce(&x, &y, 1, HPCBOOT_DOUBLE, HPCBOOT_SUM,
                          hpcboot_world(), &err) < 0) {
        return 1;
    }
    std::printf("sum %g\n", y);
    return hpcboot_finalize(&err) < 0;
}
END
    build c++ program.cc -std=c++11 -Werror
    run hb -n 2 ./program
    ended_with 0
    says '^sum 2$'
}

@test "mpiexec of MPICH starts ranks (PMI-1)" {
    need mpiexec.mpich
    # shellcheck disable=SC2086
    run timeout -s KILL "$HB_LIMIT" mpiexec.mpich -n 3 "$probe" $all
    ended_with 0
    says '^rank 2 of 3, local 2 of 3, node 0 of 1, host .*, by pmi1$'
}

@test "PMI-1: a launcher that is to be called by a port is" {
    need mpiexec.mpich
    # shellcheck disable=SC2086
    run timeout -s KILL "$HB_LIMIT" mpiexec.mpich -pmi-port -n 3 "$probe" $all
    ended_with 0
    says '^rank 2 of 3, local 2 of 3, node 0 of 1, host .*, by pmi1$'
}

@test "PMI-1: no line is longer than the lines of launchers" {
    need python3 mpiexec.mpich
    cat > between.py <<'END'
import os, socket, subprocess, sys, threading
launcher = socket.socket(fileno=int(os.environ['PMI_FD']))
here, there = socket.socketpair()
longest = [0]
def carry(source, to):
    for line in source.makefile('rb'):
        longest[0] = max(longest[0], len(line))
        to.sendall(line)
def answer():
    carry(launcher, here)
    here.shutdown(socket.SHUT_WR)
threading.Thread(target=answer, daemon=True).start()
rank = subprocess.Popen(sys.argv[1:], pass_fds=[there.fileno()],
                        env=dict(os.environ, PMI_FD=str(there.fileno())))
there.close()
carry(here, launcher)
status = rank.wait()
print('longest line:', 'short' if 512 < longest[0] < 1024 else longest[0])
sys.exit(status)
END
    # shellcheck disable=SC2086
    run timeout -s KILL "$HB_LIMIT" mpiexec.mpich -n 3 python3 between.py \
        "$probe" $all
    ended_with 0
    [ "$(grep -c '^longest line: short$' <<< "$output")" -eq 3 ]
}

@test "PMI-1: a launcher whose variables cannot be used is an error" {
    local given
    for given in 'PMI_PORT=127.0.0.1:1 PMI_ID=0|cannot be reached: Connection' \
        'PMI_PORT=127.0.0.1:none PMI_ID=0|cannot be found' \
        'PMI_PORT=127.0.0.1:1|without PMI_PORT the program runs alone' \
        'PMI_PORT=1 PMI_ID=0|without PMI_PORT the program runs alone' \
        'PMI_FD=5|without PMI_FD the program runs alone' \
        'PMI_FD=5 PMI_RANK=2 PMI_SIZE=2|PMI_RANK=2 and PMI_SIZE=2' \
        'PMI_FD=5 PMI_RANK=one PMI_SIZE=2|PMI_RANK=one and'; do
        # shellcheck disable=SC2086  # words of their own
        run env ${given%|*} timeout -s KILL "$HB_LIMIT" "$probe" who
        ended_with 1
        says "^.*PMI-1: .*${given#*|}"
    done
    run env PMI_FD= PMI_PORT= timeout -s KILL "$HB_LIMIT" "$probe" who
    ended_with 0
    says '^rank 0 of 1, .*, by alone$'
}

@test "PMI-1: who is not the launcher at its port, or knows no such rank, is an error" {
    need python3
    local answer
    cat > port.py <<'END'
import os, socket, subprocess, sys
at = socket.create_server(('127.0.0.1', 0))
rank = subprocess.Popen(sys.argv[2:], env=dict(
    os.environ, PMI_PORT='127.0.0.1:%d' % at.getsockname()[1], PMI_ID='1'))
to = at.accept()[0]
to.recv(4096)
to.sendall(sys.argv[1].encode().decode('unicode_escape').encode())
to.shutdown(socket.SHUT_WR)
sys.exit(rank.wait())
END
    for answer in "220 mail\\n|answered \"220 mail\" where initack was due" \
        "cmd=initack rc=-1\\n|answered \"cmd=initack rc=-1\"" \
        "cmd=initack rc=0\\ncmd=set debug=0\\n|PMI_ID=1 is rank \"\" of \"\"" \
        "cmd=initack\\ncmd=set size=2\\n|the launcher has closed"; do
        run timeout -s KILL "$HB_LIMIT" python3 port.py "${answer%|*}" \
            "$probe" who
        ended_with 1
        says "PMI-1: .*${answer#*|}"
    done
}

@test "PMI-1 by a port: a program that a rank starts is not taken for it" {
    need_plain_build
    need mpiexec.mpich
    cat > starts.c <<'END'
#include <hpcboot/job.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    (void)argc;
    return hpcboot_init(NULL, NULL) < 0 || system(argv[1]) == -1 ||
           hpcboot_finalize(NULL) < 0;
}
END
    build cc starts.c -std=c11 -Werror
    run timeout -s KILL "$HB_LIMIT" mpiexec.mpich -pmi-port -n 2 ./program \
        "$probe who 2>> said; exit 1"
    [ "$(grep -c 'has started this program before its hpcboot_finalize' said)" \
        -eq 2 ]
}

@test "PMI-1: another file in the launcher's place is not written into" {
    need mpiexec.mpich
    local way
    # shellcheck disable=SC2016  # expanded in the ranks
    for way in '<> "file.$PMI_RANK"' '<&-'; do
        rm -f said.*
        # Said to a file: this mpiexec may lose it when a rank ends early.
        run timeout -s KILL "$HB_LIMIT" mpiexec.mpich -n 2 bash -c \
            'eval "exec $PMI_FD$1" "2> said.$PMI_RANK"; exec "${@:2}"' \
            - "$way" "$probe" coll
        [ "$status" -ne 0 ]
        output=$(cat said.*)
        says 'which PMI_FD names, is not the launcher'
    done
    [ -e file.0 ] && [ ! -s file.0 ] && [ ! -s file.1 ]
}

@test "PMI-1: a launcher that is gone is an error, and ends no rank by SIGPIPE" {
    need python3
    cat > gone.py <<'END'
import os, signal, socket, sys
ours, launchers = socket.socketpair()
launchers.close()
os.set_inheritable(ours.fileno(), True)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.environ.update(PMI_FD=str(ours.fileno()), PMI_RANK='0', PMI_SIZE='2')
os.execv(sys.argv[1], sys.argv[1:])
END
    run timeout -s KILL "$HB_LIMIT" python3 gone.py "$probe" who
    ended_with 1
    says 'PMI-1: cannot write to the launcher: Broken pipe'
}

@test "a communicator that this rank is not in, Open MPI and MPICH" {
    need_module pmix libpmix
    need_plain_build
    need mpicc.openmpi mpicc.mpich
    cat > left_out.c <<'END'
#include <hpcboot/hpcboot.h>
#include <hpcboot/mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct hpcboot_error err = {0};
    MPI_Comm some;
    int me, rc;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 1, 0, &some);
    rc = hpcboot_init_mpi(&some, NULL, &err);
    printf("%d: %d %s\n", me, rc == HPCBOOT_ERR_USAGE, err.text);
    if (rc == 0) {
        hpcboot_finalize(NULL);
    }
    return MPI_Finalize();
}
END
    for mpi in openmpi mpich; do
        build mpicc.$mpi left_out.c -std=c11 -O1
        run hb -n 3 ./program
        ended_with 0
        says '^0: 1 .*pass one that this rank is in$'
        says '^1: 0 $'
        says '^2: 0 $'
    done
}

@test "a communicator between two groups, Open MPI and MPICH" {
    need_module pmix libpmix
    need_plain_build
    need mpicc.openmpi mpicc.mpich
    cat > groups.c <<'END'
#include <hpcboot/hpcboot.h>
#include <hpcboot/mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct hpcboot_error err = {0};
    MPI_Comm mine, between, one;
    int me, rc;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_split(MPI_COMM_WORLD, me, 0, &mine);
    MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - me, 0, &between);
    rc = hpcboot_init_mpi(&between, NULL, &err);
    printf("%d: %d %s\n", me, rc == HPCBOOT_ERR_USAGE, err.text);
    MPI_Intercomm_merge(between, me, &one);
    rc = hpcboot_init_mpi(&one, NULL, &err);
    printf("%d is %d of %d\n", me, hpcboot_rank(), hpcboot_size());
    if (rc == 0) {
        hpcboot_finalize(NULL);
    }
    return MPI_Finalize();
}
END
    for mpi in openmpi mpich; do
        build mpicc.$mpi groups.c -std=c11 -O1
        run hb -n 2 ./program
        ended_with 0
        for i in 0 1; do
            says "^$i: 1 .*joins two groups; MPI_Intercomm_merge makes one"
            says "^$i is $i of 2$"
        done
    done
}

@test "MPI and libhpcboot in one program, Open MPI and MPICH" {
    need_module pmix libpmix
    need_plain_build
    need mpicc.openmpi mpicc.mpich mpiexec.mpich
    for mpi in openmpi mpich; do
        build mpicc.$mpi "$HB_SRCDIR/examples/mpi_mix.c" -std=c11 -O1
        run hb -n 2 ./program
        ended_with 0
        says '^2 ranks by mpi: both say 199$'
    done
    run timeout -s KILL "$HB_LIMIT" mpiexec.mpich -n 3 ./program
    ended_with 0
    says '^3 ranks by mpi: both say 300$'
}
