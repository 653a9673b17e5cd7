#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Attackers that SECURITY.md names, in the gang of an MPI Operator: pod-0 is the
# launcher, pod-1 and pod-3 are workers, pod-2 somebody else's. All have sshd;
# pod-2 has a host key of its own and not the gang's private key.
#
# shellcheck disable=SC2016  # expanded in the pods

load ../common

secret_word=do-not-tell-0451

setup_file() {
    need_root
    need ssh ssh-keygen python3 setpriv
    [ -e "$HB_BUILDDIR/.libs/hb_ssh.so" ] || skip 'built without libssh'
    export F=$BATS_FILE_TMPDIR
    chmod a+rx "$BATS_RUN_TMPDIR" "$F"
    mkdir -m 777 "$F/told"
    lab_up attack 4
    pod 0 bash -c 'rm .ssh/known_hosts && mkdir /run/etc &&
        cp -a /etc/. /run/etc/ && mount --bind /run/etc /etc && mkdir /etc/mpi'
    "$podlab" vary 2 hostkey
    pod 2 mv /root/.ssh/id_ed25519 /run/of-the-gang
    ssh-keygen -q -t ed25519 -N '' -f "$F/mallory"
}
teardown_file() { lab_down; }

# gang_of HOST...: the launcher's hostfile
gang_of() {
    local host
    for host; do echo "$host slots=1"; done > "$F/hostfile"
    pod 0 cp "$F/hostfile" /etc/mpi/hostfile
}

# hbrun in the launcher's pod, with something in its environment that nobody
# else is to know.
launch() {
    pod 0 bash -c 'cd "$0" && exec timeout -s KILL "$@"' "$F" "$HB_LIMIT" env \
        SECRET_WORD=$secret_word OMPI_MCA_orte_keep_fqdn_hostnames=true \
        OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile \
        OMPI_MCA_orte_set_default_slots=1 K_MPI_JOB_ROLE=launcher \
        "$hbrun" --wait-hosts 0 --connect-timeout 60 "$@"
}

