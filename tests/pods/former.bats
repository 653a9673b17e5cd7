#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# A host is lost though its agent lives, and its ranks are started there again:
# the old ones have ended by then. Each rank holds a lock of its pod while it
# lives.

load ../common

setup_file() { lab_up former 5; }
teardown_file() { lab_down; }
setup() {
    local i
    for i in 0 1 2 3 4; do
        pod $i rm -f /tmp/started /tmp/enough /tmp/held /tmp/events
    done
}

# shellcheck disable=SC2016  # expanded in the ranks
holds='exec 9> /tmp/held
    flock -n 9 && echo "$(hostname) $HPCBOOT_RESTART is alone" ||
        echo "$(hostname) $HPCBOOT_RESTART is one too many"
    touch /tmp/started
    until [ -e /tmp/enough ]; do sleep 0.05; done'

begin() { # OPTION...
    local i
    pod_job "$hbrun" --heartbeat 2 --grace 2 \
        --restart-delay 0 --events /tmp/events "$@" \
        -H pod-1,pod-2,pod-3 bash -c "$holds"
    for i in 1 2 3; do wait_until pod $i test -e /tmp/started; done
}
began_again() { pod 0 grep -q "^pod-$1 1 is " /tmp/out; }
ends_alone() { # POD
    local i
    wait_until began_again "$1"
    for i in 1 2 3; do pod $i touch /tmp/enough; done
    pod_job_ends
    ended_with 0
    says "^pod-$1 1 is alone$"
    says_not 'one too many'
    pods_clean 0 1 2 3
}
# One that another pod has started.
below() {
    pod 0 sed -n 's/.*"host_started_by","host":"pod-\([0-9]*\)".*/\1/p' \
        /tmp/events | head -n 1
}
# The one that another pod has started was ready so often.
ready() {
    local victim
    victim=$(below)
    [ -n "$victim" ] && [ "$(pod 0 grep -c \
        "\"host_ready\",\"host\":\"pod-$victim\"" /tmp/events)" -ge "$1" ]
}

@test "respawn: an agent that is stopped" {
    begin --on-failure respawn
    pod 2 pkill -STOP -n -x hpcbootd
    ends_alone 2
}

@test "restart-job: an agent that is stopped" {
    begin --on-failure restart-job
    pod 2 pkill -STOP -n -x hpcbootd
    ends_alone 2
}

@test "respawn: an agent that waits to be adopted" {
    begin --on-failure respawn --tree-width 2 --orphan-grace 60
    victim=$(below)
    if [ -z "$victim" ]; then
        for i in 1 2 3; do pod $i touch /tmp/enough; done
        pod_job_ends
        skip 'the tree has another shape this time'
    fi
    pod "$victim" pkill -TERM -f 'sshd: root@notty'
    ends_alone "$victim"
}

# The new one is below another host, too. It says that it has ended the old one,
# which counts like all that it says from then on.
@test "before the job begins: an agent that is stopped, and much is said" {
    "$podlab" link 4 down
    pod_job "$hbrun" --heartbeat 2 --tree-width 2 \
        --on-failure continue --wait-hosts 60 --connect-timeout 2 \
        --events /tmp/events -H pod-1,pod-2,pod-3,pod-4 bash -c \
        'for i in {1..100}; do echo "$(hostname) says $i"; sleep 0.05; done'
    wait_until ready 1
    victim=$(below)
    [ -n "$victim" ]
    pod "$victim" pkill -STOP -n -x hpcbootd
    wait_until ready 2
    times=$(pod 0 grep -c "\"host_started_by\",\"host\":\"pod-$victim\"" \
        /tmp/events)
    "$podlab" link 4 up
    pod_job_ends
    ended_with 0
    says "^pod-$victim says 100\$"
    pods_clean 0 1 2 3 4
    [ "$times" -ge 2 ] || skip 'the tree has another shape this time'
}
