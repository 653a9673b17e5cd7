#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Hosts that are not as they should be. In every case: a line that names host
# or rank and the reason, the documented status, no hang, nothing left.

load ../common

setup() { lab_up fault 3; }
teardown() { lab_down; }

# A job that sleeps on pod-1 and pod-2, started on pod-0 with further options;
# its hbrun is process $(launcher) there, its words are in /tmp/err.
start_sleepers() {
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 bash -c 'echo $$ > /tmp/launcher; exec "$@" 2> /tmp/err' - "$hbrun" \
        "$@" -H pod-1,pod-2 bash -c 'echo $$ > /tmp/started
        exec sleep 1000' &
    job=$!
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
}
launcher() { pod 0 cat /tmp/launcher; }
job_ends() {
    ends $job
    output=$(pod 0 cat /tmp/err)
}
# The agent is the child of its guard; both run the agent's program.
agent_in() { pod "$1" pgrep -n -x hpcbootd; }
guard_in() { pod "$1" pgrep -o -x hpcbootd; }

@test "an unknown host" {
    run pod_hb --wait-hosts 3 -H pod-1,nosuch.invalid true
    ended_with 75
    says 'nosuch\.invalid'
    pods_clean 1
}

@test "a host that refuses" {
    run pod_hb --wait-hosts 3 --port 4444 -H pod-1 true
    ended_with 75
    says 'pod-1.*refuses'
}

@test "a host whose network is down" {
    "$podlab" link 1 down
    run pod_hb --wait-hosts 3 --connect-timeout 2 -H pod-1,pod-2 true
    ended_with 75
    says 'pod-1'
    pods_clean 2
}

@test "no port is left to call a host from: it is no want of the host" {
    local range
    range=$(pod 0 cat /proc/sys/net/ipv4/ip_local_port_range)
    pod 0 sysctl -qw net.ipv4.ip_local_port_range='43000 43000' ||
        skip "no setting of a pod's own here"
    run pod_hb --wait-hosts 0 -H pod-1,10.77.0.2 hostname
    pod 0 sysctl -qw net.ipv4.ip_local_port_range="$range"
    ended_with 75
    says '10\.77\.0\.2 port 22: this host has no port left to call from'
}

@test "a host that accepts and says nothing" {
    need python3
    pod 1 python3 -c '
import socket, time
s = socket.create_server(("", 4444))
open("/tmp/ready", "w").close()
time.sleep(1000)' &
    wait_until pod 1 test -e /tmp/ready
    run pod_hb --wait-hosts 4 --connect-timeout 2 --port 4444 -H pod-1 true
    ended_with 75
    says 'pod-1'
}

@test "a host that does not know our key" {
    pod 1 truncate -s 0 .ssh/authorized_keys
    run pod_hb --wait-hosts 3 -H pod-1,pod-2 true
    ended_with 75
    says 'pod-1.*([Aa]uthenticat|denied|key)'
    pods_clean 2
}

@test "a host key that is not known, under strict" {
    pod 0 rm .ssh/known_hosts
    run pod_hb --wait-hosts 3 --host-keys strict -H pod-1 true
    ended_with 75
    says 'pod-1.*host key'
}

@test "a host key that is not known, under pin: a warning, and it runs" {
    pod 0 rm .ssh/known_hosts
    pod 1 rm .ssh/id_ed25519
    run pod_hb --host-keys pin -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
    says 'pin'
}

@test "under pin a host that proves itself needs no warning" {
    pod 0 rm .ssh/known_hosts
    run pod_hb --host-keys pin -H pod-1 hostname
    ended_with 0
    [ "$(but_for_waiting)" = pod-1 ]
}

@test "a host key that has changed is an error, whatever was asked for" {
    "$podlab" vary 1 hostkey
    for keys in strict pin; do
        run pod_hb --wait-hosts 3 --host-keys $keys -H pod-1 true
        ended_with 75
        says 'pod-1.*(changed|CHANGED)'
    done
    pod 0 bash -c 'printf "%s\n" "Host *" " StrictHostKeyChecking no" \
        " UserKnownHostsFile /dev/null" > .ssh/config'
    run pod_hb --wait-hosts 3 -H pod-1 true
    ended_with 75
}

@test "a login shell that prints noise does no harm" {
    "$podlab" vary 1 noise 'Welcome to the machine!'
    run pod_hb -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
}

