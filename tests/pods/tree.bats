#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Hosts that start each other: a tree of width 2 over nine pods, three levels
# deep, and what happens when one of its inner hosts fails at any stage.

load ../common

workers=pod-1,pod-2,pod-3,pod-4,pod-5,pod-6,pod-7,pod-8,pod-9

setup_file() { lab_up tree 10; }
setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown_file() { lab_down; }

all_clean() { pods_clean 0 1 2 3 4 5 6 7 8 9; }

# A job that sleeps on all workers; its words are in pod-0's /tmp/err, its
# events in /tmp/events.
start_sleepers() { start_ranks 'exec sleep 1000' "$@"; }
# One whose ranks take a while to end: so long the launcher looks what has
# become of a host that is lost, however late answers come.
start_lingerers() {
    start_ranks 'trap "sleep 5; exit" TERM; while :; do sleep 0.1; done' \
        --grace 20
}
start_ranks() { # SCRIPT OPTION...
    local i script=$1
    shift
    for i in 1 2 3 4 5 6 7 8 9; do pod "$i" rm -f /tmp/started; done
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'echo $$ > /tmp/launcher; exec "$@" 2> /tmp/err' - "$hbrun" \
        --tree-width 2 --events /tmp/events "$@" -H "$workers" bash -c \
        'echo $$ > /tmp/started;'"$script" &
    job=$!
    for i in 1 2 3 4 5 6 7 8 9; do
        wait_until pod "$i" test -s /tmp/started
    done
}
job_ends() {
    ends $job
    output=$(pod 0 cat /tmp/err)
}
# For want of one that a test needs: a host whose login takes long goes back to
# hbrun.
other_shape() {
    pod 0 sh -c 'kill -TERM "$(cat /tmp/launcher)"'
    job_ends
    skip 'the tree has another shape this time'
}
# in_a_tree EVENTS COMMAND...: run, a few times until three hosts have been
# started by others.
in_a_tree() {
    local events=$1
    shift
    for _ in 1 2 3 4; do
        rm -f "$BATS_FILE_TMPDIR/$events"
        run "$@"
        [ "$status" -eq 0 ] && [ "$(others_have_started "$events")" -lt 3 ] ||
            return 0
    done
}
others_have_started() { grep -c host_started_by "$BATS_FILE_TMPDIR/$1"; }
# The number of a pod that has started another one and was itself started by
# one; `parents` of all is CHILD PARENT per line.
parents() {
    pod 0 cat /tmp/events | sed -n \
        's/.*"host_started_by","host":"pod-\([0-9]*\)","detail":"pod-\([0-9]*\)".*/\1 \2/p'
}
inner() { parents | awk '{ by[$1] = $2 } END { for (h in by) print by[h] }' |
    sort -n | head -n 1; }
# The child of its guard: those that bring a link are younger.
agent_in() {
    # shellcheck disable=SC2016  # expanded in the pod
    pod "$1" sh -c 'pgrep -o -x -P "$(pgrep -o -x hpcbootd)" hpcbootd'
}

@test "every host runs its rank, and most were started by another host" {
    in_a_tree events pod_hb --tree-width 2 --events events --metrics m.prom \
        --label -H "$workers" hostname
    ended_with 0
    for i in 1 2 3 4 5 6 7 8 9; do
        says "^\[$((i - 1))\] ?pod-$i\$"
    done
    [ "$(others_have_started events)" -ge 3 ]
    # When all have left, too.
    grep -qx 'hpcboot_tree_depth [2-9]' "$BATS_FILE_TMPDIR/m.prom"
    all_clean
}

@test "events of PMIx clients reach the ranks of all hosts, each once" {
    local rank
    pmix_client "$BATS_FILE_TMPDIR/pmix_events"
    run pod_hb --tree-width 2 --pmi pmix -H "${workers//,/:2,}:2" --map-by node \
        ./pmix_events 20
    ended_with 0
    for rank in {0..17}; do
        says "^rank $rank: here $((rank % 9 == 0)), for one $((rank == 17)), odd 0\$"
    done
    all_clean
}

@test "--tree-width 1: the launcher starts all" {
    run pod_hb --tree-width 1 --events flat -H "$workers" true
    ended_with 0
    [ "$(others_have_started flat)" -eq 0 ]
}

