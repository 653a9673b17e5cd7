#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Nothing stays behind, whoever is killed and whatever ranks have started.

load ../common
setup() { common_setup; }

start_sleepers() { # N
    "$hbrun" -n "$1" sh -c 'echo $$ >> started; exec sleep 1000' 2> err &
    launcher=$!
    wait_until lines_in started "$1"
}

# Those of this test's processes that run the agent's program.
agents() {
    local pid
    for pid in $(marked); do
        ! grep -qsz 'hpcbootd$' "/proc/$pid/cmdline" || echo "$pid"
    done
}
parent_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f2; }
# The keeper, which has a name of its own, the guard and the agent are one
# below the other.
guard() {
    local pid
    for pid in $(agents); do
        grep -qsx hb-keeper "/proc/$(parent_of "$pid")/comm" && echo "$pid"
    done
}
agent() {
    local pid above
    above=$(guard)
    for pid in $(agents); do
        [ "$(parent_of "$pid")" = "$above" ] && echo "$pid"
    done
}
keeper() { parent_of "$(guard)"; }
# At once: none of them can do anything about another's end.
kill_at_once() {
    kill -STOP "$@"
    kill -KILL "$@"
}

@test "SIGKILL to the launcher" {
    start_sleepers 2
    kill -KILL $launcher
    wait $launcher || true
    nothing_left
}

@test "SIGKILL to the agent: status 75, the host is named" {
    start_sleepers 2
    kill -KILL "$(agent)"
    ends $launcher
    ended_with 75
    says 'host .*: the link to its agent is lost: the agent was killed by signal 9'
    nothing_left
}

@test "SIGKILL to the agent of a rank that lives again: its first end is not its last" {
    # shellcheck disable=SC2016  # for the ranks
    "$hbrun" -n 2 --on-failure respawn --max-restarts 1 --print-exit-codes sh -c '
        [ $HPCBOOT_RANK = 0 ] || [ -e first ] || { touch first; exit 3; }
        echo $$ >> started; exec sleep 1000' 2> err &
    launcher=$!
    wait_until lines_in started 2
    kill -KILL "$(agent)"
    ends $launcher
    ended_with 75
    says '^hbrun: rank 1 on .*: how it ended was not reported$'
    nothing_left
}

@test "what a rank has left running is gone in its next life" {
    # shellcheck disable=SC2016  # for the rank
    run hb -n 1 --on-failure respawn --restart-delay 10ms bash -c '
        [ "$HPCBOOT_RESTART" = 1 ] || { sleep 1000 & echo $! > left; exit 3; }
        while kill -0 "$(cat left)"; do sleep 0.02; done 2> /dev/null
        echo gone'
    ended_with 0
    says '^gone$'
    nothing_left
}

# The launcher stands still from before the rank's end until the number of its
# group is another's.
@test "who has the number of a rank that lives again is not ended for it" {
    need unshare setsid
    need_root
    # shellcheck disable=SC2016  # for the shell in the name space
    unshare --pid --fork --mount-proc \
        sh -c 'echo $$ > /proc/sys/kernel/ns_last_pid' ||
        skip 'no pid can be chosen'
    cat > script << 'EOF'
        "$1" --on-failure respawn --restart-delay 10ms -n 1 bash -c '
            [ "$HPCBOOT_RESTART" = 0 ] || exit 0
            echo $$ > started; until [ -e fail ]; do sleep 0.02; done
            exit 3' &
        launcher=$!
        until [ -s started ]; do sleep 0.02; done
        number=$(cat started)
        kill -STOP $launcher
        touch fail
        while [ -e "/proc/$number" ]; do sleep 0.02; done
        other=0
        until [ $other = "$number" ]; do
            [ $other = 0 ] || kill $other
            echo $((number - 1)) > /proc/sys/kernel/ns_last_pid
            setsid sleep 1000 &
            other=$!
        done
        until [ "$(cat /proc/$other/comm)" = sleep ]; do sleep 0.02; done
        kill -CONT $launcher
        wait $launcher || exit
        kill $other
        wait $other
        [ $? = 143 ]
EOF
    run unshare --pid --fork --mount-proc --kill-child \
        timeout -s KILL "$HB_LIMIT" bash script "$hbrun"
    ended_with 0
    nothing_left
}

