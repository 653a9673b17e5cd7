#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Ranks of libhpcboot on several hosts.

load ../common

setup_file() { lab_up api 3; }
teardown_file() { lab_down; }
setup() { probe=$HB_BUILDDIR/tests/cli/apiprobe; }

all='who kvs blobs coll requests teams messages heap misuse place'

@test "two ranks on two hosts use everything" {
    # shellcheck disable=SC2086  # words
    run pod_hb -H pod-1,pod-2 "$probe" $all
    ended_with 0
    says '^rank 0 of 2, local 0 of 1, node 0 of 2, host pod-1, by hbrun$'
    says '^rank 1 of 2, local 0 of 1, node 1 of 2, host pod-2, by hbrun$'
}

@test "five ranks on three hosts use everything" {
    # shellcheck disable=SC2086
    run pod_hb -H pod-0:2,pod-1:2,pod-2:1 "$probe" $all
    ended_with 0
    says '^rank 3 of 5, local 1 of 2, node 1 of 3, host pod-1, by hbrun$'
}

@test "ranks that take turns on the hosts" {
    run pod_hb -H pod-1:2,pod-2:2 --map-by node "$probe" who kvs coll teams
    ended_with 0
    says '^rank 1 of 4, local 0 of 2, node 1 of 2, host pod-2, by hbrun$'
}

@test "a limit of addresses that came with the job makes the heap smaller" {
    ! is_sanitized || skip 'a sanitizer takes terabytes of addresses'
    run pod 0 bash -c 'ulimit -v 400000; exec "$@"' - timeout -s KILL \
        "$HB_LIMIT" "$hbrun" -H pod-1,pod-2 "$probe" who
    ended_with 0
    says '^rank 1 of 2, local 0 of 1, node 1 of 2, host pod-2, by hbrun$'
}

@test "every function used wrongly, on two hosts" {
    run pod_hb -H pod-1:2,pod-2:1 "$HB_BUILDDIR/tests/cli/apimisuse"
    ended_with 0
}

@test "a rank that is killed: those on other hosts hear who, where and why" {
    run pod_hb -H pod-1:1,pod-2:2 "$probe" killed
    says '^rank 0 hears: rank 1 on pod-2 was killed by signal 9'
    says '^rank 2 hears: rank 1 on pod-2 was killed by signal 9'
    pods_clean 1 2
}

@test "a rank exits because its peer was killed: those on other hosts hear of the peer" {
    run pod_hb --on-failure continue -H pod-1,pod-2:2 \
        "$HB_BUILDDIR/tests/cli/apilost" follow
    ended_with 137
    says '^rank 0 hears: rank 1 on pod-2 was killed by signal 9'
    says '^rank 0 event: rank 1$'
    says '^rank 0 event: rank 2$'
    pods_clean 1 2
}

@test "a lost connection whose cause is not known yet: nothing is over, or waits" {
    run pod_hb --on-failure continue -H pod-0,pod-1,pod-2 \
        "$HB_BUILDDIR/tests/cli/apilost" held
    ended_with 137
    for what in receive send barrier; do
        says "^$what: rank 1 on pod-1 was killed by signal 9"
    done
    pods_clean 1 2
}

@test "HPCBOOT_CHECK: who has not heard of a death yet is in no deadlock" {
    run pod_hb --on-failure continue -x HPCBOOT_CHECK=1 -H pod-1,pod-2:2 \
        "$HB_BUILDDIR/tests/cli/apilost" unheard
    ended_with 137
    says '^rank 0 goes on$'
    says '^rank 2 goes on$'
    pods_clean 1 2
}

@test "a death that nobody tells of, and no place for the reason: it counts" {
    run pod_hb --on-failure continue --pmi pmi1 -H pod-1,pod-2 \
        env -u HPCBOOT_FD "$HB_BUILDDIR/tests/cli/apilost" null
    says '^rank 1 goes on alone'
    pods_clean 1 2
}

@test "calls that expire leave no memory behind when their team is destroyed" {
    # A sanitizer keeps what was freed, which is no call's then.
    run pod_hb -H pod-1,pod-2 -x ASAN_OPTIONS=quarantine_size_mb=0 \
        "$HB_BUILDDIR/tests/cli/apilost" expire
    ended_with 0
    says '^rank 0 has no more memory'
    says '^rank 1 has no more memory'
}