# Of three hosts and a width of two the third is started by another one, which
# knows it: that does not outweigh what the launcher knows.
@test "a host key that differs from the launcher's is refused through the tree" {
    local mode
    need ssh-keygen
    rm -f wrong wrong.pub
    ssh-keygen -q -t ed25519 -N '' -C '' -f wrong
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'cd .ssh; cp known_hosts /run/known; read -r _ key < known_hosts
        printf "%s\n" "pod-1,pod-2 $key" "pod-3 $0" > known_hosts' \
        "$(cat wrong.pub)"
    for mode in strict pin; do
        run pod_hb --tree-width 2 --host-keys $mode -H pod-1,pod-2,pod-3 hostname
        ended_with 75
        says 'pod-3: the host key has CHANGED: .*\.ssh/known_hosts:2 says another'
    done
    # As a file for this host alone.
    pod 0 bash -c 'cd .ssh; sed -n 2p known_hosts > of3; cp /run/known known_hosts
        printf "Host pod-3\nUserKnownHostsFile ~/.ssh/of3\n" > config'
    run pod_hb --tree-width 2 --host-keys pin -H pod-1,pod-2,pod-3 hostname
    pod 0 rm .ssh/config .ssh/of3
    ended_with 75
    says 'pod-3: the host key has CHANGED: .*\.ssh/of3:1 says another'
    run pod_hb --tree-width 2 -H pod-1,pod-2,pod-3 hostname
    ended_with 0
    all_clean
}

@test "an Open MPI program meets through the tree" {
    need mpicc.openmpi
    mpicc.openmpi -o "$BATS_FILE_TMPDIR/hello" "$HB_SRCDIR/examples/hello_mpi.c"
    run pod_hb --tree-width 2 -H "$workers" "$BATS_FILE_TMPDIR/hello"
    ended_with 0
    says '^rank 8 of 9 on pod-9$'
    says 'right$'
    all_clean
}

# CHILD PARENT of a host that has started no other.
leaf() {
    parents | awk '{ by[$1] = $2; has[$2] = 1 }
        END { for (h in by) if (!(h in has)) print h, by[h] }' | head -n 1
}

@test "an agent that was killed is told of through the tree as such" {
    local child parent
    start_lingerers
    read -r child parent < <(leaf) || other_shape
    pod "$child" kill -KILL "$(agent_in "$child")"
    job_ends
    ended_with 75
    says "host pod-$child: .*only the agent there was killed, by hand or for want"
    all_clean
}

# Of a host whose agent another one has started: what its parent sends does not
# come, and the parent hears it.
@test "half-open: what an agent said last comes through the tree" {
    local child parent
    # Without a server: what libpmix leaks would be a sanitized one's last words.
    start_sleepers --heartbeat 1 --pmi none
    read -r child parent < <(leaf) || other_shape
    pod "$child" iptables -A INPUT -s "10.77.0.$((parent + 1))" -p tcp \
        -m length --length 80: -j DROP ||
        { pod 0 sh -c 'kill -TERM "$(cat /tmp/launcher)"'; skip 'no iptables'; }
    job_ends
    pod "$child" iptables -F
    ended_with 75
    says "host pod-$child: .*it said: \"hpcbootd: the way to hbrun: no sign of life for [0-9.]+ s; the ranks here were ended\"\$"
    all_clean
}

@test "stdin reaches all, output of all comes, byte for byte" {
    head -c 3000000 /dev/urandom > "$BATS_FILE_TMPDIR/bytes"
    # shellcheck disable=SC2016  # expanded in the pod
    run pod 0 bash -c 'cd "$0"; exec "$@" < bytes' "$BATS_FILE_TMPDIR" \
        "$hbrun" --tree-width 2 --stdin all -H "$workers" sha256sum
    ended_with 0
    want=$(sha256sum < "$BATS_FILE_TMPDIR/bytes")
    [ "$(grep -cFx "$want" <<< "$output")" -eq 9 ]
}

@test "--report-timing through the tree, of hosts whose clocks are days apart" {
    need python3
    unshare --fork --time --monotonic 1000 true || skip 'no time namespaces'
    # shellcheck disable=SC2016  # expanded in the pod
    printf '%s\n' '#!/bin/bash' 'n=${HOSTNAME#pod-}' \
        'exec unshare --fork --time --monotonic $((n * 100000)) \
            bash -c "$SSH_ORIGINAL_COMMAND"' > "$BATS_FILE_TMPDIR/shift"
    chmod +x "$BATS_FILE_TMPDIR/shift"
    for i in 1 2 3 4 5 6 7 8 9; do
        pod "$i" cp .ssh/authorized_keys /tmp/keys
        "$podlab" vary "$i" forced "$BATS_FILE_TMPDIR/shift"
    done
    run pod_hb --tree-width 2 --report-timing --events timing -H "$workers" \
        python3 -c 'import time; print(int(time.monotonic()))'
    for i in 1 2 3 4 5 6 7 8 9; do
        pod "$i" cp /tmp/keys .ssh/authorized_keys
    done
    ended_with 0
    grep -q host_started_by "$BATS_FILE_TMPDIR/timing"
    for phase in resolve connect authenticate agent spawn 'first output'; do
        says "^hbrun: $phase +9 "
    done
    # Not one phase took a day; and the clocks were days apart.
    python3 -c '
import json, sys
rows = [e for e in map(json.loads, open(sys.argv[1])) if e["event"] == "timing"]
assert len(rows) == 8, rows
assert all(0 <= e["min_ms"] <= e["median_ms"] <= e["p99_ms"] <= e["max_ms"]
           < 90_000 for e in rows), rows' "$BATS_FILE_TMPDIR/timing"
    awk '/^[0-9]+$/ { n++; if (min == "" || $0 < min) min = $0
            if ($0 > max) max = $0 }
        END { exit !(n == 9 && max - min >= 700000) }' <<< "$output"
}

