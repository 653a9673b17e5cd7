#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Each policy of --on-failure with each fault of a host or a rank, as a table: a
# job of one rank on each of four pods, and a fifth pod as a spare where the
# policy can use one. A sample; with HB_LONG=yes all of it.

load ../common

setup_file() { lab_up pol 6; }
setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown_file() { lab_down; }

long() { [ "${HB_LONG:-no}" = yes ] || skip 'with HB_LONG=yes'; }
agent_in() { pod "$1" pgrep -n -x hpcbootd; }

strike() { # FAULT, at pod-2
    # shellcheck disable=SC2016  # expanded in the pod
    case $1 in
        agent-killed) pod 2 kill -KILL "$(agent_in 2)" ;;
        frozen) "$podlab" freeze 2 ;;
        cut) "$podlab" link 2 down ;;
        deleted) "$podlab" kill 2 ;;
        re-created) "$podlab" kill 2; "$podlab" again 2 ;;
        rank-killed) pod 2 sh -c 'kill -KILL $(cat /tmp/started)' ;;
    esac
}
mend() { # FAULT
    case $1 in
        frozen) "$podlab" thaw 2 ;;
        cut) "$podlab" link 2 up ;;
        deleted) "$podlab" again 2 ;;
    esac
}
events() { pod 0 grep -c "\"$1\"" /tmp/events || true; } # NAME
have() { [ "$(events "$1")" -ge "$2" ]; }            # NAME COUNT

# What shows that the policy has done its work, and that ranks may end.
await_policy() { # POLICY
    case $1 in
        continue) wait_until have ranks_lost 1 ;;
        respawn) wait_until have rank_started 5 ;;
        restart-job) wait_until have rank_started 8 ;;
    esac
}
let_go() {
    local i
    for i in 1 2 3 4 5; do
        pod $i touch /tmp/go 2> /dev/null || true
    done
}

# row POLICY FAULT STATUS [OPTION...]
row() {
    local i policy=$1 fault=$2 expected=$3
    shift 3
    for i in 0 1 2 3 4 5; do
        pod $i rm -f /tmp/go /tmp/started /tmp/events
    done
    # shellcheck disable=SC2016  # expanded in the ranks
    pod_job timeout -s KILL "$HB_LIMIT" "$hbrun" --on-failure "$policy" \
        --heartbeat 1 --grace 2 --restart-delay 100ms --events /tmp/events \
        "$@" bash -c 'echo $$ > /tmp/started
            until [ -e /tmp/go ]; do sleep 0.05; done
            echo "rank $HPCBOOT_RANK is through"'
    wait_until have rank_started 4
    for i in 1 2 3 4; do wait_until pod $i test -s /tmp/started; done
    strike "$fault"
    await_policy "$policy"
    # A frozen pod has to be thawed for a command in it to run at all.
    [ "$policy" = abort ] || mend "$fault"
    [ "$policy" = abort ] || let_go
    pod_job_ends
    [ "$policy" != abort ] || mend "$fault"
    echo "$policy, $fault: status $status"
    ended_with "$expected"
    [ "$expected" -eq 0 ] || says 'pod-2'
    for i in 0 2 3; do
        [ "$policy" = abort ] || says "^rank $i is through\$"
    done
    [ "$expected" -ne 0 ] || says '^rank 1 is through$'
    pods_clean 0 1 2 3 4 5
}
four=(-H "pod-1,pod-2,pod-3,pod-4")
five=(-H "pod-1,pod-2,pod-3,pod-4,pod-5" --spares 1)

@test "abort: the agent is killed" { long; row abort agent-killed 75 "${four[@]}"; }
@test "abort: the pod is frozen" { row abort frozen 75 "${four[@]}"; }
@test "abort: the network is cut" { long; row abort cut 75 "${four[@]}"; }
@test "abort: the pod is deleted" { long; row abort deleted 75 "${four[@]}"; }
@test "abort: the pod is made again" { row abort re-created 75 "${four[@]}"; }
@test "abort: a rank is killed" { long; row abort rank-killed 137 "${four[@]}"; }

@test "continue: the agent is killed" { long; row continue agent-killed 75 "${four[@]}"; }
@test "continue: the pod is frozen" { long; row continue frozen 75 "${four[@]}"; }
@test "continue: the network is cut" { row continue cut 75 "${four[@]}"; }
@test "continue: the pod is deleted" { long; row continue deleted 75 "${four[@]}"; }
@test "continue: the pod is made again" { long; row continue re-created 75 "${four[@]}"; }
@test "continue: a rank is killed" { long; row continue rank-killed 137 "${four[@]}"; }

@test "respawn: the agent is killed" { long; row respawn agent-killed 0 "${five[@]}"; }
@test "respawn: the pod is frozen" { row respawn frozen 0 "${five[@]}"; }
@test "respawn: the network is cut" { long; row respawn cut 0 "${five[@]}"; }
@test "respawn: the pod is deleted" { long; row respawn deleted 0 "${five[@]}"; }
@test "respawn: the pod is made again" { row respawn re-created 0 "${four[@]}"; }
@test "respawn: a rank is killed" { long; row respawn rank-killed 0 "${four[@]}"; }

@test "restart-job: the agent is killed" { long; row restart-job agent-killed 0 "${five[@]}"; }
@test "restart-job: the pod is frozen" { long; row restart-job frozen 0 "${five[@]}"; }
@test "restart-job: the network is cut" { row restart-job cut 0 "${five[@]}"; }
@test "restart-job: the pod is deleted" { long; row restart-job deleted 0 "${five[@]}"; }
@test "restart-job: the pod is made again" { long; row restart-job re-created 0 "${four[@]}"; }
@test "restart-job: a rank is killed" { long; row restart-job rank-killed 0 "${four[@]}"; }

@test "respawn: a host is told to leave, its rank moves to a spare" {
    local i
    for i in 0 1 2 3 4 5; do pod $i rm -f /tmp/go /tmp/started /tmp/events; done
    # shellcheck disable=SC2016  # expanded in the ranks
    pod_job timeout -s KILL "$HB_LIMIT" "$hbrun" --on-failure respawn \
        --restart-delay 100ms --events /tmp/events "${five[@]}" bash -c '
            echo $$ > /tmp/started; until [ -e /tmp/go ]; do sleep 0.05; done
            echo "rank $HPCBOOT_RANK is through on $(hostname)"'
    for i in 1 2 3 4; do wait_until pod $i test -s /tmp/started; done
    pod 2 kill -TERM "$(agent_in 2)"
    wait_until pod 5 test -s /tmp/started
    let_go
    pod_job_ends
    ended_with 0
    says '^rank 1 is through on pod-5$'
    pods_clean 0 1 2 3 4 5
}