@test "SIGKILL to the guard" {
    start_sleepers 2
    kill -KILL "$(guard)"
    ends $launcher
    [ "$status" -ne 0 ]
    nothing_left
}

@test "SIGKILL to the keeper: status 75, the host is named" {
    start_sleepers 2
    kill -KILL "$(keeper)"
    ends $launcher
    ended_with 75
    says 'host'
    nothing_left
}

# For a job whose guard and agent are killed: in another place any test's job on
# this host finds what they have left, while these still sweep up, and says so.
a_place_of_its_own() {
    export HPCBOOT_TMPDIR=$BATS_TEST_TMPDIR/sessions
    mkdir -p sessions
}

# Their ranks have started what left their sessions, and lost its environment. A
# PMIx server has a folder in /dev/shm, where all jobs look.
start_escapers() { # N
    a_place_of_its_own
    # shellcheck disable=SC2016  # for the ranks
    "$hbrun" --pmi none -n "$1" sh -c 'setsid env -i HB_TEST_MARK="$HB_TEST_MARK" \
        sh -c "echo \$\$ >> escaped; exec sleep 1000" &
        setsid sh -c "echo \$\$ >> escaped; exec sleep 1000" &
        wait' 2> err &
    launcher=$!
    wait_until lines_in escaped $((2 * $1))
}

@test "SIGKILL to guard and agent" {
    start_escapers 2
    # shellcheck disable=SC2046  # numbers
    kill_at_once $(agents)
    ends $launcher
    ended_with 75
    nothing_left
}

@test "SIGKILL to launcher, guard and agent" {
    start_escapers 2
    # shellcheck disable=SC2046  # numbers
    kill_at_once $launcher $(agents)
    wait $launcher || true
    nothing_left
}

@test "SIGKILL to keeper and guard, to keeper and agent" {
    start_escapers 2
    kill_at_once "$(keeper)" "$(guard)"
    ends $launcher
    ended_with 75
    nothing_left
    rm escaped
    start_escapers 2
    kill_at_once "$(keeper)" "$(agent)"
    ends $launcher
    ended_with 75
    nothing_left
}

# all_killed HOW...: a job whose launcher, keeper, guard and agent are killed.
all_killed() {
    a_place_of_its_own
    # shellcheck disable=SC2016  # for the ranks
    "$@" -n 2 sh -c 'setsid sh -c "echo \$\$ >> escaped
        exec sleep 1000" & wait' &
    launcher=$!
    wait_until lines_in escaped 2
    # shellcheck disable=SC2046  # numbers
    kill_at_once $launcher "$(keeper)" $(agents)
    wait $launcher || true
    [ -n "$(ls sessions)" ]
}
all_found() { # of what `run` has run
    ended_with 0
    says 'warning: .* 2 processes were killed that a job left here'
    [ -z "$(ls sessions)" ]
    nothing_left
}

@test "SIGKILL to all of a job: the next one ends what escaped" {
    all_killed "$hbrun" --pmi pmi1
    run hb -n 1 true
    all_found
}

@test "SIGKILL to all of a job: the next one finds it by /dev/shm, too" {
    need unshare nsenter
    need_root
    unshare -m true || skip 'no mount name space can be made'
    # shellcheck disable=SC2016  # for the shell in the name space
    all_killed unshare -m sh -c 'mount -t tmpfs shm /dev/shm && exec "$0" "$@"' \
        "$hbrun" --pmi pmix
    inside() { nsenter -m -t "$(head -n 1 escaped)" -w"$PWD" "$@"; }
    inside sh -c 'ls -d /dev/shm/hpcboot-*.0.*'
    # shellcheck disable=SC2016  # for the shell in the name space
    HPCBOOT_TMPDIR='' run inside sh -c '"$@" || exit
        ! ls -d /dev/shm/hpcboot-*.0.*' sh \
        timeout -s KILL "$HB_LIMIT" "$hbrun" -n 1 true
    ended_with 0
    says 'warning: .* 2 processes were killed that a job left here'
    run hb -n 1 true
    ended_with 0
    says_not 'left here'
    [ -z "$(ls sessions)" ]
    nothing_left
}

@test "what runs is no stale job to another that starts" {
    start_sleepers 2
    run hb -n 1 true
    ended_with 0
    says_not 'left here'
    kill -0 "$(head -n 1 started)"
    kill -KILL $launcher
    wait $launcher || true
    nothing_left
}

