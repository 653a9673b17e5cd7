#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Messages between hosts, by each transport, over networks that are bad.

load ../common

setup_file() { lab_up net 3; }
teardown_file() { lab_down; }
setup() { net=$HB_BUILDDIR/tests/cli/apinet; }
teardown() {
    [ -z "${bad:-}" ] || pod 1 tc qdisc del dev "$bad" root
    "$podlab" link 1 up
}

# A sanitizer takes what lies before the thread-local memory of UCX's modules for
# the size of that, and reads it.
by() {
    pod_hb -x HPCBOOT_TRANSPORTS="$1" \
        -x ASAN_OPTIONS=intercept_tls_get_addr=0 "${@:2}"
}
# ends_well JOB FILE: a background job's words, as $output, tell why it did not.
ends_well() {
    ends "$1"
    output=$(cat "$BATS_TEST_TMPDIR/$2")
    ended_with 0
}
need_ucx() {
    [ -e "$HB_BUILDDIR/.libs/hb_ucx.so" ] || skip "built without UCX"
}
@test "messages between hosts that are given up" {
    run by tcp -H pod-1,pod-2 "$net" waive
    ended_with 0
    need_ucx
    run by ucx -H pod-1,pod-2 "$net" waive
    ended_with 0
}

@test "sockets that a library has taken from the kernel" {
    ! is_sanitized || skip 'a sanitizer stands before those functions itself'
    "${cc[@]}" -shared -fPIC -o "$BATS_FILE_TMPDIR/own.so" \
        "$fakes/own_sockets.c"
    run by tcp -x LD_PRELOAD="$BATS_FILE_TMPDIR/own.so" -H pod-1,pod-2 \
        "$net" soak 2 7
    ended_with 0
    [ "$(grep -c '^own sockets: sent and received$' <<< "$output")" -eq 2 ]
}

# netem_or_skip WORDS: pod-1's network from now on.
netem_or_skip() {
    local why
    bad=$(pod 1 ip -o route get 10.77.0.1 | sed 's/.* dev \([^ ]*\).*/\1/')
    why=$(pod 1 tc qdisc add dev "$bad" root netem "$@" 2>&1) || {
        bad=
        skip "no tc netem here: $why"
    }
}

@test "ranks of three hosts, by TCP" {
    run by tcp -H pod-0:2,pod-1,pod-2 "$net" ways
    ended_with 0
    says '^rank 0 to 1: shm'
    says '^rank 0 to 2: tcp .*10\.77\.0\.2'
    says '^rank 3 to 2: tcp '
}

@test "the same by UCX" {
    need_ucx
    run by ucx -H pod-0:2,pod-1,pod-2 "$net" ways
    ended_with 0
    says '^rank 0 to 1: shm'
    says '^rank 0 to 2: ucx tcp/'
    says '^rank 3 to 2: ucx tcp/'
    [[ $output != *UCX* ]]
}

@test "hosts whose wishes do not agree" {
    need_ucx
    # shellcheck disable=SC2016  # expanded by the ranks
    run pod_hb -H pod-0,pod-1 sh -c '
        case $HPCBOOT_RANK in 0) wish=tcp ;; *) wish=ucx ;; esac
        HPCBOOT_TRANSPORTS=$wish exec "$0" ways' "$net"
    says 'no transport is allowed at both ends \(here: HPCBOOT_TRANSPORTS='
}

@test "hosts with different transports, each pair by what both have" {
    need_ucx
    # shellcheck disable=SC2016  # expanded by the ranks
    run pod_hb -H pod-0,pod-1,pod-2 sh -c '
        case $HPCBOOT_RANK in 0) wish=tcp,ucx ;; 1) wish=tcp ;; *) wish=ucx ;;
        esac
        HPCBOOT_TRANSPORTS=$wish exec "$0" star' "$net"
    ended_with 0
    says '^rank 0 to 1: tcp '
    says '^rank 0 to 2: ucx tcp/'
    says '^rank 2 to 0: ucx tcp/'
}

