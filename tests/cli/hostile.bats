#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Bad surroundings: closed descriptors, blocked signals, limits, places that
# cannot be written, agents that are killed or stopped.

load ../common
setup() { common_setup; }
teardown() {
    local pid
    for pid in $(marked); do
        kill -KILL "$pid" 2> /dev/null || true
    done
}

# The end of a background process, in $status.
end_of() {
    status=0
    wait "$1" || status=$?
    output=$(cat out err)
}

@test "stdout that was closed: 74 where there is something to write" {
    run bash -c '"$@" >&-' - timeout -s KILL "$HB_LIMIT" "$hbrun" -n 2 \
        sh -c 'echo words'
    ended_with 74
    says 'standard output cannot be written: it is closed'
    nothing_left
}

@test "stdout that was closed is no trouble to who writes nothing there" {
    run -0 bash -c '"$@" >&- 2> /dev/null' - timeout -s KILL "$HB_LIMIT" \
        "$hbrun" -n 2 sh -c 'echo words >&2'
    run -0 bash -c '"$@" >&-' - timeout -s KILL "$HB_LIMIT" "$hbrun" -n 2 true
    nothing_left
}

@test "a help text, a plan or a view for a closed stdout: 74" {
    hwloc_is_there
    local words hpcboot=$HB_BUILDDIR/hpcboot
    for words in "$hbrun --help" "$hbrun --dry-run true" "$hpcboot topo" \
        "$hpcboot hostfile -H a" "$hbrun --version" \
        "$HB_BUILDDIR/hpcbootd --version" "$HB_BUILDDIR/hpcbootd --help"; do
        # shellcheck disable=SC2086  # a list of words
        run bash -c '"$@" >&-' - timeout -s KILL "$HB_LIMIT" $words
        ended_with 74
        says 'stdout'
    done
}

@test "what starts an agent and passes no input on is told of" {
    local way
    for way in 'exec "$@" < /dev/null' 'exec "$@" <&-' 'exec "$@" > way.out'
    do
        printf '#!/bin/sh\nshift\n%s\n' "$way" > way
        chmod +x way
        run hb --launch-with './way %h' -H elsewhere true
        ended_with 75
        says 'what starts the agent must pass both on, as kubectl exec -i does'
        nothing_left
    done
}

# As a script around kubectl does it: /bin/sh -c "$*".
@test "what joins the words that start an agent is told of" {
    local shell
    for shell in sh bash; do
        printf '#!/bin/sh\nshift\nexec %s -c "$*"\n' $shell > joins
        chmod 755 joins
        run hb --launch-with "$PWD/joins %h" -H elsewhere true
        ended_with 75
        says 'host elsewhere: .*joins its words.*: put %a behind the command'
        run hb --launch-with "$PWD/joins %h %a" -H elsewhere echo started
        ended_with 0
        says '^started$'
    done
}

@test "what starts an agent on a terminal is told of" {
    need script
    printf '#!/bin/sh\nshift\nexec script -qec "$*" /dev/null\n' > way
    chmod +x way
    run hb --connect-timeout 60 --launch-with './way %h %a' -H elsewhere true
    ended_with 75
    says 'hpcbootd: standard input or output is a terminal, which changes bytes;'
    nothing_left
}

@test "what starts an agent and lets its input end at once is told of" {
    printf '#!/bin/sh\nshift\ntrue | "$@"\n' > way
    chmod +x way
    run hb --launch-with './way %h' -H elsewhere true
    ended_with 75
    says 'hpcbootd: standard input ended before hbrun said anything; what starts the agent must pass it on, as ssh without -n does'
    nothing_left
}

@test "none of hbrun's own descriptors comes to lie at 0, 1 or 2" {
    local closed fd pid
    for closed in 0 1 2 '0 1' '0 2' '1 2' '0 1 2'; do
        rm -f up go
        mkfifo go
        # shellcheck disable=SC2086  # a list of numbers
        eval '"$hbrun" -n 1 sh -c "echo > up; read -r x < go"' \
            "$(printf ' %d>&-' $closed) &"
        pid=$!
        wait_until lines_in up 1
        for fd in $closed; do
            [ "$(readlink "/proc/$pid/fd/$fd")" = /dev/null ]
        done
        echo > go
        wait $pid
    done
}

