#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# An inner host of the tree fails while it starts another one, at each stage of
# that start, and while the job runs. The stage is held by the host that is to
# be started: its network is down, its sshd says nothing, or its login does not
# end. With HB_LONG=yes on 64 pods and each fault at each stage; else a sample.

load ../common

if [ "${HB_LONG:-no}" = yes ]; then last=64; else last=9; fi

setup_file() { lab_up inner $((last + 1)); }
setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown_file() { lab_down; }

workers() { seq -s, -f 'pod-%g' 1 $last; }
agent_in() { pod "$1" pgrep -n -x hpcbootd; }

hold() { # STAGE
    case $1 in
        connect) "$podlab" link $last down ;;
        banner) kill -STOP "$("$podlab" list | awk -v i=$last '$1 == i { print $4 }')" ;;
        agent) pod $last sh -c 'echo "sleep 1000" > .bashrc' ;;
    esac
}
release() { # STAGE
    case $1 in
        connect) "$podlab" link $last up ;;
        banner) kill -CONT "$("$podlab" list | awk -v i=$last '$1 == i { print $4 }')" ;;
        agent)
            # shellcheck disable=SC2016  # expanded in the pod
            pod $last sh -c 'rm .bashrc; pkill -x sleep || true' ;;
    esac
}
fail() { # FAULT I
    case $1 in
        kill) pod "$2" kill -KILL "$(agent_in "$2")" ;;
        stop) pod "$2" kill -STOP "$(agent_in "$2")" ;;
        cut) "$podlab" link "$2" down ;;
        delete) "$podlab" kill "$2" ;;
    esac
}
mend() { # FAULT I
    case $1 in
        cut) "$podlab" link "$2" up ;;
        delete) "$podlab" again "$2" ;;
    esac
}

# Who is to start the last host: a pod's number.
parent_of_last() {
    pod 0 sed -n "s/.*\"host_started_by\",\"host\":\"pod-$last\",\
\"detail\":\"pod-\([0-9]*\)\".*/\1/p" /tmp/events | head -n 1
}
has_parent() { [ -n "$(parent_of_last)" ]; }

# at STAGE FAULT: all run or, where the host that failed does not come back or
# is not missed before the job begins, it is named. Nothing stays or hangs.
at() {
    local parent wait=15
    [ "$2" != kill ] || wait=60 # it has to come back
    pod 0 rm -f /tmp/events
    hold "$1"
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'exec timeout -s KILL "$@" > /tmp/out 2> /tmp/err' - \
        "$HB_LIMIT" "$hbrun" --tree-width 2 --heartbeat 1 --wait-hosts $wait \
        --connect-timeout 5 --events /tmp/events -H "$(workers)" hostname &
    job=$!
    wait_until has_parent
    parent=$(parent_of_last)
    fail "$2" "$parent"
    release "$1"
    ends $job
    output=$(pod 0 cat /tmp/err)
    mend "$2" "$parent"
    echo "$1 $2 of pod-$parent: $status $output"
    case $2 in
        kill)
            ended_with 0
            [ "$(pod 0 cat /tmp/out | sort -u | wc -l)" -eq $last ] ;;
        *)
            [ "$status" -eq 0 ] || { ended_with 75; says "pod-$parent"; } ;;
    esac
    # shellcheck disable=SC2046  # numbers
    pods_clean $(seq 0 $last)
}

# while_running FAULT: the same when all ranks run.
while_running() {
    local parent
    pod 0 rm -f /tmp/events
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'exec timeout -s KILL "$@" > /tmp/out 2> /tmp/err' - \
        "$HB_LIMIT" "$hbrun" --tree-width 2 --heartbeat 1 --grace 1 \
        --events /tmp/events -H "$(workers)" sleep 1000 &
    job=$!
    wait_until all_started
    parent=$(parent_of_last)
    fail "$1" "$parent"
    ends $job
    output=$(pod 0 cat /tmp/err)
    mend "$1" "$parent"
    ended_with 75
    says "pod-$parent"
    # shellcheck disable=SC2046  # numbers
    pods_clean $(seq 0 $last)
}
all_started() {
    [ "$(pod 0 grep -c '"rank_started"' /tmp/events)" -eq $last ]
}
long() { [ "${HB_LONG:-no}" = yes ] || skip 'with HB_LONG=yes'; }

@test "while another host is connected to: the agent is killed" { at connect kill; }
@test "while another host says no word: the pod is deleted" { at banner delete; }
@test "while another host logs in: the agent is stopped" { at agent stop; }
@test "while another host logs in: the network is cut" { at agent cut; }
@test "connect, stopped" { long; at connect stop; }
@test "connect, cut" { long; at connect cut; }
@test "connect, deleted" { long; at connect delete; }
@test "banner, killed" { long; at banner kill; }
@test "banner, stopped" { long; at banner stop; }
@test "banner, cut" { long; at banner cut; }
@test "agent, killed" { long; at agent kill; }
@test "agent, deleted" { long; at agent delete; }
@test "while ranks run: the pod is deleted" { while_running delete; }
@test "running, killed" { long; while_running kill; }
@test "running, stopped" { long; while_running stop; }
@test "running, cut" { long; while_running cut; }

@test "the launcher is killed: nothing is left on any pod" {
    pod 0 rm -f /tmp/events
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'echo $$ > /tmp/launcher; exec "$@" 2> /tmp/err' - "$hbrun" \
        --tree-width 2 --events /tmp/events -H "$(workers)" \
        bash -c 'setsid sleep 1000 & exec sleep 1000' &
    job=$!
    wait_until all_started
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 sh -c 'kill -KILL $(cat /tmp/launcher)'
    wait $job || true
    # shellcheck disable=SC2046  # numbers
    pods_clean $(seq 0 $last)
}
