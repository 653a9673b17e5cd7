#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Elastic jobs whose ranks come and go while the others run: --np MIN:MAX with
# --on-failure continue or respawn. Ranks say where they are, and end when
# /tmp/go is there.

load ../common

setup_file() { lab_up live 5; }
setup() {
    local i
    for i in 0 1 2 3 4; do
        pod $i rm -f /tmp/go /tmp/hosts /tmp/events /tmp/started
    done
    hosts pod-1
}
teardown_file() { lab_down; }

hosts() { # HOST...: the hostfile, with one slot each
    pod 0 bash -c 'printf "%s slots=1\n" "$@" > /tmp/hosts' - "$@"
}
# shellcheck disable=SC2016  # expanded in the ranks
ranks='trap "echo saved \$HPCBOOT_RANK; exit 0" USR1
    echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE epoch $HPCBOOT_EPOCH" \
        "on $(hostname)"
    echo $$ > /tmp/started
    until [ -e /tmp/go ]; do sleep 0.05; done'
elastic() { # MIN:MAX [OPTION...]
    local np=$1
    shift
    pod_job "$hbrun" -v --np "$np" \
        --hostfile /tmp/hosts --checkpoint-signal USR1 --grace 20 \
        --heartbeat 2 --events /tmp/events "$@" bash -c "$ranks"
}
on() { wait_until pod "$1" test -s /tmp/started; }
go() { local i; for i; do pod "$i" touch /tmp/go; done; }
event() { pod 0 grep -q "\"$1\".*$2" /tmp/events; } # NAME TEXT
take_out_2() { # and pod-1 alone stays
    hosts pod-1
    wait_until event host_left pod-2
    pod 2 rm /tmp/started
}
agent_in() { pod "$1" pgrep -n -x hpcbootd; }

@test "a host that is added to the hostfile gets ranks, the others run on" {
    elastic 1:3 --on-failure continue
    on 1
    hosts pod-1 pod-2 pod-3
    on 2
    on 3
    go 1 2 3
    pod_job_ends
    ended_with 0
    says '^rank 0 of 1 epoch 0 on pod-1$'
    says '^rank [12] of [23] epoch [12] on pod-2$'
    says '^rank [12] of [23] epoch [12] on pod-3$'
    says 'host pod-2 has come into the gang.*rank [12] begins there'
    event host_joins pod-2
    event host_joins pod-3
    pods_clean 0 1 2 3
}

@test "a host that is added is not asked what it is like inside, and gets ranks" {
    [ -e "$HB_BUILDDIR/.libs/hb_hwloc.so" ] || skip 'built without hwloc'
    elastic 1:2 --on-failure continue --map-by ppr:1:package
    on 1
    hosts pod-1 pod-2
    on 2
    go 1 2
    pod_job_ends
    ended_with 0
    says '^rank 1 of 2 epoch 1 on pod-2$'
    pods_clean 0 1 2
}

@test "a host that is taken out of the hostfile gets the checkpoint signal" {
    hosts pod-1 pod-2
    elastic 1:2 --on-failure continue
    on 1
    on 2
    hosts pod-1
    wait_until event host_left pod-2
    go 1
    pod_job_ends
    ended_with 0
    says '^saved 1$'
    says 'host pod-2 is no longer in the gang.*rank 1 is told to end'
    pods_clean 0 1 2
}

@test "a seat that is free goes to the next host, under the old number" {
    hosts pod-1 pod-2
    elastic 1:2 --on-failure respawn
    on 1
    on 2
    hosts pod-1 pod-3
    on 3
    go 1 3
    pod_job_ends
    ended_with 0
    says '^saved 1$'
    says '^rank 1 of 2 epoch 1 on pod-3$'
    pods_clean 0 1 2 3
}

@test "a host whose seat is another's by now gets a new number below MAX" {
    hosts pod-1 pod-2
    elastic 1:3 --on-failure continue
    on 2
    take_out_2
    hosts pod-1 pod-3
    on 3
    hosts pod-1 pod-3 pod-2
    on 2
    go 1 2 3
    pod_job_ends
    ended_with 0
    says '^rank 1 of 2 epoch 1 on pod-3$'
    says '^rank 2 of 3 epoch 2 on pod-2$'
    pods_clean 0 1 2 3
}

@test "a host that is back with fewer slots than it left is told of" {
    pod 0 bash -c 'printf "%s\n" "pod-1 slots=1" "pod-2 slots=2" > /tmp/hosts'
    elastic 1:3 --on-failure continue
    on 2
    take_out_2
    hosts pod-1 pod-2
    wait_until event host_not_taken pod-2
    pod 0 bash -c 'printf "%s\n" "pod-1 slots=1" "pod-2 slots=2" > /tmp/hosts'
    on 2
    go 1 2
    pod_job_ends
    ended_with 0
    says 'host pod-2.*gets no ranks: it has 1 slot, '
    says '^rank 2 of 3 epoch 1 on pod-2$'
    pods_clean 0 1 2
}