@test "stderr that was closed does not hide the status" {
    run bash -c '"$@" 2>&-' - timeout -s KILL "$HB_LIMIT" "$hbrun" -n 2 \
        sh -c 'echo words >&2; exit 3'
    ended_with 3
}

@test "all three closed: the rank's status" {
    run bash -c '"$@" <&- >&- 2>&-' - timeout -s KILL "$HB_LIMIT" "$hbrun" \
        -n 2 sh -c 'cat; exit 3'
    ended_with 3
}

@test "blocked signals do not keep TERM from hbrun" {
    need python3
    python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.execv(sys.argv[1], sys.argv[1:])' "$hbrun" -n 1 \
        sh -c 'echo up; exec sleep 1000' > out 2> err 3>&- &
    wait_until lines_in out 1
    kill -TERM $!
    end_of $!
    ended_with 143
}

@test "a starter that ignores SIGCHLD: what hbrun itself starts is seen to end" {
    env --ignore-signal=CHLD true 2> /dev/null || skip 'env is too old'
    printf '#!/bin/sh\necho localhost:2\n' > hosts
    chmod +x hosts
    run timeout -s KILL "$HB_LIMIT" env --ignore-signal=CHLD "$hbrun" \
        --discover-hosts ./hosts echo here
    ended_with 0
    [ "$output" = $'here\nhere' ]
    run timeout -s KILL "$HB_LIMIT" env --ignore-signal=CHLD \
        "$HB_BUILDDIR/hpcboot" hostfile --discover-hosts ./hosts
    ended_with 0
    says localhost
}

@test "a file that may not grow any more is told, with 74" {
    run bash -c 'ulimit -f 8; "$@"' - timeout -s KILL "$HB_LIMIT" "$hbrun" \
        --output-filename here --output-copy=no -n 1 \
        sh -c 'trap "" XFSZ; seq 1 20000'
    ended_with 74
    says 'rank.0/stdout cannot be written: File too large'
}

@test "where no file may grow, the agent does without" {
    run bash -c 'ulimit -f 0; "$@"' - timeout -s KILL "$HB_LIMIT" "$hbrun" \
        -n 2 sh -c 'ulimit -f; grep SigIgn /proc/self/status'
    ended_with 0
    [ "$(grep -c '^0$' <<< "$output")" -eq 2 ]
    says 'SigIgn:.*0000000000000000$'
}

@test "a place for output files that cannot be is told before ranks run" {
    run hb --output-filename /dev/null/x -n 2 touch ran
    ended_with 74
    says 'the directory /dev/null/x cannot be made'
    [ ! -e ran ]
}

@test "an --env-file that cannot be read is a wrong command line" {
    run hb --env-file missing -n 1 touch ran
    ended_with 2
    printf 'ODD NAME\n' > odd
    run hb --env-file odd -n 1 touch ran
    ended_with 2
    says 'odd:1'
    [ ! -e ran ]
}

@test "a working directory that is gone is the user's to mend" {
    mkdir gone
    run bash -c 'cd gone; rmdir ../gone; "$@"' - timeout -s KILL "$HB_LIMIT" \
        "$hbrun" -n 1 true
    ended_with 2
    says 'working directory'
}

@test "too few descriptors: a rank is named, and the limit, with 75" {
    run bash -c 'ulimit -n 40; "$@"' - timeout -s KILL "$HB_LIMIT" "$hbrun" \
        -n 18 true
    ended_with 75
    says 'rank [0-9]+ on .* could not be started.*agent may open 40'
    nothing_left
}

@test "too few descriptors for a rank's own: files are named, and the limit" {
    run bash -c 'ulimit -n 32; "$@"' - timeout -s KILL "$HB_LIMIT" "$hbrun" \
        -n 2 true
    ended_with 75
    says 'Too many open files .*raise ulimit -n, which is 32'
    says_not 'Invalid argument'
    nothing_left
}

