#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Each policy of --on-failure with each fault of a host or a rank, as a table: a
# job of one rank on each of four pods, and one more pod as a spare where the
# policy can use one. A sample; with HB_LONG=yes all of it on 64 pods, where the
# host that fails is an inner one of the tree.

load ../common

if [ "${HB_LONG:-no}" = yes ]; then
    last=64
    width=(--tree-width 4)
    export HB_LIMIT=300
else
    last=4
    width=()
fi
spare=$((last + 1))

setup_file() { lab_up pol $((spare + 1)); }
setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown_file() { lab_down; }

long() { [ "${HB_LONG:-no}" = yes ] || skip 'with HB_LONG=yes'; }
agent_in() { pod "$1" pgrep -n -x hpcbootd; }

strike() { # FAULT I
    case $1 in
        agent-killed) pod "$2" kill -KILL "$(agent_in "$2")" ;;
        frozen) "$podlab" freeze "$2" ;;
        cut) "$podlab" link "$2" down ;;
        deleted) "$podlab" kill "$2" ;;
        re-created) "$podlab" kill "$2"; "$podlab" again "$2" ;;
        rank-killed) pod "$2" kill -KILL "$(cat "$BATS_FILE_TMPDIR/pid-pod-$2")" ;;
    esac
}
mend() { # FAULT I
    case $1 in
        frozen) "$podlab" thaw "$2" ;;
        cut) "$podlab" link "$2" up ;;
        deleted) "$podlab" again "$2" ;;
    esac
}
events() { pod 0 grep -c "\"$1\"" /tmp/events || true; } # NAME
have() { [ "$(events "$1")" -ge "$2" ]; }            # NAME COUNT

# What shows that the policy has done its work, and that ranks may end.
await_policy() { # POLICY
    case $1 in
        continue) wait_until have ranks_lost 1 ;;
        respawn) wait_until have rank_started $((last + 1)) ;;
        restart-job) wait_until have rank_started $((2 * last)) ;;
    esac
}

# Ranks leave their process numbers in a folder that all pods see, and end when
# `go` is there.
fresh() {
    rm -f "$BATS_FILE_TMPDIR"/{go,pid-*}
    pod 0 rm -f /tmp/events
}
# shellcheck disable=SC2016  # expanded in the ranks
rank='echo $$ > "$0/pid-$(hostname)"; until [ -e "$0/go" ]; do sleep 0.05; done
    echo "rank $HPCBOOT_RANK is through on $(hostname)"'
begun() { # I...
    local i
    for i; do [ -s "$BATS_FILE_TMPDIR/pid-pod-$i" ] || return 1; done
}

# The pod that others hang below: the parent of the last one.
inner() {
    pod 0 sed -n "s/.*\"host_started_by\",\"host\":\"pod-$last\",\
\"detail\":\"pod-\([0-9]*\)\".*/\1/p" /tmp/events | head -n 1
}

# row POLICY FAULT STATUS [OPTION...]
row() {
    local i policy=$1 fault=$2 expected=$3 victim=2
    shift 3
    fresh
    pod_job "$hbrun" --on-failure "$policy" \
        --heartbeat 2 --grace 2 --restart-delay 100ms --events /tmp/events \
        "${width[@]}" "$@" bash -c "$rank" "$BATS_FILE_TMPDIR"
    wait_until have rank_started $last
    # shellcheck disable=SC2046  # numbers
    wait_until begun $(seq $last)
    [ $last -eq 4 ] || victim=$(inner)
    strike "$fault" "$victim"
    await_policy "$policy"
    # A frozen pod has to be thawed for a command in it to run at all.
    [ "$policy" = abort ] || mend "$fault" "$victim"
    [ "$policy" = abort ] || touch "$BATS_FILE_TMPDIR/go"
    pod_job_ends
    [ "$policy" != abort ] || mend "$fault" "$victim"
    echo "$policy, $fault of pod-$victim: status $status"
    ended_with "$expected"
    [ "$expected" -eq 0 ] || says "pod-$victim"
    for ((i = 1; i <= last; i++)); do
        [ "$policy" = abort ] || { [ "$expected" -ne 0 ] && [ $i = "$victim" ]; } ||
            says "^rank $((i - 1)) is through "
    done
    # shellcheck disable=SC2046  # numbers
    pods_clean $(seq 0 $spare)
}
workers() { seq -s, -f 'pod-%g' 1 "$1"; }
all=(-H "$(workers $last)")
more=(-H "$(workers $spare)" --spares 1)

