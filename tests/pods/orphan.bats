#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# --orphan-grace: under continue and respawn the loss of a host that has
# started others is the loss of its own ranks; those below it are adopted, and
# nothing of theirs is lost or doubled. Nobody waits when the launcher is dead.

load ../common

last=9
setup_file() { lab_up orph $((last + 1)); }
setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown_file() { lab_down; }

workers() { seq -s, -f 'pod-%g' 1 $last; }
# shellcheck disable=SC2046  # numbers
all_clean() { pods_clean $(seq 0 $last); }
# The first one there: those that bring a link are younger.
agent_in() {
    # shellcheck disable=SC2016  # expanded in the pod
    pod "$1" sh -c 'pgrep -o -x -P "$(pgrep -o -x hpcbootd)" hpcbootd'
}

# tree_job ARGUMENTS...: ranks count in a file of their pod and on stdout, until
# /tmp/go is there, and say a last word.
# shellcheck disable=SC2016  # expanded in the ranks
counting='n=0; echo $$ > /tmp/started
    until [ -e /tmp/go ]; do
        n=$((n + 1)); echo "rank $HPCBOOT_RANK says $n"; sleep 0.05
    done
    echo "rank $HPCBOOT_RANK has said $n"'
tree_job() {
    local i
    for i in $(seq 0 $last); do pod "$i" rm -f /tmp/started /tmp/go; done
    pod_job "$hbrun" --tree-width 2 \
        --heartbeat 2 --grace 2 --restart-delay 100ms --events /tmp/events \
        "$@" -H "$(workers)" bash -c "$counting"
    for i in $(seq 1 $last); do
        wait_until pod "$i" test -s /tmp/started
    done
    wait_until all_counted
}
all_counted() {
    [ "$(pod 0 sed -n 's/^rank \([0-9]*\) says 1$/\1/p' /tmp/out |
        sort -u | wc -l)" -eq $last ]
}
let_go() { local i; for i in $(seq 1 $last); do pod "$i" touch /tmp/go; done; }

# CHILD PARENT of each pod that another has started.
parents() {
    pod 0 sed -n 's/.*"host_started_by","host":"pod-\([0-9]*\)","detail":"pod-\([0-9]*\)".*/\1 \2/p' \
        /tmp/events
}
# A pod with children, whose parent is the launcher; one whose is another pod.
upper() {
    parents | awk '{ by[$1] = $2 } END { for (h in by)
        if (!(by[h] in by)) print by[h] }' | sort -n | head -n 1
}
middle() {
    parents | awk '{ by[$1] = $2 } END { for (h in by)
        if (by[h] in by) print by[h] }' | sort -n | head -n 1
}
children_of() { parents | awk -v p="$1" '$2 == p' | wc -l; }
adopted() { pod 0 grep -c '"host_adopted"' /tmp/events || true; }
all_adopted() { [ "$(adopted)" -ge "$1" ]; }

# Each rank but those of the pods given has said every number once, in order.
counts_are_whole() { # POD...
    pod 0 cat /tmp/out | awk -v pods="$*" -v n=$last '
        BEGIN { split(pods, list, " "); for (i in list) gone[list[i] - 1] = 1 }
        $2 in gone { next }
        $3 == "says" { if ($4 != said[$2] + 1) {
                print "rank " $2 " says " $4 " after " said[$2]; bad = 1 }
            said[$2] = $4 }
        $3 == "has" { if ($5 != said[$2]) {
                print "rank " $2 " has said " $5 ", not " said[$2]; bad = 1 }
            over[$2] = 1 }
        END { for (r = 0; r < n; r++) if (!(r in gone) && !over[r]) {
                print "rank " r " has not ended"; bad = 1 }
            exit bad }'
}

# kill_one PARENT POLICY: kills an agent that has children, waits until they are
# adopted, and lets all go.
survives() {
    local n
    n=$(children_of "$1")
    [ "$n" -ge 1 ]
    pod "$1" kill -KILL "$(agent_in "$1")"
    wait_until all_adopted "$n"
    let_go
    pod_job_ends
}

@test "continue: an inner agent is killed, its own rank alone is lost" {
    tree_job --on-failure continue
    victim=$(upper)
    survives "$victim"
    ended_with 75
    says "host pod-$victim"
    [ "$(pod 0 grep -c '"host_lost"' /tmp/events)" -eq 1 ]
    counts_are_whole "$victim"
    all_clean
}

