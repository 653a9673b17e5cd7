#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Ranks of libhpcboot that are killed in the middle of random programs, and
# ranks in narrow surroundings.

load ../common
setup() {
    common_setup
    probe=$HB_BUILDDIR/tests/cli/apiprobe
    storm=$HB_BUILDDIR/tests/cli/apistorm
    group=
}
teardown() {
    local folder
    for folder in $group; do
        wait_until rmdir "$folder"
    done
}

all='who kvs blobs coll requests teams messages heap misuse place'

# survivors SEED RANKS VICTIMS: a job of RANKS loses VICTIMS of them.
survivors() {
    echo "seed $1"
    run hb --on-failure continue -n "$2" "$storm" "$1" "$3" 60
    ended_with 137
    [ "$(grep -c "^rank [0-9]* has lost $3, " <<< "$output")" -eq $(($2 - $3)) ] ||
        { echo "$output"; return 1; }
}

@test "kill -9 of random ranks in random programs: the others go on" {
    survivors 41 5 3
    survivors 42 4 2
    if [ "${HB_LONG:-no}" = yes ]; then
        for seed in $(seq 1000 1024); do survivors "$seed" 10 8; done
    fi
    nothing_left
}

@test "all ranks but one are killed" {
    survivors 43 3 2
}

# limited CONTROLLER V1-FILE=VALUE V2-FILE=VALUE: a control group with that
# limit, $group, that commands begun with `inside` are in.
limited() {
    local own root=/sys/fs/cgroup setting
    if [ -e $root/cgroup.controllers ]; then
        own=$(sed -n 's/^0:://p' /proc/self/cgroup)
        grep -qw "$1" "$root${own%/}/cgroup.subtree_control" 2> /dev/null ||
            echo "+$1" > "$root${own%/}/cgroup.subtree_control" 2> /dev/null ||
            skip "this control group hands out no $1"
        setting=$3
    else
        root=$root/$1
        own=$(sed -nE "s/^[0-9]+:([^:]*,)?$1(,[^:]*)?://p" /proc/self/cgroup)
        setting=$2
    fi
    mkdir "$root${own%/}/hpcboot-$$" 2> /dev/null ||
        skip "no control group of $1 can be made here"
    group=$root${own%/}/hpcboot-$$
    echo "${setting#*=}" > "$group/${setting%%=*}"
}
# shellcheck disable=SC2016  # expanded inside
inside() {
    timeout -s KILL "$HB_LIMIT" bash -c \
        'echo $$ > "$0/cgroup.procs" && exec "$@"' "$group" "$@"
}

@test "ranks that a program brings together itself: one is killed" {
    local how
    for how in coll recv test fence; do
        run timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/tests/cli/apiwith" 3 $how
        ended_with 0
        says '^rank 0 hears: rank 2 on .* has ended without hpcboot_finalize$'
        says '^rank 1 is one of 2$'
    done
}

@test "ranks that a program brings together itself: many fences, and much in one" {
    run timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/tests/cli/apiwith" 3 values
    ended_with 0
    for i in 0 1 2; do says "^rank $i has got all$"; done
}

@test "ranks that a program brings together itself: more than a fence carries" {
    run timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/tests/cli/apiwith" 5 full
    ended_with 0
    for i in 0 1 2 3 4; do
        says "^rank $i: the ranks have put 1280 MiB .*, which is lost"
    done
}

