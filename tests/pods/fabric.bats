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
    answered pod_hb --preflight -H pod-0,pod-1 echo started
    ended_with 0
    [ "$(grep -c '^started$' <<< "$output")" -eq 2 ]
    answered pod_hb --preflight -H pod-0,pod-1 nosuchprogram
    ended_with 75
    says 'preflight: program: .* and others: nosuchprogram is not found'
}

extra_on() { # POD...: a device of one network, which other pods do not have
    local i
    for i; do
        pod "$i" ip link add extra type veth peer name extra-end
        pod "$i" ip link set extra up
        pod "$i" ip link set extra-end up
        pod "$i" ip addr add "10.78.0.1$i/24" dev extra
    done
}

# One of two hosts, the one below the other, has answered when both are lost for
# good; then those answer that are left.
@test "a preflight does not wait for the probe of a host that is no more" {
    local child parent took i prefix=$BATS_TEST_TMPDIR/prefix
    need python3
    lab_up below 5
    mkdir -p "$prefix/sbin"
    cat > "$prefix/sbin/hpcbootd" <<END
#!/bin/sh
[ ! -e /tmp/dead ] || exit 1
echo \$\$ > /tmp/agent
exec python3 -B $fakes/held_link.py EXAMINED /tmp/let /tmp/said \
    $HB_BUILDDIR/hpcbootd "\$@"
END
    chmod +x "$prefix/sbin/hpcbootd"
    event() { # NAME [POD]
        pod 0 grep -s "\"event\":\"$1\",\"host\":\"pod-$2" /tmp/events
    }
    pod_job "$hbrun" --preflight --tree-width 2 \
        --np 1:4 --on-failure continue --wait-hosts 60 --events /tmp/events \
        --prefix "$prefix" -H pod-1:1,pod-2:1,pod-3:1,pod-4:1 echo ran
    for i in 1 2 3 4; do wait_until event host_ready $i; done
    read -r child parent < <(event host_started_by | head -n 1 |
        sed 's/.*"pod-\(.\)".*"pod-\(.\)".*/\1 \2/')
    took=$(pod 0 sed -nE "s/^\{\"time\":([0-9.]+),.*\"host_(started_by|ready)\",\
\"host\":\"pod-$child\".*/\1/p" /tmp/events |
        awk 'NR == 1 { begun = $1 } END { print int($1 - begun) }')
    if [ "$took" -ge 5 ]; then # its login went back to hbrun
        for i in 1 2 3 4; do
            pod $i touch /tmp/let.0 /tmp/let.1 /tmp/let.2 /tmp/let.3
        done
        pod_job_ends
        skip 'the tree has another shape this time'
    fi
    pod "$child" touch /tmp/dead "/tmp/let.$((child - 1))"
    pod "$parent" touch /tmp/dead "/tmp/let.$((child - 1))"
    wait_until pod "$parent" test -e "/tmp/said.$((child - 1))"
    # shellcheck disable=SC2016  # expanded in the pod
    pod "$parent" sh -c 'kill -KILL $(cat /tmp/agent)'
    wait_until event host_lost "$parent"
    wait_until event host_lost "$child"
    for i in 1 2 3 4; do
        pod $i touch /tmp/let.0 /tmp/let.1 /tmp/let.2 /tmp/let.3
    done
    pod_job_ends
    ended_with 0
    says '^ran$'
    says_not 'preflight:'
}

# The agent is the ranks' parent.
@test "a spare without a way to the others' network takes no part, and the next one does" {
    lab_up spare 4
    extra_on 0 1 3
    # shellcheck disable=SC2016  # expanded in the ranks
    run pod_hb -H pod-0,pod-1,pod-2,pod-3 --spares 2 -n 2 --fabric extra \
        --on-failure respawn sh -c '
            echo "rank $HPCBOOT_RANK on $(hostname) by ${GLOO_SOCKET_IFNAME:-none}"
            [ "$HPCBOOT_RANK" = 0 ] || [ "$HPCBOOT_RESTART" != 0 ] ||
                kill -KILL $PPID'
    ended_with 0
    says 'host pod-2 did not come .*: --fabric extra: it has no way of its own to 10.78.0.0/24'
    says '^rank 1 on pod-3 by extra$'
}

