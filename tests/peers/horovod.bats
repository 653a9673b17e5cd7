#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Horovod on PyTorch.
#
# shellcheck disable=SC2034  # read by over4

load frameworks

@test "Horovod with Gloo: ranks add up" {
    horovod
    over4 horovodrun -np 4 --gloo "$python" "$programs/horovod_sum.py"
    four '^sum 10 of 4$'
    says_not 'ever connected'
}

# Four steps of four ranks, and six of three.
@test "Horovod, elastic: those that are left go on with the state" {
    horovod
    expect=(-137)
    over4 horovodrun --min-np 2 --max-np 4 --gloo-timeout-seconds 10 \
        "$python" "$programs/horovod_sum.py" lose
    ended_with 137
    [ "$(grep -c '^work 34 of 3$' <<< "$output")" -eq 3 ]
    says 'rank 2 on pod-2 was ended by signal 9'
}

@test "Horovod, elastic: a lost rank comes back and learns the state" {
    horovod
    over4 --on-failure respawn horovodrun -np 4 --gloo \
        --gloo-timeout-seconds 20 "$python" "$programs/horovod_sum.py" lose
    four '^work 40 of 4$'
}

elastic_horovodrun() { # MIN:MAX N OPTION...: until there are N
    pod_job env HPCBOOT_TIMEOUT="$HB_FRAMEWORK_LIMIT" "$hbrun" "${@:3}" \
        horovodrun --min-np "${1%:*}" --max-np "${1#*:}" \
        --host-discovery-script /tmp/discover --gloo-timeout-seconds 20 \
        "$python" "$programs/horovod_sum.py" grow "$2"
}
discovers() { # I...
    pod 0 bash -c '{ echo "#!/bin/sh"; printf "echo pod-%s:1\n" "$@"; } \
        > /tmp/discover.new; chmod 755 /tmp/discover.new
        mv /tmp/discover.new /tmp/discover' - "$@"
}

two_hosts_meet() { # MIN:MAX RANKS
    export HB_LIMIT=$HB_FRAMEWORK_LIMIT
    horovod
    pod 1 rm -f /tmp/met
    discovers 0 1
    elastic_horovodrun "$@"
    wait_until pod 1 test -e /tmp/met
}

@test "Horovod, elastic: hosts that come are taken in, with the state" {
    two_hosts_meet 1:4 4
    discovers 0 1 2
    wait_until pod 2 test -e /tmp/met
    discovers 0 1 2 3
    pod_job_ends
    four '^work 40 of 4$'
    pods_clean 0 1 2 3
}

@test "Horovod, elastic: a host goes, another one comes in its place" {
    two_hosts_meet 1:3 3
    discovers 0 2 3
    pod_job_ends
    ended_with 0
    [ "$(grep -c '^work 30 of 3$' <<< "$output")" -eq 3 ]
    pods_clean 0 1 2 3
}