@test "abort: the agent is killed" { long; row abort agent-killed 75 "${all[@]}"; }
@test "abort: the pod is frozen" { row abort frozen 75 "${all[@]}"; }
@test "abort: the network is cut" { long; row abort cut 75 "${all[@]}"; }
@test "abort: the pod is deleted" { long; row abort deleted 75 "${all[@]}"; }
@test "abort: the pod is made again" { row abort re-created 75 "${all[@]}"; }
@test "abort: a rank is killed" { long; row abort rank-killed 137 "${all[@]}"; }

@test "continue: the agent is killed" { long; row continue agent-killed 75 "${all[@]}"; }
@test "continue: the pod is frozen" { long; row continue frozen 75 "${all[@]}"; }
@test "continue: the network is cut" { row continue cut 75 "${all[@]}"; }
@test "continue: the pod is deleted" { long; row continue deleted 75 "${all[@]}"; }
@test "continue: the pod is made again" { long; row continue re-created 75 "${all[@]}"; }
@test "continue: a rank is killed" { long; row continue rank-killed 137 "${all[@]}"; }

@test "respawn: the agent is killed" { long; row respawn agent-killed 0 "${more[@]}"; }
@test "respawn: the pod is frozen" { row respawn frozen 0 "${more[@]}"; }
@test "respawn: the network is cut" { long; row respawn cut 0 "${more[@]}"; }
@test "respawn: the pod is deleted" { long; row respawn deleted 0 "${more[@]}"; }
@test "respawn: the pod is made again" { row respawn re-created 0 "${all[@]}"; }
@test "respawn: a rank is killed" { long; row respawn rank-killed 0 "${all[@]}"; }

@test "restart-job: the agent is killed" { long; row restart-job agent-killed 0 "${more[@]}"; }
@test "restart-job: the pod is frozen" { long; row restart-job frozen 0 "${more[@]}"; }
@test "restart-job: the network is cut" { row restart-job cut 0 "${more[@]}"; }
@test "restart-job: the pod is deleted" { long; row restart-job deleted 0 "${more[@]}"; }
@test "restart-job: the pod is made again" { long; row restart-job re-created 0 "${all[@]}"; }
@test "restart-job: a rank is killed" { long; row restart-job rank-killed 0 "${all[@]}"; }

@test "respawn: a host is told to leave, its rank moves to a spare" {
    fresh
    pod_job "$hbrun" --on-failure respawn \
        --restart-delay 100ms --events /tmp/events "${more[@]}" \
        bash -c "$rank" "$BATS_FILE_TMPDIR"
    # shellcheck disable=SC2046  # numbers
    wait_until begun $(seq $last)
    pod 2 kill -TERM "$(agent_in 2)"
    wait_until begun $spare
    touch "$BATS_FILE_TMPDIR/go"
    pod_job_ends
    ended_with 0
    says "^rank 1 is through on pod-$spare\$"
    # shellcheck disable=SC2046  # numbers
    pods_clean $(seq 0 $spare)
}

@test "continue: a rank that its checkpoint signal ends has not failed" {
    fresh
    pod_job "$hbrun" --on-failure continue \
        --checkpoint-signal USR1 --grace 2 --events /tmp/events "${all[@]}" \
        bash -c "$rank" "$BATS_FILE_TMPDIR"
    # shellcheck disable=SC2046  # numbers
    wait_until begun $(seq $last)
    pod 2 kill -TERM "$(agent_in 2)"
    wait_until have rank_exit 1
    touch "$BATS_FILE_TMPDIR/go"
    pod_job_ends
    ended_with 75
    says 'error: host pod-2: its agent was told to end'
    says_not 'ended by signal'
    # shellcheck disable=SC2046  # numbers
    pods_clean $(seq 0 $spare)
}
