#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Waiting for hosts that come up late, or not: pods without an sshd at first,
# and a real name server. pod-0 is the launcher, pod-3 has the name server.
# What hbrun is doing is seen in its --events, so that no test waits for time.
#
# shellcheck disable=SC2016  # expanded in the pods

load ../common

# An init that collects what is left to it.
init='bash -c "while :; do sleep 1000 & wait \$!; done"'

setup_file() {
    lab_up wait 4 --init "$init"
    pod 0 bash -c 'cd .ssh; sed "s/^/*.gang.test,fd77::*,/" known_hosts > k &&
        sed -n "s/^[^ ]*/[*]:2222/p" known_hosts >> k && mv k known_hosts
        printf "%s\n" "nameserver 10.77.0.4" "options timeout:1 attempts:2" \
            > /run/resolv.conf
        mount --bind /run/resolv.conf "$(readlink -f /etc/resolv.conf)"'
}
teardown_file() { lab_down; }

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    events=$BATS_TEST_TMPDIR/events
}
teardown() {
    [ -z "${job:-}" ] || kill -KILL "$job" 2> /dev/null || true
    for i in 1 2 3; do
        pod $i bash -c 'while pkill -KILL -x "sshd|hpcbootd|dnsmasq"; do
                sleep 0.02
            done
            rm -f /tmp/dns.pid'
    done
}

sshd_up() { # I [OPTION...]
    local i=$1
    shift
    pod "$i" /usr/sbin/sshd "$@"
}

# name_server [LINE...]: runs in pod-3 with these lines of a hosts file.
name_server() {
    need dnsmasq
    name_lines "$@"
    pod 3 bash -c 'mkdir -p /tmp/dns
        exec dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --user=root \
        --pid-file=/tmp/dns.pid --addn-hosts=/tmp/dns-hosts \
        --local=/gang.test/ --local-ttl=0'
}
name_lines() { # ... and from now on with these
    printf '%s\n' "$@" | pod 3 bash -c 'cat > /tmp/dns-hosts
        [ ! -e /tmp/dns.pid ] || kill -HUP "$(cat /tmp/dns.pid)" || true'
}

# Begins hbrun in pod-0 with its words in `err`; go on when `happened` has.
begin() {
    pod 0 bash -c 'cd "$0"; echo $$ > launcher; exec "$@" > out 2> err' \
        "$BATS_TEST_TMPDIR" "$hbrun" --wait-hosts 60 --events "$events" "$@" &
    job=$!
}
has() { [ -e "$events" ] && grep -Eq -- "$1" "$events"; }
happened() { wait_until has "$1"; }
event() { echo "\"event\":\"$1\".*\"host\":\"$2\".*\"why\":\"$3\""; }
job_ends() {
    ends $job
    output=$(cat out err)
}

@test "sshd comes up late: a line when the count changes, and the job runs" {
    begin -H pod-1,pod-2 hostname
    happened '"event":"waiting"'
    sshd_up 1
    happened '"host_ready","host":"pod-1"'
    happened '"event":"waiting","ready":1'
    sshd_up 2
    job_ends
    ended_with 0
    says '^pod-1$'
    says '^pod-2$'
    says 'waiting for hosts: 0 of 2 ready, 2 at connect, [0-9]+ s of 60 s; pod-1: refuses ports 22 and 2222'
    says 'waiting for hosts: 1 of 2 ready, 1 at connect, [0-9]+ s of 60 s; pod-2'
    says '2 of 2 hosts ready after'
    [ -z "$(sed -n 's/, [0-9]* s of 60 s.*//; /waiting for/p' err | uniq -d)" ]
    pods_clean_but_sshd 1 2
}
# sshd itself is no PID 1 here.
pods_clean_but_sshd() {
    for i; do wait_until no_agent_in "$i"; done
}
no_agent_in() { ! pod "$1" pgrep -x hpcbootd > /dev/null; }

@test "port 2222 is found where nobody says a port" {
    sshd_up 1 -p 2222
    run pod_hb -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
}

