#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Pods without sshd: PID 1 is `hpcbootd serve`. Nothing is known of their host
# keys; what vouches for them is the gang's key alone.
#
# shellcheck disable=SC2016  # expanded in the pod

load ../common

hpcbootd=$HB_BUILDDIR/hpcbootd

setup_file() {
    need_root
    need ssh ssh-keygen
    [ -e "$HB_BUILDDIR/.libs/hb_ssh.so" ] || skip 'built without libssh'
    export F=$BATS_FILE_TMPDIR
    chmod a+rx "$BATS_RUN_TMPDIR" "$F"
    lab_up serve 3 --init "$HB_BUILDDIR/hpcbootd serve 2> /run/serve.log"
    for i in 0 1 2; do
        wait_until pod $i grep -q 'serves on port' /run/serve.log
        pod $i rm /root/.ssh/known_hosts
    done
    ssh-keygen -q -t ed25519 -N '' -f "$F/stranger"
}
teardown_file() { lab_down; }
teardown() {
    local i
    "$podlab" link 0 up
    for i in 0 1 2; do
        [ ! -e "$F/serve$i.pid" ] || pod $i bash -c \
            "kill -9 \$(cat /run/more.pid)" 2> /dev/null || true
        rm -f "$F/serve$i.pid"
        pod $i bash -c '[ ! -e /run/old-key ] ||
            mv /run/old-key /root/.ssh/id_ed25519'
    done
}

ssh_from_0() { # HOST [COMMAND...]
    pod 0 timeout -s KILL "$HB_LIMIT" ssh -o BatchMode=yes \
        -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
        -o LogLevel=ERROR "$@" < /dev/null
}

# serve_more I [OPTION...]: a second server in pod I, in the background. Its
# words in /run/more.log, its status in /run/more.status.
serve_more() {
    local i=$1
    shift
    pod "$i" env ASAN_OPTIONS="${ASAN_OPTIONS-}" bash -c '
        rm -f /run/more.*; cd /run
        { "$@" 2> more.log & echo $! > more.pid; wait $!; echo $? > more.status
        } < /dev/null > /dev/null 2>&1 3>&- &
        ' - "$hpcbootd" serve "$@"
    touch "$F/serve$i.pid"
    wait_until pod "$i" grep -q 'serves on port' /run/more.log
}

# What libpmix leaks would be the status of a sanitized agent.
serve_one_that_fails() {
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
        serve_more "$@" --once
}

@test "derived host keys: no option, no known_hosts, no warning" {
    run pod_hb -H pod-1,pod-2 sh -c 'echo "$HPCBOOT_RANK on $(hostname)"'
    ended_with 0
    says '^0 on pod-1$'
    says '^1 on pod-2$'
    [ "$(but_for_waiting | wc -l)" -eq 2 ]
    pods_clean 1 2
}

@test "an address in place of a name: the host proves itself" {
    run pod_hb -v -v -H 10.77.0.2 hostname
    ended_with 0
    says '^pod-1$'
    says '10\.77\.0\.2: has proven that it holds the gang.s key'
    says_not 'warning'
}

@test "a name that leads to another member: it is told" {
    pod 0 bash -c 'cp /etc/hosts /run/hosts
        sed "s/pod-1/X/; s/pod-2/pod-1/; s/X/pod-2/" /run/hosts > /etc/hosts'
    run pod_hb -H pod-1,pod-2 hostname
    pod 0 bash -c 'cat /run/hosts > /etc/hosts'
    ended_with 0
    says 'warning: host pod-1: you reached pod-2'
    says 'warning: host pod-2: you reached pod-1'
}

@test "a plain ssh client is told what this is" {
    run ssh_from_0 pod-1
    ended_with 0
    says 'hpcbootd .* on pod-1: your key is the gang.s'
    says 'there is no shell'
    run ssh_from_0 -tt pod-1
    ended_with 0
    says 'there is no shell'
}

@test "a command is not run, sftp and forwarding are refused" {
    run ssh_from_0 pod-1 'touch /run/was-here'
    ended_with 126
    says 'Here agents of hbrun are started, and nothing else'
    run pod 1 test -e /run/was-here
    ended_with 1
    run pod 0 bash -c 'sftp -o StrictHostKeyChecking=no -b /dev/null pod-1'
    [ "$status" -ne 0 ]
    run pod 0 bash -c 'ssh -o StrictHostKeyChecking=no -o BatchMode=yes \
        -o UserKnownHostsFile=/dev/null -W 127.0.0.1:22 pod-1 < /dev/null'
    [ "$status" -ne 0 ]
    says_not '^SSH-2'
}

@test "a line that only looks like the agent's is not run" {
    local line
    for line in "hpcbootd agent --token 'x;touch /run/was-here'" \
        "exec '/bin/sh' '-c' 'touch /run/was-here'" \
        "hpcbootd agent --token x; touch /run/was-here" \
        "hpcbootd --version" "hpcbootd serve --port 7"; do
        run ssh_from_0 pod-1 "$line"
        ended_with 126
    done
    run pod 1 test -e /run/was-here
    ended_with 1
}

# The script that stands in the line is not what is executed.
@test "the agent's line starts the agent and not what it says" {
    run ssh_from_0 pod-1 "exec '/bin/sh' '-c' 'touch /run/was-here' \
'hpcbootd' 'token7' 'x'"
    says 'hpcboot-link'
    run pod 1 test -e /run/was-here
    ended_with 1
}