@test "too few descriptors for hbrun itself: the remedy is told" {
    local n
    for n in 8 12; do # bats' own descriptors are not for hbrun
        run bash -c 'exec 3>&- 4>&- 5>&- 6>&-; ulimit -n "$0"; exec "$@"' \
            "$n" "$hbrun" -n 1 true
        [ "$status" -ge 70 ]
        says '^hbrun: error: .*Too many open files; raise ulimit -n'
    done
}

@test "no memory for hbrun itself: the remedy is told" {
    ! is_sanitized || skip 'a sanitizer has memory of its own'
    "${cc[@]}" -shared -fPIC -o no_memory.so "$fakes/no_memory.c"
    run env LD_PRELOAD="$PWD/no_memory.so" NO_MEMORY_IN=hbrun \
        NO_MEMORY_FOR=1235 "$hbrun" -n 1 true "$(printf '%01234d' 0)"
    ended_with 134
    says '^hbrun: error: out of memory; raise the limit on memory'
}

# A piece of it that is lost would be missed by nobody.
@test "no memory for standard input on its way: the agent says so, and ends" {
    ! is_sanitized || skip 'a sanitizer has memory of its own'
    [ "$(getconf PAGESIZE)" -eq 4096 ] ||
        skip 'pages are not of 4 KiB, and a pipe holds all of the input'
    "${cc[@]}" -shared -fPIC -o no_memory.so "$fakes/no_memory.c"
    head -c 300000 /dev/zero > input
    run timeout -s KILL "$HB_LIMIT" env LD_PRELOAD="$PWD/no_memory.so" \
        NO_MEMORY_IN=hpcbootd NO_MEMORY_FOR=262144 "$hbrun" -n 1 \
        sh -c 'sleep 60; wc -c' < input
    ended_with 75
    says 'error: host .*: "hpcbootd: out of memory; raise the limit on memory'
    nothing_left
}

# The FIFO is full, so that lines wait, in more memory than can be had.
@test "no memory for lines of --events: how many are lost is told" {
    ! is_sanitized || skip 'a sanitizer has memory of its own'
    "${cc[@]}" -shared -fPIC -o no_memory.so "$fakes/no_memory.c"
    mkfifo events
    exec 9<> events
    dd if=/dev/zero of=/dev/fd/9 bs=4096 count=4096 oflag=nonblock || true
    # Its environment goes by messages, and is not to need as much.
    run timeout -s KILL "$HB_LIMIT" env -i PATH="$PATH" HOME="$HOME" \
        HB_TEST_MARK="$HB_TEST_MARK" LD_PRELOAD="$PWD/no_memory.so" \
        NO_MEMORY_IN=hbrun NO_MEMORY_FOR=8192 "$hbrun" --pmi none \
        --events events -n 40 true
    exec 9>&-
    ended_with 0
    says 'warning: --events events: its end is lost \(lines: [0-9]+\): '
}

@test "lines of --events that nobody has read in the end are told of" {
    mkfifo events
    exec 9<> events
    dd if=/dev/zero of=/dev/fd/9 bs=4096 count=4096 oflag=nonblock || true
    run hb --events events -n 1 true
    exec 9>&-
    ended_with 0
    says 'warning: --events events: its end is lost \(lines: [1-9]'
}

# What nobody watches would be missed by nobody: a job that is well without a
# rank's output, or one that never ends.
@test "no memory to watch a descriptor: the agent says so, or can do without" {
    local n
    ! is_sanitized || skip 'a sanitizer must be loaded first'
    "${cc[@]}" -shared -fPIC -o no_watch.so "$fakes/no_watch.c"
    for n in {1..10}; do
        # shellcheck disable=SC2016  # for the ranks
        run timeout -s KILL "$HB_LIMIT" env NO_WATCH_IN=hpcbootd \
            NO_WATCH_AT="$n" LD_PRELOAD="$PWD/no_watch.so" "$hbrun" \
            --pmi none -n 2 sh -c 'cat; echo "out of $HPCBOOT_RANK"; exit 0' \
            < /dev/null
        if [ "$status" -eq 0 ]; then
            says '^out of 0$'
            says '^out of 1$'
        else
            ended_with 75
            says ' memory'
        fi
    done
    nothing_left
}