@test "continue: an agent in the middle of the tree is killed" {
    tree_job --on-failure continue
    victim=$(middle)
    [ -n "$victim" ] || skip 'the tree has two levels only this time'
    survives "$victim"
    ended_with 75
    [ "$(pod 0 grep -c '"host_lost"' /tmp/events)" -eq 1 ]
    counts_are_whole "$victim"
    all_clean
}

# It ends nobody but itself: the launcher lives, and what is below can be
# adopted.
@test "continue: an agent that was told to end loses its parent" {
    tree_job --on-failure continue
    victim=$(middle)
    [ -n "$victim" ] || skip 'the tree has two levels only this time'
    parent=$(parents | awk -v h="$victim" '$1 == h { print $2 }' | tail -n 1)
    n=$(($(children_of "$parent") - 1 + $(children_of "$victim")))
    pod "$victim" kill -TERM "$(agent_in "$victim")"
    wait_until pod 0 grep -q "\"host_done\",\"host\":\"pod-$victim\"" \
        /tmp/events
    pod "$parent" kill -KILL "$(agent_in "$parent")"
    wait_until all_adopted "$n"
    let_go
    pod_job_ends
    ended_with 75
    counts_are_whole "$victim" "$parent"
    all_clean
}

@test "respawn: an inner agent is killed, its rank alone is started again" {
    tree_job --on-failure respawn
    victim=$(upper)
    pod "$victim" rm /tmp/started
    n=$(children_of "$victim")
    pod "$victim" kill -KILL "$(agent_in "$victim")"
    wait_until all_adopted "$n"
    wait_until pod "$victim" test -s /tmp/started
    let_go
    pod_job_ends
    ended_with 0
    counts_are_whole "$victim"
    [ "$(pod 0 grep -c '"rank_started"' /tmp/events)" -eq $((last + 1)) ]
    all_clean
}

# As all processes of a step are when it is cancelled. That the rank takes a
# while for its last word is what its grace is for.
@test "continue: an adopted host is told to leave, and has its grace" {
    counting='trap "sleep 2; echo rank \$HPCBOOT_RANK is saved; exit" TERM
        '"$counting" tree_job --on-failure continue --grace 60
    victim=$(upper)
    n=$(children_of "$victim")
    child=$(parents | awk -v p="$victim" '$2 == p { print $1; exit }')
    pod "$victim" kill -KILL "$(agent_in "$victim")"
    wait_until all_adopted "$n"
    pod "$child" pkill -TERM -x 'hpcbootd|hb-keeper'
    wait_until pod 0 grep -Eq \
        "\"host_(done|lost)\",\"host\":\"pod-$child\"" /tmp/events
    let_go
    pod_job_ends
    ended_with 75
    says "^rank $((child - 1)) is saved\$"
    all_clean
}

@test "continue: an inner pod is deleted" {
    tree_job --on-failure continue
    victim=$(upper)
    n=$(children_of "$victim")
    "$podlab" kill "$victim"
    wait_until all_adopted "$n"
    let_go 2> /dev/null || true
    pod_job_ends
    "$podlab" again "$victim"
    ended_with 75
    counts_are_whole "$victim"
    all_clean
}

@test "continue: an inner agent is frozen, and continues too late" {
    tree_job --on-failure continue
    victim=$(upper)
    n=$(children_of "$victim")
    agent=$(agent_in "$victim")
    pod "$victim" kill -STOP "$agent"
    wait_until all_adopted "$n"
    pod "$victim" kill -CONT "$agent" || true
    let_go
    pod_job_ends
    ended_with 75
    counts_are_whole "$victim"
    all_clean
}

@test "one agent after the other: the adopted are adopted again" {
    tree_job --on-failure continue
    victim=$(upper)
    n=$(children_of "$victim")
    pod "$victim" kill -KILL "$(agent_in "$victim")"
    wait_until all_adopted "$n"
    # One that was adopted and has children, if there is one.
    next=$(parents | awk -v p="$victim" '{ by[$1] = $2 } END {
        for (h in by) if (by[by[h]] == p) print by[h] }' | head -n 1)
    if [ -n "$next" ]; then
        more=$(children_of "$next")
        pod "$next" sh -c 'pkill -KILL -o -x hpcbootd'
        wait_until all_adopted $((n + more))
    fi
    let_go
    pod_job_ends
    ended_with 75
    all_clean
}