@test "ranks that a program brings together itself: one cannot take part" {
    local case why
    for case in 'device|.*this host has no such net device' \
        'setting|HPCBOOT_HEAP_MB: "much" is no'; do
        run timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/tests/cli/apiwith" 3 \
            "${case%|*}"
        ended_with 0
        why=${case#*|}
        says "^rank 2: $why"
        for i in 0 1; do says "^rank $i: rank 2 on [^ ]*: $why"; done
        [ "$(grep -c '^rank' <<< "$output")" -eq 3 ]
    done
}

@test "ranks that a program brings together itself: their numbers and places differ" {
    local case
    for case in 'alike|0 gives is at the place of rank 1' \
        'reversed|2 gives is at the place of rank 0'; do
        run timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/tests/cli/apiwith" 3 \
            "${case%|*}"
        ended_with 0
        for i in 0 1 2; do
            says "^rank $i: .*a mapping.*: what rank ${case#*|}$"
        done
    done
}

@test "ranks that a program brings together itself: an end with messages under way" {
    for ranks in 2 5; do
        run timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/tests/cli/apiwith" \
            $ranks end
        ended_with 0
        [ "$(grep -c '^rank [0-4] has ended$' <<< "$output")" -eq $ranks ]
    done
}

# launched WHAT LAUNCHER...: two ranks of each. libpmix leaks.
launched() {
    local launcher
    need "${@:2}"
    export HPCBOOT_MODULE_DIR=$HB_BUILDDIR/.libs
    [ -e "$HPCBOOT_MODULE_DIR/hb_pmixc.so" ] || skip 'built without libpmix'
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1
    for launcher in "${@:2}"; do
        run timeout -s KILL "$HB_LIMIT" "$launcher" -n 2 \
            "$HB_BUILDDIR/tests/cli/apilaunched" "$1"
        ended_with 0
        says '^rank 0 of [a-z0-9]* is through$'
        says '^rank 1 of [a-z0-9]* is through$'
    done
}

@test "PMI-1, PMIx: a fence whose deadline passes goes on in the next one" {
    launched late mpiexec.mpich mpirun.openmpi
}

@test "PMI-1, PMIx: a fence whose deadline passes is the last thing before the end" {
    launched end mpiexec.mpich mpirun.openmpi
    launched up mpiexec.mpich
}

# As the proxy of Hydra 4.2: what a rank has put is there before its barrier. Here
# who asks whether the other has ended is answered once that has said so.
@test "PMI-1: a rank that says that it ends has not yet come to that barrier" {
    need python3
    cat > server.py <<'END'
import os, socket, subprocess, sys, threading
values, here, done = {}, [], threading.Condition()
def answer(rank, line, to):
    words = dict(w.split('=', 1) for w in line.split())
    cmd, key = words['cmd'], words.get('key')
    if cmd == 'init':
        return 'response_to_init rc=0 pmi_version=1 pmi_subversion=1'
    if cmd == 'get_my_kvsname':
        return 'my_kvsname rc=0 kvsname=k'
    if cmd == 'put':
        values[key] = words['value']
    elif cmd == 'get':
        if key == 'hb-%d-end' % (1 - rank):
            done.wait_for(lambda: key in values)
        return ('get_result rc=0 value=%s' % values[key] if key in values
                else 'get_result rc=1')
    elif cmd == 'barrier_in':
        here.append(to)
        if len(here) == 2:
            for each in here:
                each.sendall(b'cmd=barrier_out\n')
            here.clear()
        return None
    elif here:
        print('rank %d has left the other in a barrier' % rank, flush=True)
        os._exit(3)
    return cmd + ('_ack rc=0' if cmd == 'finalize' else '_result rc=0')
def serve(rank, to):
    for line in to.makefile():
        with done:
            reply = answer(rank, line, to)
            done.notify_all()
        if reply:
            to.sendall(('cmd=%s\n' % reply).encode())
ranks = []
for rank in 0, 1:
    ours, theirs = socket.socketpair()
    threading.Thread(target=serve, args=(rank, ours), daemon=True).start()
    ranks.append(subprocess.Popen(sys.argv[1:], pass_fds=[theirs.fileno()],
        env=dict(os.environ, PMI_FD=str(theirs.fileno()), PMI_SIZE='2',
                 PMI_RANK=str(rank))))
    theirs.close()
sys.exit(max(abs(r.wait()) for r in ranks))
END
    run timeout -s KILL "$HB_LIMIT" python3 server.py \
        "$HB_BUILDDIR/tests/cli/apilaunched" up
    ended_with 0
    says '^rank 0 of pmi1 is through$'
    says '^rank 1 of pmi1 is through$'
}

@test "PMI-1, PMIx: messages are on their way in a fence of the node" {
    launched node mpiexec.mpich mpirun.openmpi
}

@test "a limit of processes" {
    limited pids pids.max=16 pids.max=16
    # shellcheck disable=SC2086  # words
    run inside "$hbrun" -n 4 "$probe" $all
    ended_with 0
}

@test "a limit of memory" {
    limited memory memory.limit_in_bytes=268435456 memory.max=268435456
    # shellcheck disable=SC2086
    run inside "$hbrun" -n 3 "$probe" $all
    ended_with 0
}

# A sanitizer takes what the limit would be by itself.
@test "a rank that the limit of memory ends: the others hear of the limit" {
    local mib=64
    ! is_sanitized || mib=320
    limited memory memory.limit_in_bytes=$((mib << 20)) \
        memory.max=$((mib << 20))
    run inside "$hbrun" --on-failure continue -n 3 \
        "$HB_BUILDDIR/tests/cli/apihungry"
    ended_with 137
    for i in 0 2; do
        says "^rank $i hears: rank 1 on .* by signal 9 .*; out of memory: the \
cgroup killed 1 process \(limit $mib MiB\)"
    done
    says 'error: rank 1 on .* SIGKILL .*; out of memory: the cgroup killed 1 '
}

@test "half a CPU for all ranks" {
    limited cpu cpu.cfs_quota_us=50000 'cpu.max=50000 100000'
    # shellcheck disable=SC2086
    run inside "$hbrun" -n 3 "$probe" $all
    ended_with 0
}

# The second is alone, and nobody has told the system to spare it SIGXFSZ.
@test "a limit of files, and of addresses: the node's heap is smaller" {
    for limit in '-f 200000' '-v 1000000'; do
        ! is_sanitized || [[ "$limit" = -f* ]] || continue
        # shellcheck disable=SC2016,SC2086
        run bash -c "ulimit $limit"' && exec timeout -s KILL "$@"' - \
            "$HB_LIMIT" "$hbrun" -n 3 "$probe" who kvs coll teams messages
        ended_with 0
        # shellcheck disable=SC2016,SC2086
        run bash -c "ulimit $limit"' && exec timeout -s KILL "$@"' - \
            "$HB_LIMIT" "$probe" who kvs coll
        ended_with 0
    done
    # shellcheck disable=SC2016
    run bash -c 'ulimit -f 1000 && exec timeout -s KILL "$@"' - "$HB_LIMIT" \
        "$probe" who
    ended_with 1
    says 'files may have 1000 KiB here \(ulimit -f\)'
}

@test "/dev/shm of 64 MB, and none" {
    need unshare
    need_root
    unshare -m true 2> /dev/null || skip 'no mount namespace can be made here'
    for size in 64m 4k; do
        # shellcheck disable=SC2016,SC2086
        run timeout -s KILL "$HB_LIMIT" unshare -m sh -c '
            mount -t tmpfs -o "size=$0" tmpfs /dev/shm && exec "$@"' $size \
            "$hbrun" -n 3 "$probe" $all
        ended_with 0
    done
}

# As programs of an MPI or NCCL end where a container has its 64 MiB.
@test "a rank that finds no room in /dev/shm: its SIGBUS has that reason" {
    local how
    need unshare python3
    need_root
    unshare -m true 2> /dev/null || skip 'no mount namespace can be made here'
    cat > toucher.py << 'END'
import mmap, os
f = os.open("/dev/shm/touched", os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 4 << 20)
mmap.mmap(f, 4 << 20)[:] = b"x" * (4 << 20)
END
    for how in 'exec python3 toucher.py' 'python3 toucher.py; exit $?'; do
        # shellcheck disable=SC2016
        run timeout -s KILL "$HB_LIMIT" unshare -m sh -c '
            mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"' - \
            "$hbrun" -n 1 sh -c "$how"
        ended_with 135
        says 'rank 0 on .*; /dev/shm is full, with 0 of 1 MiB left: .*medium: M'
    done
    # There was room: something else was wrong.
    run hb -n 1 sh -c 'kill -BUS $$'
    ended_with 135
    says_not '/dev/shm'
}

# Where the build is sanitized, the search for leaks would have to look.
@test "no process may look into another" {
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    run -0 timeout -s KILL "$HB_LIMIT" "$(fake noptrace)" true
    # shellcheck disable=SC2086
    run timeout -s KILL "$HB_LIMIT" "$(fake noptrace)" "$hbrun" -n 3 \
        "$probe" $all
    ended_with 0
}

@test "no descriptor can be handed over: an error, and nobody waits" {
    local refuse
    refuse=$(fake refuse)
    "$refuse" sendmsg true || skip 'no seccomp filter can be set here'
    run timeout -s KILL "$HB_LIMIT" "$refuse" sendmsg "$hbrun" -n 2 "$probe" who
    ended_with 1
    says 'cannot be answered, and is cut off: Operation not permitted'
    says 'rank -1: .*the agent of hbrun has closed the connection'
}

@test "a rank that may not hear its agent is told that, not that it is gone" {
    local refuse
    refuse=$(fake refuse)
    "$refuse" recvmsg true || skip 'no seccomp filter can be set here'
    run timeout -s KILL "$HB_LIMIT" "$hbrun" -n 2 "$refuse" recvmsg "$probe" who
    ended_with 1
    says 'agent of hbrun cannot be talked to: Operation not permitted'
    says_not 'has closed the connection'
}

@test "two copies of the library in a process are told of as what they may be" {
    need python3
    ! is_sanitized || skip 'a sanitizer must be loaded first'
    cat > twice.py <<'END'
import ctypes, sys
for path in sys.argv[1:]:
    print('status', ctypes.CDLL(path).hpcboot_init(None, None))
END
    cp "$HB_BUILDDIR/.libs/libhpcboot.so" copy.so
    run hb -n 1 python3 twice.py "$HB_BUILDDIR/.libs/libhpcboot.so" ./copy.so
    ended_with 0
    says '^status 0$'
    says '^status -9$'
    says 'warning: .*hpcboot_init was called twice .*two copies of libhpcboot'
}

# As much as the longest question takes.
@test "no memory for a question to the agent: an error, and nobody waits" {
    ! is_sanitized || skip 'a sanitizer has memory of its own'
    "${cc[@]}" -shared -fPIC -o no_memory.so "$fakes/no_memory.c"
    run hb -n 2 -x LD_PRELOAD="$PWD/no_memory.so" -x NO_MEMORY_IN=apiprobe \
        -x NO_MEMORY_FOR=$(((1 << 20) + 4096 + 65536)) "$probe" blobs
    ended_with 1
    says 'hpcboot_put.*: no memory for a question to the agent of hbrun'
}

# As much as the longest answer takes.
@test "no memory for an answer of the agent: an error of hpcboot_init" {
    ! is_sanitized || skip 'a sanitizer has memory of its own'
    "${cc[@]}" -shared -fPIC -o no_memory.so "$fakes/no_memory.c"
    run hb -n 2 -x LD_PRELOAD="$PWD/no_memory.so" -x NO_MEMORY_IN=apiprobe \
        -x NO_MEMORY_FOR=$(((1 << 20) + 4096 + 2 * 65536)) "$probe" blobs
    ended_with 1
    says 'hpcboot_init.*: no memory for the answers of the agent of hbrun'
}

# The first is without the socket it inherited, the others make their own.
@test "no calls may be accepted: an error, and nobody waits" {
    local refuse
    refuse=$(fake refuse)
    "$refuse" accept4 true || skip 'no seccomp filter can be set here'
    run timeout -s KILL "$HB_LIMIT" "$refuse" accept4 "$hbrun" -n 2 \
        "$fakes/closes_fds.sh" "$probe" who
    ended_with 1
    says 'there is no other way to its agent'
    need mpiexec.mpich
    # This mpiexec may fail itself when a rank ends early, and then loses
    # what the ranks have written: a file keeps it.
    # shellcheck disable=SC2016
    run timeout -s KILL "$HB_LIMIT" mpiexec.mpich -n 2 \
        sh -c 'exec 2> "$0.$PMI_RANK"; exec "$@"' \
        "$BATS_TEST_TMPDIR/said" "$refuse" accept4 "$probe" who
    [ "$status" -ne 0 ]
    [ "$status" -ne 137 ]
    output=$(cat "$BATS_TEST_TMPDIR"/said.*)
    says 'no socket for the ranks .*accept4\): Operation not permitted'
}