@test "a port that is said is the only one: option, hostfile, ssh_config" {
    sshd_up 1 -p 2222
    run pod_hb --port 22 -H pod-1 hostname
    ended_with 75
    says '1 host refuses port 22: pod-1'
    run pod_hb --port 2222 -H pod-1 hostname
    ended_with 0
    pod 0 bash -c 'printf "%s\n" "Host pod-1" " Port 2222" > .ssh/config'
    run pod_hb -H pod-1 hostname
    pod 0 rm .ssh/config
    ended_with 0
}

@test "neither port: both are named" {
    run pod_hb -H pod-1,pod-2 hostname
    ended_with 75
    says '2 of 2 hosts did not come up: 2 hosts refuse ports 22 and 2222: pod-1, pod-2'
}

@test "a name server that says NXDOMAIN first" {
    sshd_up 1
    name_server
    begin -H w1.gang.test hostname
    happened "$(event host_retry w1.gang.test no-name)"
    name_lines '10.77.0.2 w1.gang.test'
    job_ends
    ended_with 0
    says '^pod-1$'
}

@test "a name server that is not there at first" {
    need dnsmasq
    sshd_up 1
    begin -H w1.gang.test hostname
    happened "$(event host_retry w1.gang.test name-server)"
    name_server '10.77.0.2 w1.gang.test'
    job_ends
    ended_with 0
    says '^pod-1$'
}

# It takes longer than a step of a login may, each time.
@test "a name server that is gone stands before the one that answers" {
    sshd_up 1
    name_server '10.77.0.2 w1.gang.test'
    pod 0 bash -c 'cp /run/resolv.conf /tmp/kept
        ip neigh replace 10.77.9.9 lladdr 02:00:00:00:0d:ad dev eth0 \
            nud permanent
        printf "nameserver %s\n" 10.77.9.9 10.77.0.4 > /run/resolv.conf
        echo "options timeout:4" >> /run/resolv.conf'
    run pod_hb --connect-timeout 3 --wait-hosts 60 -H w1.gang.test hostname
    pod 0 bash -c 'cat /tmp/kept > /run/resolv.conf
        ip neigh del 10.77.9.9 dev eth0'
    ended_with 0
    says '^pod-1$'
}

@test "a pod that comes back at another address" {
    sshd_up 1
    name_server '10.77.9.9 w1.gang.test'
    begin -H w1.gang.test hostname
    happened "$(event host_retry w1.gang.test '(unreachable|silent)')"
    name_lines '10.77.0.2 w1.gang.test'
    job_ends
    ended_with 0
    says '^pod-1$'
}

@test "a name server that answers nothing at all: the deadline holds" {
    name_server
    "$podlab" freeze 3
    run pod_hb --wait-hosts 2 -H w1.gang.test,w2.gang.test hostname
    "$podlab" thaw 3
    ended_with 75
    says '2 of 2 hosts did not come up within 2 s: 2 hosts do not resolve \(name server trouble\): w1.gang.test, w2.gang.test'
}

@test "two hundred names that nobody knows are one sentence" {
    name_server
    in_time ': 200 hosts do not resolve: u\[0-199\]' 1 \
        pod_hb --wait-hosts WAIT -H 'u[0-199].gang.test' hostname
    ended_with 75
    says "200 of 200 hosts did not come up within $wait s: 200 hosts do not resolve: u\[0-199\].gang.test"
    [ "$(grep -vc 'waiting for hosts: ' <<< "$output")" -le 3 ]
}

@test "pods that have IPv6 addresses only" {
    local i
    for i in 0 1 2; do
        pod $i ip addr add "fd77::$i/64" dev eth0 nodad ||
            skip 'there is no IPv6 here'
    done
    name_server 'fd77::1 w1.gang.test' 'fd77::2 w2.gang.test'
    for i in 1 2; do
        sshd_up $i
        pod $i ip addr flush dev eth0 scope global
        pod $i ip addr add "fd77::$i/64" dev eth0 nodad
    done
    run pod_hb -H w1.gang.test,w2.gang.test,fd77::1 --label hostname
    for i in 1 2; do
        pod $i ip addr add "10.77.0.$((i + 1))/16" dev eth0
    done
    ended_with 0
    says '^\[0\] ?pod-1$'
    says '^\[1\] ?pod-2$'
}

