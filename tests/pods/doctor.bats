#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hpcboot doctor over several hosts: the traffic between them, what is planted
# to be found, and that nothing is left.

load ../common

teardown() { lab_down; }

# pod_doctor [OPTION...]: leaves $status and $output.
doctor() {
    pod 0 timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" doctor -q "$@"
}
pod_doctor() { run doctor "$@"; }
# What python sees in the report that is in $output.
report() {
    python3 -c '
import json, sys
r = json.load(sys.stdin)
t = r["traffic"]
bad = {f["check"]: f["hosts"] for f in r["findings"]}
print(eval(sys.argv[1]))' "$1" <<< "$output"
}

@test "every pair of a small gang exchanges messages, both ways" {
    lab_up pairs 4
    pod 0 test ! -e /root/.cache/hpcboot
    answered doctor -H pod-0,pod-1,pod-2,pod-3 -f json
    [ "$status" -le 1 ] # a busy machine may be slow
    for ((i = 0; i < 4; i++)); do
        pod $i test ! -e /root/.cache/hpcboot
    done
    [ "$(report 'len(t["pairs"]), t["rounds"]')" = '(12, 3)' ]
    [ "$(report 'all(p["latency_us"] > 0 and p["mb_per_s"] > 0
                     and p["failed"] is None for p in t["pairs"])')" = True ]
}

@test "the table and the map show every host, and a lone host has no traffic" {
    lab_up map 3
    pod_doctor -H pod-0,pod-1,pod-2
    says '^traffic: 6 directions in 3 rounds'
    says '^pod-2 .* us .*B/s'
    pod_doctor -H pod-0,pod-1,pod-2 -f svg
    says '>latency there and back'
    [ "$(grep -c '>pod-2<' <<< "$output")" -eq 4 ]
    pod_doctor -H pod-1
    says_not '^traffic'
    pod_doctor -H pod-0,pod-1,pod-2 --traffic none
    says_not '^traffic'
}

@test "a host that did not come up is named where fewer will do" {
    lab_up away 2
    "$podlab" kill 1
    in_time '^degraded  missing: pod-1: [a-z]' 1 \
        doctor -H pod-0,pod-1 --min-hosts 1 --wait-hosts WAIT
    [ "$status" -eq 1 ]
    says '^degraded: 1 of 2 hosts, '
    in_time '"missing"' 1 \
        doctor -H pod-0,pod-1 --min-hosts 1 --wait-hosts WAIT -f json
    [ "$(report 'bad["missing"], r["hosts"]')" = "(['pod-1'], ['pod-0'])" ]
}

@test "an sshd that drops logins is named, by the file it was started with" {
    lab_up sshd 2
    config=$(pod 1 sh -c 'tr "\0" "\n" < /proc/1/cmdline' | sed -n '/-f/{n;p}')
    config=${config:-/etc/ssh/sshd_config}
    pod_doctor -H pod-0,pod-1 --traffic none
    says_not 'MaxStartups'
    pod 1 sh -c "sed 's/^MaxStartups.*//' $config > /tmp/config
        echo 'MaxStartups 2:50:4' >> /tmp/config
        mount --bind /tmp/config $config"
    pod_doctor -H pod-0,pod-1 --traffic none -f json
    [ "$status" -eq 1 ]
    python3 -c '
import json, sys
f = [f for f in json.load(sys.stdin)["findings"] if f["check"] == "sshd"]
assert len(f) == 1 and f[0]["hosts"] == ["pod-1"], f
assert "MaxStartups is 2:50:4 in" in f[0]["what"], f' <<< "$output"
}

@test "little room in shared memory, and a name of another host, are named" {
    lab_up room 2
    pod_doctor -H pod-0,pod-1 --traffic none
    says_not 'shm:|dns:'
    pod 1 sh -c 'mount -t tmpfs -o size=320m t /dev/shm &&
        fallocate -l 100m /dev/shm/left'
    pod 1 mount -o remount,ro /dev/shm
    pod_doctor -H pod-0,pod-1 --traffic none
    [ "$status" -eq 3 ]
    says 'shm: pod-1: /dev/shm cannot be used: Read-only file system'
    pod 1 mount -o remount,rw /dev/shm
    pod 1 sh -c 'echo 192.0.2.77 "$(hostname)" > /tmp/hosts
        mount --bind /tmp/hosts /etc/hosts'
    pod_doctor -H pod-0,pod-1 --traffic none
    [ "$status" -eq 1 ]
    says 'shm: pod-1: /dev/shm has 2[0-9][0-9] of 320 MiB left'
    says 'dns: pod-1: its own name pod-1 is 192.0.2.77, which is no address'
}

