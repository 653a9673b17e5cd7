#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# --on-failure continue and respawn over pods: what fails does not end the
# others; they hear of it; ranks come back under their numbers.

load ../common

setup() { lab_up surv 4; }
teardown() { lab_down; }

policy() { # POLICY ARGUMENTS...
    pod 0 timeout -s KILL "$HB_LIMIT" "$hbrun" --on-failure "$1" \
        --restart-delay 100ms "${@:2}"
}
start_policy() { # POLICY ARGUMENTS...: in the background, words in /tmp
    pod_job "$hbrun" --on-failure "$1" --restart-delay 100ms "${@:2}"
}
agent_in() { pod "$1" pgrep -n -x hpcbootd; }
said() { [ "$(pod 0 grep -c -- "$2" /tmp/out)" = "$1" ]; } # so often, what
# shellcheck disable=SC2016  # expanded in the ranks
until_told='echo "rank $HPCBOOT_RANK epoch $HPCBOOT_EPOCH restart" \
    "$HPCBOOT_RESTART on $(hostname)"
    echo $$ >> /tmp/started
    until [ -e /tmp/go ]; do sleep 0.05; done
    echo "rank $HPCBOOT_RANK is through"'

@test "continue: a host is lost, the others go on" {
    start_policy continue -H pod-1,pod-2,pod-3 bash -c "$until_told"
    for i in 1 2 3; do wait_until pod $i test -s /tmp/started; done
    pod 2 kill -KILL "$(agent_in 2)"
    wait_until pod_is_clean 2
    pod 1 touch /tmp/go
    pod 3 touch /tmp/go
    pod_job_ends
    ended_with 75
    says '^rank 0 is through$'
    says '^rank 2 is through$'
    says 'host pod-2'
    pods_clean 0 1 2 3
}

@test "continue: all hosts are lost" {
    start_policy continue -H pod-1,pod-2 bash -c "$until_told"
    for i in 1 2; do wait_until pod $i test -s /tmp/started; done
    for i in 1 2; do pod $i kill -KILL "$(agent_in $i)"; done
    pod_job_ends
    ended_with 75
    pods_clean 0 1 2
}

@test "continue: PMIx clients are told whom they lost" {
    program=$F/pmix_lost
    pmix_client "$program"
    run policy continue --pmi pmix -H pod-1,pod-2,pod-3 "$program"
    ended_with 137
    says '^rank 0 lost 1$'
    says '^rank 2 lost 1$'
    says 'rank 1 on pod-2 was ended by signal 9'
    pods_clean 0 1 2 3
}

@test "continue: events of PMIx clients go on when one dies among them" {
    program=$F/pmix_events
    pmix_client "$program"
    run policy continue --pmi pmix -H pod-1,pod-2,pod-3 "$program" 40 1
    ended_with 137
    says '^rank 0: here 1, for one 0, odd 0$'
    says '^rank 2: here 0, for one 1, odd 0$'
    pods_clean 0 1 2 3
}

