#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# --on-failure restart-job over pods: what is lost is left out, replaced by a
# spare, or waited for until it comes back; all ranks live again in the next
# epoch, under the old numbers.

load ../common

setup() { lab_up again 4; }
teardown() { lab_down; }

restart() {
    pod 0 timeout -s KILL "$HB_LIMIT" "$hbrun" --on-failure restart-job \
        --restart-delay 100ms "$@"
}
# A job in the background whose ranks say where they are and end by themselves
# in their second life; its words are in /tmp/out and /tmp/err.
start_restart() {
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job "$hbrun" \
        --on-failure restart-job --restart-delay 100ms "$@" bash -c '
        echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE epoch $HPCBOOT_EPOCH" \
            "on $(hostname)"
        [ "$HPCBOOT_RESTART" = 0 ] || exit 0
        echo $$ > /tmp/started
        exec sleep 1000'
}
lose_2() { # when both have their ranks
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
    "$podlab" kill 2
}
agent_in() { pod "$1" pgrep -n -x hpcbootd; }

@test "a rank that fails: all live again, and the numbers stay" {
    run restart -H pod-1:2,pod-2:2 bash -c '
        echo "rank $HPCBOOT_RANK epoch $HPCBOOT_EPOCH on $(hostname)"
        [ "$HPCBOOT_RANK" != 3 ] || [ "$HPCBOOT_RESTART" -ge 2 ] || exit 9'
    ended_with 0
    says 'rank 3 on pod-2 exited with status 9.*restart 1 of at most 3'
    says 'restart 2 of at most 3'
    for rank in 0 1 2 3; do
        says "^rank $rank epoch 2 on pod-$((rank / 2 + 1))\$"
    done
    pods_clean 0 1 2
}

@test "restarts come to an end, with the status of the last failure" {
    run restart --max-restarts 1 -H pod-1,pod-2 bash -c \
        'exit $((7 + HPCBOOT_RESTART))'
    ended_with 8
    says 'exited with status 8.*after 1 restart'
    pods_clean 0 1 2
}

@test "a host that is lost: its ranks move to the others" {
    start_restart -n 2 -H pod-1:2,pod-2:2 --map-by node
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
    pod 2 kill -KILL "$(agent_in 2)"
    pod_job_ends
    ended_with 0
    says 'host pod-2.*restart 1'
    says '^rank 0 of 2 epoch 1 on pod-1$'
    says '^rank 1 of 2 epoch 1 on pod-1$'
    pods_clean 0 1 2
}

@test "a host that is lost: a spare takes its place" {
    start_restart --spares 1 -H pod-1:1,pod-2:1,pod-3:1
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
    pod 3 test ! -e /tmp/started
    pod 1 kill -KILL "$(agent_in 1)"
    pod_job_ends
    ended_with 0
    says '^rank 0 of 2 epoch 1 on pod-2$'
    says '^rank 1 of 2 epoch 1 on pod-3$'
    pods_clean 0 1 2 3
}

@test "a host that never comes: a spare takes its place, in a first life" {
    local policy
    for policy in respawn restart-job; do
        # shellcheck disable=SC2016  # expanded in the pod
        in_time '^rank 1 of 2 .* on pod-2$' 2 \
            restart --on-failure "$policy" --spares 2 --wait-hosts WAIT \
            -H pod-1,pod-9,pod-2,pod-3 bash -c \
            'echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE epoch $HPCBOOT_EPOCH" \
                "restart $HPCBOOT_RESTART on $(hostname)"'
        ended_with 0
        says 'warning: host pod-9: '
        says 'not come up.*pod-9; spares are taken'
        says_not 'error: '
        says '^rank 0 of 2 epoch 0 restart 0 on pod-1$'
        says '^rank 1 of 2 epoch 0 restart 0 on pod-2$'
        pods_clean 0 1 2 3
    done
}

@test "a host is lost after another never came: a spare that is there comes" {
    # shellcheck disable=SC2016  # expanded in the pods
    pod_job "$hbrun" --on-failure respawn --spares 2 --wait-hosts 15 \
        --restart-delay 100ms -H pod-9,pod-1,pod-2,pod-3 bash -c '
        echo "rank $HPCBOOT_RANK restart $HPCBOOT_RESTART on $(hostname)"
        [ "$HPCBOOT_RANK" = 0 ] || exit 0
        [ "$HPCBOOT_RESTART" = 0 ] || exit 0
        echo $$ > /tmp/started
        exec sleep 1000'
    wait_until pod 1 test -s /tmp/started
    pod 1 kill -KILL "$(agent_in 1)"
    pod_job_ends
    ended_with 0
    says 'host pod-1.*started again on the spare pod-3'
    says '^rank 0 restart 1 on pod-3$'
    pods_clean 0 1 2 3
}