@test "a host's limit of memory ends a rank: those on others hear of the limit" {
    status=0
    why=$("$podlab" memory 1 67108864 2>&1) || status=$?
    [ $status -ne 77 ] || skip "$why"
    [ $status -eq 0 ]
    run pod_hb --on-failure continue -H pod-0:1,pod-1:2 \
        "$HB_BUILDDIR/tests/cli/apihungry"
    "$podlab" memory 1 9000000000
    ended_with 137
    for i in 0 2; do
        says "^rank $i hears: rank 1 on pod-1 was killed by signal 9 .*; out of \
memory: the cgroup killed 1 process \(limit 64 MiB\)"
    done
}

@test "survivors on two hosts shrink their team and go on" {
    run pod_hb -H pod-1:2,pod-2:2 "$probe" shrink
    says '^rank 0 goes on as 0 of 3'
    says '^rank 3 goes on as 2 of 3'
}

@test "kill -9 of random ranks on three hosts: the others go on" {
    storm=$HB_BUILDDIR/tests/cli/apistorm
    survivors() { # SEED
        echo "seed $1"
        run pod_hb --on-failure continue -H pod-0:2,pod-1:2,pod-2:2 "$storm" \
            "$1" "$2" 40
        ended_with 137
        [ "$(grep -c "^rank [0-9]* has lost $2, " <<< "$output")" -eq \
            $((6 - $2)) ] || { echo "$output"; return 1; }
    }
    survivors 51 3
    if [ "${HB_LONG:-no}" = yes ]; then
        for seed in $(seq 2000 2049); do survivors "$seed" 4; done
    fi
    pods_clean 1 2
}

@test "random programs of everything at once, on three hosts" {
    mix() { # SEED HOSTS
        echo "seed $1"
        run pod_hb -H "$2" "$HB_BUILDDIR/tests/cli/apimix" "$1" 150
        ended_with 0
    }
    mix 61 pod-0:2,pod-1:1,pod-2:2
    if [ "${HB_LONG:-no}" = yes ]; then
        for seed in $(seq 4000 4030); do mix "$seed" pod-0:2,pod-1:2,pod-2:2; done
    fi
}

# shellcheck disable=SC2317  # called by wait_until
all_wait() { [ "$(pod 0 grep -sc 'waits$' /tmp/out)" = "$1" ]; }

# others_go_on_after SIGNAL: sent to the agent of pod-2.
others_go_on_after() {
    pod_job "$hbrun" --on-failure continue \
        -H pod-1:2,pod-2:2,pod-0:1 "$probe" survive
    wait_until all_wait 5
    pod 2 kill "-$1" "$(pod 2 pgrep -n -x hpcbootd)"
    pod_job_ends
    says '^rank 0 hears: rank [23] on pod-2 '
    for i in 0 1; do says "^rank $i goes on as $i of 3"; done
    says '^rank 4 goes on as 2 of 3'
    pods_clean 1 2
}

@test "a host is lost: the others shrink, put, fence and get" {
    others_go_on_after KILL
}

@test "a host is told to leave: the others shrink, put, fence and get" {
    others_go_on_after TERM
}

@test "a rank that never comes, and the job goes on: who waits for it hears that" {
    for end in 'exit 0' 'exit 5' "kill -KILL \$\$"; do
        run pod_hb --on-failure continue -H pod-0,pod-1,pod-2 bash -c \
            "[ \$HPCBOOT_RANK != 1 ] || $end; exec \"\$0\"" "$probe"
        [ "$status" -ne 0 ]
        says 'rank 1 on pod-1 .*; no rank can begin without it'
        [ "$(grep -c 'warning: rank 1 on pod-1' <<< "$output")" -eq 1 ]
    done
    run pod_hb --on-failure continue -H pod-0,pod-1,pod-2 -n 1 "$probe" : \
        -n 1 /etc/passwd : -n 1 "$probe"
    says 'rank 1 on pod-1 could not be started: .*/etc/passwd.*; no rank can begin'
    pods_clean 0 1 2
}

@test "a host is lost while others wait in hpcboot_init: they hear its name" {
    pod 0 rm -f /tmp/events
    pod_job "$hbrun" --on-failure continue --events /tmp/events \
        -H pod-0,pod-1,pod-2 bash -c \
        "[ \$HPCBOOT_RANK != 1 ] || sleep 1000; exec \"\$0\"" "$probe"
    for host in pod-0 pod-2; do
        wait_until pod 0 grep -q "host_initialised.*$host" /tmp/events
    done
    pod 1 pkill -KILL -o -x hpcbootd
    pod_job_ends
    [ "$(grep -c 'rank 1 on pod-1 is lost with its host: .*; no rank can' \
        <<< "$output")" -eq 2 ]
    pods_clean 0 1 2
}