# fake I WAY: what answers logins in that pod
fake() {
    local version
    version=$("$hbrun" --version | sed 's/.* //; 1q')
    pod "$1" bash -c "cp /run/keys /root/.ssh/authorized_keys 2> /dev/null ||
        cp /root/.ssh/authorized_keys /run/keys"
    "$podlab" vary "$1" forced \
        "python3 $fakes/fake_agent.py $2 $F/told/$1 $version"
}
real() { # I
    pod "$1" bash -c '[ ! -e /run/keys ] ||
        cp /run/keys /root/.ssh/authorized_keys'
}
setup() { rm -f "$F"/told/*; }
teardown() { real 1; real 2; }

told_nothing() { # I...: no fake there was told anything of the job
    local i
    for i; do
        [ -e "$F/told/$i" ] || return 1
        if grep -qa -e "$secret_word" -e PATH= "$F/told/$i"; then return 1; fi
    done
}

@test "the gang's own hosts prove themselves: no option, no warning" {
    gang_of pod-1
    run launch -v -v hostname
    ended_with 0
    says '^pod-1$'
    says 'pod-1: has proven that it holds'
    says_not 'warning'
}

@test "a fake host with another key is told nothing" {
    local way
    gang_of pod-2
    for way in guess silent; do
        rm -f "$F"/told/*
        fake 2 $way
        run launch hostname
        ended_with 75
        says 'pod-2: its host key ssh-ed25519 SHA256:.* is not known, and its agent does not prove'
        told_nothing 2
    done
    says 'my dog ate it'
}

@test "a proof that nobody asked for is no proof" {
    gang_of pod-2
    fake 2 early
    run launch hostname
    ended_with 75
    says 'pod-2: .*out of turn'
    told_nothing 2
}

# Started by another host, too.
@test "what a host says before it is trusted does not count" {
    gang_of pod-1 pod-3 pod-2
    pod 1 rm -f .ssh/known_hosts # the one that starts it knows as little
    pod 3 rm -f .ssh/known_hosts
    fake 2 forward
    run launch --tree-width 2 --events "$F/events" hostname
    ended_with 75
    grep -q '"host_started_by","host":"pod-2"' "$F/events"
    says 'pod-2: '
    says_not 'trust me|no such thing'
    told_nothing 2
    pods_clean 0 1 3
}

# What `pin` is for, and what it costs.
@test "only --host-keys pin tells a host that proves nothing, and warns" {
    gang_of pod-2
    fake 2 silent
    run launch --host-keys pin --timeout 10 hostname
    says 'warning: host keys that are not known were accepted.*pod-2'
    grep -qa "$secret_word" "$F/told/2"
}

@test "a host that passes bytes on to a real one sees nothing and changes nothing" {
    gang_of pod-2
    pod 2 python3 - > "$F/relay.log" 2>&1 3>&- << 'END' &
import select, socket, threading
log = open("/tmp/seen", "wb", buffering=0)
def pump(client):
    server = socket.create_connection(("10.77.0.2", 22))
    ends = {client: server, server: client}
    while True:
        for one in select.select(list(ends), [], [])[0]:
            data = one.recv(65536)
            if not data:
                return client.close(), server.close()
            log.write(data)
            ends[one].sendall(data)
port = socket.create_server(("", 2022))
open("/tmp/relays", "w").close()
while True:
    threading.Thread(target=pump, args=(port.accept()[0],), daemon=True).start()
END
    local relay=$!
    wait_until pod 2 test -e /tmp/relays
    run launch --port 2022 bash -c 'echo "$(hostname) $SECRET_WORD"'
    kill $relay 2> /dev/null || true
    ended_with 0
    says "^pod-1 $secret_word\$"
    run pod 2 grep -qa -e "$secret_word" -e hpcboot-link /tmp/seen
    ended_with 1
}

# It logs in to the real host with an account of its own there.
@test "a host that relays to a real agent of its own is told nothing" {
    gang_of pod-2
    pod 1 bash -c 'mkdir -p /run/etc /run/m/.ssh && cp -a /etc/. /run/etc/ &&
        mount --bind /run/etc /etc &&
        echo "mallory:x:4321:4321::/run/m:/bin/sh" >> /etc/passwd &&
        cp "$0" /run/m/.ssh/authorized_keys && chown -R 4321 /run/m' \
        "$F/mallory.pub"
    pod 2 cp "$F/mallory" /run/mallory
    cat > "$F/relay" <<END
#!/bin/bash
token=\$(sed "s/.*'hpcbootd' '\([0-9a-f]*\)'.*/\1/" <<< "\$SSH_ORIGINAL_COMMAND")
exec ssh -i /run/mallory -o StrictHostKeyChecking=no -o BatchMode=yes \
    mallory@pod-1 "$HB_BUILDDIR/hpcbootd agent --token \$token"
END
    chmod 755 "$F/relay"
    pod 2 bash -c 'cp /root/.ssh/authorized_keys /run/keys'
    "$podlab" vary 2 forced "$F/relay"
    run launch hostname
    ended_with 75
    says 'pod-2: its host key .* does not prove that it holds a key of ours'
    pods_clean 1
}

@test "a HELLO of another login is refused" {
    gang_of pod-2
    fake 2 record
    run launch hostname
    ended_with 75
    fake 2 replay
    run launch hostname
    ended_with 75
    says 'pod-2: the agent did not return the token of this login'
    told_nothing 2
}

@test "a host that claims to be another one of the job is refused" {
    gang_of pod-1 pod-2
    pod 1 bash -c 'cp /root/.ssh/authorized_keys /run/keys'
    fake 1 lend
    ln -s 1.token "$F/told/2.token"
    fake 2 borrow
    run launch hostname
    ended_with 75
    says 'pod-2: the agent did not return the token of this login'
    told_nothing 1 2
}

