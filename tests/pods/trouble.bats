#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Hosts that are lost in ways that could be told as something else, and
# connections that end at every point of a login.
#
# shellcheck disable=SC2016  # expanded in the pod

load ../common

setup_file() { lab_up trouble 3; }
teardown_file() { lab_down; }

start_sleepers() {
    pod 0 bash -c 'exec "$@" 2> /tmp/err' - timeout -s KILL "$HB_LIMIT" \
        "$hbrun" -H pod-1,pod-2 bash -c 'echo $$ > /tmp/started
        exec sleep 1000' &
    job=$!
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
}
job_ends() {
    wait "$job" && status=0 || status=$?
    output=$(pod 0 cat /tmp/err)
    pod 1 rm -f /tmp/started
    pod 2 rm -f /tmp/started
}

@test "an agent that is told to terminate: its host is the cause" {
    start_sleepers
    pod 2 bash -c 'kill -TERM $(pgrep -o -x hpcbootd)'
    job_ends
    ended_with 75
    says 'host pod-2: .*SIGTERM'
    says_not 'rank [0-9]'
    pods_clean 1 2
}

@test "a guard that is killed: its host is the cause, not its ranks" {
    start_sleepers
    pod 2 bash -c 'kill -KILL $(pgrep -o -x hpcbootd)'
    job_ends
    ended_with 75
    says 'host pod-2: .*guard'
    says_not 'rank [0-9]'
    pods_clean 1 2
}

@test "an agent that is killed is told as that" {
    start_sleepers
    pod 2 bash -c 'kill -KILL $(pgrep -n -x hpcbootd)'
    job_ends
    ended_with 75
    says 'host pod-2: .*agent'
    pods_clean 1 2
}

# Told to end, rank 0 gets as far as a rank's first words to its server; its
# peer on the host that was lost cannot come any more.
@test "an agent that is killed before MPI_Init is the cause, not its ranks" {
    pod 1 rm -f /tmp/started
    pod 2 rm -f /tmp/started
    pod 0 bash -c 'exec "$@" 2> /tmp/err' - timeout -s KILL "$HB_LIMIT" \
        "$hbrun" --pmi pmi1 --grace 5 -H pod-1,pod-2 bash -c '
        trap "echo cmd=init pmi_version=1 pmi_subversion=1 >&$PMI_FD
            sleep 1; exit 1" TERM
        echo $$ > /tmp/started
        while :; do sleep 0.05; done' &
    job=$!
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
    pod 2 bash -c 'kill -KILL $(pgrep -n -x hpcbootd)'
    job_ends
    ended_with 75
    says 'host pod-2: .*agent'
    pods_clean 1 2
}

@test "a connection that is cut after any number of bytes" {
    need python3
    pod 1 python3 - > /dev/null 2>&1 3>&- << 'END' &
import select, socket, threading

# Port 5000 + 4 K + M: hands on K * 100 bytes of what sshd says, then
# closes (0), resets (1) or sends what is not SSH (2).
def serve(client, limit, way):
    server = socket.create_connection(("127.0.0.1", 22))
    while True:
        for one in select.select([client, server], [], [])[0]:
            data = one.recv(4096)
            if not data:
                client.close()
                return
            if one is client:
                server.sendall(data)
                continue
            client.sendall(data[:limit])
            limit -= len(data)
            if limit > 0:
                continue
            if way == 1:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  b"\1\0\0\0\0\0\0\0")
            if way == 2:
                client.sendall(b"\xff" * 200000)
                client.recv(1)
            client.close()
            return

def listen(limit, way):
    port = socket.create_server(("", 5000 + limit // 25 + way))
    while True:
        threading.Thread(target=serve, args=(port.accept()[0], limit, way),
                         daemon=True).start()

for k in range(1, 24):
    for way in range(3):
        threading.Thread(target=listen, args=(k * 100, way)).start()
open("/tmp/ready", "w").close()
END
    wait_until pod 1 test -e /tmp/ready
    local k way
    for k in 1 4 10 14 17 20 23; do
        for way in 0 1 2; do
            run pod_hb --host-keys pin --connect-timeout 2 \
                --port $((5000 + 4 * k + way)) -H pod-1 hostname
            [ "$status" -eq 0 ] || ended_with 75
            [ "$status" -eq 0 ] || says 'error: host pod-1: .*[[:alpha:])]$'
            says_not 'Epoll|libevent'
        done
    done
}

@test "a stack of 64 KiB is enough for launcher, agents and probes" {
    run pod 0 bash -c 'ulimit -s 64; "$@" | (sleep 1; wc -c)
        exit ${PIPESTATUS[0]}' - timeout -s KILL "$HB_LIMIT" \
        "$hbrun" -H pod-1 head -c 30000000 /dev/zero
    ended_with 0
    says '^30000000$'
    answered pod 0 bash -c 'ulimit -s 64; "$@"' - timeout -s KILL "$HB_LIMIT" \
        "$HB_BUILDDIR/hpcboot" doctor -q -H pod-0,pod-1
    [ "$status" -le 1 ] # a busy machine may be slow
}