@test "a host that is taken out and named again is taken in again" {
    local policy
    for policy in continue respawn; do
        pod 2 rm -f /tmp/started /tmp/go
        pod 1 rm -f /tmp/go
        hosts pod-1 pod-2
        elastic 1:2 --on-failure $policy
        on 2
        take_out_2
        hosts pod-1 pod-2
        on 2
        go 1 2
        pod_job_ends
        ended_with 0
        says '^saved 1$'
        says '^rank 1 of 2 epoch 1 on pod-2$'
        pods_clean 0 1 2
    done
}

@test "of two hosts that leave one comes back, and then the other" {
    local policy
    for policy in continue respawn; do
        pod 2 rm -f /tmp/started /tmp/go
        pod 3 rm -f /tmp/started /tmp/go
        pod 1 rm -f /tmp/go
        hosts pod-1 pod-2 pod-3
        elastic 1:3 --on-failure $policy
        on 2
        on 3
        hosts pod-1
        wait_until event host_left pod-2
        wait_until event host_left pod-3
        pod 2 rm /tmp/started
        pod 3 rm /tmp/started
        hosts pod-1 pod-3
        on 3
        hosts pod-1 pod-3 pod-2
        on 2
        go 1 2 3
        pod_job_ends
        ended_with 0
        says '^saved 1$'
        says '^saved 2$'
        says '^rank 2 of 3 epoch 1 on pod-3$'
        says '^rank 1 of 3 epoch 2 on pod-2$'
        pods_clean 0 1 2 3
    done
}

@test "standard input of ranks that join late has its end" {
    pod 0 bash -c 'echo line > /tmp/in'
    # shellcheck disable=SC2016  # expanded in the pod
    pod_job bash -c 'exec "$@" < /tmp/in' - timeout -s KILL "$HB_LIMIT" \
        "$hbrun" --np 1:2 --hostfile /tmp/hosts --on-failure continue \
        --stdin all bash -c "cat; $ranks"
    on 1
    hosts pod-1 pod-2
    on 2
    go 1 2
    pod_job_ends
    ended_with 0
    [ "$(grep -c '^line$' <<< "$output")" -eq 1 ]
    pods_clean 0 1 2
}

@test "hosts come and go by a discovery script" {
    pod 0 bash -c 'printf "#!/bin/sh\ncat /tmp/hosts\n" > /tmp/discover
        chmod +x /tmp/discover; echo pod-1:1 > /tmp/hosts'
    pod_job "$hbrun" -v \
        --np 1:2 --discover-hosts /tmp/discover --on-failure continue \
        --checkpoint-signal USR1 --events /tmp/events bash -c "$ranks"
    on 1
    pod 0 bash -c 'echo pod-2:1 >> /tmp/hosts'
    on 2
    pod 0 bash -c 'echo pod-2:1 > /tmp/hosts'
    wait_until event host_left pod-1
    go 2
    pod_job_ends
    ended_with 0
    says '^saved 0$'
    says '^rank 1 of 2 epoch 1 on pod-2$'
    pods_clean 0 1 2
}

@test "a script that names too few hosts to begin with is asked again" {
    pod 0 bash -c 'printf "#!/bin/sh\ncat /tmp/hosts\n" > /tmp/discover
        chmod +x /tmp/discover; : > /tmp/hosts'
    pod_job "$hbrun" --np 2:3 \
        --discover-hosts /tmp/discover --on-failure continue bash -c "$ranks"
    named() { pod 0 grep -q "waiting for hosts: $1" /tmp/err; }
    wait_until named '0 are named'
    pod 0 bash -c 'echo pod-1:1 > /tmp/hosts'
    wait_until named '1 is named'
    pod 0 bash -c 'echo pod-2:1 >> /tmp/hosts'
    on 1
    on 2
    go 1 2
    pod_job_ends
    ended_with 0
    pods_clean 0 1 2
}

@test "a host that comes serves the program of a framework, and ends with it" {
    pod 0 bash -c 'cat > /tmp/my.conf' <<'END'
processes host
program first
port master head 0
start sh -c "echo up > /tmp/started; exec sleep 3600"
END
    elastic 1:2 --on-failure continue --recipe /tmp/my.conf
    on 1
    hosts pod-1 pod-2
    on 2
    go 1
    pod_job_ends
    ended_with 0
    says '^rank 0 of 1 epoch 0 on pod-1$'
    says_not '^rank 1 '
    pods_clean 0 1 2
}