@test "a name with an address of each family, one of them dead" {
    pod 0 ip addr add fd77::10/64 dev eth0 nodad 2> /dev/null || true
    sshd_up 1
    name_server 'fd77::99 w1.gang.test' '10.77.0.2 w1.gang.test'
    run pod_hb --wait-hosts 60 -H w1.gang.test hostname
    ended_with 0
    says '^pod-1$'
}

@test "names that lead to one pod are told, by hbrun and by doctor" {
    local i
    for i in 1 2; do sshd_up $i; done
    name_server '10.77.0.2 w1.gang.test' '10.77.0.3 w2.gang.test' \
        '10.77.0.2 w3.gang.test'
    run pod_hb -H w1.gang.test,w2.gang.test,w3.gang.test --label hostname
    ended_with 0
    says '^\[2\] ?pod-1$'
    says 'w1.gang.test and w3.gang.test are one and the same host, which counts 2 times'
    says_not 'w2.gang.test'
    run pod 0 timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" doctor -q \
        --traffic none -H w1.gang.test,w2.gang.test,w3.gang.test
    says 'same: w3.gang.test: it is the same host as w1.gang.test'
    run pod_hb -H w1.gang.test,w2.gang.test hostname
    ended_with 0
    says_not 'one and the same'
}

@test "the deadline passes: hosts by what is wrong with them, status 75" {
    sshd_up 1
    name_server
    in_time ': 3 hosts do not resolve: .*; 1 refuses ports 22 and 2222: pod-2$' \
        2 pod_hb --wait-hosts WAIT \
        -H w1.gang.test,pod-1,pod-2,w2.gang.test,w3.gang.test true
    ended_with 75
    says 'host w1.gang.test: the name w1.gang.test does not resolve'
    says 'host pod-2: 10.77.0.3 refuses'
    says "4 of 5 hosts did not come up within $wait s: 3 hosts do not resolve: w1.gang.test, w2.gang.test, w3.gang.test; 1 refuses ports 22 and 2222: pod-2\$"
}

@test "what will never do ends the waiting early, with others' reasons" {
    sshd_up 1
    pod 1 bash -c 'cp .ssh/authorized_keys /tmp/keys; : > .ssh/authorized_keys'
    run pod_hb --wait-hosts 1000 -H pod-1,pod-2 true
    pod 1 cp /tmp/keys .ssh/authorized_keys
    ended_with 75
    says '1 of 2 hosts did not come up: 1 host refuses the login: pod-1; 1 other had not answered yet'
}

@test "what the launcher was told is wrong: one try, status 2" {
    local option
    sshd_up 1
    pod 0 bash -c 'printf "Host *\n Port x\n" > /tmp/badly
        ssh-keygen -q -t ed25519 -N secret -f /tmp/locked'
    for option in '--kex foo' '--ssh-config /tmp/badly' \
        '--identity /etc/passwd' '--identity /tmp' '--identity /tmp/locked'; do
        # shellcheck disable=SC2086  # two words
        run pod_hb --wait-hosts 1000 $option -H pod-1 true
        ended_with 2
        says "${option#* }"
    done
    pod 0 rm /tmp/badly /tmp/locked /tmp/locked.pub
}

# It is there when sshd looks for it the second time: hbrun asks three times, and
# a busy machine may take longer than that to put it there.
@test "a key that comes into the pod after its sshd" {
    pod 1 bash -c 'rm -f /tmp/looked && cat > /tmp/look' <<'END'
[ ! -e /tmp/looked ] || cat /root/.ssh/authorized_keys
touch /tmp/looked
END
    sshd_up 1 -o AuthorizedKeysFile=none -o AuthorizedKeysCommandUser=root \
        -o AuthorizedKeysCommand='/bin/sh /tmp/look'
    begin -H pod-1 hostname
    job_ends
    ended_with 0
    has "$(event host_retry pod-1 login)"
    says '^pod-1$'
}

@test "--min-hosts begins with those that came, one rank per slot there" {
    sshd_up 1
    in_time 'going on with 1 of 2 hosts after .*: 1 host refuses' 1 \
        pod_hb --wait-hosts WAIT --min-hosts 1 -H pod-2:2,pod-1:2 \
        sh -c 'echo $HPCBOOT_RANK of $HPCBOOT_SIZE on $(hostname)'
    ended_with 0
    says '^0 of 2 on pod-1$'
    says '^1 of 2 on pod-1$'
    in_time 'pod-2 .*did not come up' 1 \
        pod_hb --wait-hosts WAIT --min-hosts 1 -n 4 -H pod-2:2,pod-1:2 true
    ended_with 75
}