@test "more hosts stay away than there are spares, and no spare comes" {
    in_time '2 of 3 hosts did not come up' 1 \
        restart --on-failure respawn --spares 1 --wait-hosts WAIT \
        -H pod-1,pod-8,pod-9,pod-2 true
    ended_with 75
    in_time '1 of 2 hosts did not come up.*pod-9$' 1 \
        restart --on-failure respawn --spares 1 --wait-hosts WAIT \
        -H pod-1,pod-8,pod-9 true
    ended_with 75
    says 'not come up.*pod-8; spares are taken'
    pods_clean 0 1 2
}

@test "no room without the lost host: it is waited for until it is back" {
    start_restart -H pod-1:1,pod-2:1
    lose_2
    wait_until pod 0 grep -q 'waiting for the lost ones: pod-2' /tmp/err
    "$podlab" again 2
    pod_job_ends
    ended_with 0
    says '^rank 1 of 2 epoch 1 on pod-2$'
    pods_clean 0 1 2
}

# It comes back with the old key, and is not to be seen with that.
back_with_another_key() {
    wait_until pod 0 grep -q 'waiting for the lost ones: pod-2' /tmp/err
    "$podlab" link 0 down
    "$podlab" again 2
    "$podlab" vary 2 hostkey
    "$podlab" link 0 up
}

@test "a lost host is back with another host key: the reason is named" {
    start_restart --wait-hosts 120 -H pod-1:1,pod-2:1
    lose_2
    back_with_another_key
    pod_job_ends
    ended_with 75
    says 'pod-2.*(changed|CHANGED)'
    pods_clean 0 1 2
}

# A pod whose sshd makes its host keys as it begins, in an operator's gang.
@test "a lost host is back with another host key, and proves itself again" {
    pod 0 bash -c 'rm .ssh/known_hosts && mkdir /run/etc &&
        cp -a /etc/. /run/etc/ && mount --bind /run/etc /etc && mkdir /etc/mpi
        printf "pod-%d slots=1\n" 1 2 > /etc/mpi/hostfile'
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job env K_MPI_JOB_ROLE=launcher "$hbrun" --on-failure restart-job \
        --restart-delay 100ms bash -c '
        echo "rank $HPCBOOT_RANK restart $HPCBOOT_RESTART on $(hostname)"
        [ "$HPCBOOT_RESTART" = 0 ] || exit 0
        echo $$ > /tmp/started
        exec sleep 1000'
    lose_2
    back_with_another_key
    pod_job_ends
    ended_with 0
    says '^rank 1 restart 1 on pod-2$'
    says_not 'CHANGED'
    pods_clean 0 1 2
}

@test "no room without the lost host, and it stays away: status 75" {
    start_restart --wait-hosts 15 -H pod-1:1,pod-2:1
    lose_2
    pod_job_ends
    ended_with 75
    says 'pod-2'
    pods_clean 0 1
}

@test "the limit of time counts while a lost host is waited for" {
    start_restart --timeout 3 --wait-hosts 60 -H pod-1:1,pod-2:1
    lose_2
    pod_job_ends
    ended_with 124
    says 'did not end within 3 s'
    pods_clean 0 1
}

@test "--min-hosts: no room without the lost host, so it is waited for" {
    start_restart --min-hosts 1 --wait-hosts 60 -H pod-1:1,pod-2:1
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
    pod 2 kill -KILL "$(agent_in 2)"
    pod_job_ends
    ended_with 0
    says 'waiting for the lost ones: pod-2'
    says '^rank 1 of 2 epoch 1 on pod-2$'
    pods_clean 0 1 2
}

@test "--min-hosts: fewer hosts are left, so the lost one is waited for" {
    start_restart -n 1 --min-hosts 2 --wait-hosts 60 -H pod-1:1,pod-2:1
    wait_until pod 1 test -s /tmp/started
    pod 1 kill -KILL "$(agent_in 1)"
    pod_job_ends
    ended_with 0
    says 'left are too few \(see --min-hosts\); waiting for the lost ones: pod-1'
    says '^rank 0 of 1 epoch 1 on pod-1$'
    pods_clean 0 1 2
}

@test "an elastic job goes on with what is left" {
    start_restart --np 1:4 -H pod-1:1,pod-2:1
    wait_until pod 1 test -s /tmp/started
    # What the agent has not sent is lost with it.
    wait_until pod 0 grep -q '^rank 1 of 2 epoch 0 on pod-2$' /tmp/out
    wait_until pod 2 test -s /tmp/started
    pod 2 kill -KILL "$(agent_in 2)"
    pod_job_ends
    ended_with 0
    says '^rank 1 of 2 epoch 0 on pod-2$'
    says '^rank 0 of 1 epoch 1 on pod-1$'
    pods_clean 0 1 2
}

