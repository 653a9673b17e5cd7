#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Hosts that share two networks: both carry what is long, and either may be cut.

load ../common

setup_file() { lab_up rails 3 --networks 2; }
teardown_file() { lab_down; }
setup() { net=$HB_BUILDDIR/tests/cli/apinet; }
teardown() {
    "$podlab" link 1 up 0
    "$podlab" link 1 up 1
}

by() { pod_hb -x HPCBOOT_TRANSPORTS=tcp "$@"; }
# came NETWORK: bytes that pod-1 has got by it.
came() { pod 1 cat "/sys/class/net/eth$1/statistics/rx_bytes"; }

# dropped I: packets, by its only rule.
dropped() { pod "$1" iptables -nvxL INPUT | awk '/DROP/ { print $1 }'; }

@test "what a pair uses is told: both networks" {
    run by -H pod-0,pod-1 "$net" rails
    ended_with 0
    says '^rank 0 to 1: tcp 10\.7[78]\.0\.2:[0-9]+ \+ 10\.7[78]\.0\.2:'
    says '^rank 1 to 0: tcp 10\.7[78]\.0\.1:[0-9]+ \+ 10\.7[78]\.0\.1:'
}

@test "one network only, where the user wants so" {
    run by -x HPCBOOT_RAILS=1 -H pod-0,pod-1 "$net" star
    ended_with 0
    says '^rank 0 to 1: tcp 10\.7[78]\.0\.2:'
    [[ $output != *' + '* ]]
    run by -x HPCBOOT_RAILS=none -H pod-0,pod-1 "$net" star
    says 'HPCBOOT_RAILS: "none" is no number from 1 to 4'
}

@test "a net device that --fabric names carries all there is" {
    local n
    for n in 0 1; do
        run by --fabric eth$n -H pod-0,pod-1 "$net" star
        ended_with 0
        says "^rank 0 to 1: tcp 10\\.7$((7 + n))\\.0\\.2:"
        says "^rank 1 to 0: tcp 10\\.7$((7 + n))\\.0\\.1:"
        [[ $output != *' + '* ]]
    done
}

# Rank 0 calls more peers than its host has ports to call from.
@test "rails take no port that the next connection could have" {
    local range=/proc/sys/net/ipv4/ip_local_port_range
    pod 0 sh -c "cat $range > /tmp/range && cat /tmp/range > $range" ||
        skip "no setting of a pod's own here"
    # shellcheck disable=SC2016  # expanded by the ranks
    run by -H pod-0:1,pod-1:8 sh -c '
        [ "$HPCBOOT_RANK" != 0 ] || echo 41000 41005 > "$0"
        exec "$@"' "$range" "$net" turns
    pod 0 sh -c "cat /tmp/range > $range"
    ended_with 0
}

# As of a switch whose MTU is below that of the hosts, which hear nothing of it:
# calls are taken there, and nothing long comes.
@test "a network that takes short packets only, and the first message is long" {
    pod 1 iptables -A INPUT -i eth0 -p tcp ! --dport 22 -m length \
        --length 1200:65535 -j DROP || skip 'no iptables'
    run by --heartbeat 60 -x HPCBOOT_LOST_AFTER=3000 -H pod-0,pod-1 "$net" \
        turns 20000
    lost=$(dropped 1)
    pod 1 iptables -F
    ended_with 0
    [ "$lost" -gt 0 ]
}

# As of a policy that lets logins through and nothing else.
@test "a network that has led to nobody comes last for the next peer" {
    local i tried=()
    for i in 1 2; do
        pod $i iptables -A INPUT -i eth0 -p tcp --syn ! --dport 22 -j DROP ||
            skip 'no iptables'
    done
    run by -x HPCBOOT_RAILS=1 -H pod-0,pod-1,pod-2 "$net" turns
    for i in 1 2; do tried[i]=$(dropped $i); pod $i iptables -F; done
    ended_with 0
    [ "${tried[1]}" -gt 0 ]
    [ "${tried[2]}" -eq 0 ]
}

