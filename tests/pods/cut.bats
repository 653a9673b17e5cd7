#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Two hosts that do not reach each other while hbrun reaches both: one of them
# is given up, and all that are left agree on it. Limits are short here.

load ../common

setup_file() { lab_up cut 4; }
teardown_file() { lab_down; }
setup() {
    options=()
    wrapper=()
    cuts=()
}
# Networks are whole again, and nothing of a test that failed is left.
teardown() {
    local cut
    for cut in "${cuts[@]}"; do
        # shellcheck disable=SC2086  # two words
        "$podlab" pair $cut up || true
    done
    pod 3 ip route del blackhole 10.77.0.3/32 2> /dev/null || true
    [ -z "${job:-}" ] || pod 0 pkill -KILL -x hbrun || true
}
cut() { # I J
    "$podlab" pair "$1" "$2" down
    cuts+=("$1 $2")
}
heal() { # I J
    "$podlab" pair "$1" "$2" up
    cuts=()
}

# begin POLICY HOSTS WORD: ranks of apiprobe, until all of them wait. `options`
# may hold more.
begin() {
    local ranks=${2//[^,]/}
    ranks=$((${#ranks} + 1))
    pod_job "$hbrun" --on-failure "$1" \
        --heartbeat 2 --events /tmp/events "${options[@]}" -H "$2" \
        "${wrapper[@]}" "$HB_BUILDDIR/tests/cli/apiprobe" "$3"
    wait_until all_wait "$ranks"
}
# shellcheck disable=SC2317  # called by wait_until
all_wait() { [ "$(pod 0 grep -sc 'waits$' /tmp/out)" = "$1" ]; }
goes_on() { # RANK AS OF
    says "^rank $1 hears: .*rank [0-9]+ on pod-"
    says "^rank $1 goes on as $2 of $3\$"
}
# one_is_given_up FIRST LAST LOW HIGH: of the pods from FIRST to LAST, in which
# ranks count from 0, LOW and HIGH do not reach each other. Mostly HIGH is given
# up; where the machine is busy, hbrun may wait in vain for what one of them has
# to say, and the other is.
one_is_given_up() {
    local lost pod n=0
    lost=$(sed -n "s/^hbrun: error: .*: pod-$3 and pod-$4 do not reach each \
other, and hbrun [a-z ]*; pod-\([$3$4]\) is given up .*/\1/p" <<< "$output")
    [ -n "$lost" ] || says "pod-$3 and pod-$4 .*; pod-[$3$4] is given up"
    says "^hbrun: error: host pod-$lost: "
    for ((pod = $1; pod <= $2; pod++)); do
        if [ "$pod" = "$lost" ]; then
            says_not "^rank $((pod - $1)) goes on"
        else
            goes_on $((pod - $1)) $n $(($2 - $1))
            n=$((n + 1))
        fi
    done
}

@test "continue: two hosts do not reach each other, and one is given up" {
    begin continue pod-0,pod-1,pod-2 survive
    cut 1 2
    pod_job_ends
    ended_with 75
    one_is_given_up 0 2 1 2
    pods_clean 0 1 2
}

@test "continue: the same where no rank is beside hbrun" {
    begin continue pod-1,pod-2,pod-3 survive
    cut 1 2
    pod_job_ends
    ended_with 75
    one_is_given_up 1 3 1 2
    pods_clean 0 1 2 3
}

@test "continue: each waits for a message of one that it reaches" {
    begin continue pod-1,pod-2,pod-3 await
    cut 1 3
    pod_job_ends
    ended_with 75
    one_is_given_up 1 3 1 3
    pods_clean 0 1 2 3
}

# Mostly it goes alone; where the machine is busy, complaints may come so far
# apart that others are given up first. Those that are left agree in any case.
@test "continue: a host is cut off from several, and all that are left agree" {
    begin continue pod-1,pod-2,pod-3,pod-0 await
    cut 1 2
    cut 1 3
    pod_job_ends
    ended_with 75
    says '^rank 3 goes on as [12] of [23]$'
    left=$(sed -n 's/^rank 3 goes on as .* of //p' <<< "$output")
    [ "$(grep -c "^rank . goes on as . of $left\$" <<< "$output")" -eq "$left" ]
    says_not "^rank . goes on as . of $((5 - left))\$"
    if [ "$left" -eq 3 ]; then
        says 'pod-1 is given up'
    else
        goes_on 0 0 2
    fi
    pods_clean 0 1 2 3
}

@test "continue: one way is cut, and the packets are refused" {
    begin continue pod-1,pod-2,pod-3 survive
    pod 3 ip route add blackhole 10.77.0.3/32
    pod_job_ends
    ended_with 75
    one_is_given_up 1 3 2 3
    pods_clean 0 1 2 3
}

# What the one that is given up has said is on its way through its parent.
@test "continue: hosts that another one has started, and that say a lot" {
    # shellcheck disable=SC2016  # expanded in the ranks
    wrapper=(bash -c 'while kill -0 $$; do echo noise; sleep 0.0002; done 2>&- &
        exec "$@"' -)
    hosts_of_another
}

@test "continue: hosts that another one has started" { hosts_of_another; }

hosts_of_another() {
    options=(--tree-width 2)
    begin continue pod-1,pod-2,pod-3 survive
    # Its own agent is reached through the one that is not cut off from it.
    read -r child parent < <(pod 0 sed -n 's/.*"host_started_by","host":"pod-\(.\)","detail":"pod-\(.\)".*/\1 \2/p' \
        /tmp/events)
    other=$((6 - child - parent))
    cut "$child" "$other"
    pod_job_ends
    ended_with 75
    low=$((child < other ? child : other))
    high=$((child + other - low))
    one_is_given_up 1 3 "$low" "$high"
    pods_clean 0 1 2 3
}

@test "continue: a cut that heals within the limit costs nothing" {
    pod 1 rm -f /tmp/enough
    options=(--heartbeat 6)
    begin continue pod-1,pod-2,pod-3 meet
    cut 1 2
    sleep 2 # of a limit of 30
    heal 1 2
    pod 1 touch /tmp/enough
    pod_job_ends
    ended_with 0
    for i in 0 1 2; do says "^rank $i has met the others"; done
    pods_clean 0 1 2 3
}

@test "continue: a first message goes as soon as the cut has healed" {
    pod 1 ip route add unreachable 10.77.0.3/32
    pod 2 ip route add unreachable 10.77.0.2/32
    pod 1 touch /tmp/enough
    pod_job "$hbrun" --on-failure continue \
        --heartbeat 6 -H pod-1,pod-2 "$HB_BUILDDIR/tests/cli/apiprobe" meet
    wait_until pod 1 pgrep -x apiprobe
    wait_until pod 2 pgrep -x apiprobe
    sleep 2 # of a limit of 30
    pod 1 ip route del unreachable 10.77.0.3/32
    pod 2 ip route del unreachable 10.77.0.2/32
    pod_job_ends
    ended_with 0
    for i in 0 1; do says "^rank $i has met the others"; done
    pods_clean 0 1 2
}

@test "abort: one line says who does not reach whom" {
    begin abort pod-1,pod-2,pod-3 survive
    cut 1 2
    pod_job_ends
    ended_with 75
    says '^hbrun: .*pod-1 and pod-2 do not reach each other'
    [ "$(grep -cE '^hbrun: (error|warning): ' <<< "$output")" -eq 1 ]
    pods_clean 0 1 2 3
}

@test "respawn: ranks that are wired to each other end, in words" {
    begin respawn pod-1,pod-2,pod-3 survive
    cut 1 2
    pod_job_ends
    ended_with 75
    says 'pod-1 and pod-2 do not reach each other.*wired to the others'
    says_not 'MPI'
    pods_clean 0 1 2 3
}

@test "restart-job: all begin again without the one that was given up" {
    # shellcheck disable=SC2016  # expanded in the ranks
    pod_job "$hbrun" --on-failure restart-job \
        --heartbeat 2 --spares 1 --restart-delay 100ms -H pod-1,pod-2,pod-3 \
        bash -c '[ "$HPCBOOT_RESTART" = 0 ] || exec "$0" who
            exec "$0" survive' "$HB_BUILDDIR/tests/cli/apiprobe"
    wait_until all_wait 2
    cut 1 2
    pod_job_ends
    ended_with 0
    says 'pod-1 and pod-2 do not reach each other'
    says '^rank 1 of 2, .* host pod-3, by hbrun$'
    pods_clean 0 1 2 3
}