@test "an elastic job grows and shrinks with its hostfile" {
    pod 0 bash -c 'echo pod-1 slots=1 > /tmp/hosts'
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job "$hbrun" \
        --on-failure restart-job --checkpoint-signal USR1 --np 1:2 \
        --hostfile /tmp/hosts bash -c '
        echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE epoch $HPCBOOT_EPOCH"
        [ "$HPCBOOT_EPOCH" != 2 ] || exit 0
        trap "echo saved \$HPCBOOT_RANK; exit 0" USR1
        echo $$ > /tmp/started.$HPCBOOT_EPOCH
        while :; do sleep 0.1; done'
    wait_until pod 1 test -s /tmp/started.0
    pod 0 bash -c 'echo pod-2 slots=1 >> /tmp/hosts'
    wait_until pod 1 test -s /tmp/started.1
    wait_until pod 2 test -s /tmp/started.1
    pod 0 bash -c 'echo pod-2 slots=1 > /tmp/hosts'
    pod_job_ends
    ended_with 0
    says '^rank 0 of 1 epoch 0$'
    says '^rank 1 of 2 epoch 1$'
    says '^rank 0 of 1 epoch 2$'
    says '^saved 1$'
    says 'host pod-2 has come into the gang'
    says 'host pod-1 is no longer in the gang'
    pods_clean 0 1 2
}

@test "an elastic job takes in a host that comes for the third time" {
    local life
    pod 0 bash -c 'echo pod-1 slots=1 > /tmp/hosts'
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job "$hbrun" \
        --on-failure restart-job --checkpoint-signal USR1 --np 1:2 \
        --hostfile /tmp/hosts bash -c '
        echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE epoch $HPCBOOT_EPOCH"
        trap "exit 0" USR1
        echo $$ > /tmp/started.$HPCBOOT_EPOCH
        [ "$HPCBOOT_EPOCH" != 5 ] || exit 0
        while :; do sleep 0.1; done'
    for life in 0 2 4; do
        wait_until pod 1 test -s /tmp/started.$life
        pod 0 bash -c 'echo pod-2 slots=1 >> /tmp/hosts'
        wait_until pod 2 test -s /tmp/started.$((life + 1))
        [ $life = 4 ] || pod 0 bash -c 'echo pod-1 slots=1 > /tmp/hosts'
    done
    pod_job_ends
    ended_with 0
    says '^rank 0 of 1 epoch 4$'
    says '^rank 1 of 2 epoch 5$'
    pods_clean 0 1 2
}

@test "an elastic job takes no host in that takes no logins" {
    "$podlab" link 3 down
    pod 0 bash -c 'echo pod-1 slots=1 > /tmp/hosts'
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job "$hbrun" \
        --on-failure restart-job --max-restarts 0 --np 1:3 \
        --hostfile /tmp/hosts bash -c '
        echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE epoch $HPCBOOT_EPOCH"
        [ "$HPCBOOT_EPOCH" != 1 ] || exit 0
        echo $$ > /tmp/started
        exec sleep 1000'
    wait_until pod 1 test -s /tmp/started
    pod 0 bash -c 'printf "%s slots=1\n" pod-1 pod-2 pod-3 > /tmp/hosts'
    pod_job_ends
    ended_with 0
    says '^rank 1 of 2 epoch 1$'
    says 'host pod-2 has come into the gang'
    pods_clean 0 1 2
}

@test "an elastic job finds the host behind many that are not there" {
    pod 0 bash -c 'echo pod-1 slots=1 > /tmp/hosts'
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job "$hbrun" --on-failure restart-job --np 1:3 \
        --hostfile /tmp/hosts bash -c '
        echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE epoch $HPCBOOT_EPOCH"
        echo $$ > /tmp/started.$HPCBOOT_EPOCH
        [ "$HPCBOOT_EPOCH" != 1 ] || exit 0
        exec sleep 1000'
    wait_until pod 1 test -s /tmp/started.0
    pod 0 bash -c 'printf "%s slots=1\n" pod-1 nobody-{1..16} pod-2 > /tmp/hosts'
    wait_until pod 2 test -s /tmp/started.1
    pod_job_ends
    ended_with 0
    says '^rank 1 of 2 epoch 1$'
    pods_clean 0 1 2
}

@test "an elastic job takes a host in again that was lost and came back" {
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job "$hbrun" \
        --on-failure restart-job --restart-delay 10ms --np 1:2 \
        -H pod-1:1,pod-2:1 bash -c '
        echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE epoch $HPCBOOT_EPOCH"
        [ "$HPCBOOT_EPOCH" != 2 ] || exit 0
        echo $$ > /tmp/started.$HPCBOOT_EPOCH
        exec sleep 1000'
    wait_until pod 2 test -s /tmp/started.0
    "$podlab" kill 2
    wait_until pod 1 test -s /tmp/started.1
    "$podlab" again 2
    pod_job_ends
    ended_with 0
    says '^rank 0 of 1 epoch 1$'
    says '^rank 1 of 2 epoch 2$'
    pods_clean 0 1 2
}