# It is logged in to before it can be asked, each time.
@test "a newcomer without a way to the others' network is told of once" {
    lab_up newcomer 4
    extra_on 1 3
    refused() { # N: times
        [ "$(pod 0 grep -c '"host_not_taken","host":"pod-2"' /tmp/events)" \
            -ge "$1" ]
    }
    pod 0 sh -c 'echo pod-1:1 > /tmp/hosts'
    # shellcheck disable=SC2016  # expanded in the ranks
    pod_job "$hbrun" --np 1:2 --fabric extra \
        --hostfile /tmp/hosts --on-failure continue --restart-delay 100ms \
        --events /tmp/events sh -c ': > /tmp/started
            until [ -e /tmp/go ]; do sleep 0.05; done'
    wait_until pod 1 test -e /tmp/started
    pod 0 sh -c 'printf "pod-1:1\npod-2:1\n" > /tmp/hosts'
    wait_until refused 3
    pod 0 sh -c 'printf "pod-2:1\npod-1:1\npod-3:1\n" > /tmp/hosts'
    wait_until pod 3 test -e /tmp/started
    pod 1 touch /tmp/go
    pod 3 touch /tmp/go
    pod_job_ends
    ended_with 0
    [ "$(grep -c 'host pod-2.*cannot be taken in' <<< "$output")" = 1 ]
    says 'cannot be taken in: --fabric extra: it has no way of its own to'
    pods_clean 0 1 2 3
}

# It is taken in twice, as one is that may come up the next time.
@test "a job that is started again leaves a newcomer out that has no way to the others' network" {
    lab_up again 3
    extra_on 1
    said() { pod 0 grep -q "$@" /tmp/err; }
    pod 0 sh -c 'echo pod-1:1 > /tmp/hosts'
    # shellcheck disable=SC2016  # expanded in the ranks
    pod_job "$hbrun" --np 1:2 --fabric extra \
        --hostfile /tmp/hosts --on-failure restart-job --restart-delay 100ms \
        sh -c 'echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE life $HPCBOOT_RESTART"
            : > "/tmp/life.$HPCBOOT_RESTART"
            until [ -e "/tmp/fail.$HPCBOOT_RESTART" ]; do
                [ ! -e /tmp/go ] || exit 0
                sleep 0.05
            done
            exit 5'
    wait_until pod 1 test -e /tmp/life.0
    pod 0 sh -c 'printf "pod-1:1\npod-2:1\n" > /tmp/hosts'
    wait_until pod 1 test -e /tmp/life.1
    said 'host pod-2 takes no part: --fabric extra: it has no way of its own to'
    said 'going on with 1 of 2 hosts'
    pod 1 touch /tmp/fail.1
    wait_until pod 1 test -e /tmp/life.3
    pod 1 touch /tmp/fail.3
    wait_until pod 1 test -e /tmp/life.4
    pod 1 touch /tmp/go
    pod_job_ends
    ended_with 0
    [ "$(grep -c 'host pod-2 has come into the gang' <<< "$output")" = 2 ]
    says '^rank 0 of 1 life 4$'
    pods_clean 0 1 2
}

@test "a job that is started again does without a spare that has no way to the others' network" {
    lab_up instead 4
    extra_on 0 1 3
    # shellcheck disable=SC2016  # expanded in the ranks
    run pod_hb -H pod-0,pod-1,pod-2,pod-3 --spares 2 -n 2 --fabric extra \
        --on-failure restart-job --restart-delay 100ms sh -c '
            echo "rank $HPCBOOT_RANK on $(hostname) by ${GLOO_SOCKET_IFNAME:-none}"
            [ "$HPCBOOT_RANK" = 0 ] || [ "$HPCBOOT_RESTART" != 0 ] ||
                kill -KILL $PPID'
    ended_with 0
    says 'host pod-2 takes no part: --fabric extra: it has no way of its own to'
    says '^rank 1 on pod-3 by extra$'
}