@test "a grandchild in a session of its own" {
    run hb -n 2 sh -c 'setsid sleep 1000 & exit 0'
    ended_with 0
    nothing_left
}

@test "a grandchild that goes on writing is told of, and waited for" {
    # shellcheck disable=SC2016  # for the rank
    "$hbrun" -n 1 bash -c '{ exec 7<> <(:)
            while :; do read -rt 0.05 -u 7; echo word; done; } < /dev/null &
        echo $! > writer' > out 2> err &
    launcher=$!
    wait_until grep -q 'they have left behind write is waited for' err
    kill "$(cat writer)"
    ends $launcher
    ended_with 0
    nothing_left
}

@test "a grandchild that computes, with its rank's standard input, is no filter" {
    run bash -c 'echo word | "$@"' - timeout -s KILL "$HB_LIMIT" "$hbrun" -n 1 \
        bash -c 'yes <&0 > /dev/null 2>&1 & exit 0'
    ended_with 0
    says '1 process that ranks had left behind was killed'
    says_not 'is waited for'
    nothing_left
}

@test "a grandchild that holds no output and has another environment" {
    run hb -n 1 sh -c 'setsid env -i sh -c "echo \$\$ > pid; exec sleep 1000" \
        < /dev/null > /dev/null 2>&1 & until [ -s pid ]; do :; done'
    ended_with 0
    wait_until is_gone "$(cat pid)"
}

@test "what a rank leaves as the job is told to end is no news" {
    "$hbrun" -n 1 sh -c '(trap "" TERM; echo $$ > started; sleep 1000) & wait' \
        2> err &
    launcher=$!
    wait_until lines_in started 1
    kill -TERM $launcher
    ends $launcher
    ended_with 143
    says_not 'left behind'
    nothing_left
}

@test "a program that could not be started has left nothing" {
    ! is_sanitized || skip 'a sanitizer wants to be loaded first'
    "${cc[@]}" -shared -fPIC -o slow_exit.so "$HB_SRCDIR/tests/fakes/slow_exit.c"
    run env LD_PRELOAD="$PWD/slow_exit.so" timeout -s KILL "$HB_LIMIT" \
        "$hbrun" -n 1 ./nosuch-program
    ended_with 127
    says_not 'left behind'
    nothing_left
}

@test "a rank in another process group, when a neighbour fails" {
    run hb -n 2 sh -c 'if [ $HPCBOOT_RANK = 0 ]; then
            until [ -s pid ]; do :; done; exit 4; fi
        setsid sh -c "echo \$\$ > pid; exec sleep 1000"'
    ended_with 4
    wait_until is_gone "$(cat pid)"
    nothing_left
}

@test "a rank that has become another user is told of: nothing can end it" {
    need_root
    need setpriv
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" || true
    cp "$(command -v setpriv)" as_root
    chmod 4755 as_root
    setpriv --reuid 54321 --clear-groups test -x "$hbrun" ||
        skip 'the build cannot be read by another user'
    setpriv --reuid 54321 --clear-groups ./as_root --reuid 0 true ||
        skip 'set-user-ID has no effect here'
    # shellcheck disable=SC2016  # for the rank
    setpriv --reuid 54321 --clear-groups "$hbrun" --grace 1 --wdir / -n 1 \
        "$PWD/as_root" --reuid 0 \
        sh -c 'touch "$0"; exec sleep 1000' "$PWD/is_root" 2> err &
    launcher=$!
    wait_until test -e is_root
    kill -TERM $launcher
    ends $launcher
    ended_with 143
    says 'rank 0 cannot be ended and runs on: its process [0-9]+ belongs to'
    kill -KILL "$(sed -n 's/.* its process \([0-9]*\) belongs.*/\1/p' \
        <<< "$output")"
    nothing_left
}

@test "a rank that cannot be started ends those that were" {
    printf '#!/bin/sh\nexec sleep 1000\n' > good
    chmod +x good
    run hb -n 1 ./good : -n 1 ./nosuch
    ended_with 127
    nothing_left
}