@test "--min-hosts that too few hosts come for" {
    sshd_up 1
    in_time '2 of 3 hosts did not come up .*: 2 hosts' 1 \
        pod_hb --wait-hosts WAIT --min-hosts 2 -H pod-1,pod-2,pod-3 true
    ended_with 75
    says "2 of 3 hosts did not come up within $wait s \(--min-hosts 2\): 2 hosts"
    run pod_hb --min-hosts 4 -H pod-1,pod-2,pod-3 true
    ended_with 2
    says '--min-hosts 4: the gang has 3'
}

# They answer once both logins that the launcher makes at a time are there.
@test "all agents that are under way are others': the next host is tried" {
    local i version
    version=$("$hbrun" --version | sed 's/.* //; 1q')
    mkdir -p prefix/sbin
    echo another > prefix/told.token
    cat > prefix/sbin/hpcbootd <<END
#!/bin/sh
case \$(hostname) in pod-3) exec "$HB_BUILDDIR/hpcbootd" "\$@" ;; esac
: > "$PWD/prefix/\$(hostname)"
until [ -e "$PWD/prefix/pod-1" ] && [ -e "$PWD/prefix/pod-2" ]; do
    sleep 0.05
done
exec python3 "$fakes/fake_agent.py" borrow "$PWD/prefix/told" "$version"
END
    chmod 755 prefix/sbin/hpcbootd
    for i in 1 2 3; do sshd_up $i; done
    run pod_hb --tree-width 2 --min-hosts 1 --prefix "$PWD/prefix" \
        -H pod-1,pod-2,pod-3 hostname
    ended_with 0
    says '^pod-3$'
    says 'going on with 1 of 3 hosts .*2 hosts start no agent: pod-1, pod-2'
}

@test "a host that vanishes again while others are waited for" {
    sshd_up 1
    begin -H pod-1,pod-2 hostname
    happened '"host_ready","host":"pod-1"'
    pod 1 pkill -KILL -x 'sshd|hpcbootd'
    happened "$(event host_retry pod-1 vanished)"
    happened "$(event host_retry pod-1 refused)"
    sshd_up 2
    happened '"host_ready","host":"pod-2"'
    sshd_up 1
    job_ends
    ended_with 0
    says '^pod-1$'
    says '^pod-2$'
}

@test "a host that is gone for good after it was ready" {
    sshd_up 1
    begin --wait-hosts 15 -H pod-1,pod-2 hostname
    happened '"host_ready","host":"pod-1"'
    pod 1 pkill -KILL -x 'sshd|hpcbootd'
    job_ends
    ended_with 75
    says '2 of 2 hosts did not come up within 15 s: 2 hosts refuse'
}

@test "INT while hosts are waited for: at once, and says for whom" {
    sshd_up 1
    begin -H pod-1,pod-2 hostname
    happened '"host_ready","host":"pod-1"'
    happened "$(event host_retry pod-2 refused)"
    pod 0 bash -c 'kill -INT $(cat "$0/launcher")' "$BATS_TEST_TMPDIR"
    job_ends
    ended_with 130
    says 'waiting for hosts: 1 of 2 ready, 1 at connect.*; pod-2: '
    pods_clean_but_sshd 1
}

@test "--wait-hosts 0 is one try of each" {
    run pod_hb --wait-hosts 0 --events "$events" -H pod-1,pod-2 true
    ended_with 75
    says '2 of 2 hosts did not come up: 2 hosts refuse'
    [ "$(grep -c host_retry "$events")" = 0 ]
}

@test "on a terminal: a line drawn over itself, and gone in the end" {
    need script
    sshd_up 1
    # shellcheck disable=SC2016
    pod 0 env TERM=xterm "HB=$hbrun" "EV=$events" script -qfec \
        'stty cols 200; $HB --wait-hosts 60 --events $EV -H pod-1,pod-2 hostname' \
        "$BATS_TEST_TMPDIR/typescript" > /dev/null &
    job=$!
    wait_until grep -q '1 of 2 ready, 1 at connect, [0-9]* s of 60 s; pod-2: refuses ports 22 and 2222' typescript
    sshd_up 2
    ends $job
    output=$(cat typescript)
    ended_with 0
    says $'\r\e\\[K.*pod-[12]'
    says_not 'waiting for hosts'
    says_not 'hosts ready after'
}