@test "continue: PMI clients find the dead, and no barrier hangs" {
    # shellcheck disable=SC2016  # expanded in the ranks
    run policy continue --pmi pmi1 -H pod-1,pod-2,pod-3 bash -c '
        ask() { echo "$1" >&"$PMI_FD"; read -r answer <&"$PMI_FD"; }
        ask "cmd=init pmi_version=1 pmi_subversion=1"
        ask "cmd=barrier_in"
        [ "$PMI_RANK" != 1 ] || exit 5
        ask "cmd=barrier_in"
        echo "rank $PMI_RANK: $answer"
        ask "cmd=get_my_kvsname"
        kvs=${answer#*kvsname=}; kvs=${kvs%% *}
        ask "cmd=get kvsname=$kvs key=PMI_dead_processes"
        echo "rank $PMI_RANK: $answer"
        ask "cmd=finalize"'
    ended_with 5
    for rank in 0 2; do
        says "^rank $rank: .*value=1\$"
        says "^rank $rank: cmd=barrier_out.*rc=-"
    done
    pods_clean 0 1 2 3
}

@test "respawn: a rank comes back on its host, in a new epoch" {
    # shellcheck disable=SC2016  # expanded in the ranks
    run policy respawn -H pod-1,pod-2 bash -c '
        echo "rank $HPCBOOT_RANK epoch $HPCBOOT_EPOCH on $(hostname)"
        [ "$HPCBOOT_RANK" = 0 ] || [ "$HPCBOOT_RESTART" -ge 2 ] || kill -9 $$'
    ended_with 0
    says '^rank 0 epoch 0 on pod-1$'
    says '^rank 1 epoch 2 on pod-2$'
    says 'rank 1 on pod-2 was ended by signal 9.*restart 2 of at most 3'
    pods_clean 0 1 2
}

@test "respawn: the ranks of a lost host move to a spare" {
    start_policy respawn --spares 1 -H pod-1:1,pod-2:2,pod-3:2 bash -c \
        "$until_told"
    for i in 1 2; do wait_until pod $i test -s /tmp/started; done
    wait_until said 2 ' on pod-2$' # what the agent has not sent is lost with it
    pod 2 kill -KILL "$(agent_in 2)"
    wait_until pod 3 bash -c '[ "$(wc -l < /tmp/started)" = 2 ]'
    pod 1 touch /tmp/go
    pod 3 touch /tmp/go
    pod_job_ends
    ended_with 0
    says 'host pod-2.*spare pod-3'
    for rank in 1 2; do
        says "^rank $rank epoch 0 restart 0 on pod-2\$"
        says "^rank $rank epoch 1 restart 1 on pod-3\$"
    done
    says '^rank 0 epoch 0 restart 0 on pod-1$'
    pods_clean 0 1 2 3
}

@test "respawn: a spare gets the files of the job, too" {
    head -c 20000000 /dev/urandom > "$F/data"
    sum=$(sha256sum < "$F/data")
    pod 0 bash -c 'cat > /tmp/data' < "$F/data"
    start_policy respawn --spares 1 --preload-files /tmp/data \
        -H pod-1:1,pod-2:1,pod-3:1 bash -c "sha256sum < \
        \$HPCBOOT_SESSION_DIR/data; $until_told"
    for i in 1 2; do wait_until pod $i test -s /tmp/started; done
    wait_until said 2 "$sum"
    pod 2 kill -KILL "$(agent_in 2)"
    wait_until pod 3 test -s /tmp/started
    pod 1 touch /tmp/go
    pod 3 touch /tmp/go
    pod_job_ends
    ended_with 0
    says '^rank 1 is through$'
    [ "$(grep -cF "$sum" <<< "$output")" -eq 3 ]
    pods_clean 0 1 2 3
}

@test "respawn: without a spare the host is waited for" {
    start_policy respawn -H pod-1,pod-2 bash -c "$until_told"
    for i in 1 2; do wait_until pod $i test -s /tmp/started; done
    "$podlab" kill 2
    wait_until pod 0 grep -q 'when it is back' /tmp/err
    "$podlab" again 2
    wait_until pod 2 test -s /tmp/started
    pod 1 touch /tmp/go
    pod 2 touch /tmp/go
    pod_job_ends
    ended_with 0
    says '^rank 1 epoch 1 restart 1 on pod-2$'
    pods_clean 0 1 2
}

@test "respawn: a host that does not come back ends the job" {
    start_policy respawn --wait-hosts 15 -H pod-1,pod-2 bash -c "$until_told"
    for i in 1 2; do wait_until pod $i test -s /tmp/started; done
    "$podlab" kill 2
    pod_job_ends
    ended_with 75
    says 'host pod-2 did not come back'
    pods_clean 0 1
}

elastic_without_2() { # until the others go on without pod-2
    pod 0 bash -c 'printf "pod-1 slots=1\npod-2 slots=1\n" > /tmp/hosts'
    start_policy respawn -v --np 1:2 --hostfile /tmp/hosts --wait-hosts 15 \
        bash -c "$until_told"
    for i in 1 2; do wait_until pod $i test -s /tmp/started; done
    "$podlab" kill 2
    wait_until pod 0 grep -q 'did not come back: .*the others go on' /tmp/err
}

pod_2_is_missed() { # when the others have ended
    pod 1 touch /tmp/go
    pod_job_ends
    ended_with 75
    says '^rank 0 is through$'
    says 'error: host pod-2: .*port 22'
    pods_clean 0 1
}

@test "respawn: a host is lost twice, each time for a reason of its own" {
    start_policy respawn --max-restarts 1 -H pod-1,pod-2 bash -c "$until_told"
    for i in 1 2; do wait_until pod $i test -s /tmp/started; done
    pod 2 kill -KILL "$(agent_in 2)"
    wait_until pod 2 bash -c '[ "$(wc -l < /tmp/started)" = 2 ]'
    "$podlab" kill 2
    pod_job_ends
    ended_with 75
    says 'as often as --max-restarts allows; .*(deleted|refuses|frozen|down)'
    says_not 'it takes logins'
    pods_clean 0 1
}

@test "respawn, elastic: a host does not come back, which is told in the end" {
    elastic_without_2
    pod_2_is_missed
}

# As long as the source of hosts names it, it is tried again.
@test "respawn, elastic: a host that does not come back is tried anew, and missed" {
    elastic_without_2
    wait_until pod 0 grep -q 'pod-2 has come into the gang' /tmp/err
    pod_2_is_missed
}

@test "respawn, elastic: a host that is taken out when it is lost is missed by nobody" {
    elastic_without_2
    pod 0 bash -c 'echo "pod-1 slots=1" > /tmp/hosts'
    wait_until pod 0 grep -q 'pod-2 is no longer in the gang' /tmp/err
    pod 1 touch /tmp/go
    pod_job_ends
    ended_with 0
    pods_clean 0 1
}

@test "respawn: a rank that fails too often ends the job" {
    run policy respawn --max-restarts 1 -H pod-1,pod-2 bash -c \
        '[ "$HPCBOOT_RANK" = 0 ] && exec sleep 1000; exit 6'
    ended_with 6
    says 'rank 1 on pod-2 exited with status 6.*--max-restarts'
    pods_clean 0 1 2
}

@test "respawn: what ended the last start of a rank is told with the policy" {
    local why status=0
    why=$("$podlab" memory 1 67108864 2>&1) || status=$?
    [ $status -ne 77 ] || skip "$why"
    # The pod's own memory counts: the shell grows until it is too much.
    run policy respawn --max-restarts 1 -H pod-1 bash -c \
        'x=xxxxxxxx; while :; do x=$x$x; done'
    "$podlab" memory 1 9000000000
    ended_with 137
    says 'warning: rank 0 on pod-1 .*out of memory.*; it is started again in'
    says 'error: rank 0 on pod-1 .*; out of memory: .*; it had been started .*--max-restarts'
    pods_clean 0 1
}

@test "respawn: an MPI rank cannot come back alone, and it is said" {
    need mpicc.openmpi
    cat > "$F/half.c" <<'END'
#include <mpi.h>
#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        kill(getpid(), SIGKILL);
    }
    sleep(1000);
    return 0;
}
END
    mpicc.openmpi -o "$F/half" "$F/half.c"
    run policy respawn -H pod-1,pod-2 "$F/half"
    ended_with 137
    says 'rank 1 on pod-2 was ended by signal 9.*restart-job'
    pods_clean 0 1 2
}

@test "respawn: stdin of a rank that moves to another host has its end" {
    # shellcheck disable=SC2016  # expanded in the ranks
    run pod 0 bash -c 'echo line | timeout -s KILL "$1" "$2" \
        --on-failure respawn --restart-delay 100ms --spares 1 -H pod-1,pod-2 \
        bash -c "cat; echo read; [ \$HPCBOOT_RESTART = 1 ] || kill -9 \$PPID
            sleep 0"' - "$HB_LIMIT" "$hbrun"
    ended_with 0
    says 'started again on the spare pod-2'
    [ "$(grep -c '^read$' <<< "$output")" -ge 1 ]
    pods_clean 0 1 2
}

@test "respawn: stdin of a rank that comes back has its end" {
    # shellcheck disable=SC2016  # expanded in the ranks
    run pod 0 bash -c 'echo line | timeout -s KILL "$1" "$2" \
        --on-failure respawn --restart-delay 100ms -H pod-1 bash -c "
        cat; echo read; [ \$HPCBOOT_RESTART = 1 ] || exit 4"' - \
        "$HB_LIMIT" "$hbrun"
    ended_with 0
    [ "$(grep -c '^read$' <<< "$output")" -eq 2 ]
    pods_clean 0 1
}