@test "few descriptors: an error, no hang, nothing left" {
    local limit
    for limit in 7 8 10 12 14 16 18 20 24 28 32; do
        run bash -c 'ulimit -n "$0" && exec timeout -s KILL "$@"' $limit \
            "$HB_LIMIT" "$hbrun" -n 8 true
        case $status in
            137 | 134 | 139) echo "$limit: $status: $output"; return 1 ;;
            0) ;;
            *) [ -n "$output" ] || { echo "$limit: $status"; return 1; } ;;
        esac
        nothing_left
    done
}

@test "more ranks than a host has descriptors for are none" {
    run bash -c 'ulimit -n 400 && exec timeout -s KILL "$@"' - "$HB_LIMIT" \
        "$hbrun" -n 1000 touch started
    ended_with 75
    says '1000 ranks cannot be started here: .*the agent may open 400'
    [ ! -e started ]
    nothing_left
}

@test "no folder of a session stays in TMPDIR" {
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir tmp
    run hb -n 2 true
    ended_with 0
    run find tmp -mindepth 1
    [ -z "$output" ]
    start_sleepers 2
    kill -KILL $launcher
    wait $launcher || true
    nothing_left
    run find tmp -mindepth 1
    [ -z "$output" ]
}

@test "what a command that carries a link has started, and is stopped" {
    cat > relay <<'END'
#!/bin/bash
exec 3<&0
mkfifo "$HB_TEST_MARK/down"
cat <&3 > "$HB_TEST_MARK/down" &
echo $! > "$HB_TEST_MARK/stoppable"
"${@:2}" < "$HB_TEST_MARK/down" | cat
END
    chmod +x relay
    # shellcheck disable=SC2016  # for the rank
    "$hbrun" --launch-with "$PWD/relay %h" -H node -n 1 sh -c '
        echo $$ >> started; until [ -e enough ]; do sleep 0.02; done' 2> err &
    launcher=$!
    wait_until lines_in started 1
    kill -STOP "$(cat stoppable)"
    touch enough
    ends $launcher
    ended_with 0
    nothing_left
}

# As in a launcher's container, whose first process gets who loses its parent.
@test "as the first process hbrun reaps whom it has not started" {
    unshare -pf --mount-proc true 2> /dev/null ||
        skip 'process namespaces cannot be made'
    cat > way <<'END'
#!/bin/sh
(sh -c 'echo $$ > stray' &)
shift
exec "$@"
END
    chmod +x way
    # shellcheck disable=SC2016  # for the rank
    timeout -s KILL "$HB_LIMIT" unshare -pf --kill-child --mount-proc \
        "$hbrun" --launch-with "$PWD/way %h" -H node -n 1 \
        sh -c 'until [ -e enough ]; do sleep 0.02; done; exit 3' 2> err 3>&- &
    launcher=$!
    wait_until test -s stray
    first() { pgrep -P "$(pgrep -P $launcher)"; }
    [ -n "$(first)" ]
    stray_is_reaped() {
        [ ! -e "/proc/$(first)/root/proc/$(cat stray)" ] &&
            [ -z "$(pgrep -r Z -P "$(first)")" ]
    }
    wait_until stray_is_reaped
    touch enough
    ends $launcher
    ended_with 3 # its own it sees end as ever
    says 'rank 0 on .* exited with status 3'
}

# A rank starts hbrun; its job has a folder, and is told of nothing.
start_inner() { # COMMAND that the rank goes on with
    rm -f inner outer
    # shellcheck disable=SC2016  # for the ranks
    "$hbrun" -x HPCBOOT_TMPDIR --pmi none -n 1 --grace 0 sh -c 'echo $PPID > outer
        "$0" --set-cwd-to-session-dir -x HERE="$PWD" -n 1 sh -c "
            pwd > \"\$HERE\"/inner; exec sleep 1000" &
        until [ -s inner ]; do sleep 0.02; done; '"$1" "$hbrun" 2> err &
    launcher=$!
    wait_until test -s inner
}

@test "no folder stays of a job that a rank began, whoever ends both" {
    export HPCBOOT_TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir tmp
    start_inner wait
    kill -KILL "$(cat outer)"
    ends $launcher
    ended_with 75
    nothing_left
    run find tmp -mindepth 1
    [ -z "$output" ]
    start_inner wait
    kill -TERM $launcher
    ends $launcher
    ended_with 143
    nothing_left
    run find tmp -mindepth 1
    [ -z "$output" ]
    start_inner true
    ends $launcher
    ended_with 0
    nothing_left
    run find tmp -mindepth 1
    [ -z "$output" ]
}