@test "a host that is used as a relay only stays until those below are done" {
    run pod_hb --tree-width 2 -n 3 -H "$workers" --label hostname
    ended_with 0
    says '^\[2\] ?pod-3$'
    printf 'pod-%d\n' 1 2 3 4 5 6 7 8 9 > "$BATS_FILE_TMPDIR/hosts"
    run pod_hb --tree-width 2 --hostfile hosts --map-by ppr:1:node -n 9 true
    ended_with 0
    all_clean
}

@test "a rank that fails below: its host is named, all ends" {
    # shellcheck disable=SC2016  # expanded by the rank
    run pod_hb --tree-width 2 -H "$workers" bash -c \
        'test $HPCBOOT_RANK != 8 || exit 3; exec sleep 1000'
    ended_with 3
    says 'rank 8 on pod-9 exited with status 3'
    all_clean
}

# With one the link to pod-3 would be a process of its parent's, as ranks are.
@test "hosts that start others read no ssh_config of their own" {
    local i
    for i in 1 2; do
        # shellcheck disable=SC2016  # expanded in the pod
        pod $i bash -c 'printf "ProxyCommand bash -c \"touch /tmp/proxied; %s\"\n" \
            "exec 3<>/dev/tcp/%h/%p; cat <&3 & exec cat >&3" > .ssh/config'
    done
    pod 3 rm -f /tmp/go
    # shellcheck disable=SC2016  # expanded in the rank
    pod_job "$hbrun" --tree-width 2 \
        --events /tmp/proxyless -H pod-1,pod-2,pod-3 bash -c \
        'until [ "$HPCBOOT_RANK" != 2 ] || [ -e /tmp/go ]; do sleep 0.05; done'
    wait_until two_have_ended
    pod 3 touch /tmp/go
    pod_job_ends
    for i in 1 2; do pod $i rm .ssh/config; done
    ended_with 0
    for i in 1 2; do pod $i test ! -e /tmp/proxied; done
    all_clean
    pod 0 grep -q '"host_started_by","host":"pod-3"' /tmp/proxyless ||
        skip 'the tree has another shape this time'
}
two_have_ended() {
    [ "$(pod 0 grep -c '"rank_exit"' /tmp/proxyless || true)" -ge 2 ]
}

@test "a host without a key starts no others" {
    pod 1 mv /root/.ssh/id_ed25519 /tmp/away
    run pod_hb --tree-width 2 --events keyless -H "$workers" true
    pod 1 mv /tmp/away /root/.ssh/id_ed25519
    ended_with 0
    ! grep -q 'host_started_by.*"detail":"pod-1"' "$BATS_FILE_TMPDIR/keyless"
}

@test "a host that no other host can reach is started by the launcher" {
    for i in 1 2 3 4 5 6 7 8; do
        pod "$i" sh -c 'sed "/pod-9/d" /etc/hosts > /tmp/hosts
            mount --bind /tmp/hosts /etc/hosts'
    done
    run pod_hb --tree-width 2 --label -H "$workers" hostname
    for i in 1 2 3 4 5 6 7 8; do
        pod "$i" umount /etc/hosts
    done
    ended_with 0
    says '^\[8\] ?pod-9$'
}

@test "unknown hosts are told as without a tree" {
    run pod_hb --tree-width 2 --wait-hosts 0 -H "$workers,nosuch.invalid" true
    ended_with 75
    says 'nosuch\.invalid'
    all_clean
}

