#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Hosts that are not heard any more: noticed in every case, and told apart in
# words by what can be seen of them.

load ../common

setup() {
    lab_up liveness 4
    cd "$BATS_TEST_TMPDIR" || return
}
teardown() { lab_down; }

agent_in() { pod "$1" pgrep -n -x hpcbootd; }

is_idle() { ! pod "$1" pgrep -x hpcbootd; }

# A job that sleeps on pod-1, pod-2 and pod-3; its words are in pod-0's
# /tmp/err, its events in /tmp/events.
start_sleepers() { start_ranks : "$@"; }
# One whose ranks take a while to end: so long the launcher looks what has
# become of a host that is lost, however late answers come.
start_lingerers() { start_ranks 'trap "sleep 5; exit" TERM' --grace 20; }
start_ranks() { # PROLOGUE OPTION...
    local i prologue=$1
    shift
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'echo $$ > /tmp/launcher; exec "$@" 2> /tmp/err' - \
        "$hbrun" --events /tmp/events "$@" -H pod-1,pod-2,pod-3 bash -c "$prologue"'
        echo $$ > /tmp/started
        until [ -e /tmp/enough ]; do sleep 0.1; done' &
    job=$!
    for i in 1 2 3; do wait_until pod "$i" test -s /tmp/started; done
}
job_ends() {
    ends $job
    output=$(pod 0 cat /tmp/err)
}
tell_launcher() { pod 0 bash -c "kill -$1 \$(cat /tmp/launcher)"; }

# nsenter stops with the launcher that it has started, and continues it when it
# is continued. A second SIGCONT, from here, would leave it open when the other
# one comes: a leak checker at the launcher's end waits for ever over that.
has_stopped() { [[ $(ps -o stat= --ppid $job) == T* ]]; }
launcher_continues() {
    wait_until has_stopped
    pkill -CONT -P $job
}
event() { pod 0 grep -q "\"event\":\"$1\",\"host\":\"$2\"" /tmp/events; }

@test "an agent that is killed" {
    start_lingerers
    pod 1 kill -KILL "$(agent_in 1)"
    job_ends
    ended_with 75
    says 'host pod-1: .*killed by signal KILL; .*only the agent there was killed'
    pods_clean 0 1 2 3
}

@test "an agent that is stopped: the host itself takes logins" {
    start_sleepers --heartbeat 1
    pod 1 kill -STOP "$(agent_in 1)"
    job_ends
    ended_with 75
    says 'host pod-1: .*no sign of life .*it takes logins: only the agent'
    event host_suspect pod-1
    pods_clean 0 1 2 3
}

@test "hbrun itself is stopped: no host is blamed" {
    start_sleepers --heartbeat 1
    pod 0 pkill -STOP -x hbrun
    for i in 1 2 3; do wait_until is_idle "$i"; done
    launcher_continues
    job_ends
    ended_with 75
    says 'hbrun itself was stopped, or starved of CPU, for [0-9.]+ s'
    pods_clean 0 1 2 3
}

@test "a pod that is frozen: its kernel answers" {
    start_sleepers --heartbeat 1
    "$podlab" freeze 1
    job_ends
    "$podlab" thaw 1
    ended_with 75
    says 'host pod-1: .*no sign of life .*its kernel answers.*frozen'
    pods_clean 0 1 2 3
}

@test "a pod that is frozen for a while: suspected, heard again, not lost" {
    start_sleepers --heartbeat 6
    "$podlab" freeze 1
    wait_until event host_suspect pod-1
    "$podlab" thaw 1
    wait_until event host_alive pod-1
    for i in 1 2 3; do pod "$i" touch /tmp/enough; done
    job_ends
    ended_with 0
    pods_clean 0 1 2 3
}

@test "a network that is cut: nothing answers" {
    start_sleepers --heartbeat 1
    "$podlab" link 1 down
    job_ends
    "$podlab" link 1 up
    ended_with 75
    says 'host pod-1: .*no sign of life .*nothing answers.*network is cut'
    pods_clean 0 1 2 3
}

@test "the limit of 15 s, where nothing else was asked for" {
    start_sleepers
    "$podlab" link 1 down
    job_ends
    "$podlab" link 1 up
    ended_with 75
    says 'host pod-1: .*no sign of life for (1[5-9]|[2-9][0-9]|[0-9]{3,})\.'
    pods_clean 0 1 2 3
}

# Systems send what a cut has swallowed again after 6.2 s and after 12.6 s, if
# they are not told otherwise: too early, and about as late as the limit.
@test "a cut that heals in time costs nothing" {
    local try
    [ -e /proc/sys/net/ipv4/tcp_rto_max_ms ] ||
        skip 'TCP here knows no longest time until it sends again'
    for try in 1 2 3 4 5; do
        start_sleepers --heartbeat 3
        sleep 2
        ! cut_is_short || break
        [ $try -lt 5 ] || skip 'the machine is too busy for a cut of 10 s'
        tell_launcher TERM || true
        job_ends
        pods_clean 0 1 2 3
        for i in 1 2 3; do pod "$i" rm /tmp/started; done
    done
    sleep 9 # what ranks say would have the kernel try at once
    for i in 1 2 3; do pod "$i" touch /tmp/enough; done
    job_ends
    ended_with 0
    pods_clean 0 1 2 3
}

# Where it takes longer, it may last until the limit.
cut_is_short() {
    local began
    began=$(date +%s%3N)
    "$podlab" link 1 down
    sleep 9.5 # of a limit of 15
    "$podlab" link 1 up
    [ $(($(date +%s%3N) - began)) -le 10200 ]
}

