#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Jobs over several hosts that work: hosts from where they come, ways in,
# bytes out. pod-0 is the launcher; pods have Debian's sshd, without PAM.

load ../common

setup_file() { lab_up gang 4; }
setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown_file() { lab_down; }

@test "-H: one rank on each host, in the order given" {
    run pod_hb -H pod-2,pod-1 --label hostname
    ended_with 0
    says '^\[0\] ?pod-2$'
    says '^\[1\] ?pod-1$'
    pods_clean 1 2
}

@test "-H with slots, the launcher's own host among them" {
    run pod_hb -H pod-0:2,pod-1:2 --label sh -c \
        'echo $(hostname) $HPCBOOT_LOCAL_RANK/$HPCBOOT_LOCAL_SIZE \
        $HPCBOOT_NODE/$HPCBOOT_NODES'
    ended_with 0
    says '^\[0\] ?pod-0 0/2 0/2$'
    says '^\[1\] ?pod-0 1/2 0/2$'
    says '^\[2\] ?pod-1 0/2 1/2$'
    says '^\[3\] ?pod-1 1/2 1/2$'
}

@test "a hostfile in Open MPI's form" {
    printf '# workers\npod-1 slots=2\n\npod-2 slots=1 max_slots=1\n' \
        > "$BATS_FILE_TMPDIR/hosts"
    run pod_hb --hostfile hosts --label hostname
    ended_with 0
    [ "$(grep -c 'pod-1$' <<< "$output")" -eq 2 ]
    [ "$(grep -c 'pod-2$' <<< "$output")" -eq 1 ]
}

@test "addresses in place of names" {
    run pod_hb -H 10.77.0.2,10.77.0.3 hostname
    ended_with 0
    says '^pod-1$'
    says '^pod-2$'
}

@test "map-by node deals ranks out like cards" {
    run pod_hb -H pod-1:2,pod-2:2 --map-by node --label hostname
    ended_with 0
    says '^\[0\] ?pod-1$'
    says '^\[1\] ?pod-2$'
    says '^\[2\] ?pod-1$'
    says '^\[3\] ?pod-2$'
}

@test "nothing is heard on a terminal's lines that is not asked for" {
    run pod_hb -H pod-1,pod-2 true
    ended_with 0
    [ -z "$(but_for_waiting)" ]
}

@test "arguments and environment reach remote ranks byte for byte" {
    local bytes odd=$'a b\tc\n"\\$(x)\x01\xff;*'
    bytes=$(fake bytes)
    export BYTES_SHOW=ODD ODD=$odd
    "$bytes" "$odd" '' '%h' > expected
    run pod 0 env ODD="$odd" BYTES_SHOW=ODD timeout -s KILL "$HB_LIMIT" \
        "$hbrun" -H pod-1 "$bytes" "$odd" '' '%h'
    ended_with 0
    [ "$(but_for_waiting)" = "$(cat expected)" ]
}

@test "stdin reaches rank 0 on another host" {
    run pod 0 bash -c 'printf "line\nno end" | "$0" -H pod-1,pod-2 \
        sh -c "cat; echo ."' "$hbrun"
    ended_with 0
    says '^line$'
    says '^no end\.$'
}

@test "MPMD over hosts" {
    run pod_hb -n 1 -H pod-1 sh -c 'echo one on $(hostname)' : \
        -n 1 -H pod-2 sh -c 'echo two on $(hostname)'
    ended_with 0
    says '^one on pod-1$'
    says '^two on pod-2$'
}

@test "more than 1 GB through one link, whole" {
    local flood bytes=1200000000
    flood=$(fake flood)
    # shellcheck disable=SC2016  # expanded in the pod
    run pod 0 bash -c 'set -o pipefail
        "$0" -H pod-1 "$1" raw "$2" | cmp - <("$1" raw "$2")' \
        "$hbrun" "$flood" $bytes
    ended_with 0
}

@test "output from many ranks on three hosts keeps its lines" {
    pod_hb -H pod-1:4,pod-2:4,pod-3:4 "$(fake flood)" long 5 60000 > got
    run -0 whole_lines 60000 got
    [ "$output" = '60 0' ]
}

@test "--launch-with ssh carries the link" {
    need ssh
    run pod_hb --launch-with 'ssh -o BatchMode=yes %h' -H pod-1,pod-2 hostname
    ended_with 0
    says '^pod-1$'
    says '^pod-2$'
    pods_clean 1 2
}

@test "--launch-with a command that fails: its words, status 75" {
    run pod_hb --wait-hosts 2 --launch-with 'sh -c "echo no way >&2; exit 9"' \
        -H pod-1 true
    ended_with 75
    says 'pod-1'
    says 'no way'
}

@test "~/.ssh/config: HostName and IdentityFile" {
    pod 0 bash -c 'cd .ssh && mv id_ed25519 mine && printf "%s\n" \
        "Host worker" " HostName pod-1" " IdentityFile ~/.ssh/mine" > config
        sed "s/^pod-\*/worker,pod-*/" known_hosts > k && mv k known_hosts'
    run pod_hb -H worker hostname
    pod 0 bash -c 'cd .ssh && mv mine id_ed25519 && rm config'
    ended_with 0
    says '^pod-1$'
}