@test "one program of a job after the other: who dies in the second is known" {
    # shellcheck disable=SC2016  # expanded by the ranks
    run pod_hb --on-failure continue -H pod-1:2,pod-2:2 \
        bash -c '"$0" who && exec "$0" shrink' "$probe"
    says '^rank 0 goes on as 0 of 3'
    says '^rank 3 goes on as 2 of 3'
    pods_clean 1 2
}

@test "one program of a job after the other: who ends in between is not waited for" {
    for end in 'exit 0' 'exit 5' "kill -TERM \$\$"; do
        # shellcheck disable=SC2016  # expanded by the ranks
        run pod_hb --on-failure continue -H pod-0,pod-1,pod-2 bash -c \
            '"$0" who; [ $HPCBOOT_RANK != 1 ] || '"$end"'; exec "$0" who' \
            "$probe"
        [ "$status" -ne 0 ]
        says 'rank 1 on pod-1 [a-z]* .*; no rank can begin without it'
        says_not 'without hpcboot_finalize'
    done
    # shellcheck disable=SC2016
    run pod_hb -H pod-0,pod-1,pod-2 bash -c \
        '"$0" who; [ $HPCBOOT_RANK != 1 ] || exit 0; "$0" who' "$probe"
    [ "$status" -ne 0 ]
    says 'rank 1 on pod-1 ended with exit status 0; no rank can begin without it'
    pods_clean 0 1 2
}

@test "ranks that come and go: one that just ends is known to be dead" {
    run pod_hb --on-failure continue --np 2:4 -H pod-1:2,pod-2:2 \
        "$probe" slip
    ended_with 0
    says '^rank 0 goes on as 0 of 3'
    says '^rank 3 goes on as 2 of 3'
    pods_clean 1 2
}

