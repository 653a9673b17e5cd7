#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# An MPIJob's pods as the MPI Operator makes them: see operator-pod.
#
# shellcheck disable=SC2016  # expanded in the pod

load ../common

setup_file() {
    need_root
    need ssh-keygen setpriv
    export F=$BATS_FILE_TMPDIR
    mkdir "$F/secret"
    ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -C '' -f "$F/secret/key"
    grep -q 'BEGIN EC PRIVATE KEY' "$F/secret/key"
    chmod -R a+rX "$BATS_RUN_TMPDIR" "$F"
    lab_up operator 3 --init "$HB_SRCDIR/tests/pods/operator-pod" \
        --env HB_SECRET="$F/secret" --env HB_WORKERS=2 --env HB_SLOTS=2 \
        --env K_MPI_JOB_ROLE=worker
    # A pod is ready for podlab when its PID 1 begins.
    wait_until pod 0 test -x /etc/mpi/discover_hosts.sh
    wait_until pod 1 test -e /home/mpiuser/sshd.pid
    wait_until pod 2 test -e /home/mpiuser/sshd.pid
}
teardown_file() { lab_down; }

# A command as uid $uid in the launcher's container.
uid=1000
launcher() {
    pod 0 env -i -C /home/mpiuser HOME=/home/mpiuser PATH=/usr/bin:/bin \
        K_MPI_JOB_ROLE=launcher \
        OMPI_MCA_orte_keep_fqdn_hostnames=true \
        OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile \
        OMPI_MCA_plm_rsh_args='-o ConnectionAttempts=10' \
        OMPI_MCA_orte_set_default_slots=2 \
        NVIDIA_VISIBLE_DEVICES= NVIDIA_DRIVER_CAPABILITIES= \
        setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}
launcher_hb() { launcher timeout -s KILL "$HB_LIMIT" "$hbrun" "$@"; }

@test "hostfile, key, port and user of the gang are found without an option" {
    run launcher_hb --label sh -c 'echo $(hostname) $(id -un)'
    ended_with 0
    says '^\[0\] ?pi-worker-0 mpiuser$'
    says '^\[1\] ?pi-worker-0 mpiuser$'
    says '^\[2\] ?pi-worker-1 mpiuser$'
    says '^\[3\] ?pi-worker-1 mpiuser$'
    says_not 'warning'
}

@test "the operator's own file and script on the command line: its key, its trust" {
    for option in --hostfile=/etc/mpi/hostfile \
        --discover-hosts=/etc/mpi/discover_hosts.sh; do
        run launcher_hb "$option" --label hostname
        ended_with 0
        says '^\[3\] ?pi-worker-1$'
        says_not 'warning'
    done
}

@test "the operator's sample command line" {
    need mpicc.openmpi
    mpicc.openmpi -o "$F/hello" "$HB_SRCDIR/examples/hello_mpi.c"
    run launcher_hb -n 2 -bind-to none -map-by slot -x PATH -mca pml ob1 \
        -mca btl ^openib "$F/hello"
    ended_with 0
    says '^rank 1 of 2 on pi-worker-0$'
    says 'right$'
}

@test "a uid without a passwd entry, without HOME" {
    uid=4321
    run launcher env -u HOME USER=mpiuser timeout -s KILL "$HB_LIMIT" \
        "$hbrun" -n 4 hostname
    ended_with 0
    [ "$(grep -c '^pi-worker-1$' <<< "$output")" -eq 2 ]
}

@test "a root file system that cannot be written" {
    run pod 0 unshare --mount --propagation private bash -c '
        for at in /tmp /run /dev/shm /home /etc /; do
            mount -o remount,ro,bind "$at" || exit 77
        done
        exec "$@"' - env -i -C /home/mpiuser HOME=/home/mpiuser \
        PATH=/usr/bin:/bin K_MPI_JOB_ROLE=launcher setpriv --reuid 1000 \
        --regid 1000 --clear-groups timeout -s KILL "$HB_LIMIT" "$hbrun" \
        -n 4 sh -c 'touch /tmp/x$HPCBOOT_RANK; hostname'
    [ "$status" -ne 77 ] || skip 'nothing can be made read-only here'
    ended_with 0
    [ "$(grep -c '^pi-worker-1$' <<< "$output")" -eq 2 ]
}

@test "a worker whose name is not there yet is waited for" {
    pod 0 bash -c 'cp /etc/hosts /run/hosts; grep -v worker-1 /run/hosts \
        > /etc/hosts'
    launcher_hb --events /tmp/events -n 4 hostname > "$F/out" 2>&1 &
    # The other one is ready, and this one has been looked for.
    wait_until pod 0 grep -q '"host_ready"' /tmp/events
    pod 0 cp /run/hosts /etc/hosts
    ends $!
    output=$(cat "$F/out")
    ended_with 0
    [ "$(grep -c '^pi-worker-1$' "$F/out")" -eq 2 ]
}

@test "a worker whose name never comes is named, status 75" {
    pod 0 bash -c 'cp /etc/hosts /run/hosts; grep -v worker-1 /run/hosts \
        > /etc/hosts'
    in_time '1 of 2 hosts did not come up' 2 \
        launcher_hb --wait-hosts WAIT -n 4 hostname
    pod 0 cp /run/hosts /etc/hosts
    ended_with 75
    says 'pi-worker-1\.pi\.hpc\.svc.*resolve'
    says_not 'host pi-worker-0'
}

@test "a worker that has the Secret of another job is refused" {
    pod 2 bash -c 'mount -t tmpfs tmpfs /home/mpiuser/.ssh &&
        cd /home/mpiuser/.ssh && ssh-keygen -q -t ecdsa -b 521 -N "" \
        -f id_rsa && cp id_rsa.pub authorized_keys && chmod 644 *'
    run launcher_hb -n 4 hostname
    pod 2 umount /home/mpiuser/.ssh
    ended_with 75
    says 'host pi-worker-1\.pi\.hpc\.svc: .*mpiuser'
}

@test "a gang's key that has a passphrase, or but a part of one: named as the cause" {
    for key in encrypted part; do
        pod 0 bash -c 'mount -t tmpfs tmpfs /home/mpiuser/.ssh &&
            cd /home/mpiuser/.ssh && cp "$1/key" id_rsa && chmod 600 id_rsa &&
            case $0 in encrypted) ssh-keygen -q -p -N secret -f id_rsa > /dev/null ;;
            part) head -c 100 "$1/key" > id_rsa ;; esac && chmod 644 id_rsa' \
            "$key" "$F/secret"
        run launcher_hb -n 4 hostname
        pod 0 umount /home/mpiuser/.ssh
        ended_with 75
        says "can be used: /home/mpiuser/.ssh/id_rsa.*without a passphrase"
        says_not 'known_hosts'
    done
}

# sshd passes signals on for users other than root.
@test "a start-up file that waits is hung up on" {
    pod 1 bash -c 'echo "sleep 1000" > /home/mpiuser/.bashrc'
    run launcher_hb --connect-timeout 2 -n 4 hostname
    pod 1 rm /home/mpiuser/.bashrc
    ended_with 75
    says 'pi-worker-0\.pi\.hpc\.svc'
    nothing_sleeps() { ! pod 1 pgrep -x sleep > /dev/null; }
    wait_until nothing_sleeps
}