@test "UCX that reaches no other host: no words of firewalls" {
    need_ucx
    run by ucx -x UCX_TLS=self -H pod-0,pod-1 "$net" ways
    ended_with 75
    says 'do not reach each other.* UCX: .*; HPCBOOT_TRANSPORTS=tcp does without UCX'
    says_not firewall
}

@test "UCX where it is not installed" {
    run pod_hb -x HPCBOOT_MODULE_DIR=/nowhere -x HPCBOOT_FABRIC=roce \
        -H pod-1,pod-2 "$net" ways
    says 'HPCBOOT_FABRIC=roce .--fabric.: this host has no such device'
}

@test "too few descriptors for UCX: words, and no abort" {
    need_ucx
    # shellcheck disable=SC2016  # expanded by the ranks
    run pod_hb -x HPCBOOT_TRANSPORTS=ucx -H pod-0,pod-1 \
        sh -c 'ulimit -n 20 && exec "$@"' - "$net" ways
    ended_with 1
    says 'HPCBOOT_TRANSPORTS=ucx: UCX takes many file descriptors, and ulimit -n'
}

@test "a fabric that --fabric auto found and a rank cannot use" {
    run pod_hb -x HPCBOOT_FABRIC=roce -x HPCBOOT_FABRIC_WISH=auto \
        -H pod-1:2,pod-2 "$net" ways
    ended_with 0
    says '^rank 0 to 2: tcp '
    says 'warning: host pod-1: rank [01]: --fabric auto found roce, but'
    says 'warning: host pod-2: rank 2: .*messages go over TCP: this host has'
    [ "$(grep -c 'auto found roce' <<< "$output")" -eq 2 ]
}

# Those that there are serve the ranks to be called at.
@test "no port is left to call from: the host's own want, and no cut" {
    local range
    range=$(pod 1 cat /proc/sys/net/ipv4/ip_local_port_range)
    pod 1 sysctl -qw net.ipv4.ip_local_port_range='43000 43001'
    run by tcp --heartbeat 600ms -H pod-1:2,pod-0 "$net" turns
    pod 1 sysctl -qw net.ipv4.ip_local_port_range="$range"
    ended_with 1
    says 'rank 2 on pod-0 cannot be reached: this rank has no local port left'
    says 'ip_local_port_range is 43000-43001 here'
    says_not 'do not reach each other'
}

@test "no port is left to be called at: of which there are to be more" {
    local range
    range=$(pod 1 cat /proc/sys/net/ipv4/ip_local_port_range)
    pod 1 sysctl -qw net.ipv4.ip_local_port_range='43000 43000'
    run by tcp -H pod-1:2,pod-0 "$net" turns
    pod 1 sysctl -qw net.ipv4.ip_local_port_range="$range"
    ended_with 1
    says 'no TCP port for ranks .*ip_local_port_range.*: Address already in use'
}

@test "no calls may be accepted: an error, and nobody waits" {
    local refuse
    refuse=$(fake refuse)
    "$refuse" accept4 true || skip 'no seccomp filter can be set here'
    run by tcp -H pod-1,pod-2 "$refuse" accept4 "$net" ways
    ended_with 1
    says 'no TCP port for ranks .*accept4.*: Operation not permitted'
}

@test "random traffic, by TCP and by UCX, leaves nothing behind" {
    local t
    for t in tcp ucx; do
        [ $t = tcp ] || need_ucx
        run by $t -H pod-0:2,pod-1,pod-2 "$net" soak "${HB_SOAK_S:-2}" 7
        ended_with 0
        says '^rank 3: [0-9]+ turns, 0 descriptors more'
    done
}

@test "packets that are late and lost" {
    netem_or_skip delay 2ms loss 1%
    run by tcp -H pod-0,pod-1,pod-2 "$net" soak 1 3
    ended_with 0
    says '^rank 1: [0-9]+ turns, 0 descriptors more'
}