# The sleep is longer than the launcher's last answer is waited for, which no
# host below the lost one gets.
@test "ranks of orphans have ended: these wait for their grace all the same" {
    [ "${HB_LONG:-no}" = yes ] || skip 'with --long'
    tree_job --on-failure continue --orphan-grace 300 --heartbeat 0
    victim=$(upper)
    n=$(children_of "$victim")
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 sh -c 'kill -STOP $(pgrep -x hbrun)'
    pod "$victim" kill -KILL "$(agent_in "$victim")"
    let_go
    sleep 40
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 sh -c 'kill -CONT $(pgrep -x hbrun)'
    pod_job_ends
    ended_with 75
    [ "$(adopted)" -ge "$n" ]
    counts_are_whole "$victim"
    all_clean
}

# Hosts without ranks of their own, between hbrun and those with ranks. What
# they had gathered of a fence, or were to hand on of its answer, is lost.
@test "fences of ranks below hosts without ranks survive the loss of these" {
    local i victim n=0
    for i in $(seq 0 $last); do pod "$i" rm -f /tmp/started /tmp/enough; done
    pod 0 bash -c 'for r in 0 1 2 3 4 5; do
        echo "rank $r=pod-$((r + 4)) slot=0"; done > /tmp/rankfile
        for i in 1 2 3 4 5 6 7 8 9; do echo pod-$i; done > /tmp/hosts'
    # shellcheck disable=SC2016  # expanded in the ranks
    pod_job "$hbrun" --tree-width 3 --pmi pmi1 \
        --on-failure continue --events /tmp/events --rankfile /tmp/rankfile \
        -n 6 --hostfile /tmp/hosts bash -c '
        ask() { echo "$1" >&"$PMI_FD"; read -r answer <&"$PMI_FD"; }
        ask "cmd=init pmi_version=1 pmi_subversion=1"
        ask "cmd=get_my_kvsname"
        kvs="kvsname=${answer##*kvsname=}"
        n=0; echo $$ > /tmp/started
        until [ "$answer" != "${answer% rc=0*}" ] && [ $n -ge 20 ]; do
            [ ! -e /tmp/enough ] || ask "cmd=put $kvs key=enough value=1"
            n=$((n + 1)); ask "cmd=barrier_in"
            [ "$answer" = "cmd=barrier_out rc=0" ] || echo "barrier $n: $answer"
            sleep 0.01
            ask "cmd=get $kvs key=enough"
        done
        echo "rank $PMI_RANK: $n barriers"
        ask "cmd=finalize"'
    for i in 4 5 6 7 8 9; do wait_until pod "$i" test -s /tmp/started; done
    for victim in 1 2 3; do
        [ "$(children_of $victim)" -ge 1 ] || continue
        n=$((n + $(children_of $victim)))
        pod $victim kill -KILL "$(agent_in $victim)"
        wait_until all_adopted $n
    done
    echo "adopted: $n"; [ $n -ge 1 ]
    pod 4 touch /tmp/enough
    pod_job_ends
    ended_with 0
    n=$(sed -n 's/^rank 0: \([0-9]*\) barriers$/\1/p' <<< "$output")
    [ "$n" -ge 20 ]
    for i in 1 2 3 4 5; do says "^rank $i: $n barriers\$"; done
    says_not '^barrier'
    all_clean
}

@test "--orphan-grace 0: hbrun starts all hosts itself" {
    run pod_hb --on-failure continue --orphan-grace 0 --tree-width 2 \
        --events flat -H "$(workers)" true
    ended_with 0
    [ "$(grep -c host_started_by "$BATS_FILE_TMPDIR/flat")" -eq 0 ]
}

@test "the launcher is killed: nobody waits" {
    tree_job --on-failure continue --orphan-grace 600
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 sh -c 'kill -KILL $(pgrep -x hbrun)'
    wait "$job" || true
    all_clean
}

@test "nobody adopts: the orphans end when their grace is over" {
    tree_job --on-failure continue --orphan-grace 1
    victim=$(upper)
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 sh -c 'kill -STOP $(pgrep -x hbrun)'
    pod "$victim" kill -KILL "$(agent_in "$victim")"
    # shellcheck disable=SC2046  # numbers
    pods_clean $(parents | awk -v p="$victim" '$2 == p { print $1 }')
    pod 0 sh -c 'kill -KILL $(pgrep -x hbrun)'
    wait "$job" || true
    all_clean
}
