#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Pods that are made in other ways: another port, Debian's sshd configuration,
# an environment of PID 1, nothing shared but the installation.

load ../common

teardown() { lab_down; }

@test "Debian's sshd configuration, with PAM" {
    lab_up pam 2 --sshd debian
    run pod_hb -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
    pods_clean 1
}

@test "another port, by option and by ~/.ssh/config" {
    lab_up port 2 --port 2222
    run pod_hb --port 2222 -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
    pod 0 bash -c 'printf "Host pod-*\n Port 2222\n" > .ssh/config'
    run pod_hb -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
}

@test "the environment of a pod's PID 1 reaches its ranks" {
    # Not sshd itself: it writes its title over its environment.
    lab_up env 2 --env COLOUR=green \
        --init 'bash -c "/usr/sbin/sshd -D -e & exec sleep infinity"'
    wait_until pod 0 ssh -o BatchMode=yes pod-1 true
    run pod_hb -H pod-1 sh -c 'echo "colour $COLOUR"'
    ended_with 0
    says '^colour green$'
}

@test "a login that starts no agent: where to look" {
    lab_up login 4
    "$podlab" vary 1 shell /bin/false
    "$podlab" vary 2 forced 'echo only this'
    pod 3 bash -c 'echo "read -r answer" > /root/.bashrc'
    run pod_hb -H pod-1 hostname
    ended_with 75
    says 'pod-1: the agent did not start: .*status 1; the login shell there .*may not run'
    run pod_hb -H pod-2 hostname
    ended_with 75
    says 'pod-2: .*said: "only this"; .*forced command of sshd, may not run what it'
    run pod_hb -H pod-3 --connect-timeout 3 hostname
    ended_with 75
    says 'pod-3: .*no answer within 3 s; look for what waits there at login'
    run pod_hb -H pod-0 --prefix /nowhere --tree-width 1 hostname
    says_not 'look for|may not run'
}

# Its end comes in one piece with the answer that it has begun.
@test "a login that ends at once says all the same how" {
    need python3
    lab_up lumps 4
    "$podlab" vary 1 shell /bin/false
    "$podlab" vary 2 forced 'echo only this >&2'
    # shellcheck disable=SC2016  # expanded in the pod
    "$podlab" vary 3 forced 'kill -9 $$'
    pod 0 bash -c "echo 'ProxyCommand python3 $fakes/lumps.py %h %p' \
        > .ssh/config"
    run pod_hb -H pod-1 hostname
    ended_with 75
    says 'pod-1: the agent did not start: .*status 1; the login shell'
    run pod_hb -H pod-2 hostname
    ended_with 75
    says 'pod-2: .*status 0; .*said: "only this"'
    run pod_hb -H pod-3 hostname
    ended_with 75
    says 'pod-3: .*killed by signal KILL'
}

@test "a CPU quota is counted, with no more than a notice" {
    lab_up quota 2 --cpus 1
    run pod_hb -H pod-0,pod-1 -n 4 --oversubscribe hostname
    ended_with 0
    [ "$(grep -c '^pod-1$' <<< "$output")" -eq 2 ]
}