@test "half-open: an agent that does not hear says why it has ended" {
    # What libpmix leaks would be the last words of a sanitized agent.
    printf '%s\n' '#!/bin/bash' 'exec 3<&0' \
        'exec ssh "$1" "export ASAN_OPTIONS=detect_leaks=0; ${*:2}" \
            < <(exec -a "way to $1" cat <&3)' > "$BATS_FILE_TMPDIR/way"
    chmod +x "$BATS_FILE_TMPDIR/way"
    start_sleepers --heartbeat 1 --launch-with "$BATS_FILE_TMPDIR/way %h %a"
    pod 0 pkill -STOP -f '^way to pod-1'
    job_ends
    pod 0 pkill -KILL -f '^way to pod-1'
    ended_with 75
    says 'host pod-1: .*it said: "hpcbootd: the way to hbrun: no sign of life'
    pods_clean 0 1 2 3
}

@test "half-open: the host hears and is not heard" {
    start_sleepers --heartbeat 1
    pod 1 ip route add blackhole 10.77.0.1/32
    job_ends
    pod 1 ip route del blackhole 10.77.0.1/32
    ended_with 75
    says 'host pod-1: .*no sign of life'
    pods_clean 0 1 2 3
}

@test "half-open: the host is heard and does not hear" {
    start_sleepers --heartbeat 1
    pod 0 ip route add blackhole 10.77.0.2/32
    job_ends
    pod 0 ip route del blackhole 10.77.0.2/32
    ended_with 75
    says 'host pod-1'
    pods_clean 0 1 2 3
}

@test "a login whose process is killed: the host takes others" {
    start_lingerers
    # shellcheck disable=SC2016  # expanded in the pod
    pod 1 bash -c 'kill -KILL $(pgrep -f "^sshd: root@notty")'
    job_ends
    ended_with 75
    says 'host pod-1: .*lost.*it takes logins: it was started anew, or'
    pods_clean 0 1 2 3
}

@test "a pod that is deleted" {
    start_sleepers
    "$podlab" kill 1
    job_ends
    ended_with 75
    says 'host pod-1: .*lost: .*(deleted|refuses logins|frozen|down)'
    pods_clean 0 2 3
}

@test "a host that was started anew under its name while it was cut off" {
    "$podlab" help | grep -q '^  again I' || skip 'podlab makes no pod again'
    start_sleepers --heartbeat 5
    "$podlab" link 1 down
    "$podlab" kill 1
    "$podlab" again 1
    job_ends
    ended_with 75
    says 'host pod-1: .*(it takes logins|its address refuses logins): it was started anew'
    pods_clean 0 1 2 3
}

@test "a host that another one started: frozen, and told as well" {
    start_sleepers --heartbeat 1 --tree-width 2
    child=$(pod 0 sed -n \
        's/.*"host_started_by","host":"pod-\([0-9]*\)".*/\1/p' /tmp/events |
        head -n 1)
    [ -n "$child" ] || skip 'the tree has another shape this time'
    "$podlab" freeze "$child"
    job_ends
    "$podlab" thaw "$child"
    ended_with 75
    event host_suspect "pod-$child"
    says "host pod-$child: .*no sign of life .*its kernel answers.*frozen"
    pods_clean 0 1 2 3
}

# Which host has started another one; its own rank ends.
parent_is_done() {
    parent=$(pod 0 sed -n \
        's/.*"host_started_by",.*"detail":"pod-\([0-9]*\)".*/\1/p' /tmp/events |
        head -n 1)
    [ -n "$parent" ] || skip 'the tree has another shape this time'
    pod "$parent" touch /tmp/enough
    wait_until no_rank "$parent"
}
# shellcheck disable=SC2016  # expanded in the pod
no_rank() { ! pod "$1" bash -c 'kill -0 $(cat /tmp/started) 2> /dev/null'; }

@test "Ctrl-Z while a host has no ranks any more and is the way to another" {
    start_sleepers --heartbeat 1 --tree-width 2
    parent_is_done
    tell_launcher TSTP
    sleep 8 # more than the five beats that an agent waits
    launcher_continues
    for i in 1 2 3; do pod "$i" touch /tmp/enough; done
    job_ends
    ended_with 0
    pods_clean 0 1 2 3
}

# The agents have to read that no beats will come, behind all of it.
@test "Ctrl-Z while much standard input is on a slow way" {
    pod 0 tc qdisc add dev eth0 root tbf rate 10mbit burst 32kb latency 400ms ||
        skip 'no tbf'
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'yes | { echo $BASHPID > /tmp/launcher
        exec "$@" 2> /tmp/err; }' - "$hbrun" --heartbeat 1 --stdin all \
        -H pod-1 sh -c 'touch /tmp/started; exec sleep 1000' &
    job=$!
    wait_until pod 1 test -e /tmp/started
    tell_launcher TSTP
    sleep 8 # more than the five beats that an agent waits
    tell_launcher CONT
    tell_launcher TERM
    job_ends
    ended_with 143
    pods_clean 0 1
}

@test "a host without ranks stays as long as it is the way to another" {
    [ "${HB_LONG:-no}" = yes ] || skip 'with --long'
    start_sleepers --tree-width 2
    parent_is_done
    sleep 35 # more than an agent waits for an answer when it is done
    for i in 1 2 3; do pod "$i" touch /tmp/enough; done
    job_ends
    ended_with 0
    pods_clean 0 1 2 3
}
