#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Programs and files that travel with the job to other hosts. The pods have a
# /tmp each, so what a rank finds there has come over its link.

load ../common

setup() {
    local i
    lab_up preload 3
    for i in 1 2; do pod $i mkdir /tmp/mine; done
}
teardown() { lab_down; }

# What the launcher sends stands where the other pods do not see it.
prepare() { pod 0 bash -c "mkdir -p /tmp/mine && cd /tmp/mine && $1"; }
from_mine() {
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'cd /tmp/mine && exec timeout -s KILL "$@"' - "$HB_LIMIT" \
        "$hbrun" -H pod-1,pod-2 "$@"
}
# Sessions of jobs, and not what is known of the host's topology; the pods' /tmp
# and /dev/shm are their own.
sessions() {
    pod "$1" bash -c 'ls -d /tmp/hpcboot* /dev/shm/hpcboot*' 2> /dev/null |
        grep -v topo
}
has_session() { [ -n "$(sessions "$1")" ]; }
no_session() { [ -z "$(sessions "$1")" ]; }
nothing_stays() { # I...
    local i
    for i; do wait_until no_session "$i"; done
    pods_clean "$@"
}

@test "a program and files arrive byte for byte, with their modes" {
    prepare 'cp /bin/cat prog && chmod 750 prog &&
        printf "\0\1\377 no end" > odd && chmod 604 odd && : > empty'
    run from_mine -s --preload-files odd --set-cwd-to-session-dir ./prog odd
    ended_with 0
    [ "$(grep -c ' no end' <<< "$output")" -eq 1 ]
    run from_mine --preload-files odd,empty,prog --set-cwd-to-session-dir \
        bash -c 'hostname; sha256sum odd prog empty; stat -c "%a %n" *;
            cmp prog /bin/cat && echo same'
    ended_with 0
    [ "$(grep -c '^same$' <<< "$output")" -eq 2 ]
    [ "$(grep -c '^604 odd$' <<< "$output")" -eq 2 ]
    [ "$(grep -c '^750 prog$' <<< "$output")" -eq 2 ]
    says "^$(printf '\0\1\377 no end' | sha256sum | cut -d' ' -f1)  odd$"
    says "^$(sha256sum < /dev/null | cut -d' ' -f1)  empty$"
    nothing_stays 0 1 2
}

@test "a file of 200 MB is whole on every host" {
    prepare 'openssl enc -aes-128-ctr -pass pass:x -nosalt -md sha256 \
        -in /dev/zero 2> /dev/null | head -c 200000000 > big'
    local sum
    sum=$(pod 0 sha256sum /tmp/mine/big | cut -d' ' -f1)
    run from_mine --preload-files big \
        bash -c 'sha256sum < "$HPCBOOT_SESSION_DIR/big"'
    ended_with 0
    [ "$(grep -c "^$sum" <<< "$output")" -eq 2 ]
    nothing_stays 1 2
}

@test "one host whose disk is full: it is named, nobody starts; status 75" {
    prepare 'head -c 20000000 /dev/zero > big'
    pod 2 mount -o remount,size=4m /tmp
    run from_mine --preload-files big touch /tmp/started
    ended_with 75
    says 'host pod-2: .*big.*No space left'
    run ! pod 1 test -e /tmp/started
    nothing_stays 1 2
}

@test "one host with no place to write: it is named, and the way out" {
    prepare 'echo one > a'
    pod 2 mount -o remount,ro /tmp
    pod 2 mount -o remount,ro /dev/shm
    run from_mine --preload-files a true
    ended_with 75
    says 'host pod-2: .*HPCBOOT_TMPDIR'
    says 'Read-only file system'
    nothing_stays 1
}

@test "the launcher is killed amid the copy: nothing stays on any host" {
    prepare 'truncate -s 300M big; echo one > a'
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'cd /tmp/mine; echo $$ > /tmp/launcher; exec "$@"' - \
        "$hbrun" -H pod-1,pod-2 --preload-files a,big sleep 1000 &
    wait_until has_session 1
    wait_until has_session 2
    pod 0 bash -c 'kill -KILL $(cat /tmp/launcher)'
    wait $! || true
    nothing_stays 0 1 2
}

@test "the launcher is killed while ranks run: nothing stays on any host" {
    prepare 'cp /bin/sleep prog'
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'cd /tmp/mine; echo $$ > /tmp/launcher; exec "$@"' - \
        "$hbrun" -H pod-1,pod-2 -s --pernode ./prog 1000 &
    wait_until pod 1 pgrep -x prog
    wait_until pod 2 pgrep -x prog
    pod 0 bash -c 'kill -KILL $(cat /tmp/launcher)'
    wait $! || true
    nothing_stays 0 1 2
}