@test "a host that takes no logins: the job goes on, and says so once" {
    "$podlab" link 4 down
    elastic 1:3 --on-failure continue
    on 1
    hosts pod-1 pod-4 pod-2
    on 2
    wait_until event host_not_taken pod-4
    go 1 2
    pod_job_ends
    ended_with 0
    [ "$(grep -c 'host pod-4.*cannot be taken in' <<< "$output")" = 1 ]
    pods_clean 0 1 2
}

@test "hosts that are named and not there: the job begins with MIN, they join" {
    begins() { # POLICY
        hosts pod-1 pod-2
        "$podlab" kill 2
        elastic 1:3 --wait-hosts 1000 --on-failure "$1"
        on 1
        "$podlab" again 2
        on 2
        go 1 2
        pod_job_ends
        ended_with 0
        says 'going on with 1 of 2 hosts after .*pod-2'
        says '^rank 0 of 1 epoch 0 on pod-1$'
        says '^rank 1 of 2 epoch 1 on pod-2$'
        pods_clean 0 1 2
    }
    begins continue
    pod 1 rm -f /tmp/go /tmp/started
    pod 2 rm -f /tmp/go /tmp/started
    begins restart-job
    says '^saved 0$'
}

@test "hosts that are named and not there: they are waited for up to MIN" {
    hosts pod-1 pod-2
    "$podlab" kill 2
    elastic 2:3 --wait-hosts 1000 --on-failure continue
    wait_until event host_ready pod-1
    wait_until event host_retry pod-2
    "$podlab" again 2
    on 2
    go 1 2
    pod_job_ends
    ended_with 0
    says '^rank 0 of 2 epoch 0 on pod-1$'
    pods_clean 0 1 2
}

the_second_dies() { # as soon as it has come, and may not come again
    elastic 1:2 --on-failure continue --max-restarts 0
    on 1
    hosts pod-1 pod-2
    on 2
    pod 2 kill -KILL "$(agent_in 2)"
    wait_until event host_lost pod-2
}

@test "a host that is killed as soon as it has come: the policy decides" {
    the_second_dies
    wait_until pod_is_clean 2
    go 1
    pod_job_ends
    ended_with 75
    says 'host pod-2'
    pods_clean 0 1 2
}

@test "a host that is lost more often than it may be is not taken in again" {
    the_second_dies
    hosts pod-1 pod-2 pod-3
    on 3
    go 1 3
    pod_job_ends
    ended_with 75
    says_not 'epoch 2 on pod-2'
    pods_clean 0 1 2 3
}

@test "the launcher is killed while a host is being taken in: nothing is left" {
    elastic 1:3 --on-failure continue
    on 1
    "$podlab" freeze 3
    hosts pod-1 pod-3 pod-2
    wait_until event host_comes pod-3
    pod 0 sh -c 'kill -KILL $(pgrep -x hbrun)'
    "$podlab" thaw 3
    ends "$job"
    for i in 0 1 2 3; do wait_until pod_is_clean "$i"; done
}

@test "fewer than MIN for too long: the job ends, in words" {
    hosts pod-1 pod-2
    elastic 2:2 --on-failure continue --wait-hosts 15
    on 1
    on 2
    hosts pod-1
    pod_job_ends
    ended_with 75
    says '1 rank is left, fewer than --np 2:2 wants'
    says '1 rank is left, --np 2:2 wants more, and no host has come'
    says_not 'the job goes on'
    pods_clean 0 1 2
}

# The seat that they leave is free before or after the others come: where there
# is one more, those may take it.
@test "all hosts are replaced at once: the job goes on on the new ones" {
    local max seats=0
    for max in 1 2; do
        hosts pod-1
        elastic 1:$max --on-failure continue
        on 1
        hosts pod-2
        on 2
        go 2
        pod_job_ends
        ended_with 0
        says '^saved 0$'
        says "host pod-2 has come into the gang.*rank [$seats] begins there"
        pods_clean 0 1 2
        pod 1 rm /tmp/started
        pod 2 rm /tmp/started /tmp/go
        seats=01
    done
}

@test "all hosts go and none comes: the job ends, in words" {
    elastic 1:2 --on-failure continue --wait-hosts 15
    on 1
    pod 0 sh -c 'echo pod-9 slots=1 > /tmp/hosts'
    pod_job_ends
    ended_with 75
    says '0 ranks are left, --np 1:2 wants more, and no host has come'
    pods_clean 0 1
}