@test "host keys that the launcher alone knows are good for parents" {
    for i in 1 2 3 4 5 6 7 8 9; do
        pod "$i" mv /root/.ssh/known_hosts /tmp/known
    done
    in_a_tree trust pod_hb --tree-width 2 --host-keys strict --events trust \
        -H "$workers" true
    for i in 1 2 3 4 5 6 7 8 9; do
        pod "$i" mv /tmp/known /root/.ssh/known_hosts
    done
    ended_with 0
    [ "$(others_have_started trust)" -ge 3 ]
}

# 60 MB for all workers, in the folder that only pod-0 writes to; $sum is its.
make_big() {
    openssl enc -aes-128-ctr -pass pass:x -nosalt -md sha256 -in /dev/zero \
        2> /dev/null | head -c 60000000 > "$BATS_FILE_TMPDIR/big"
    sum=$(sha256sum < "$BATS_FILE_TMPDIR/big" | cut -d' ' -f1)
}

@test "files travel down the tree, whole and with the width asked for" {
    need openssl
    make_big
    in_a_tree files pod_hb --payload-width 2 --explain --events files \
        --preload-files big --set-cwd-to-session-dir -H "$workers" \
        sha256sum big
    ended_with 0
    [ "$(grep -c "^$sum  big$" <<< "$output")" -eq 9 ]
    says 'tree: hosts start others'
    [ "$(others_have_started files)" -ge 3 ]
    run pod_hb --tree-width 2 --payload-width 1 --explain -s -H "$workers" \
        hostname
    ended_with 0
    says 'tree: none'
    all_clean
}

@test "relays without ranks pass files on; a host that has no room is named" {
    need openssl
    make_big
    run pod_hb --payload-width 2 -n 3 --preload-files big \
        --set-cwd-to-session-dir -H "$workers" sha256sum big
    ended_with 0
    [ "$(grep -c "^$sum  big$" <<< "$output")" -eq 3 ]
    pod 9 mount -o remount,size=4m /tmp
    run pod_hb --payload-width 2 --preload-files big -H "$workers" true
    pod 9 mount -o remount,size=0 /tmp
    ended_with 75
    says 'pod-9.*big'
    all_clean
}