@test "frames that cannot be end the link in words, and nothing else" {
    local way
    local -A words=([huge]='a frame of 4294967299 bytes'
        [flags]='a frame of unknown kind \(type 1, flags 0xffff\)'
        [cut]='the remote command exited with status 0'
        [trail]='malformed HELLO message'
        [kind]='a frame of unknown kind \(type 9999, ')
    gang_of pod-2
    for way in "${!words[@]}"; do
        rm -f "$F"/told/*
        fake 2 "$way"
        run launch hostname
        ended_with 75
        says "host pod-2: .*${words[$way]}.*[[:alnum:])\"]\$"
        says_not 'Epoll|libevent|AddressSanitizer'
        told_nothing 2
    done
}

# --- on the host itself

# job_begin [OPTION...]: a job of two ranks in pod-1, of MPI's PMIx kind so that
# it has all the sockets there are; $F/up is there when both run.
job_begin() {
    rm -f "$F/up" "$F/end"
    gang_of pod-1
    sed -i 's/slots=1/slots=2/' "$F/hostfile"
    pod 0 cp "$F/hostfile" /etc/mpi/hostfile
    launch --pmi pmix "$@" bash -c 'echo up >> '"$F/up"'
        while [ ! -e '"$F/end"' ]; do sleep 0.05; done; echo rank done' \
        > "$F/out" 2>&1 3>&- &
    job=$!
    wait_until lines_in "$F/up" 2
}
job_ends_well() {
    touch "$F/end"
    ends $job
    output=$(cat "$F/out")
    ended_with 0
    [ "$(grep -c '^rank done$' <<< "$output")" -eq 2 ]
}
as_mallory() { # in pod-1
    pod 1 setpriv --reuid 4321 --regid 4321 --clear-groups "$@"
}

@test "another user: the job's directories are closed" {
    job_begin
    local dir n=0
    for dir in $(pod 1 find /tmp /dev/shm -maxdepth 1 -name 'hpcboot-*'); do
        n=$((n + 1))
        [ "$(pod 1 stat -c %a "$dir")" = 700 ]
        run as_mallory ls "$dir"
        [ "$status" -ne 0 ]
        run as_mallory touch "$dir/x"
        [ "$status" -ne 0 ]
    done
    [ $n -gt 0 ]
    job_ends_well
}

@test "another user: sockets take what is sent and give nothing" {
    job_begin
    as_mallory python3 - > "$F/sockets" << 'END'
import os, socket
names = set()
for line in open("/proc/net/unix"):
    words = line.split()
    if len(words) == 8:
        names.add(words[7])
for name in names:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(1)
    try:
        s.connect("\0" + name[1:] if name[0] == "@" else name)
        s.sendall(b"\0" * 64 + b"cmd=init pmi_version=1 pmi_subversion=1\n")
        print("unix", name, s.recv(100))
    except OSError as e:
        print("unix", name, type(e).__name__)
ports = []
for line in open("/proc/net/tcp"):
    words = line.split()
    if len(words) > 3 and words[3] == "0A":
        address, port = words[1].split(":")
        if int(port, 16) != 22:
            assert address == "0100007F", line
            ports.append(int(port, 16))
assert ports
for port in ports:
    for text in (b"GET / HTTP/1.0\r\n\r\n", os.urandom(4096), b"",
                 b"\0\0\0\1" + b"\377" * 60):
        s = socket.create_connection(("127.0.0.1", port))
        s.settimeout(0.2)
        try:
            s.sendall(text)
            got = s.recv(4096)
        except OSError:
            got = b""
        print("tcp", port, got)
        assert b"hpcboot" not in got
END
    run cat "$F/sockets"
    says '^tcp'
    says_not "$secret_word|rank="
    job_ends_well
}

@test "another user: a PMIx client is not let in as a rank" {
    need mpicc.openmpi
    job_begin
    local uri nspace
    pod 1 bash -c 'for p in /proc/[0-9]*; do tr "\0" "\n" < $p/environ |
        grep ^PMIX_; done 2> /dev/null | sort -u' > "$F/pmix.env"
    mpicc.openmpi -o "$F/hello" "$HB_SRCDIR/examples/hello_mpi.c"
    uri=$(grep -m 1 ^PMIX_SERVER_URI4= "$F/pmix.env")
    nspace=$(grep -m 1 ^PMIX_NAMESPACE= "$F/pmix.env")
    run as_mallory timeout -s KILL 20 env "$uri" "$nspace" PMIX_RANK=0 \
        PMIX_SECURITY_MODE=native PMIX_GDS_MODULE=hash \
        PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_NON_DESC \
        JSM_JSRUN_PORT=1 HOME=/tmp "$F/hello"
    says_not '^rank 0 of 2'
    job_ends_well
}

@test "a key is in no argument, no rank's environment, no log" {
    job_begin -v -v -v
    local key
    key=$(pod 1 sed -n 2p /root/.ssh/id_ed25519)
    [ ${#key} -gt 60 ]
    pod 1 bash -c 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2> /dev/null
        true' > "$F/seen"
    pod 0 bash -c 'cat /proc/[0-9]*/cmdline 2> /dev/null; true' >> "$F/seen"
    cat "$F/out" >> "$F/seen"
    grep -qa HPCBOOT_RANK "$F/seen"
    run ! grep -qaF "$key" "$F/seen"
    run ! grep -qa HPCBOOT_GANG_KEY "$F/seen"
    job_ends_well
}