@test "with one rank per host, MAX counts hosts" {
    pod 0 bash -c 'printf "pod-%s slots=2\n" 1 2 3 > /tmp/hosts'
    elastic 1:2 --npernode 1 --on-failure continue
    on 1
    on 2
    go 1 2
    pod_job_ends
    ended_with 0
    says '^rank 1 of 2 epoch 0 on pod-2$'
    pods_clean 0 1 2 3
}

library() { # MIN:MAX COMMAND...
    local np=$1
    shift
    pod_job "$hbrun" --np "$np" \
        -x GROW_TO="${grow_to:-2}" --hostfile /tmp/hosts \
        --on-failure "${policy:-continue}" --events /tmp/events "$@"
}

@test "libhpcboot: ranks hear of those that come, and begin anew with them" {
    library 1:2 "$HB_BUILDDIR/tests/cli/apiprobe" grow
    wait_until pod 0 grep -q '^rank 0 of 1$' /tmp/out
    hosts pod-1 pod-2
    pod_job_ends
    ended_with 0
    says '^rank 0 is told: rank 1 begins on pod-2, which has come into the gang$'
    says '^rank 0 of 2$'
    says '^rank 1 of 2$'
    pods_clean 0 1 2
}

@test "libhpcboot: a host that comes when the others only end is told to end" {
    library 1:2 "$HB_BUILDDIR/tests/cli/apiprobe" meet
    wait_until event host_initialised pod-1
    hosts pod-1 pod-2
    wait_until event host_initialised pod-2
    pod 1 touch /tmp/enough
    pod_job_ends
    pod 1 rm /tmp/enough
    ended_with 0
    says 'host pod-2 has come into the gang too late: all ranks that'
    event host_leaving pod-2
    pods_clean 0 1 2
}

# comes_too_late WORDS...: pod-2 comes when the words of the first have been
# seen among the events, and pod-1's rank ends.
comes_too_late() {
    wait_until event host_initialised pod-1
    hosts pod-1 pod-2
    wait_until event "$@"
    pod 1 touch /tmp/enough
    pod_job_ends
    pod 1 rm /tmp/enough
    says 'host pod-2 has come into the gang too late: all ranks that'
    event host_leaving pod-2
    pods_clean 0 1 2
}

@test "libhpcboot: a host that comes when the others fail is told to end" {
    library 1:2 sh -c '"$0" meet; exit 3' "$HB_BUILDDIR/tests/cli/apiprobe"
    comes_too_late host_initialised pod-2
    ended_with 3
}

@test "libhpcboot: the others end while a host that comes gets its files" {
    pod 0 truncate -s 300M /tmp/big
    library 1:2 --preload-files /tmp/big "$HB_BUILDDIR/tests/cli/apiprobe" meet
    comes_too_late host_joins ''
    pod 0 rm /tmp/big
    ended_with 0
}

# The second of them to be ready is told of while the first gets its files.
@test "libhpcboot: two hosts that get files come into a running job at once" {
    pod 0 truncate -s 300M /tmp/big
    grow_to=3 library 1:3 --preload-files /tmp/big \
        "$HB_BUILDDIR/tests/cli/apiprobe" grow
    wait_until pod 0 grep -q '^rank 0 of 1$' /tmp/out
    hosts pod-1 pod-2 pod-3
    pod_job_ends
    pod 0 rm /tmp/big
    ended_with 0
    for i in 0 1 2; do says "^rank $i of 3$"; done
    pods_clean 0 1 2 3
}

# pod-3 comes while pod-2, which came late itself, waits; all three meet.
@test "libhpcboot: a late host works on when the others have ended" {
    # shellcheck disable=SC2016  # expanded in the ranks
    library 1:3 sh -c 'case $(hostname) in pod-1) $0 meet ;; esac
        $0 who
        case $(hostname) in pod-3) sleep 5; echo pod-3 has saved ;; esac' \
        "$HB_BUILDDIR/tests/cli/apiprobe"
    wait_until event host_initialised pod-1
    hosts pod-1 pod-2
    wait_until event host_initialised pod-2
    hosts pod-1 pod-2 pod-3
    wait_until event host_initialised pod-3
    pod 1 touch /tmp/enough
    pod_job_ends
    pod 1 rm /tmp/enough
    ended_with 0
    says '^pod-3 has saved$'
    says_not 'too late'
    pods_clean 0 1 2 3
}