@test "a login shell that is tcsh" {
    need tcsh
    "$podlab" vary 1 shell /usr/bin/tcsh
    run pod_hb -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
}

@test "a login shell that is nologin: its words" {
    "$podlab" vary 1 shell /usr/sbin/nologin
    run pod_hb --wait-hosts 3 -H pod-1,pod-2 true
    ended_with 75
    says 'pod-1'
    says 'not available'
    pods_clean 2
}

@test "a forced command: its words" {
    "$podlab" vary 1 forced 'echo this key may only say hello'
    run pod_hb --wait-hosts 3 -H pod-1 true
    ended_with 75
    says 'pod-1'
    says 'only say hello'
}

@test "an agent that is missing: host and what to do" {
    "$podlab" vary 1 hide "$HB_BUILDDIR"
    run pod_hb --wait-hosts 3 -H pod-1,pod-2 true
    ended_with 75
    says 'pod-1.*(hpcbootd|agent)'
    says '--prefix|install'
    pods_clean 2
}

@test "an agent of another version: host and both versions" {
    local version
    version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' \
        "$HB_BUILDDIR/config.h")
    [ "${#version}" -eq 5 ]
    mkdir -p "$BATS_FILE_TMPDIR/other"
    LC_ALL=C sed "s/$version/9.8.7/g" "$HB_BUILDDIR/hpcbootd" \
        > "$BATS_FILE_TMPDIR/other/hpcbootd"
    chmod +x "$BATS_FILE_TMPDIR/other/hpcbootd"
    pod 1 mount --bind "$BATS_FILE_TMPDIR/other/hpcbootd" \
        "$HB_BUILDDIR/hpcbootd"
    run pod_hb --wait-hosts 3 -H pod-1,pod-2 true
    ended_with 75
    says 'pod-1.*9\.8\.7'
    pods_clean 2
}

@test "a program that is missing on one host" {
    mkdir -p "$BATS_FILE_TMPDIR/bin"
    cp /bin/sleep "$BATS_FILE_TMPDIR/bin/program"
    "$podlab" vary 2 hide "$BATS_FILE_TMPDIR/bin"
    run pod_hb -H pod-1,pod-2 "$BATS_FILE_TMPDIR/bin/program" 1000
    ended_with 127
    says 'pod-2.*bin/program.*No such file'
    pods_clean 1 2
}

@test "a program that the launcher's host lacks is looked at where it is" {
    local dir=$BATS_FILE_TMPDIR/bin
    mkdir -p "$dir"
    : > "$dir/nothing.c"
    echo 'int main(void) { return 0; }' > "$dir/prog.c"
    "${CC:-cc}" -shared -Wl,-soname,libmpich.so.12 "$dir/nothing.c" \
        -o "$dir/libmpich.so.12"
    "${CC:-cc}" "$dir/prog.c" -Wl,--no-as-needed "$dir/libmpich.so.12" \
        -o "$dir/program"
    "$podlab" vary 0 hide "$dir"
    run pod_hb --explain -H pod-1 --path "$dir" -x LD_LIBRARY_PATH="$dir" \
        program
    ended_with 0
    says "process management: pmi1: $dir/program links libmpich.so.12"
}

@test "a program that is not executable on one host" {
    mkdir -p "$BATS_FILE_TMPDIR/bin"
    cp /bin/sleep "$BATS_FILE_TMPDIR/bin/program"
    pod 2 bash -c 'echo text > /tmp/plain && mount --bind /tmp/plain "$0"' \
        "$BATS_FILE_TMPDIR/bin/program"
    run pod_hb -H pod-1,pod-2 "$BATS_FILE_TMPDIR/bin/program" 1000
    ended_with 126
    says 'pod-2.*bin/program'
    pods_clean 1 2
}

@test "a working directory that is missing on one host" {
    mkdir -p "$BATS_FILE_TMPDIR/there/deep"
    "$podlab" vary 2 hide "$BATS_FILE_TMPDIR/there"
    run pod_hb --wdir "$BATS_FILE_TMPDIR/there/deep" -H pod-1,pod-2 sleep 1000
    [ "$status" -eq 126 ] || [ "$status" -eq 127 ]
    says 'pod-2.*there/deep'
    pods_clean 1 2
}