@test "a stranger gets nothing" {
    run ssh_from_0 -i "$F/stranger" -o IdentitiesOnly=yes pod-1
    ended_with 255
    says 'Permission denied \(publickey\)'
    [ "${#lines[@]}" -eq 1 ]
}

@test "who has another key is told where the right one is named" {
    run pod_hb --identity "$F/stranger" -H pod-1 true
    ended_with 75
    says 'login as root refused .*hpcbootd serve is there, and its log says which'
    says_not 'sshd|authorized_keys'
}

# A use of what the server has freed shows in a build with --enable-asan.
@test "a second session over the connection of an agent is refused" {
    serve_more 1 --port 2299
    run pod 0 timeout -s KILL "$HB_LIMIT" bash -c '
        o="-p 2299 -o BatchMode=yes -o StrictHostKeyChecking=no
           -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -S /run/mux"
        sleep 60 | ssh $o -M pod-1 "hpcbootd agent --token one" > /run/one &
        until grep -q hpcboot-link /run/one; do
            sleep 0.1
        done
        ssh $o pod-1 "hpcbootd agent --token two" < /dev/null
        echo "the second: $?"
        ssh $o -O exit pod-1'
    says '[Ss]ession open refused'
    says 'the second: 255'
    run ssh_from_0 -p 2299 pod-1
    ended_with 0
    says 'there is no shell'
}

@test "--launch-with ssh starts agents here too" {
    run pod_hb --launch-with 'ssh -oStrictHostKeyChecking=no' -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
}

# Once it has seen the end of those that it had.
is_idle() {
    [ "$(pod 1 "$hpcbootd" health)" = 'ok serving port=22 logins=0 agents=0' ]
}

@test "health of a pod" {
    wait_until is_idle
    run pod 1 "$hpcbootd" health
    ended_with 0
    run pod 1 "$hpcbootd" health --port 2222
    ended_with 1
    says 'nobody serves'
    run pod 1 "$hpcbootd" health --what
    ended_with 2
    run "$hpcbootd" health
    ended_with 1
}

@test "health of a server that hangs, asked by one probe after the other" {
    serve_more 1 --port 2011
    pod 1 bash -c 'kill -STOP "$(cat /run/more.pid)"'
    # More than can wait to be heard.
    run pod 1 bash -c 'cd /run; rm -f health.*; for i in {1..12}; do
            { timeout "$1" "$0" health --port 2011; echo $?; } \
                > health.$i 2>&1 &
        done; wait; cat health.*' "$hpcbootd" "$HB_LIMIT"
    ended_with 0
    [ "$(grep -c '^1$' <<< "$output")" -eq 12 ]
    [ "$(grep -c 'the server does not answer' <<< "$output")" -eq 12 ]
}

# As where their pod is frozen for a moment.
@test "health of a server that hangs, asked by probes that are stopped meanwhile" {
    serve_more 1 --port 2011
    pod 1 bash -c 'kill -STOP "$(cat /run/more.pid)"'
    run pod 1 bash -c 'cd /run; rm -f health.*; for i in {1..12}; do
            "$0" health --port 2011 > health.$i 2>&1 & asked[i]=$!
        done
        for i in {1..1000}; do
            kill -STOP "${asked[@]}"; kill -CONT "${asked[@]}"
        done 2> /dev/null
        wait; cat health.*' "$hpcbootd"
    [ "$(grep -c 'the server does not answer' <<< "$output")" -eq 12 ]
}

@test "orphans are reaped by the first process of a pod" {
    run pod_hb -H pod-1 bash -c '(setsid bash -c "exec true" &) ; exit 0'
    ended_with 0
    pod 1 bash -c 'for i in 1 2 3; do (true &) ; done'
    no_zombies() { ! pod 1 ps -eo stat= | grep -q '^Z'; }
    wait_until no_zombies
}

@test "both families" {
    pod 1 ip addr add fd00:77::2/64 dev eth0 nodad 2> /dev/null ||
        skip 'no IPv6 here'
    pod 0 ip addr add fd00:77::1/64 dev eth0 nodad
    pod 0 bash -c 'cp /etc/hosts /run/hosts
        sed "s/^.* pod-1$/fd00:77::2 pod-1/" /run/hosts > /etc/hosts'
    run pod_hb -H pod-1 hostname
    pod 0 bash -c 'cat /run/hosts > /etc/hosts'
    ended_with 0
    says '^pod-1$'
    run pod 0 bash -c 'exec 3<> /dev/tcp/10.77.0.2/22; head -c 7 <&3'
    says '^SSH-2.0$'
}