@test "an elastic job waited for a lost host: it is not taken in once more" {
    local looks
    pod 0 bash -c 'cat > /tmp/discover' <<'END'
#!/bin/sh
echo >> /tmp/looks
printf 'pod-%d:1\n' 1 2
END
    pod 0 chmod 755 /tmp/discover
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job "$hbrun" --on-failure restart-job --restart-delay 10ms --np 2:4 \
        --wait-hosts 60 --discover-hosts /tmp/discover bash -c '
        echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE epoch $HPCBOOT_EPOCH"
        echo $$ > /tmp/started
        echo $$ > /tmp/started.$HPCBOOT_EPOCH
        until [ -e /tmp/go ]; do sleep 0.05; done'
    lose_2
    wait_until pod 0 grep -q 'waiting for the lost ones: pod-2' /tmp/err
    "$podlab" again 2
    wait_until pod 2 test -s /tmp/started.1
    looks=$(pod 0 bash -c 'wc -l < /tmp/looks')
    # What the last but one has seen is judged.
    # shellcheck disable=SC2016  # expanded in the pod
    wait_until pod 0 bash -c '[ "$(wc -l < /tmp/looks)" -ge $0 ]' $((looks + 3))
    pod 1 touch /tmp/go
    pod 2 touch /tmp/go
    pod_job_ends
    ended_with 0
    says '^rank 1 of 2 epoch 1$'
    says_not 'epoch 2'
    pods_clean 0 1 2
}

@test "an elastic job loses two hosts, and takes in the one that comes back" {
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job "$hbrun" \
        --on-failure restart-job --restart-delay 10ms --max-restarts 9 \
        --np 1:3 -H pod-1:1,pod-2:1,pod-3:1 bash -c '
        echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE on $(hostname)"
        echo $$ > /tmp/started
        echo $$ > /tmp/started.$HPCBOOT_SIZE
        until [ -e /tmp/go ]; do sleep 0.05; done'
    wait_until pod 2 test -s /tmp/started
    wait_until pod 3 test -s /tmp/started
    "$podlab" kill 2
    "$podlab" kill 3
    wait_until pod 1 test -s /tmp/started.1
    "$podlab" again 3
    wait_until pod 1 test -s /tmp/started.2
    wait_until pod 3 test -s /tmp/started.2
    pod 1 touch /tmp/go
    pod 3 touch /tmp/go
    pod_job_ends
    ended_with 0
    says '^rank 0 of 1 on pod-1$'
    says '^rank 1 of 2 on pod-3$'
    says_not '^rank . of 2 on pod-2$'
    pods_clean 0 1 3
}

@test "an MPI job lives again" {
    need mpicc.openmpi
    mpicc.openmpi -o "$F/hello" "$HB_SRCDIR/examples/hello_mpi.c"
    run restart -H pod-1:2,pod-2:2 bash -c '
        [ "$HPCBOOT_RESTART" -ge 1 ] || [ "$HPCBOOT_RANK" != 2 ] || kill -9 $$
        exec "$0"' "$F/hello"
    ended_with 0
    says 'rank 2 on pod-2 was ended by signal 9'
    says '^rank 3 of 4 on pod-2$'
    says 'right$'
    pods_clean 0 1 2
}

@test "a pod is evicted: ranks get the checkpoint signal and time" {
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job "$hbrun" \
        --checkpoint-signal USR1 -H pod-1,pod-2 bash -c '
        trap "echo saved \$HPCBOOT_RANK; exit 0" USR1
        trap "echo TERM came" TERM
        echo $$ > /tmp/started
        while :; do sleep 0.1; done'
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
    pod 2 kill -TERM "$(agent_in 2)"
    pod_job_ends
    ended_with 75
    says '^saved 0$'
    says '^saved 1$'
    says_not 'TERM came'
    says 'host pod-2.*SIGTERM'
    pods_clean 0 1 2
}

@test "the launcher is evicted: ranks get the checkpoint signal" {
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job "$hbrun" --on-failure restart-job --checkpoint-signal SIGUSR2 \
        -H pod-1,pod-2 bash -c '
        trap "echo saved \$HPCBOOT_RANK; exit 0" USR2
        echo $$ > /tmp/started
        while :; do sleep 0.1; done'
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'kill -TERM $(cat /tmp/launcher)'
    pod_job_ends
    ended_with 143
    says '^saved 0$'
    says '^saved 1$'
    says_not 'restart'
    pods_clean 0 1 2
}