@test "where nobody asked for the launcher's directory, it need not be there" {
    # shellcheck disable=SC2016  # expanded in the ranks
    run pod 0 sh -c 'mkdir -p /run/mine && cd /run/mine && exec "$@"' sh \
        timeout -s KILL "$HB_LIMIT" "$hbrun" --pmi pmix -H pod-1,pod-2 \
        sh -c 'echo "$(pwd) $PWD $OMPI_MCA_initial_wdir of $HOME"'
    ended_with 0
    says "pod-[12].*working directory /run/mine is not here; ranks start in"
    [ "$(grep -Ec '^([^ ]+) \1 \1 of \1$' <<< "$output")" -eq 2 ]
    pods_clean 1 2
}

@test "a remote rank that exits 3 is named with its host" {
    run pod_hb -H pod-1,pod-2 sh -c \
        '[ $HPCBOOT_RANK = 0 ] || exit 3; sleep 1000'
    ended_with 3
    says 'rank 1 on pod-2.* 3'
    pods_clean 1 2
}

@test "a remote rank that segfaults" {
    run pod_hb -H pod-1,pod-2 sh -c \
        '[ $HPCBOOT_RANK = 0 ] || kill -SEGV $$; sleep 1000'
    ended_with 139
    says 'rank 1 on pod-2.*SIGSEGV'
    pods_clean 1 2
}

@test "a remote rank killed from outside" {
    start_sleepers
    pod 2 bash -c 'kill -KILL $(cat /tmp/started)'
    job_ends
    ended_with 137
    says 'rank 1 on pod-2.*SIGKILL'
    pods_clean 1 2
}

@test "a remote grandchild in a session of its own" {
    run pod_hb -H pod-1,pod-2 sh -c \
        'setsid sleep 1000 < /dev/null > /dev/null 2>&1 & exit 0'
    ended_with 0
    pods_clean 1 2
}

@test "INT at the launcher ends remote ranks" {
    start_sleepers
    pod 0 bash -c 'kill -INT $(cat /tmp/launcher)'
    job_ends
    ended_with 130
    pods_clean 0 1 2
}

@test "TERM at the launcher ends remote ranks" {
    start_sleepers
    pod 0 bash -c 'kill -TERM $(cat /tmp/launcher)'
    job_ends
    ended_with 143
    pods_clean 0 1 2
}

@test "the launcher is killed by SIGKILL" {
    start_sleepers
    pod 0 bash -c 'kill -KILL $(cat /tmp/launcher)'
    wait $job || true
    pods_clean 0 1 2
}

@test "the launcher's pod is deleted" {
    start_sleepers
    "$podlab" kill 0
    wait $job || true
    pods_clean 1 2
}

@test "an agent is killed by SIGKILL" {
    start_sleepers
    pod 1 kill -KILL "$(agent_in 1)"
    job_ends
    ended_with 75
    says 'pod-1'
    pods_clean 0 1 2
}

@test "a rank is killed, and then all of its host: the host is named" {
    start_sleepers
    guard=$(guard_in 2) agent=$(agent_in 2)
    pod 2 bash -c 'kill -KILL $(cat /tmp/started) && kill -KILL "$@"' - \
        "$agent" "$guard"
    job_ends
    ended_with 75
    says 'host pod-2'
    pods_clean 0 1 2
}

@test "a guard is killed by SIGKILL" {
    start_sleepers
    pod 1 kill -KILL "$(guard_in 1)"
    job_ends
    [ "$status" -ne 0 ]
    says 'pod-1'
    pods_clean 0 1 2
}

@test "a worker's pod is deleted" {
    start_sleepers
    "$podlab" kill 1
    job_ends
    ended_with 75
    says 'pod-1'
    pods_clean 0 2
}

@test "a network cut for good: noticed, and the pod cleans itself" {
    start_sleepers --heartbeat 1
    "$podlab" link 1 down
    job_ends
    ended_with 75
    says 'pod-1'
    pods_clean 0 1 2
}

@test "a host that is slow is not dead" {
    "$podlab" limit 1 0.05 || skip 'no CPU quota can be set here'
    # As long as the limit for dead hosts is, and a bit.
    run pod_hb --heartbeat 1 -H pod-1,pod-2 sh -c 'sleep 7; hostname'
    ended_with 0
    says '^pod-1$'
}

@test "few descriptors on a worker: an error, no hang, nothing left" {
    pod 1 prlimit --pid 1 --nofile=24:24
    run pod_hb --wait-hosts 5 -H pod-1:8,pod-2 true
    [ "$status" -ne 137 ]
    if [ "$status" -ne 0 ]; then says 'pod-1'; fi
    pods_clean 1 2
}