# As in any container: no CAP_SYS_PTRACE. An agent that holds a key is closed to
# others of its user, its ranks are not.
@test "that ranks may not read each other is told where it is so" {
    need setpriv
    lab_up cma 2 --init "setpriv --inh-caps=-sys_ptrace \
        --bounding-set=-sys_ptrace /usr/sbin/sshd -D -e"
    pod_doctor -H pod-1 --traffic none
    [ "$status" -le 1 ]
    says_not 'cma:'
    run pod 0 timeout -s KILL "$HB_LIMIT" "$(fake noptrace)" \
        "$HB_BUILDDIR/hpcboot" doctor -q -H localhost --traffic none
    says 'cma: localhost: ranks may not read each other.s memory'
}

@test "a host with a thin link is named" {
    lab_up thin 5
    pod 3 tc qdisc add dev eth0 root tbf rate 20mbit burst 32kb latency 400ms ||
        skip 'no tbf'
    answered doctor -H pod-0,pod-1,pod-2,pod-3,pod-4 -f json
    [ "$status" -eq 1 ]
    [ "$(report '"pod-3" in bad["bandwidth"]')" = True ]
}

@test "hosts that cannot reach each other are named, and doctor says bad" {
    lab_up cut 2
    pod 1 sh -c 'iptables -A INPUT -p tcp ! --dport 22 -m conntrack \
        --ctstate NEW -s 10.77.0.0/16 -j DROP' || skip 'no iptables'
    pod 0 sh -c 'iptables -A INPUT -p tcp ! --dport 22 -m conntrack \
        --ctstate NEW -s 10.77.0.0/16 -j DROP'
    pod_doctor -H pod-0,pod-1 -f json
    [ "$status" -eq 3 ]
    [ "$(report 'bad["traffic"]')" = "['pod-0']" ]
    [ "$(report 't["pairs"][0]["failed"]')" = 'no answer within 2 s' ]
}

@test "packets that are lost are found" {
    lab_up loss 2
    pod 1 iptables -A INPUT -p tcp ! --dport 22 -m length --length 500: \
        -m statistic --mode random --probability 0.1 -j DROP ||
        skip 'no iptables'
    pod_doctor -H pod-0,pod-1 -f json
    [ "$(report '"loss" in bad or "traffic" in bad')" = True ]
}

# Processes of this build in a pod, beside those of the test itself.
probes() { pod "$1" sh -c 'cat /proc/[0-9]*/comm | grep -c -e hbprobe -e hpcbootd'; }
no_probes() { [ "$(probes 1)" = 0 ]; }
some_probes() { [ "$(probes 1)" != 0 ]; }

@test "what a library prints on a probe's standard output is no word of the probe" {
    [ -e "$HB_BUILDDIR/.libs/hb_ucx.so" ] || skip 'built without UCX'
    lab_up words 2
    answered pod 0 env UCX_LOG_LEVEL=debug timeout -s KILL "$HB_LIMIT" \
        "$HB_BUILDDIR/hpcboot" doctor -q -f json -H pod-0,pod-1 \
        --launch-with 'ssh %h HPCBOOT_TRANSPORTS=ucx'
    [ "$(report 'len(t["pairs"]), all(p["failed"] is None for p in t["pairs"])')" \
        = '(2, True)' ]
}

@test "doctor that is killed, or interrupted, leaves nothing running" {
    lab_up left 2
    # Without an answer probes wait for some seconds.
    pod 1 iptables -A INPUT -p tcp ! --dport 22 -j DROP || skip 'no iptables'
    for signal in KILL INT; do
        pod 0 sh -c 'echo $$ > /root/pid; exec "$0" doctor -q -H pod-0,pod-1' \
            "$HB_BUILDDIR/hpcboot" > /dev/null 2>&1 &
        wait_until some_probes
        pod 0 sh -c "kill -$signal \$(cat /root/pid)"
        wait $! || true
        wait_until no_probes
    done
}

# From 24 hosts on they start each other; here it is asked for.
@test "hosts that others have started are let go like all others" {
    lab_up below 4
    for command in wait doctor; do
        answered pod 0 env HPCBOOT_TREE_WIDTH=2 timeout -s KILL "$HB_LIMIT" \
            "$HB_BUILDDIR/hpcboot" $command -H pod-0,pod-1,pod-2,pod-3
        [ "$status" -le 1 ]
        says_not 'is lost'
    done
}