@test "too few processes, at whatever comes first: the limit is named" {
    local n
    need_root
    need setpriv prlimit
    setpriv --reuid 54322 --clear-groups test -x "$hbrun" ||
        skip 'other users cannot reach the build'
    for n in 1 2 3 4 5 6; do
        # Nobody else is this user, whose every process and thread counts; the
        # leak sanitizer needs one of its own.
        ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
            run env -u HOME -u USER setpriv --reuid 54322 --clear-groups \
            prlimit --nproc="$n" "$hbrun" -n 3 sh -c "sleep 1; :"
        ended_with 75
        says 'ulimit -u'
    done
}

# Its children try things out, and what was not tried is not known to be bad.
@test "too few processes for a doctor's questions: it makes nothing up" {
    local n
    need_root
    need setpriv prlimit
    setpriv --reuid 54324 --clear-groups test -x "$HB_BUILDDIR/hpcboot" ||
        skip 'other users cannot reach the build'
    for n in 3 4 5 6; do
        ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
            run env -u HOME -u USER setpriv --reuid 54324 --clear-groups \
            prlimit --nproc="$n" "$HB_BUILDDIR/hpcboot" doctor -q \
            -H localhost --traffic none
        says_not 'dns:|cma:'
    done
}

@test "a program name of 3000 letters: the reason is told all the same" {
    local long
    long=$(printf 'x%.0s' {1..3000})
    run hb -n 1 "$long"
    ended_with 126
    says 'cannot start x+\.\.\.: exec: File name too long'
    run hb -n 1 --wdir "/$long" true
    says 'chdir to /x+\.\.\.: File name too long'
}

# The pids of keeper, guard and agent below hbrun, $1.
agent_pids() {
    keeper=$(ps -o pid= --ppid "$1" | tr -d ' ')
    guard=$(ps -o pid= --ppid "$keeper" | tr -d ' ')
    agent=$(ps -o pid= --ppid "$guard" | tr -d ' ')
    [ -n "$agent" ]
}

# Starts a job whose rank leaves a process in a session of its own.
start_job() {
    "$hbrun" --pmi none "$@" -n 1 \
        sh -c 'setsid sleep 1000 & echo up; sleep 1000' > out 2> err 3>&- &
    launcher=$!
    wait_until lines_in out 1
    agent_pids $launcher
}

@test "agent and guard killed together: hbrun sweeps this host" {
    start_job
    kill -STOP "$guard"
    kill -KILL "$agent" "$guard"
    end_of $launcher
    ended_with 75
    nothing_left
}

# Where agents of other jobs do not see it, which would do so as well.
@test "all of an agent killed, and nobody takes the output: hbrun sweeps this host" {
    need_root
    need unshare
    unshare -m mount -t tmpfs none /dev/shm || skip 'nothing can be mounted'
    mkfifo pipe
    exec {never_read}<> pipe
    # shellcheck disable=SC2016  # expanded in that shell
    TMPDIR=$PWD unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec "$@"' - \
        "$hbrun" --pmi none --grace 0.1 -n 1 sh -c 'setsid sleep 1000 &
        head -c 2000000 /dev/zero; touch up; sleep 1000' > pipe 2> err 3>&- &
    launcher=$!
    wait_until test -e up
    agent_pids $launcher
    kill -STOP "$guard" "$keeper"
    kill -KILL "$agent" "$guard" "$keeper"
    kill -TERM $launcher
    ends $launcher
    exec {never_read}>&-
    says 'nobody reads the output'
    nothing_left
}

@test "a stopped agent is noticed and nothing stays" {
    start_job --heartbeat 0.2
    kill -STOP "$agent"
    end_of $launcher
    ended_with 75
    nothing_left
}