@test "hpcboot wait: ready, and nothing is left there" {
    sshd_up 1
    pod 0 bash -c 'cd "$0"; exec "$@" 2> err' "$BATS_TEST_TMPDIR" \
        "$HB_BUILDDIR/hpcboot" wait -H pod-1,pod-2 --events "$events" &
    job=$!
    happened "$(event host_retry pod-2 refused)"
    sshd_up 2
    ends $job
    ended_with 0
    says 'hpcboot: 2 of 2 hosts ready after'
    pods_clean_but_sshd 1 2
}

@test "hpcboot wait: not ready, and why" {
    sshd_up 1
    in_time '1 of 2 hosts did not come up .*: 1 host refuses' 1 \
        pod 0 "$HB_BUILDDIR/hpcboot" wait --wait-hosts WAIT -H pod-1,pod-2
    ended_with 75
    says "hpcboot: error: 1 of 2 hosts did not come up within $wait s: 1 host refuses"
    in_time 'going on with 1 of 2 hosts' 1 pod 0 "$HB_BUILDDIR/hpcboot" wait \
        --wait-hosts WAIT --min-hosts 1 -H pod-1,pod-2
    ended_with 0
    pods_clean_but_sshd 1
}

# pod-2 takes the agent's key alone, once pod-1 is ready.
@test "an ssh-agent that takes its time costs no host that is ready" {
    local held=$PWD/held
    ssh-keygen -q -t ed25519 -N '' -f agents
    cat > once-ready <<END
until grep -q '"host_ready","host":"pod-1"' $events || [ -e $PWD/over ]; do
    sleep 0.02
done
cat $PWD/agents.pub
END
    pod 0 perl "$fakes/silent_agent.pl" "$held" "$PWD/signs" "$PWD/agents.pub" \
        3>&- &
    echo $! > held.pid
    wait_until test -S "$held"
    pod 0 bash -c 'printf "Host pod-2\n IdentityAgent %s\n" "$0" > .ssh/config' \
        "$held"
    sshd_up 1
    sshd_up 2 -o 'AuthorizedKeysFile none' -o 'AuthorizedKeysCommandUser root' \
        -o "AuthorizedKeysCommand /bin/sh $PWD/once-ready"
    begin --heartbeat 3s --min-hosts 1 -H pod-1,pod-2 hostname
    job_ends
    touch over
    pod 0 rm .ssh/config
    kill "$(cat held.pid)"
    ended_with 0
    says '^pod-1$'
    [ -s signs ]
    [ "$(grep -c '"host_ready","host":"pod-1"' "$events")" -eq 1 ]
    has 'host_lost.*pod-2.*no ssh-agent answers there; .* longer --heartbeat'
}

@test "key files in every encoding and mode, mounted as a Secret is" {
    local form mode
    sshd_up 1
    for form in 'ed25519 ' 'rsa -m PEM' 'rsa -m PKCS8' 'ecdsa -m PEM' \
        'ecdsa -m PKCS8' 'rsa '; do
        rm -f key key.pub
        # shellcheck disable=SC2086
        ssh-keygen -q -N '' -C '' -f key -t $form
        pod 1 bash -c 'cat > .ssh/authorized_keys' < key.pub
        for mode in 400 440 600 644 755; do
            chmod $mode key
            pod 0 bash -c 'rm -rf .ssh/id_ed25519 /tmp/s; mkdir -p /tmp/s/..1
                cp -p "$0/key" /tmp/s/..1/ssh-privatekey
                ln -s ..1 /tmp/s/..data
                ln -s ..data/ssh-privatekey /tmp/s/ssh-privatekey
                ln -s /tmp/s/ssh-privatekey .ssh/id_ed25519' "$PWD"
            run pod_hb -H pod-1 hostname
            ended_with 0 || { echo "$form $mode"; return 1; }
        done
    done
}