@test "a host that takes no more holds the files up, and fills no memory" {
    need openssl
    make_big
    rm -f "$BATS_FILE_TMPDIR/slow" "$BATS_FILE_TMPDIR/seen"
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'cd "$0"; exec "$@" > out 2> err' "$BATS_FILE_TMPDIR" \
        "$hbrun" --heartbeat 0 --payload-width 2 --events slow \
        --preload-files big --set-cwd-to-session-dir -H "$workers" bash -c \
        'sha256sum big; until [ -e "$0/seen" ]; do sleep 0.1; done' \
        "$BATS_FILE_TMPDIR" &
    job=$!
    # shellcheck disable=SC2317  # called by wait_until
    has_begun() {
        stopped=$(sed -n 's/.*host_started_by","host":"pod-\([0-9]*\)".*/\1/p' \
            "$BATS_FILE_TMPDIR/slow" 2> /dev/null | head -n 1)
        [ -n "$stopped" ]
    }
    wait_until has_begun
    above=$(sed -n "s/.*host_started_by\",\"host\":\"pod-$stopped\",\
\"detail\":\"pod-\([0-9]*\)\".*/\1/p" "$BATS_FILE_TMPDIR/slow" | tail -n 1)
    wait_until pod "$stopped" bash -c 'ls /tmp/hpcboot-*/files/big'
    "$podlab" freeze "$stopped"
    # Whatever comes, the launcher and the agent above hold a window, no file. A
    # sanitizer keeps what is freed.
    most=$(pod "$above" sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' \
        "/proc/$(agent_in "$above")/status")
    is_sanitized || [ "$most" -lt 60000 ]
    touch "$BATS_FILE_TMPDIR/seen"
    "$podlab" thaw "$stopped"
    ends $job
    [ "$status" -eq 0 ] || cat "$BATS_FILE_TMPDIR/err"
    [ "$(grep -c "^$sum  big$" "$BATS_FILE_TMPDIR/out")" -eq 9 ]
    all_clean
}

@test "restart-job: a host is lost while files are copied, and no other" {
    need openssl
    local try
    make_big
    for try in 1 2 3 4 5; do
        copy_and_freeze
        [ "$copied" -eq 60000000 ] || break
        [ $try -lt 5 ] || skip 'the files were copied too soon'
        touch "$BATS_FILE_TMPDIR/enough"
        "$podlab" thaw "$slow"
        ends $job
        all_clean
    done
    pod "$victim" kill -KILL "$(agent_in "$victim")"
    wait_until grep -q '"job_restart"' "$BATS_FILE_TMPDIR/cut"
    "$podlab" thaw "$slow"
    ends $job
    output=$(cat "$BATS_FILE_TMPDIR/err" "$BATS_FILE_TMPDIR/out")
    ended_with 0
    says "waiting for the lost ones: pod-$victim\$"
    for i in 1 2 3 4 5 6 7 8 9; do says "^pod-$i\$"; done
    all_clean
}
# A job whose first ranks wait, so that its files are there. Its host $slow, to
# which $copied bytes have come, is frozen. $victim is not below it, nor above.
copy_and_freeze() {
    rm -f "$BATS_FILE_TMPDIR"/{enough,cut}
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'cd "$0"; exec "$@" > out 2> err' "$BATS_FILE_TMPDIR" \
        "$hbrun" --heartbeat 0 --payload-width 2 --events cut \
        --on-failure restart-job --restart-delay 0 --wait-hosts 60 \
        --preload-files big -H "$workers" bash -c \
        'until [ "$HPCBOOT_RESTART" != 0 ] || [ -e "$0/enough" ]; do
            sleep 0.1
        done; hostname' "$BATS_FILE_TMPDIR" &
    job=$!
    # Two hosts that others have started.
    # shellcheck disable=SC2317  # called by wait_until
    has_begun() {
        read -r slow victim < <(sed -n \
            's/.*"host_started_by","host":"pod-\([0-9]*\)","detail":"pod-\([0-9]*\)".*/\1 \2/p' \
            "$BATS_FILE_TMPDIR/cut" 2> /dev/null |
            awk '{ by[$1] = $2 }
                 function below(a, b) {
                     for (; a in by; a = by[a]) { if (by[a] == b) return 1 }
                     return 0
                 }
                 END { for (a in by) for (b in by)
                     if (a != b && !below(a, b) && !below(b, a)) {
                         print a, b; exit
                     } }')
        [ -n "$victim" ] && pod "$slow" bash -c 'ls /tmp/hpcboot-*/files/big'
    }
    wait_until has_begun
    "$podlab" freeze "$slow"
    # Its first process is seen from here; nothing can be begun in it.
    copied=$(stat -c %s "/proc/$("$podlab" list | awk -v i="$slow" \
        '$1 == i { print $4 }')"/root/tmp/hpcboot-*/files/big)
}

@test "INT while files are copied ends all" {
    need openssl
    make_big
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'cd "$0"; echo $$ > /tmp/launcher; exec "$@" 2> err' \
        "$BATS_FILE_TMPDIR" "$hbrun" --payload-width 2 --preload-files big \
        -H "$workers" sleep 1000 &
    job=$!
    wait_until pod 1 bash -c 'ls /tmp/hpcboot-*/files/big'
    pod 0 sh -c 'kill -INT $(cat /tmp/launcher)'
    ends $job
    ended_with 130
    all_clean
}

@test "an inner agent is killed" {
    start_sleepers
    i=$(inner)
    [ -n "$i" ] || other_shape
    pod "$i" kill -KILL "$(agent_in "$i")"
    job_ends
    ended_with 75
    says "host pod-$i"
    all_clean
}

@test "an inner host is stopped: noticed, and all others end" {
    start_sleepers --heartbeat 1
    i=$(inner)
    [ -n "$i" ] || other_shape
    pod "$i" kill -STOP "$(agent_in "$i")"
    job_ends
    ended_with 75
    says "host pod-$i"
    all_clean
}

@test "the network of an inner host is cut: noticed, all below clean up" {
    start_sleepers --heartbeat 1
    i=$(inner)
    [ -n "$i" ] || other_shape
    "$podlab" link "$i" down
    job_ends
    "$podlab" link "$i" up
    ended_with 75
    says "host pod-$i"
    all_clean
}

@test "the launcher is killed by SIGKILL" {
    start_sleepers
    pod 0 sh -c 'kill -KILL $(cat /tmp/launcher)'
    wait $job || true
    all_clean
}

@test "INT ends all" {
    start_sleepers
    pod 0 sh -c 'kill -INT $(cat /tmp/launcher)'
    job_ends
    ended_with 130
    all_clean
}

@test "an agent dies while the gang connects: a host is named, or all run" {
    # shellcheck disable=SC2016  # expanded in the pod
    pod 1 bash -c 'nohup bash -c "until pid=\$(pgrep -n -x hpcbootd); do
        :; done; sleep 0.05; kill -KILL \$pid" > /dev/null 2>&1 &'
    run pod_hb --tree-width 2 --wait-hosts 20 --label -H "$workers" hostname
    [ "$status" -eq 0 ] || { ended_with 75; says 'pod-1'; }
    all_clean
}