@test "a link that is cut for a moment" {
    by tcp -H pod-1,pod-2 "$net" soak 6 5 > "$BATS_TEST_TMPDIR/out" 2>&1 &
    wait_until pod 1 pgrep -x apinet
    "$podlab" link 1 down
    sleep 2
    "$podlab" link 1 up
    ends_well $! out
    says '^rank 1: .* turns'
}

@test "a link that stays cut: who is gone is told before the agents know" {
    local t ways=tcp jobs=()
    [ ! -e "$HB_BUILDDIR/.libs/hb_ucx.so" ] || ways="tcp ucx"
    for t in $ways; do
        by "$t" --heartbeat 60 -H pod-0,pod-1 "$net" until \
            > "$BATS_TEST_TMPDIR/$t" 2>&1 &
        jobs+=($!)
        wait_until grep -q 'rank 0 is at it' "$BATS_TEST_TMPDIR/$t"
    done
    "$podlab" link 1 down
    for t in $ways; do
        wait_until grep -q '^rank 0 hears: .*rank 1 on pod-1' \
            "$BATS_TEST_TMPDIR/$t"
    done
    "$podlab" link 1 up
    for t in "${jobs[@]}"; do wait "$t" || true; done
}

# As container engines make them; the system names IPv4 addresses first.
@test "hosts with many bridges, and a network of IPv6" {
    local i k
    for i in 0 1; do
        for k in {1..9}; do
            pod $i ip link add "br$k" type bridge || skip "no bridges here"
            pod $i ip addr add "172.1$k.0.1/16" dev "br$k"
            pod $i ip link set "br$k" up
        done
        pod $i ip addr add "fd00:77::$((i + 1))/64" dev eth0 nodad
        pod $i ip addr del "10.77.0.$((i + 1))/16" dev eth0
    done
    run by tcp --host-keys pin -H '[fd00:77::1],[fd00:77::2]' "$net" ways
    for i in 0 1; do
        for k in {1..9}; do
            pod $i ip link del "br$k"
        done
        pod $i ip addr add "10.77.0.$((i + 1))/16" dev eth0
        pod $i ip addr del "fd00:77::$((i + 1))/64" dev eth0
    done
    ended_with 0
    says '^rank 0 to 1: tcp \[fd00:77::2\]:'
}

@test "hosts that have link-local addresses alone" {
    local i
    for i in 0 1; do
        pod $i ip addr add "fe80::77:$((i + 1))/64" dev eth0 nodad
        pod $i ip addr del "10.77.0.$((i + 1))/16" dev eth0
    done
    run by tcp --host-keys pin -H '[fe80::77:1%eth0],[fe80::77:2%eth0]' "$net" ways
    for i in 0 1; do
        pod $i ip addr add "10.77.0.$((i + 1))/16" dev eth0
        pod $i ip addr del "fe80::77:$((i + 1))/64" dev eth0
    done
    ended_with 0
    says '^rank 0 to 1: tcp \[fe80::77:2\]:'
}

# The system itself would go on to ask for room for as long as it is told to.
@test "a pair that is cut while one of the two takes nothing" {
    local job asks=/proc/sys/net/ipv4/tcp_retries2
    need ss
    pod 0 sh -c "echo 255 > $asks" || skip "no setting of a pod's own here"
    by tcp --heartbeat 60 -H pod-0,pod-1 "$net" full \
        > "$BATS_TEST_TMPDIR/out" 2>&1 &
    job=$!
    # shellcheck disable=SC2317  # called by wait_until
    is_full() { pod 0 ss -tno | grep -q 'timer:(persist'; }
    wait_until is_full
    "$podlab" pair 0 1 down
    wait_until grep -q '^rank 0 hears: .*rank 1 on pod-1' \
        "$BATS_TEST_TMPDIR/out"
    "$podlab" pair 0 1 up
    pod 0 sh -c "echo 15 > $asks"
    wait "$job" || true
}