@test "no folder stays of a job that a rank began, where its launcher sweeps up" {
    export HPCBOOT_TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir tmp
    start_inner wait
    local agent guard
    agent=$(cat outer)
    guard=$(parent_of "$agent")
    kill -STOP $launcher # until they are gone
    kill_at_once "$agent" "$guard" "$(parent_of "$guard")"
    wait_until is_gone "$agent"
    wait_until is_gone "$guard"
    kill -CONT $launcher
    ends $launcher
    ended_with 75
    nothing_left
    run find tmp -mindepth 1
    [ -z "$output" ]
}

# Files of MPIs' names: one that a job's ranks map ($mine), one that bears
# another name ($users), and one that somebody else has made and mapped during
# the job ($others). (One that nobody has open is anybody's to remove: of jobs
# that run beside this one, too.)
name_segments() {
    local file=/dev/shm/mpich_shm_unused.$BASHPID
    [ -w /dev/shm ] || skip 'there is no /dev/shm to write to'
    need python3
    segment=$(fake segment)
    mine=/dev/shm/mpich_shm_test.$BASHPID
    users=/dev/shm/test-data.$BASHPID
    others=/dev/shm/mpich_shm_others.$BASHPID
    python3 -c 'import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_CREAT)
os.unlink(sys.argv[1])
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)' "$file" 2> /dev/null ||
        skip 'there are no leases on files in /dev/shm'
}
map_others() {
    "$segment" "$others" > said &
    other=$!
    wait_until test -s said
}
# All is there but what the ranks mapped.
only_others_are_there() {
    there=$(ls "$mine" "$users" "$others" 2> /dev/null) || true
    kill "$other"
    rm -f "$mine" "$users" "$others"
    [ "$there" = "$(printf "%s\n" "$others" "$users")" ] || {
        echo "there is: $there"
        return 1
    }
    nothing_left
}

# Rank 0's program maps them, below a shell as behind a wrapper. Rank 1 fails
# then.
mapped_when_one_fails() { # POLICY
    local script
    name_segments
    # shellcheck disable=SC2016  # for the ranks
    script='if [ $HPCBOOT_RANK = 0 ]; then
        "$0" "$@" > mapped &
        until grep -q "the job goes on" err; do sleep 0.05; done
        kill -KILL $!; exit 0; fi
        until [ -s said ]; do sleep 0.05; done; exit 3'
    hb --on-failure "$1" -n 2 sh -c "$script" "$segment" "$mine" "$users" \
        2> err &
    launcher=$!
    wait_until test -s mapped
    map_others
    ends $launcher
    ended_with 3
    only_others_are_there
}

@test "shared memory of an MPI whose ranks are ended is removed, nobody else's" {
    mapped_when_one_fails abort
}

@test "also of ranks that go on, and do not come to MPI_Finalize either" {
    mapped_when_one_fails continue
}

# One rank that maps them, and says so.
start_mapping() {
    a_place_of_its_own
    name_segments
    "$hbrun" -n 1 "$segment" "$mine" "$users" > mapped 2> err &
    launcher=$!
    wait_until test -s mapped
    map_others
}
the_rank() { sed 's/.* //' mapped; }

@test "shared memory of a rank that dies alone on its host is removed" {
    start_mapping
    kill -KILL "$(the_rank)"
    ends $launcher
    ended_with 137
    only_others_are_there
}

@test "shared memory of ranks is removed when the agent is killed" {
    start_mapping
    kill -KILL "$(agent)"
    ends $launcher
    ended_with 75
    nothing_left
    only_others_are_there
}

@test "shared memory of ranks is removed when guard and agent are killed" {
    start_mapping
    # shellcheck disable=SC2046  # numbers
    kill_at_once $(agents)
    ends $launcher
    ended_with 75
    nothing_left
    only_others_are_there
}

@test "shared memory of a job that was killed is removed by the next one" {
    start_mapping
    # shellcheck disable=SC2046  # numbers
    kill_at_once $launcher "$(keeper)" $(agents)
    wait $launcher || true
    nothing_left
    run hb -n 1 true
    ended_with 0
    only_others_are_there
}