@test "a key with another name and an open mode works when named" {
    pod 0 bash -c 'cp .ssh/id_ed25519 /tmp/key && chmod 644 /tmp/key &&
        mv .ssh/id_ed25519 .ssh/away'
    run pod_hb --identity /tmp/key -H pod-1 hostname
    pod 0 mv .ssh/away .ssh/id_ed25519
    ended_with 0
    says '^pod-1$'
}

@test "a key in ssh-agent works" {
    need ssh-agent
    run pod 0 bash -c 'eval "$(ssh-agent)" > /dev/null
        ssh-add -q .ssh/id_ed25519; mv .ssh/id_ed25519 .ssh/away
        "$0" -H pod-1 hostname; status=$?
        kill $SSH_AGENT_PID; mv .ssh/away .ssh/id_ed25519; exit $status' \
        "$hbrun"
    ended_with 0
    says '^pod-1$'
}

@test "hashed known_hosts" {
    pod 0 bash -c 'cd .ssh && cp known_hosts plain && key=$(cut -d" " -f2- \
        known_hosts) && echo "pod-1 $key" > known_hosts &&
        ssh-keygen -q -H -f known_hosts'
    run pod_hb -H pod-1 hostname
    pod 0 bash -c 'cd .ssh && mv plain known_hosts'
    ended_with 0
    says '^pod-1$'
}

@test "@cert-authority is refused in words that name the way out" {
    pod 0 bash -c 'cd .ssh && cp known_hosts plain &&
        sed "s/^/@cert-authority /" plain > known_hosts'
    run pod_hb --wait-hosts 2 -H pod-1 hostname
    pod 0 bash -c 'cd .ssh && mv plain known_hosts'
    [ "$status" -ne 0 ]
    says 'launch-with'
}

# pod-I gets an /etc of its own, so that a test can write there.
own_etc() {
    pod "$1" bash -c 'mountpoint -q /etc || {
        mkdir -p /run/etc && cp -a /etc/. /run/etc/ &&
        mount --bind /run/etc /etc; }'
}

@test "the gang of an MPI Operator launcher pod" {
    own_etc 0
    pod 0 bash -c 'mkdir -p /etc/mpi && printf "%s\n" "pod-1 slots=1" \
        "pod-2 slots=1" > /etc/mpi/hostfile && rm .ssh/known_hosts'
    run pod 0 env OMPI_MCA_orte_keep_fqdn_hostnames=true \
        OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile \
        OMPI_MCA_plm_rsh_args='-o ConnectionAttempts=10' \
        OMPI_MCA_orte_set_default_slots=1 \
        timeout -s KILL "$HB_LIMIT" "$hbrun" -n 2 -bind-to none -map-by slot \
        -x LD_LIBRARY_PATH -x PATH -mca pml ob1 -mca btl ^openib hostname
    pod 0 bash -c 'echo "pod-*,10.77.* $(cut -d" " -f1,2 \
        /etc/ssh/ssh_host_ed25519_key.pub)" > .ssh/known_hosts'
    ended_with 0
    says '^pod-1$'
    says '^pod-2$'
    [ "$(grep -c pin <<< "$output")" -le 1 ] || { echo "$output"; return 1; }
}

# What kubectl does, with words to a program and input where -i asks for it.
# shellcheck disable=SC2016  # expanded in the pod
fake_kubectl='#!/bin/bash
    input=-n pod=
    shift
    while [ "$1" != -- ]; do
        case $1 in -i) input= ;; *) pod=$1 ;; esac
        shift
    done
    shift
    exec ssh $input -o BatchMode=yes "$pod" "$(printf "%q " "$@")"'

@test "the launcher pod of an MPIJob v1: its variables name a script without -i" {
    local by
    need ssh
    own_etc 0
    pod 0 bash -c 'mkdir -p /etc/mpi && cd /etc/mpi && echo "$0" > /tmp/kubectl &&
        printf "%s\n" "pod-1 slots=2" "pod-2 slots=2" > hostfile
        printf "#!/bin/sh\nset -x\nPOD_NAME=\$1\nshift\n%s" \
            "/tmp/kubectl exec \${POD_NAME} -- /bin/sh -c \"\$*\"" > kubexec.sh
        chmod 755 kubexec.sh /tmp/kubectl' "$fake_kubectl"
    for by in OMPI_MCA_plm_rsh_agent I_MPI_HYDRA_BOOTSTRAP_EXEC; do
        run pod 0 env I_MPI_HYDRA_BOOTSTRAP=rsh $by=/etc/mpi/kubexec.sh \
            OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile \
            timeout -s KILL "$HB_LIMIT" "$hbrun" --explain -n 4 hostname
        ended_with 0
        says '^pod-1$'
        says '^pod-2$'
        says 'started with: /tmp/kubectl exec -i %h .*since /etc/mpi/kubexec.sh'
    done
    pods_clean 1 2
}

@test "a program that is called as ssh is, under any name" {
    local name
    need ssh
    # shellcheck disable=SC2016  # expanded by the script
    printf '#!/bin/sh\ntouch "$0.ran"\nexec ssh -o BatchMode=yes "$@"\n' \
        > mine
    chmod 755 mine
    mkdir bin
    cp mine bin/ssh
    for name in "$PWD/mine" "$PWD/bin/ssh"; do
        run pod_hb --mca plm_rsh_agent "$name" -H pod-1 sh -c 'echo "a  b"'
        ended_with 0
        says '^a  b$'
        [ -e "$name.ran" ]
    done
}
