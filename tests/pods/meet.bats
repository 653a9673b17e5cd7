#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
# Whether the ranks of a framework met: what agents see of their connections.

load ../common

setup_file() {
    lab_up meet 3
    cat > "$BATS_FILE_TMPDIR/meet.py" <<'END'
import os, socket, sys, time
rank, alone = int(os.environ["RANK"]), sys.argv[1:]
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
port = int(os.environ.get("FROM_PORT", "0"))
if rank == 0:
    s = socket.create_server(("", place[1]))
    # All have come before the first is sent away: no look falls in between,
    # but by chance.
    guests = [s.accept()[0] for _ in range(2 - len(alone))]
    for g in guests:
        g.close()
elif str(rank) not in alone:
    while True:
        try:
            s = socket.create_connection(place, source_address=("", port))
            break
        except ConnectionRefusedError:
            time.sleep(0.001)
    assert s.recv(1) == b""
END
}

teardown_file() { lab_down; }

meet() {
    run pod_hb -H pod-0:1,pod-1:1,pod-2:1 --framework torch \
        python3 meet.py "$@"
    ended_with 0
}

# Who is sent away has no trace of its connection, unless a look came in time.
@test "short connections that the first rank has closed are seen there" {
    need python3
    for _ in 1 2 3 4 5; do
        meet
        says_not 'ever connected'
    done
}

@test "a host that never connected is named, the other is not" {
    need python3
    meet 2
    says '^hbrun: warning: no rank on pod-2 ever connected to '
}

# Whose trace is there for a minute.
@test "a connection from the port of one before it is another one" {
    need python3
    for _ in 1 2; do
        run pod_hb -x FROM_PORT=45000 -H pod-0:1,pod-1:1 --framework torch \
            python3 meet.py 9
        ended_with 0
        says_not 'ever connected'
    done
}

# The head's agent, which nobody has logged in to, is told the way there.
@test "a host that ssh_config alone knows leads to the head's address" {
    pod 0 sh -c 'printf "Host worker\n HostName 10.77.0.2\n" > .ssh/config'
    # shellcheck disable=SC2016  # expanded by the ranks
    run pod_hb -H pod-0:1,worker:1 --framework torch \
        sh -c 'echo "rank $RANK: $MASTER_ADDR"'
    pod 0 rm .ssh/config
    ended_with 0
    says '^rank 0: 10\.77\.0\.1$'
    says '^rank 1: 10\.77\.0\.1$'
}

# By which none but the launcher goes: the head would name its own loopback.
@test "the end of a tunnel is no way to the head" {
    pod 0 sh -c 'printf "Host worker\n HostName 127.0.0.1\n Port 2299\n HostKeyAlias pod-1\n" > .ssh/config'
    pod 0 ssh -M -S way -f -N -o ExitOnForwardFailure=yes \
        -L 2299:pod-1:22 pod-2
    # shellcheck disable=SC2016  # expanded by the ranks
    run pod_hb -H pod-0:1,worker:1 --framework torch \
        sh -c 'echo "rank $RANK: $MASTER_ADDR"'
    pod 0 rm .ssh/config
    pod 0 ssh -q -S way -O exit pod-2
    ended_with 0
    says '^rank 0: 10\.77\.0\.1$'
    says '^rank 1: 10\.77\.0\.1$'
}

# Many a host's name is one of its loopback addresses, which Gloo would give to
# the ranks of others.
# shellcheck disable=SC2016  # expanded by the ranks
@test "Gloo is told the interface by which others reach its host" {
    gloo='echo "$GLOO_SOCKET_IFNAME$HOROVOD_GLOO_IFACE, rank $HPCBOOT_RANK"'
    for framework in '' torch deepspeed 'horovod --recipe-set controller=gloo'
    do
        # shellcheck disable=SC2086
        run pod_hb -H pod-0:1,pod-1:1 --framework ${framework:-none} \
            sh -c "$gloo"
        ended_with 0
        says "^${framework:+eth0}, rank 0\$"
        says "^${framework:+eth0}, rank 1\$"
    done
    run pod_hb -H pod-0:1,pod-1:1 --framework torch -x GLOO_SOCKET_IFNAME=x \
        sh -c "$gloo"
    says '^x, rank 1$'
    run pod_hb -H pod-1:2 --framework torch sh -c "$gloo"
    ended_with 0
    says '^, rank 1$'
}

@test "an interface is told by its first address alone" {
    local own
    own=$(pod 1 ip -4 -o addr show dev eth0 | awk '{ print $4 }')
    pod 1 ip addr del "$own" dev eth0
    pod 1 ip addr add 192.0.2.1/32 dev eth0
    pod 1 ip addr add "$own" dev eth0
    # shellcheck disable=SC2016  # expanded by the ranks
    run pod_hb -H pod-0:1,pod-1:1 --framework torch \
        sh -c 'echo "by $GLOO_SOCKET_IFNAME, rank $RANK"'
    pod 1 ip addr del 192.0.2.1/32 dev eth0
    ended_with 0
    says '^by eth0, rank 0$'
    says '^by , rank 1$'
}