@test "the agent leaves no core file, and ranks cannot read its memory" {
    gang_of pod-1
    rm -f "$F/told/up" "$F/told/end"
    # A rank's own user, as a container has it: not root.
    pod 1 bash -c 'mkdir -p /run/m4/.ssh && cp /root/.ssh/id_ed25519 /run/m4/.ssh/
        chmod 755 /run/m4 /run/m4/.ssh; chmod 644 /run/m4/.ssh/*
        env -i HOME=/run/m4 PATH=/usr/bin:/bin setpriv --reuid 4322 \
            --regid 4322 --clear-groups "$0" serve --port 2001 \
            --key /run/m4/.ssh > /dev/null 2> /tmp/log4 3>&- &' \
        "$HB_BUILDDIR/hpcbootd"
    wait_until pod 1 grep -q 'serves on port' /tmp/log4
    launch --port 2001 bash -c 'echo up > '"$F/told/up"'
        while [ ! -e '"$F/told/end"' ]; do sleep 0.05; done; echo rank done' \
        > "$F/out" 2>&1 3>&- &
    job=$!
    wait_until test -e "$F/told/up"
    local pid n=0
    for pid in $(pod 1 pgrep -u 4322 hpcbootd); do
        # The guard has never had a secret.
        run pod 1 setpriv --reuid 4322 --regid 4322 --clear-groups \
            head -c 1 "/proc/$pid/environ"
        [ "$status" -eq 0 ] || n=$((n + 1))
    done
    [ $n -eq 2 ] # server and agent
    touch "$F/told/end"
    ends $job
    pod 1 pkill -u 4322 hpcbootd
    output=$(cat "$F/out")
    ended_with 0
}

# --- a rank of the job

@test "a rank's PMI socket says who it is, whatever the rank says" {
    run pod_hb --pmi pmi1 -H pod-0:2 bash -c '
        echo "cmd=init pmi_version=1 pmi_subversion=1" >&$PMI_FD
        read -r answer <&$PMI_FD
        echo "cmd=initack pmiid=0" >&$PMI_FD
        for i in 1 2 3; do read -r answer <&$PMI_FD; echo "$PMI_RANK: $answer"
        done; echo "cmd=finalize" >&$PMI_FD
        until [[ $answer = cmd=finalize_ack* ]]; do read -r answer || exit; done \
            <&$PMI_FD'
    says '^0: cmd=set rank=0$'
    says '^1: cmd=set rank=1$'
    says_not '^1: cmd=set rank=0$'
}

# libpmix tells ranks of one user apart by what they say. The lie ends the job
# and nothing else.
@test "a PMIx rank that takes another one's number ends its job, in words" {
    need mpicc.openmpi
    [ -x "$F/hello" ] ||
        mpicc.openmpi -o "$F/hello" "$HB_SRCDIR/examples/hello_mpi.c"
    run pod_hb --pmi pmix --timeout 60 -H pod-0:2 bash -c '
        [ "$PMIX_RANK" != 1 ] || export PMIX_RANK=0; exec '"$F/hello"
    [ "$status" -ne 0 ]
    says '^hbrun: error: rank [01] '
    pods_clean 0
}