# As where the operator makes the gang smaller, and Kubernetes ends the pod.
@test "libhpcboot: a host is taken out, and its agent told to end as well" {
    for policy in continue respawn; do
        hosts pod-1 pod-2
        library 1:2 sh -c 'trap "" TERM; "$0" hear; sleep 3' \
            "$HB_BUILDDIR/tests/cli/apiprobe"
        wait_until pod 0 grep -q '^rank 0 listens$' /tmp/out
        hosts pod-1
        wait_until event host_leaving pod-2
        pod 2 kill -TERM "$(agent_in 2)"
        pod_job_ends
        ended_with 0
        says '^rank 0 is told: rank 1 is told to end: its host is no longer'
        says_not 'error'
        pods_clean 0 1 2
        pod 0 rm /tmp/events
    done
}

@test "libhpcboot: ranks hear of those that are told to leave" {
    hosts pod-1 pod-2
    library 1:2 "$HB_BUILDDIR/tests/cli/apiprobe" hear
    wait_until pod 0 grep -q '^rank 0 listens$' /tmp/out
    hosts pod-1
    pod_job_ends
    ended_with 0
    says '^rank 0 is told: rank 1 is told to end: its host is no longer'
    pods_clean 0 1 2
}

# take_seat POLICY: pod-3 comes for pod-2, before ranks have met.
take_seat() {
    hosts pod-1 pod-2
    # shellcheck disable=SC2016  # expanded in the ranks
    library 1:2 --on-failure "$1" --restart-delay 100ms bash -c '
        echo $$ >> /tmp/started
        until [ -e /tmp/go ]; do sleep 0.05; done
        "$0" who kvs coll && exec "${0%probe}lost" where' "$HB_BUILDDIR/tests/cli/apiprobe"
    on 1
    on 2
    hosts pod-1 pod-3
    on 3
}
both_meet() {
    go 1 3
    pod_job_ends
    ended_with 0
    says '^rank 0 of 2, '
    says '^rank 1 of 2, '
    says '^rank 0: 1 is on pod-3$'
    says '^rank 1: 1 is on pod-3$'
    pods_clean 0 1 2 3
}

@test "libhpcboot: who takes a free seat is met by the others" {
    take_seat continue
    both_meet
}

@test "libhpcboot: who takes a free seat, is lost and comes back is met" {
    take_seat respawn
    pod 3 kill -KILL "$(agent_in 3)"
    wait_until pod 3 bash -c '[ "$(wc -l < /tmp/started)" = 2 ]'
    both_meet
}

has_met() { # N: so often pod-1's rank has met one other
    [ "$(pod 0 grep -c '^rank 0 of 2$' /tmp/out)" = "$1" ]
}

@test "libhpcboot: ranks have met, a host is lost and comes back: all meet" {
    hosts pod-1 pod-2
    grow_to=3 library 1:3 "$HB_BUILDDIR/tests/cli/apiprobe" grow
    wait_until has_met 1
    pod 2 kill -KILL "$(agent_in 2)"
    wait_until has_met 2
    hosts pod-1 pod-2 pod-3
    pod_job_ends
    ended_with 75
    for i in 0 1 2; do says "^rank $i of 3$"; done
    pods_clean 0 1 2 3
}

@test "libhpcboot: ranks have met, a host is lost and comes back when they end" {
    hosts pod-1 pod-2
    grow_to=0 library 1:2 "$HB_BUILDDIR/tests/cli/apiprobe" grow
    wait_until has_met 1
    pod 2 kill -KILL "$(agent_in 2)"
    pod_job_ends
    ended_with 75
    says '^rank 0 is told: rank 1 begins on pod-2, '
    says 'host pod-2 has come into the gang too late: all ranks that'
    pods_clean 0 1 2
}

@test "ranks of a framework that meet once are as many as they are" {
    elastic 1:2 --on-failure continue --framework torch
    on 1
    hosts pod-1 pod-2
    says_so() { pod 0 grep -q 'host pod-2 .* is not taken in: its ranks have met' \
        /tmp/err; }
    wait_until says_so
    go 1
    pod_job_ends
    ended_with 0
    pods_clean 0 1 2
}

@test "the script that names the hosts does not outlive a killed launcher" {
    pod 0 bash -c 'cat > /tmp/discover' <<'END'
#!/bin/bash
echo pod-1:1
[ -e /tmp/started-once ] || { touch /tmp/started-once; exit 0; }
echo $$ > /tmp/script
sleep 1000
exit 3
END
    pod 0 chmod 755 /tmp/discover
    pod 0 rm -f /tmp/started-once /tmp/script
    pod_job "$hbrun" --np 1:2 --discover-hosts /tmp/discover \
        --on-failure continue bash -c "$ranks"
    wait_until pod 0 test -s /tmp/script
    pod 0 bash -c 'kill -KILL "$(cat /tmp/launcher)"'
    pod_job_ends
    pods_clean 0 1
}