@test "hosts that let logins through and nothing else: which ports it is about" {
    local i range
    range=$(pod 0 cat /proc/sys/net/ipv4/ip_local_port_range)
    for i in 0 1; do
        pod $i iptables -A INPUT ! -i lo -p tcp --syn ! --dport 22 -j REJECT ||
            skip 'no iptables'
    done
    run by -H pod-0,pod-1 "$net" turns
    for i in 0 1; do pod $i iptables -F; done
    ended_with 75
    says "do not reach each other, and hbrun reaches both; .*must let TCP ports ${range/[[:space:]]/-} through between hosts \(net.ipv4.ip_local_port_range"
    says_not '127\.0\.0\.1|::1' # which are no way to another host
}

@test "networks are counted by their devices, however many addresses these have" {
    local n i
    for n in 0 1; do
        for i in 1 2 3; do
            pod $n ip address add 10.99.$i.$((n + 1))/24 dev eth0 label eth0:$i
        done
    done
    run by -x HPCBOOT_RAILS=2 -H pod-0,pod-1 "$net" rails
    for n in 0 1; do
        for i in 1 2 3; do
            pod $n ip address del 10.99.$i.$((n + 1))/24 dev eth0
        done
    done
    ended_with 0
    says '^rank 0 to 1: tcp .*10\.78\.0\.2:' # eth1's
}

@test "both networks carry what is long" {
    local before=() n
    for n in 0 1; do before+=("$(came $n)"); done
    run by -H pod-0,pod-1 "$HB_BUILDDIR/hpcboot" perf allreduce:4M \
        --time 1s
    ended_with 0
    for n in 0 1; do
        [ $(($(came $n) - before[n])) -gt $((4 << 20)) ] ||
            { echo "network $n: ${before[n]}, $(came $n)"; false; }
    done
}

no_quota() {
    local i
    for i in 0 1; do pod $i tc qdisc del dev eth1 root 2> /dev/null || :; done
}
# Of pods without a quota, what drivers say of both is the same.
@test "a network with a quota holds up nobody" {
    local before=() n i
    for i in 0 1; do
        pod $i tc qdisc add dev eth1 root tbf rate 8mbit burst 32k \
            latency 400ms || { no_quota; skip 'a network takes no quota here'; }
    done
    for n in 0 1; do before+=("$(came $n)"); done
    run by -H pod-0,pod-1 "$net" much
    no_quota
    for n in 0 1; do before[n]=$(($(came $n) - before[n])); done
    ended_with 0
    [ $((before[1] * 8)) -lt "${before[0]}" ] ||
        { echo "${before[*]} bytes"; false; }
}

goes_on() { # NETWORK BYTES-BEFORE BYTES
    [ $(($(came "$1") - $2)) -gt "$3" ]
}
# survives_either BYTES WORD...: far more of these than was on its way when a
# network was cut comes by the other one.
survives_either() {
    local n
    for n in 0 1; do
        by --heartbeat 60 -x HPCBOOT_LOST_AFTER=3000 -H pod-0,pod-1 "$net" \
            "${@:2}" > "$BATS_TEST_TMPDIR/out$n" 2>&1 &
        wait_until grep -q 'rank 0 is at it' "$BATS_TEST_TMPDIR/out$n"
        "$podlab" link 1 down $n
        wait_until goes_on $((1 - n)) "$(came $((1 - n)))" "$1"
        "$podlab" link 1 up $n
        pod 0 pkill -x hbrun
        wait $! || true
        run ! grep hears "$BATS_TEST_TMPDIR/out$n"
    done
}

@test "either network is cut: all goes on by the other" {
    survives_either $((48 << 20)) rails until
}

@test "either network is cut of a pair that has sent nothing long" {
    survives_either $((1 << 20)) brief
}

@test "both networks are cut: who is gone is told" {
    by --heartbeat 60 -x HPCBOOT_LOST_AFTER=3000 -H pod-0,pod-1 "$net" \
        rails until > "$BATS_TEST_TMPDIR/out" 2>&1 &
    wait_until grep -q 'rank 0 is at it' "$BATS_TEST_TMPDIR/out"
    "$podlab" link 1 down 0
    "$podlab" link 1 down 1
    wait_until grep -q '^rank 0 hears: .*rank 1 on pod-1' \
        "$BATS_TEST_TMPDIR/out"
    "$podlab" link 1 up 0
    wait $! || true
}