# Twenty beats of silence are four deaths of a host elsewhere.
@test "a stopped hbrun finds its ranks on this host as they were" {
    "$hbrun" --pmi none --heartbeat 0.1 -n 1 \
        sh -c 'echo up; until [ -e over ]; do sleep 0.1; done' \
        > out 2> err 3>&- &
    launcher=$!
    wait_until lines_in out 1
    kill -STOP $launcher
    sleep 2
    touch over
    kill -CONT $launcher
    end_of $launcher
    ended_with 0
}

@test "a stack of 128 KiB is enough" {
    run -0 bash -c 'ulimit -s 128; "$@"' - timeout -s KILL "$HB_LIMIT" \
        "$hbrun" --pmi pmi1 -n 2 sh -c 'head -c 300000 /dev/zero > /dev/null'
}

@test "a stopped guard does not stay when the job is over" {
    start_job
    kill -STOP "$guard"
    kill -TERM $launcher
    end_of $launcher
    ended_with 143
    nothing_left
}

@test "a host where no file can be made runs what needs none" {
    need_root
    need unshare
    [[ $HB_BUILDDIR != /tmp/* ]] || skip 'the build itself lies in /tmp'
    unshare -m true || skip 'no mount name space can be made'
    run unshare -m sh -c 'for d in /tmp /var/tmp /dev/shm /run; do
            mount -t tmpfs -o ro none $d || exit 77
        done
        cd / && exec "$@"' - timeout -s KILL "$HB_LIMIT" "$hbrun" \
        --pmi pmi1 -n 2 echo here
    [ "$status" -ne 77 ] || skip 'nothing can be mounted'
    ended_with 0
}

@test "a rank that asks its server and never reads is made to wait" {
    need python3
    run hb --pmi pmi1 -n 1 python3 -c '
import os, select, socket
s = socket.socket(fileno=int(os.environ["PMI_FD"]))
s.setblocking(False)
sent = 0
while sent < 64 << 20 and select.select([], [s], [], 1)[1]:
    sent += s.send(b"cmd=get_maxes\n" * 1000)
print("waits" if sent < 16 << 20 else "never waits")'
    says '^waits$'
}

@test "a rank that hears no answers leaves its socket's number to nobody" {
    need python3
    run hb --pmi pmi1 --on-failure respawn --restart-delay 0 -n 2 python3 -c '
import os, socket, time
s = socket.socket(fileno=int(os.environ["PMI_FD"]))
ask = b"cmd=get_universe_size\n"
def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.02)
if os.environ["PMI_RANK"] == "0":
    s.shutdown(socket.SHUT_RD)
    s.sendall(ask)
    open("asked", "w").close()
    wait_for("answered")
elif os.environ["HPCBOOT_RESTART"] == "0":
    wait_for("asked")
    time.sleep(0.2)
    raise SystemExit(1)
else:
    s.sendall(ask)
    print(s.recv(100).decode())
    open("answered", "w").close()'
    ended_with 0
    says '^cmd=universe_size rc=0 size=2$'
}

@test "an agent that is lost while hosts are asked: its successor is asked" {
    need python3
    for lost in localhost 127.0.0.1; do
        for kind in EXAMINE SURVEY PORTS; do
            case $kind in
                EXAMINE) words=(--fabric tcp) ;;
                SURVEY) words=(--map-by ppr:1:package) ;;
                PORTS) words=(--framework torch) ;;
            esac
            run hb -H localhost,127.0.0.1 --wait-hosts 60 --oversubscribe \
                --launch-with "bash -c '[ %h = $lost ] && way=(python3 \
                $fakes/lossy_link.py $kind $PWD/$kind.$lost)
                exec \"\${way[@]}\" bash -c \"\$0\"' %a" \
                "${words[@]}" -n 2 echo ran
            ended_with 0
            [ "$(grep -c '^ran$' <<< "$output")" -eq 2 ]
            [ -e "$kind.$lost" ]
        done
    done
}

@test "a host that has not said who it is says nothing long" {
    need python3
    cat > long << 'END'
import os, struct, time
os.write(1, b"\033hpcboot-link 1\n")
os.write(1, struct.pack(">IHHIII", 200 << 20, 1, 0, 0, 0xFFFFFFFD, 0xFFFFFFFF))
time.sleep(100)
END
    run hb --launch-with "python3 $PWD/long %h" -H elsewhere --wait-hosts 0 \
        --connect-timeout 60 true
    ended_with 75
    says 'host elsewhere: .*a frame of 209715204 bytes comes before its sender'
}

# The reader waits for it, so that nothing is written meanwhile.
@test "an agent that says more than it has credit for is given up" {
    need python3
    { hb -H elsewhere --launch-with "python3 $fakes/greedy_link.py OUTPUT 4000 \
        $PWD/said bash -c %a" -n 1 \
        bash -c 'printf "%060000d\n" 0; exec sleep 100' 2> err || echo $? > rc
    } | { wait_until test -e said; cat; } > /dev/null
    run cat err rc
    says 'host elsewhere: .* bytes of output came, and .* may wait'
    says '^75$'
    nothing_left
}

# The other host does not come, so that no rank has a place yet.
@test "an agent that speaks of ranks before there are any is given up" {
    need python3
    local kind slots
    for kind in OUTPUT CONTACT; do
        for slots in 1 auto; do
            rm -f said
            run hb -H "evil:$slots,slow:$slots" --connect-timeout 60 \
                --launch-with "bash -c '[ %h = evil ] || {
                    until [ -e said ]; do sleep 0.05; done; sleep 2; exit 1; }
                exec python3 $fakes/early_link.py $kind said bash -c \"\$0\"' %a" \
                -n 2 true
            ended_with 75
            says "host evil: a $kind frame came out of turn"
            nothing_left
        done
    done
}

@test "a rank that breaks its protocol is cut off, and one line says so" {
    need python3
    run hb --pmi pmi1 -n 1 python3 -c '
import os, socket
s = socket.socket(fileno=int(os.environ["PMI_FD"]))
s.sendall(b"cmd=barrier_in group=7\n")
print("cut off" if s.recv(1) == b"" else "answered")'
    says '^cut off$'
    [ "$(grep -c 'rank 0 broke the pmi1 protocol' <<< "$output")" -eq 1 ]
}

@test "an agent of another version is told as that, whatever its HELLO has" {
    need python3
    local way
    for way in newer older; do
        run hb --launch-with "env SSH_ORIGINAL_COMMAND=%a \
            python3 $fakes/fake_agent.py $way told 9.8.7" -H there -n 1 true
        ended_with 75
        says 'host there: the agent there is hpcboot 9\.8\.7 and this is '
    done
}

@test "what a rank says to its PMIx server may be long, and costs no host" {
    pmix_client "$PWD/pmix_long"
    run hb --pmi pmix -n 1 ./pmix_long abort 3000000
    ended_with 7
    says 'rank 0 .*aborted the job with code 7: x'
    run hb --pmi pmix -n 1 ./pmix_long spawn 3000000
    ended_with 0
    says '^spawn: (PMIX_ERR_)?BAD[-_]PARAM$'
}

@test "a rank that asks for jobs without end is refused some, and hears so" {
    pmix_client "$PWD/pmix_long"
    run hb --pmi pmix -n 1 ./pmix_long spawns 1000000 150
    ended_with 0
    says 'warning: host .*: rank 0 cannot start more processes now: .* requests'
    says '^all were answered$'
    nothing_left
}

# The reader waits for it, so that nothing is read meanwhile.
@test "a rank that has its PMIx server write without end is made to wait" {
    pmix_client "$PWD/pmix_long"
    { hb --pmi pmix -n 1 ./pmix_long logs 1000000 400; } | {
        wait_until test -e waits -o -e never
        wc -c > bytes
    }
    [ -e waits ]
    [ "$(cat bytes)" -eq $(($(cat waits) * 1000000)) ]
    nothing_left
}
