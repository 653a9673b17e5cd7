# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Read before every job in the guest: two rxe devices whose packets cross a
# veth pair. Both addresses are local, so without the rules nothing would reach
# the wire.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C

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