@test "hpcboot stuck and ps from the launcher's pod: who waits for whom on all hosts" {
    pod_job "$hbrun" -H pod-1:2,pod-2:1 "$HB_BUILDDIR/tests/cli/stuckprobe" \
        absent
    # shellcheck disable=SC2317  # called by wait_until
    sees() {
        output=$(pod 0 timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" \
            stuck -H pod-1,pod-2) &&
            grep -Eq '^ranks? 0.* waits? for rank 2 on pod-2, which waits for' \
                <<< "$output" &&
            grep -Eq '^ +1  pod-1 .* in barrier of the world, call 2' \
                <<< "$output" # it may come late
    }
    wait_until sees || { echo "$output"; false; }
    says '^ +0  pod-1 .* in barrier of the world, call 2, waits for rank 2, '
    says '^ +1  pod-1 .* in barrier of the world, call 2, waits for rank [02]'
    says '^ +2  pod-2 .*; waits in no call of hpcboot$'
    output=$(pod 0 timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" ps \
        -H pod-1,pod-2)
    says '^[0-9a-f]{8} +[0-9]+m[0-9]+s +2 +3 +[0-9]+% +.*/stuckprobe absent$'
    pod 0 bash -c 'kill "$(cat /tmp/launcher)"'
    pod_job_ends
    pods_clean 1 2
}

# shellcheck disable=SC2317  # called by wait_until
stuck_says() { # EXPRESSION
    output=$(pod 0 timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" stuck \
        -H pod-1,pod-2 --wait-hosts 5 2>&1) && grep -Eq "$1" <<< "$output"
}
stuck_will_say() {
    wait_until stuck_says "$1" || { echo "$output"; return 1; }
}

@test "hpcboot stuck: each sends to the next, and nobody receives" {
    pod_job "$hbrun" -H pod-1,pod-2 "$HB_BUILDDIR/tests/cli/stuckprobe" send
    stuck_will_say '^ranks 0 and 1 wait for each other: none of them can go on'
    says '^ +1 .* in send \(team 1, tag 5\), waits for rank 0, since'
    pod 0 bash -c 'kill "$(cat /tmp/launcher)"'
    pod_job_ends
    pods_clean 1 2
}

@test "hpcboot stuck where a host does not answer: the others are shown" {
    pod_job "$hbrun" --heartbeat 60 -H pod-1:2,pod-2:1 \
        "$HB_BUILDDIR/tests/cli/stuckprobe" absent
    stuck_will_say '^ranks? 0.* for rank 2 on pod-2, which waits'
    "$podlab" freeze 2
    stuck_will_say '^ranks? 0.* wait.* for rank 2, which was not seen'
    says 'going on with 1 of 2 hosts .*pod-2'
    says '^job [0-9a-f]{8}: 2 of 3 ranks'
    "$podlab" thaw 2
    pod 0 bash -c 'kill "$(cat /tmp/launcher)"'
    pod_job_ends
    pods_clean 1 2
}

@test "HPCBOOT_CHECK names both sides of calls that differ, between hosts" {
    differ() { # WAY WORDS OTHER_WORDS
        run pod_hb -x HPCBOOT_CHECK=1 -H pod-1:2,pod-2:2 --map-by node \
            "$HB_BUILDDIR/tests/cli/mismatch" "$1"
        for i in 0 2 3; do
            says "^rank $i: .* different calls: rank $i $2, rank 1 $3"
        done
        says "^rank 1: .* different calls: rank 1 $3.*, rank 0 $2"
    }
    differ collective 'allreduce of 32 bytes .*' 'bcast of 32 bytes'
    differ root 'reduce .*root 0.' 'reduce .*root 1.'
    differ count 'bcast of 32 bytes .*' 'bcast of 40 bytes'
    differ type 'allreduce .*type double.*' 'allreduce .*type int64'
    differ op 'allreduce .*op sum.*' 'allreduce .*op max'
    differ team-split team_split 'bcast of 32 bytes'
    for way in fence shrink recv tag; do
        run pod_hb -x HPCBOOT_CHECK=1 -H pod-1,pod-2 \
            "$HB_BUILDDIR/tests/cli/mismatch" $way
        for i in 0 1; do
            says "^rank $i: deadlock, .*rank 0 waits in barrier .* for rank 1"
        done
    done
    for way in slow slow-request; do
        run pod_hb -x HPCBOOT_CHECK=1 -x HPCBOOT_COLL_NET=nodes \
            -H pod-1:2,pod-2:2 "$HB_BUILDDIR/tests/cli/mismatch" $way
        [ "$(grep -c '^rank [0-3]: good$' <<< "$output")" -eq 4 ] || {
            echo "$output"
            return 1
        }
    done
    run pod_hb -x HPCBOOT_CHECK=1 -H pod-1:2,pod-2:2 "$probe" coll requests \
        teams
    ended_with 0
    run pod_hb -x HPCBOOT_CHECK=1 -H pod-1:2,pod-2:2 --map-by node \
        "$HB_BUILDDIR/tests/cli/mismatch" order
    for i in 0 1; do
        says "^rank $i: deadlock, .*rank 0 waits in allreduce of team .* for rank 1"
        says "^rank $i: deadlock, .*rank 1 waits in allreduce of team .* for rank 0"
    done
}

@test "a deadline that passes says who was waited for, and where" {
    run pod_hb -H pod-1,pod-2 "$HB_BUILDDIR/tests/cli/mismatch" late
    ended_with 0
    says '^rank 0: barrier on a team of 2: its deadline passed while rank 1 \(rank 0 of the world, on pod-1\) waited for rank 0 \(rank 1 of the world, on pod-2\)$'
    run pod_hb -H pod-1,pod-2 "$HB_BUILDDIR/tests/cli/mismatch" late-message
    ended_with 0
    says '^rank 0: hpcboot_recv: .* waited for a message from rank 0 \(rank 1 of the world, on pod-2\), tag 5$'
}

@test "calls that differ end in words between hosts without HPCBOOT_CHECK, too" {
    for way in gatherv scatterv alltoallv collective type; do
        run pod_hb -H pod-1:2,pod-2:2 --map-by node \
            "$HB_BUILDDIR/tests/cli/mismatch" "$way" again
        ended_with 0
        says '^rank 0: .*(the counts differ|different calls)'
        says '^rank 1: .*(the counts differ|different calls)'
    done
    run pod_hb -H pod-1,pod-2 "$HB_BUILDDIR/tests/cli/mismatch" barrier again
    ended_with 0
    for i in 0 1; do
        says "^rank $i: .* different calls: rank 1 bcast .*, rank 0 barrier"
    done
    run pod_hb -H pod-1,pod-2 timeout -k 1 60 \
        "$HB_BUILDDIR/tests/cli/mismatch" ahead again
    ended_with 0
    for i in 0 1; do
        says "^rank $i: .* different calls: rank 1 allreduce, rank 0 bcast"
    done
    for form in any test; do
        run pod_hb -H pod-1:2,pod-2:2 --map-by node \
            "$HB_BUILDDIR/tests/cli/mismatch" gatherv "$form"
        ended_with 0
        [ "$(grep -cE '^rank [0-3]: .*counts differ' <<< "$output")" -eq 4 ]
    done
}