@test "ranks that compute for long before they look at the network" {
    local t
    local -A job_of=()
    for t in tcp ucx; do
        [ $t = tcp ] || [ -e "$HB_BUILDDIR/.libs/hb_ucx.so" ] || continue
        by $t -H pod-0,pod-1,pod-2 "$net" late "${HB_LATE_S:-7}" \
            > "$BATS_TEST_TMPDIR/$t" 2>&1 &
        job_of[$t]=$!
    done
    for t in "${!job_of[@]}"; do
        ends_well "${job_of[$t]}" "$t"
        says '^rank 2 has got 42'
    done
}

# The other one asks what it does, and has no answer for longer than a host may
# be silent.
@test "a rank that computes for long in the midst of a collective" {
    local t
    for t in tcp ucx; do
        [ $t = tcp ] || [ -e "$HB_BUILDDIR/.libs/hb_ucx.so" ] || continue
        run by $t -H pod-0,pod-1 env HPCBOOT_LOST_AFTER=3000 "$net" busy 7
        ended_with 0
        says '^rank 0 has all of it'
        says '^rank 1 has all of it'
    done
}

@test "kill -9 of random ranks, by UCX" {
    need_ucx
    # UCX 1.13 aborts now and then when a peer dies that it is about to answer
    # for the first time: that says nothing of ours.
    for _ in 1 2 3 4; do
        run by ucx --on-failure continue -H pod-0:2,pod-1:2,pod-2:2 \
            "$HB_BUILDDIR/tests/cli/apistorm" 61 2 40
        [[ $output == *'Assertion `(req->send.wireup.type'* ]] || break
    done
    ended_with 137
    [ "$(grep -c "^rank [0-9]* has lost 2, " <<< "$output")" -eq 4 ] ||
        { echo "$output"; false; }
}

# The agents' heartbeats are short, and so is the wait for who is cut off.
@test "a host is cut off: the others shrink and go on" {
    local t ways=tcp
    [ ! -e "$HB_BUILDDIR/.libs/hb_ucx.so" ] || ways="tcp ucx"
    for t in $ways; do
        pod_job "$hbrun" --on-failure continue \
            --heartbeat 2 -x HPCBOOT_TRANSPORTS="$t" \
            -H pod-0:1,pod-1:1,pod-2:2 "$HB_BUILDDIR/tests/cli/apiprobe" survive
        # shellcheck disable=SC2317  # called by wait_until
        all_wait() { [ "$(pod 0 grep -sc 'waits$' /tmp/out)" = 4 ]; }
        wait_until all_wait
        "$podlab" link 1 down
        pod_job_ends
        "$podlab" link 1 up
        says '^rank 0 hears: rank 1 on pod-1 '
        says '^rank 0 goes on as 0 of 3'
        says '^rank 3 goes on as 2 of 3'
    done
}

@test "a rank that is stopped for a while" {
    by tcp -H pod-1,pod-2 "$net" soak 4 5 > "$BATS_TEST_TMPDIR/out" 2>&1 &
    wait_until pod 1 pgrep -x apinet
    pod 1 pkill -STOP -x apinet
    sleep 2
    pod 1 pkill -CONT -x apinet
    ends_well $! out
    says '^rank 1: .* turns'
}

@test "ranks that wait for another host leave the CPU to others" {
    local t ms
    for t in tcp ucx; do
        [ $t = tcp ] || [ -e "$HB_BUILDDIR/.libs/hb_ucx.so" ] || continue
        run by $t -H pod-0,pod-1,pod-2:2 "$net" idle 1
        ended_with 0
        while read -r ms; do
            [ "$ms" -lt 500 ] || { echo "$output"; false; }
        done < <(sed -n 's/.* waited 2000 ms by \([0-9]*\) ms.*/\1/p' \
            <<< "$output")
        says '^rank 3 has waited 2000 ms'
    done
}

@test "a host that is slow" {
    "$podlab" limit 1 0.1 || skip "no CPU quota here"
    run by tcp -H pod-0,pod-1,pod-2 "$net" soak 1 9
    "$podlab" limit 1 max
    ended_with 0
}