@test "no root, no passwd entry, no HOME, nothing writable: port 2222" {
    pod 1 bash -c 'mkdir -p /run/key && cp /root/.ssh/id_ed25519 /run/key/ &&
        chmod 755 /run/key && chmod 644 /run/key/*
        sysctl -qw net.ipv4.ip_unprivileged_port_start=1024'
    pod 1 bash -c 'cd /; rm -f /tmp/log
        exec env -i setpriv --reuid 4321 --regid 4321 --clear-groups \
            --bounding-set=-all --inh-caps=-all --no-new-privs \
            "$0" serve --key /run/key > /tmp/log 2>&1 3>&- & echo $! > /run/more.pid
        ' "$hpcbootd"
    touch "$F/serve1.pid"
    wait_until pod 1 grep -q 'serves on port 2222' /tmp/log
    run pod_hb --port 2222 -H pod-1 id -u
    ended_with 0
    says '^4321$'
    says_not 'warning'
    run pod 1 setpriv --reuid 4321 --clear-groups "$hpcbootd" health --port 2222
    ended_with 0
}

# As in a pod, where root may not look into processes that forbid it, either.
@test "ranks have what the server's container was started with" {
    printf '%s\n' '#!/bin/sh' "exec env POD_OWN='of the pod' setpriv \\" \
        "--bounding-set=-all --inh-caps=-all $hpcbootd \"\$@\"" > "$F/server"
    chmod +x "$F/server"
    hpcbootd=$F/server serve_more 1 --port 2001
    run pod_hb --port 2001 -H pod-1 sh -c 'echo "rank $POD_OWN"'
    ended_with 0
    says '^rank of the pod$'
    run pod_hb --port 2001 -H pod-1 -x POD_OWN=mine sh -c 'echo "rank $POD_OWN"'
    says '^rank mine$'
}

@test "a launcher finds the gang's key where a server does, without HOME or name" {
    pod 0 bash -c 'mount -t tmpfs none /home && cd /home && mkdir -p mpiuser/.ssh/..1 &&
        cd mpiuser/.ssh && cp /root/.ssh/id_ed25519 ..1/ssh-privatekey &&
        chmod 644 ..1/* && ln -s ..1 ..data &&
        ln -s ..data/ssh-privatekey ssh-privatekey'
    run pod 0 bash -c 'cd /; exec timeout -s KILL "$@"' - "$HB_LIMIT" env -i \
        PATH=/usr/bin:/bin HOME=/ setpriv --reuid 4321 --regid 4321 \
        --clear-groups "$hbrun" -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
    # Whose home it is may have put anything there.
    pod 0 chown -R 4322 /home/mpiuser/.ssh
    run pod 0 bash -c 'cd /; exec timeout -s KILL "$@"' - "$HB_LIMIT" env -i \
        PATH=/usr/bin:/bin HOME=/ setpriv --reuid 4321 --regid 4321 \
        --clear-groups "$hbrun" -H pod-1 hostname
    pod 0 umount /home
    ended_with 75
    says 'none was found here'
}

@test "--once ends with the job, and with its status" {
    serve_more 1 --port 2001 --once
    run pod_hb --port 2001 -H pod-1 true
    ended_with 0
    wait_until pod 1 grep -qx 0 /run/more.status
    serve_more 1 --port 2001 --once
    run pod_hb --port 2001 -H pod-1 sh -c 'exit 7'
    ended_with 7
    wait_until pod 1 grep -qx 7 /run/more.status
}

@test "--once waits for a job, not for a login, nor for who only looks" {
    serve_more 1 --port 2001 --once
    run pod 0 "$HB_BUILDDIR/hpcboot" wait --port 2001 -H pod-1
    ended_with 0
    run pod 0 "$HB_BUILDDIR/hpcboot" doctor --port 2001 -H pod-1
    run pod 0 "$HB_BUILDDIR/hpcboot" ps --port 2001 -H pod-1
    run pod 0 "$HB_BUILDDIR/hpcboot" stuck --port 2001 -H pod-1
    run ssh_from_0 -p 2001 pod-1
    ended_with 0
    run ssh_from_0 -p 2001 pod-1 'hpcbootd agent --token t'
    run pod_hb --port 2001 -H pod-1 sh -c 'exit 3'
    ended_with 3
    wait_until pod 1 grep -qx 3 /run/more.status
}

@test "--once: a launcher that is killed is worth another try" {
    serve_one_that_fails 1 --port 2001
    pod 0 bash -c 'echo $$ > /run/launcher.pid; exec "$@"' - \
        "$hbrun" --port 2001 -H pod-1 sh -c 'touch /run/begun; exec sleep 1000' \
        > "$F/out" 2>&1 3>&- &
    wait_until pod 1 test -e /run/begun
    pod 0 bash -c 'kill -KILL $(cat /run/launcher.pid)'
    wait_until pod 1 grep -qx 75 /run/more.status
    pod 1 rm /run/begun
}

@test "--once: an agent that is killed is worth another try" {
    serve_one_that_fails 1 --port 2001
    pod_hb --port 2001 -H pod-1 \
        sh -c 'touch /run/begun; exec sleep 1000' > "$F/out" 2>&1 3>&- &
    local launcher=$!
    wait_until pod 1 test -e /run/begun
    pod 1 sh -c 'kill -KILL $(pgrep -n -x hpcbootd)'
    wait_until pod 1 grep -qx 75 /run/more.status
    wait "$launcher" || true
    pod 1 rm /run/begun
}

@test "--once: the network is cut while a rank writes" {
    serve_one_that_fails 1 --port 2001 --login-timeout 2
    pod_hb --port 2001 --heartbeat 1 -H pod-1 \
        sh -c 'touch /run/begun; exec yes' > /dev/null 2>&1 3>&- &
    wait_until pod 1 test -e /run/begun
    "$podlab" link 0 down
    wait_until pod 1 grep -qx 75 /run/more.status
    wait $! || true
    pod 1 rm /run/begun
}

@test "SIGTERM drains: no more logins, ranks get their grace, status 0" {
    serve_more 1 --port 2001
    cat > "$F/graceful" <<'END'
#!/bin/bash
trap 'echo said goodbye; exit 0' TERM
echo up > "$1"
while :; do sleep 0.05; done
END
    chmod 755 "$F/graceful"
    rm -f "$F/up"
    pod_hb --port 2001 -H pod-1 "$F/graceful" "$F/up" > "$F/out" 2>&1 3>&- &
    wait_until test -s "$F/up"
    pod 1 bash -c 'kill -TERM $(cat /run/more.pid)'
    wait_until pod 1 grep -qs . /run/more.status
    run pod 1 cat /run/more.status
    [ "$output" = 0 ]
    wait $! || true
    output=$(cat "$F/out")
    says '^said goodbye$'
    says 'its agent was told to end \(SIGTERM\)'
}

@test "while draining, a probe fails and new logins are refused" {
    serve_more 1 --port 2001
    rm -f "$F/up"
    pod_hb --port 2001 --grace 20 -H pod-1 \
        bash -c 'trap "" TERM; echo up > '"$F/up"'; sleep 60' \
        > /dev/null 2>&1 3>&- &
    wait_until test -s "$F/up"
    pod 1 bash -c 'kill -TERM $(cat /run/more.pid)'
    is_draining() {
        pod 1 "$hpcbootd" health --port 2001 | grep -q '^no draining'
    }
    wait_until is_draining
    run pod 1 "$hpcbootd" health --port 2001
    ended_with 1
    run ssh_from_0 -p 2001 pod-1
    ended_with 255
    pod 1 bash -c 'kill -TERM $(cat /run/more.pid)'
    wait_until pod 1 test -e /run/more.status
    wait $! || true
    pods_clean 1
}

@test "the client is killed: the agent cleans up behind itself" {
    rm -f "$F/up"
    pod_hb -H pod-1 bash -c 'echo up > '"$F/up"'; exec sleep 777' \
        > /dev/null 2>&1 3>&- &
    wait_until test -s "$F/up"
    pod 0 pkill -KILL -x hbrun
    pods_clean 1
    wait $! || true
    wait_until is_idle
}

@test "an agent that cannot be followed ends, and the server goes on" {
    ! is_sanitized || skip 'a sanitizer must be loaded first'
    "${CC:-cc}" -shared -fPIC -o "$F/no_event.so" \
        "$HB_SRCDIR/tests/fakes/no_event.c"
    printf '%s\n' '#!/bin/sh' "export NO_EVENT=$F/no-event" \
        "LD_PRELOAD=$F/no_event.so exec $hpcbootd \"\$@\"" > "$F/server"
    chmod +x "$F/server"
    touch "$F/no-event"
    hpcbootd=$F/server serve_more 1 --port 2001
    run pod_hb --port 2001 -H pod-1 true
    ended_with 75
    pod 1 grep -q 'an agent could not be started: no memory' /run/more.log
    ssh_from_0 -p 2001 pod-1 'hpcbootd agent --token t' > "$F/out" || true
    rm "$F/no-event"
    run pod_hb --port 2001 -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
    pod 1 bash -c 'kill -TERM $(cat /run/more.pid)' # waits for all agents
    wait_until pod 1 grep -qx 0 /run/more.status
}

@test "a connection that says nothing is hung up on" {
    serve_more 1 --port 2001 --login-timeout 1
    run pod 0 timeout -s KILL "$HB_LIMIT" bash -c \
        'exec 3<> /dev/tcp/10.77.0.2/2001; cat <&3 | wc -l'
    ended_with 0
    says '^1$'
}

@test "what a client says stands in the log as one line of letters" {
    need python3
    serve_more 1 --port 2001 -v
    pod 0 timeout -s KILL "$HB_LIMIT" python3 - << 'END'
import os, socket, struct
s = socket.create_connection(("10.77.0.2", 2001))
s.sendall(b"SSH-2.0-x\r\n")
heard = b""
while b"ssh-ed25519" not in heard: # its own proposal
    heard += s.recv(4096)
names = [b"\033[31m\nspoofed\x9bx"] + [b"none"] * 7 + [b"", b""]
kexinit = b"\x14" + os.urandom(16) + b"".join(
    struct.pack(">I", len(n)) + n for n in names) + b"\0" * 5
padding = 8 - (len(kexinit) + 5) % 8 + 8
s.sendall(struct.pack(">IB", len(kexinit) + 1 + padding, padding) + kexinit
          + bytes(padding))
while s.recv(4096):
    pass
END
    wait_until pod 1 grep -q 'key exchange failed' /run/more.log
    run pod 1 cat -v /run/more.log
    says 'a key exchange failed: .*spoofed'
    says_not '\^\[|M-|^spoofed'
}

# libssh answers each of these by itself.
@test "a client that asks without end and reads no answers is hung up on" {
    need python3
    serve_more 1 --port 2001 --login-timeout 600
    run pod 0 timeout -s KILL "$HB_LIMIT" python3 -c '
import socket
s = socket.create_connection(("10.77.0.2", 2001))
s.sendall(b"SSH-2.0-x\r\n")
flood = bytes.fromhex("0000000c0ac800000000000000000000") * 4096
sent = 0
try:
    while sent < 256 << 20:
        sent += s.send(flood)
    print("is let on")
except OSError:
    print("hung up on")'
    says '^hung up on$'
    run pod_hb --port 2001 -H pod-1 hostname
    ended_with 0
    is_sanitized || [ "$(pod 1 sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' \
        "/proc/$(pod 1 cat /run/more.pid)/status")" -lt 32768 ]
}

@test "a flood of logins does not keep others out" {
    serve_more 1 --port 2001 --max-logins 8
    pod 2 timeout -s KILL "$HB_LIMIT" bash -c 'touch /run/flooding
        while [ -e /run/flooding ]; do
            for i in 1 2 3 4 5 6 7 8 9 10; do
                (exec 3<> /dev/tcp/10.77.0.2/2001; read -t 1 -r x <&3; sleep 0.2
                ) 2> /dev/null &
            done; sleep 0.05
        done; wait' > /dev/null 2>&1 3>&- &
    wait_until pod 1 grep -q 'too many logins' /run/more.log
    run pod_hb --wait-hosts 60 --port 2001 -H pod-1 hostname
    pod 2 rm /run/flooding
    wait $! || true
    ended_with 0
    says '^pod-1$'
}

@test "logins that say nothing do not keep others of their address out" {
    serve_more 1 --port 2001 --login-timeout 600
    rm -f "$F/held"
    pod 0 timeout -s KILL "$HB_LIMIT" python3 -c '
import os, socket, sys, time
held = [socket.create_connection(("10.77.0.2", 2001)) for _ in range(16)]
os.close(os.open(sys.argv[1], os.O_CREAT))
while os.path.exists(sys.argv[1]):
    time.sleep(0.05)' "$F/held" 3>&- &
    wait_until test -e "$F/held"
    run pod_hb --port 2001 -H pod-1 hostname
    rm "$F/held"
    wait $! || true
    ended_with 0
    says '^pod-1$'
}

@test "a mounted key that changes takes the place of the old one" {
    pod 1 bash -c 'mkdir -p /run/k && cp /root/.ssh/id_ed25519 /run/k/'
    serve_more 1 --port 2001 --key /run/k
    run pod_hb --port 2001 -H pod-1 true
    ended_with 0
    ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f "$F/new"
    pod 1 bash -c 'cp "$0" /run/k/new; mv /run/k/new /run/k/id_ed25519' "$F/new"
    run pod_hb --port 2001 -H pod-1 true
    ended_with 75
    run pod_hb --port 2001 --identity "$F/new" -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
    rm "$F/new" "$F/new.pub"
}

# As kubelet does it: a new folder, the link to it, links in and out of it.
@test "a Secret that has its key by another name now" {
    pod 1 bash -c 'mkdir -p /run/s/..1 && cd /run/s && ln -s ..1 ..data &&
        cp /root/.ssh/id_ed25519 ..1/id_rsa && ln -s ..data/id_rsa id_rsa'
    serve_more 1 --port 2017 --key /run/s
    run pod_hb --port 2017 -H pod-1 true
    ended_with 0
    rm -f "$F/renamed" "$F/renamed.pub"
    ssh-keygen -q -t ecdsa -m PEM -N '' -f "$F/renamed"
    pod 1 bash -c 'cd /run/s && mkdir ..2 && ln -s ..2 ..next &&
        mv -T ..next ..data && rm -r ..1'
    # Nothing is there: what was read stays.
    run pod_hb --port 2017 -H pod-1 true
    ended_with 0
    pod 1 bash -c 'cd /run/s && cp "$0" ..2/ssh-privatekey && rm id_rsa &&
        ln -s ..data/ssh-privatekey ssh-privatekey' "$F/renamed"
    logs_in() {
        pod_hb --port 2017 --identity "$F/renamed" -H pod-1 true 2> /dev/null
    }
    wait_until logs_in
    run pod_hb --port 2017 -H pod-1 true
    ended_with 75
    rm "$F/renamed" "$F/renamed.pub"
}

@test "a Secret whose key is gone for a moment is not left for another folder" {
    local server=$hpcbootd hpcbootd=$F/at-home
    printf '#!/bin/sh\nHOME=/run/h exec %s "$@"\n' "$server" > "$hpcbootd"
    chmod +x "$hpcbootd"
    rm -f "$F/secret" "$F/secret.pub"
    ssh-keygen -q -t ecdsa -m PEM -N '' -f "$F/secret"
    pod 1 bash -c 'mkdir -p /run/h/.ssh/..1 && cd /run/h/.ssh &&
        ln -s ..1 ..data && cp "$0" ..1/id_rsa && ln -s ..data/id_rsa id_rsa
        ' "$F/secret"
    serve_more 1 --port 2019
    pod 1 mv /run/h/.ssh/..1/id_rsa /run/h/.ssh/..1/away
    run pod_hb --port 2019 --identity "$F/secret" -H pod-1 true
    ended_with 0
    run pod_hb --port 2019 -H pod-1 true
    ended_with 75
    rm "$F/secret" "$F/secret.pub" "$hpcbootd"
}

@test "keys of every kind and encoding let in" {
    local form
    pod 1 bash -c 'mkdir -p /run/k && cp /root/.ssh/id_ed25519 /run/k/key'
    serve_more 1 --port 2001 --key /run/k/key
    for form in 'rsa -m PEM' 'rsa -m PKCS8' 'rsa ' 'ecdsa -m PEM' \
        'ecdsa -m PKCS8' 'ecdsa -b 521 -m PEM' 'ed25519 '; do
        rm -f "$F/form" "$F/form.pub"
        # shellcheck disable=SC2086
        ssh-keygen -q -N '' -f "$F/form" -t $form
        pod 1 bash -c 'cp "$0" /run/k/new; mv /run/k/new /run/k/key' "$F/form"
        run pod_hb --port 2001 --identity "$F/form" -H pod-1 hostname
        ended_with 0 || { echo "$form"; return 1; }
        says '^pod-1$'
    done
    rm "$F/form" "$F/form.pub"
}

@test "a key that libssh can only read is refused in words" {
    ! pkg-config --atleast-version 0.11 libssh || skip 'this libssh can use it'
    openssl genpkey -algorithm ed25519 -out "$F/odd"
    run pod 1 timeout -s KILL "$HB_LIMIT" "$hpcbootd" serve --key "$F/odd"
    ended_with 2
    says 'odd: not a key that can be read'
    rm "$F/odd"
}

@test "without a private key: authorized_keys, and the host is not known" {
    pod 1 bash -c 'mkdir -p /run/none/.ssh && cp /root/.ssh/id_ed25519.pub \
        /run/none/.ssh/authorized_keys && rm -rf /run/r && mv /root/.ssh /run/r'
    pod 1 bash -c 'rm -f /run/more.*
        HOME=/run/none exec "$0" serve --port 2001 \
        2> /run/more.log > /dev/null 3>&- & echo $! > /run/more.pid' "$hpcbootd"
    touch "$F/serve1.pid"
    wait_until pod 1 grep -q 'serves on port' /run/more.log
    run pod_hb --port 2001 -H pod-1 hostname
    local first=$status words=$output
    run pod_hb --port 2001 --host-keys pin -H pod-1 hostname
    pod 1 mv /run/r /root/.ssh
    ended_with 0
    says 'warning: host keys that are not known were accepted'
    output=$words
    [ "$first" -eq 75 ]
    says 'does not prove that it holds a key of ours: no private key is mounted'
}

@test "a file of authorized keys that changes is taken at the next login" {
    stranger_gets() { # STATUS WORDS
        run ssh_from_0 -i "$F/stranger" -o IdentitiesOnly=yes -p 2014 pod-1 id
        ended_with "$1"
        says "$2"
    }
    pod 1 bash -c ': > /run/keys'
    serve_more 1 --port 2014 --authorized-keys /run/keys
    stranger_gets 255 'Permission denied'
    pod 1 bash -c 'cat > /run/keys' < "$F/stranger.pub"
    stranger_gets 126 'hpcbootd'
    pod 1 bash -c ': > /run/keys'
    stranger_gets 255 'Permission denied'
}

@test "without a private key, too, and the host key stays" {
    host_key() {
        run ssh_from_0 -v -o LogLevel=DEBUG1 -i "$F/stranger" \
            -o IdentitiesOnly=yes -p 2015 pod-1 id
        ended_with 126
        echo "$output" | grep 'Server host key'
    }
    local first
    ssh-keygen -q -t ed25519 -N '' -f "$F/third" <<< y > /dev/null
    pod 1 bash -c 'mkdir -p /run/alone && cat > /run/alone/keys' \
        < "$F/stranger.pub"
    pod 1 bash -c 'mv /root/.ssh /run/aside'
    serve_more 1 --port 2015 --authorized-keys /run/alone/keys
    pod 1 bash -c 'mv /run/aside /root/.ssh'
    first=$(host_key)
    cat "$F/stranger.pub" "$F/third.pub" |
        pod 1 bash -c 'cat > /run/alone/keys'
    [ "$(host_key)" = "$first" ]
    run ssh_from_0 -i "$F/third" -o IdentitiesOnly=yes -p 2015 pod-1 id
    ended_with 126
    for ((i = 0; i < 63; i++)); do cat "$F/third.pub"; done |
        { cat "$F/stranger.pub" - "$F/stranger.pub"; } |
        pod 1 bash -c 'cat > /run/alone/keys'
    [ "$(host_key)" = "$first" ]
    output=$(pod 1 cat /run/more.log)
    says 'keys: only the first 64 keys log in, 1 more do not'
    pod 1 bash -c 'echo none > /run/alone/keys'
    [ "$(host_key)" = "$first" ]
    output=$(pod 1 cat /run/more.log)
    says 'those read before stay: no key in /run/alone/keys'
}

@test "where no private key is found it is asked for, and not for ssh-keyscan" {
    pod 0 bash -c 'mv /root/.ssh /run/aside && mkdir /root/.ssh'
    run pod_hb -H pod-1 true
    pod 0 bash -c 'rm -r /root/.ssh && mv /run/aside /root/.ssh'
    ended_with 75
    says 'pod-1: the host key is not known: .* known by the gang.s private key'
    says_not 'ssh-keyscan'
}

@test "serve and health say how they are used" {
    run "$hpcbootd" serve --help
    ended_with 0
    says '^usage: hpcbootd serve'
    run "$hpcbootd" health -h
    ended_with 0
    says '^usage: hpcbootd health'
}

@test "what cannot serve is said, and how to mend it" {
    run pod 1 "$hpcbootd" serve --port 22
    ended_with 75
    says 'cannot listen on port 22: Address already in use'
    run pod 1 "$hpcbootd" serve --key /nowhere
    ended_with 2
    says 'cannot read the key /nowhere'
    run pod 1 bash -c 'echo x > /run/x; exec "$0" serve --key /run/x' "$hpcbootd"
    ended_with 2
    says '/run/x holds no private key'
    run pod 1 "$hpcbootd" serve --port 0
    ended_with 2
    says '\-\-port: needs a port from 1 to 65535, not "0"'
    run pod 1 "$hpcbootd" serve --once --login-rate
    ended_with 2
    says '\-\-login-rate: needs a number from 1 to 100000$'
    run pod 1 "$hpcbootd" serve --prot 7
    ended_with 2
    says 'unknown option --prot; did you mean \-\-port\?'
}

@test "a value behind an equals sign is one" {
    pod 1 bash -c 'mkdir -p "/run/a=b" && cp /root/.ssh/id_ed25519 "/run/a=b/k=1"'
    serve_more 1 --port=2016 --key="/run/a=b/k=1" --login-timeout=7s --once
    run pod 1 "$hpcbootd" health --port=2016
    ended_with 0
    says '^ok serving port=2016'
    run pod_hb --port 2016 -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
    run pod 1 "$hpcbootd" health --port=x
    ended_with 2
    run pod 1 "$hpcbootd" serve --port=
    ended_with 2
    says '\-\-port: needs a port from 1 to 65535, not ""'
    run pod 1 "$hpcbootd" serve --once=yes
    ended_with 2
    says 'unknown option --once=yes; did you mean \-\-once\?'
}

# As a Secret's mount with defaultMode 0400 does to whoever is not root.
@test "a key that its mount closes to this user is told" {
    need setpriv
    pod 1 bash -c 'mkdir -p /run/closed/.ssh && cd /run/closed/.ssh &&
        cp /root/.ssh/id_ed25519 id_rsa && chmod 400 id_rsa'
    as_nobody() {
        pod 1 env HOME=/run/closed timeout -s KILL "$HB_LIMIT" setpriv \
            --reuid 54321 --regid 54321 --clear-groups "$hpcbootd" serve "$@"
    }
    local closed='/run/closed/.ssh/id_rsa belongs to uid 0 with mode 0400 and uid 54321 cannot read it'
    run as_nobody --port 2001
    ended_with 2
    says "warning: $closed: set fsGroup"
    says 'nobody could log in'
    run as_nobody --port 2001 --key /run/closed/.ssh
    ended_with 2
    says "warning: $closed"
    # Its agents cannot prove anything, and say why.
    pod 1 bash -c 'cp /root/.ssh/id_ed25519.pub /run/closed/keys
        chmod 644 /run/closed/keys; rm -f /run/more.*
        cd /run; { env HOME=/run/closed setpriv \
            --reuid 54321 --regid 54321 --clear-groups "$0" serve --port 2001 \
            --authorized-keys /run/closed/keys 2> more.log &
        echo $! > more.pid; wait; } < /dev/null > /dev/null 2>&1 3>&- &' \
        "$hpcbootd"
    touch "$F/serve1.pid"
    wait_until pod 1 grep -q 'serves on port' /run/more.log
    run pod_hb --port 2001 -H pod-1 hostname
    ended_with 75
    says "does not prove that it holds a key of ours: $closed"
}

# As one that is mounted to /root/.ssh is, for who is not root.
@test "a key in a volume that this user cannot reach is told" {
    need setpriv
    as_stranger() { # POD COMMAND...
        pod "$1" unshare -m timeout -s KILL "$HB_LIMIT" bash -c '
            mkdir -p -m 700 /run/shut && mkdir -p /run/shut/home/.ssh &&
            mount --bind /root/.ssh /run/shut/home/.ssh && cd / &&
            HOME=/run/shut/home exec setpriv --reuid 54321 --regid 54321 \
                --clear-groups "$@"' - "${@:2}"
    }
    local words='the volume at /run/shut/home/.ssh is out of reach for uid 54321'
    run as_stranger 1 "$hpcbootd" serve --port 2001
    ended_with 2
    says "^hpcbootd: warning: $words"
    run as_stranger 0 "$hbrun" -H pod-1 hostname
    ended_with 75
    says "pod-1: the host key is not known: .*$words"
}

# As Volcano restarts one pod of a job: a new Secret for the new pod, the old
# one in those that stay.
@test "the mounted key is made anew while a job gathers: hosts it has, stay" {
    rm -f "$F/fresh" "$F/fresh.pub" "$F/events"
    ssh-keygen -q -t ed25519 -N '' -f "$F/fresh"
    serve_more 1 --port 2001
    HB_LIMIT=700 pod_hb --port 2001 --wait-hosts 600 --events "$F/events" \
        -H pod-1,pod-2 sh -c 'hostname' > "$F/out" 2>&1 3>&- &
    local job=$!
    is_ready() { grep -q '"host_ready".*pod-1' "$F/events"; }
    wait_until is_ready
    # Nobody has the key that pod-1's server was started with any more.
    for i in 0 1 2; do
        pod $i bash -c 'cp "$0" /root/.ssh/new && chmod 600 /root/.ssh/new &&
            mv /root/.ssh/id_ed25519 /run/old-key &&
            mv /root/.ssh/new /root/.ssh/id_ed25519' "$F/fresh"
    done
    pod 1 rm /root/.ssh/id_ed25519
    pod 1 pkill -KILL -f 'hpcbootd agent'
    is_ready_again() { [ "$(grep -c '"host_ready".*pod-1' "$F/events")" = 2 ]; }
    wait_until is_ready_again
    serve_more 2 --port 2001
    ends $job
    output=$(cat "$F/out")
    ended_with 0
    says '^pod-1$'
    says '^pod-2$'
}

@test "a key that is written over, and for a moment is none: the one before stays" {
    pod 1 bash -c 'cd /root/.ssh; [ -e authorized_keys ]; cp id_ed25519 /run/old-key'
    serve_more 1 --port 2012
    pod 1 bash -c 'echo none > /root/.ssh/id_ed25519'
    run pod_hb --port 2012 -H pod-1 hostname
    pod 1 bash -c 'cat /run/old-key > /root/.ssh/id_ed25519; rm /run/old-key'
    ended_with 0
    says '^pod-1$'
    run pod_hb --port 2012 -H pod-1 hostname
    ended_with 0
    says '^pod-1$'
    output=$(pod 1 cat /run/more.log)
    says 'the one read before stays: /root/.ssh/id_ed25519 is no private key'
    says_not 'made anew'
}

@test "a key that changes while something else is missing is taken later" {
    pod 1 bash -c 'mkdir -p /run/k2 && cp /root/.ssh/id_ed25519 /run/k2/ &&
        cat > /run/let-in' < "$F/stranger.pub"
    serve_more 1 --port 2013 --key /run/k2 --authorized-keys /run/let-in \
        --login-rate 1000
    rm -f "$F/new" "$F/new.pub"
    ssh-keygen -q -t ed25519 -N '' -f "$F/new"
    pod 1 bash -c 'mv /run/let-in /run/away
        cp "$0" /run/k2/new && mv /run/k2/new /run/k2/id_ed25519' "$F/new"
    run pod_hb --port 2013 --identity "$F/new" -H pod-1 hostname
    ended_with 75
    # Who only comes by does not fill the log.
    pod 0 timeout -s KILL "$HB_LIMIT" bash -c '
        for i in {1..50}; do
            exec 3<> /dev/tcp/10.77.0.2/2013 && read -r x <&3 && exec 3>&-
        done'
    local told
    told=$(pod 1 grep -c 'before stays: ' /run/more.log)
    [ "$told" -ge 1 ]
    [ "$told" -le 5 ]
    pod 1 mv /run/away /run/let-in
    run pod_hb --port 2013 --identity "$F/new" -H pod-1 hostname
    rm "$F/new" "$F/new.pub"
    ended_with 0
    says '^pod-1$'
    output=$(pod 1 cat /run/more.log)
    says 'the one read before stays: --authorized-keys: cannot open'
}

@test "a job that runs does not need the mounted key" {
    rm -f "$F/up"
    pod_hb -H pod-1 bash -c 'echo up > '"$F/up"'
        while [ -e '"$F/up"' ]; do sleep 0.05; done; hostname' \
        > "$F/out" 2>&1 3>&- &
    local job=$!
    wait_until test -s "$F/up"
    for i in 0 1; do pod $i mv /root/.ssh/id_ed25519 /run/old-key; done
    rm "$F/up"
    ends $job
    output=$(cat "$F/out")
    ended_with 0
    says '^pod-1$'
}

@test "keys of other users in another home let nobody in" {
    local file
    for file in stranger stranger.pub; do
        pod 2 bash -c "cat > /tmp/$file" < "$F/$file"
    done
    # serve_as OWNER FOLDER FILE NAME: a server whose one key file is that. A
    # FOLDER that is not root's has a link to it.
    serve_as() {
        pod 2 unshare -m timeout -s KILL "$HB_LIMIT" bash -c '
            mount -t tmpfs none /root && mount -t tmpfs none /home
            mkdir -p /home/mpiuser/.ssh /home/kept
            install -m 644 -o "$1" "$3" "/home/kept/$4"
            ln -s "/home/kept/$4" "/home/mpiuser/.ssh/$4"
            chown "$2" /home/mpiuser/.ssh
            HOME=/nowhere "$5" serve --port 2299 2> /home/said & server=$!
            until grep -q "serves on port" /home/said; do
                [ -e "/proc/$server" ] || break
                sleep 0.05
            done
            kill "$server"; wait "$server"; status=$?
            cat /home/said
            exit $status' - "$@" "$hpcbootd"
    }
    run -2 serve_as 1234 0 /tmp/stranger id_rsa
    says '/home/mpiuser/.ssh/id_rsa is not used: it belongs to neither root nor uid 0'
    says 'nobody could log in'
    run -2 serve_as 0 1234 /tmp/stranger id_rsa
    says '/home/mpiuser/.ssh/id_rsa is not used: its folder belongs to neither root nor uid 0'
    says 'nobody could log in'
    run -2 serve_as 0 1234 /tmp/stranger.pub authorized_keys
    says 'authorized_keys is not used: its folder belongs to neither root nor uid 0'
    says 'nobody could log in'
    run -2 serve_as 1234 0 /tmp/stranger.pub authorized_keys
    says 'authorized_keys is not used: it belongs to neither root nor uid 0'
    says 'nobody could log in'
    run -0 serve_as 0 0 /tmp/stranger id_rsa
    says 'lets in the key'
    run -0 serve_as 0 0 /tmp/stranger.pub authorized_keys
    says 'serves on port'
}
