# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Read before every job in a guest: devices, and tests that print TAP.
# The console is a terminal: a progress line would get into the TAP.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C TERM=dumb
# The machine below may be busy with others.
export HPCBOOT_CONNECT_TIMEOUT=120 HPCBOOT_WAIT_HOSTS=120

# Two rxe devices whose packets cross a veth pair. Both addresses are local, so
# without the rules nothing would reach the wire.
wire() {
    local i sys=/proc/sys/net/ipv4/conf
    ip link add v0 type veth peer name v1
    for i in 0 1; do
        ip addr add "10.9.0.$((i + 1))/24" dev v$i
        ip addr add "fd00:9::$((i + 1))/64" dev v$i nodad
        ip link set v$i mtu 4200 up
        rdma link add rxe$i type rxe netdev v$i || return 1
        echo 1 > $sys/v$i/accept_local
        echo 0 > $sys/v$i/rp_filter
        ip rule add pref 1$i iif v$i lookup local
        ip rule add pref 2$i from "10.9.0.$((i + 1))" to "10.9.0.$((2 - i))" \
            lookup 10$i
        ip route add "10.9.0.$((2 - i))" dev v$i src "10.9.0.$((i + 1))" \
            table 10$i
    done
    echo 0 > $sys/all/rp_filter
    ip rule add pref 200 lookup local
    ip rule del pref 0
}

# A counter of an rxe device: counter rxe0 rcvd_pkts
counter() {
    cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

# One of a pair of guests: eth0 for all, eth1 with the rxe device.
wire_pair() {
    local i
    for i in 0 1; do
        ip addr add "10.9.$i.$((NODE + 1))/24" dev eth$i
        ip link set eth$i mtu 4200 up
    done
    rdma link add rxe0 type rxe netdev eth1
}

# Packets that a device received while a command ran: at least as many.
received() { # DEVICE COUNT COMMAND...
    local device=$1 count=$2 before
    shift 2
    before=$(counter "$device" rcvd_pkts)
    "$@" || return 1
    [ $(($(counter "$device" rcvd_pkts) - before)) -ge "$count" ]
}

n=0
# it WHAT COMMAND...: one test; its output is shown when it fails.
it() {
    local what=$1
    shift
    n=$((n + 1))
    if "$@" > /tmp/out 2>&1; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what"
        sed 's/^/# /' /tmp/out | tail -n 30
    fi
}
has() { # WORDS COMMAND...: it succeeds and prints them
    local words=$1
    shift
    "$@" > /tmp/has 2>&1 || { cat /tmp/has; return 1; }
    grep -qF -- "$words" /tmp/has || { cat /tmp/has; return 1; }
}
# fails WORDS COMMAND...: it fails and prints them
fails() {
    local words=$1
    shift
    ! "$@" > /tmp/has 2>&1 || { cat /tmp/has; return 1; }
    grep -qF -- "$words" /tmp/has || { cat /tmp/has; return 1; }
}
# shellcheck disable=SC2154  # build: of the tests
hb() { timeout -k 2 400 "$build/hbrun" "$@"; }

# comes WORDS FILE: they are there within three minutes.
comes() {
    local i
    for i in {1..900}; do
        ! grep -qE -- "$1" "$2" || return 0
        sleep 0.2
    done
    echo "never: $1"
    cat "$2"
    return 1
}

# a_death KILL COMMAND...: ranks that pass messages around are at it, one of
# them dies by KILL, and another is told, rather than ended by the transport.
a_death() {
    local kill=$1 job rc=0
    shift
    "$@" --on-failure continue "$build/tests/cli/apinet" until \
        > /tmp/death 2>&1 &
    job=$!
    comes '^rank 0 is at it' /tmp/death && $kill &&
        comes '^rank 0 hears: -7, .*rank 1 on .*' /tmp/death || rc=1
    wait $job
    return $rc
}
