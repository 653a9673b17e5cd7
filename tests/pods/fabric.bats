#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# --fabric over several hosts that have no RDMA: what they share, each told in
# its own names.

load ../common

teardown() { lab_down; }

@test "pods agree on the network that joins them, each by its own device" {
    lab_up share 2
    run pod_hb -H pod-0,pod-1 --fabric auto --explain \
        sh -c 'echo "[$GLOO_SOCKET_IFNAME $UCX_NET_DEVICES]"'
    ended_with 0
    says '^\[([^ ]+) \1\]$'
    [ "$(grep -c '^\[' <<< "$output")" -eq 2 ]
    says 'fabric: tcp on 2 hosts \(--fabric auto'
    says 'RoCE: not on pod-0: it has no RoCE port'
}

@test "a device that not all pods have is refused, with the pod's name" {
    lab_up lone 2
    pod 1 ip link add only1 type veth peer name only2
    pod 1 ip link set only2 up
    pod 1 ip addr add 10.78.0.1/24 dev only1
    pod 1 ip link set only1 up
    run pod_hb -H pod-0,pod-1 --fabric only1 true
    ended_with 2
    says 'pod-0 has no device only1'
}

@test "RoCE that is demanded names the pod that lacks it" {
    lab_up demand 2
    run pod_hb -H pod-0,pod-1 --fabric roce true
    ended_with 2
    says 'the hosts do not share RoCE: .*not on pod-0'
}

@test "a preflight examines every pod, and the job starts where none is bad" {
    lab_up flight 2
    run pod_hb --preflight -H pod-0,pod-1 echo started
    ended_with 0
    [ "$(grep -c '^started$' <<< "$output")" -eq 2 ]
    run pod_hb --preflight -H pod-0,pod-1 nosuchprogram
    ended_with 75
    says 'preflight: program: .* and others: nosuchprogram is not found'
}
