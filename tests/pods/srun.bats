#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# An agent's stream over srun of a Slurm of its own on this host: one node, no
# authentication, ports and state of this test alone.

load ../common

drive=$HB_BUILDDIR/tests/pods/bootdrive
usual_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

setup_file() {
    need_root
    need slurmctld slurmd srun
    [ -x "$drive" ] || skip 'built without libssh'
    export F=$BATS_FILE_TMPDIR
    export SLURM_CONF=$F/slurm.conf
    mkdir -p "$F/state" "$F/spool" "$F/prefix/sbin"
    printf '#!/bin/sh\nexec cat\n' > "$F/prefix/sbin/hpcbootd"
    chmod 755 "$F/prefix/sbin/hpcbootd"
    slurm_up || { cat "$F"/*.log; return 1; }
}

teardown_file() { slurm_down; }

setup() {
    common_setup
    export SLURM_CONF=$F/slurm.conf
}

slurm_up() {
    for _ in 1 2 3 4 5 6 7 8; do
        slurm_down # what could not have its port
        rm -f "$F"/*.log "$F"/*.pid
        slurm_at $((20000 + RANDOM % 12000))
        wait_until has_come_up || return 1
        port_is_taken || return 0
    done
    return 1
}
slurm_down() {
    local name pid
    for name in slurmd slurmctld; do
        pid=$(cat "$F/$name.pid" 2> /dev/null) || continue
        # They write into the folder that bats removes until they are gone.
        ! kill "$pid" || wait_until is_gone "$pid"
    done
}
# Daemons at PORT and the next.
slurm_at() {
    local port=$1 host
    host=$(hostname -s)
    cat > "$SLURM_CONF" << END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$F/state
SlurmdSpoolDir=$F/spool
SlurmctldPidFile=$F/slurmctld.pid
SlurmdPidFile=$F/slurmd.pid
SlurmctldLogFile=$F/slurmctld.log
SlurmdLogFile=$F/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
ReturnToService=2
NodeName=n0 NodeHostname=$host NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n0 Default=YES State=UP
END
    # The build's own variables are not for jobs to inherit.
    slurmctld > /dev/null 2>&1 3>&-
    slurmd -N n0 > /dev/null 2>&1 3>&-
}
port_is_taken() { grep -qs 'Address already in use' "$F"/*.log; }
has_come_up() { port_is_taken || is_idle; }
is_idle() { sinfo -h -o %T 2> /dev/null | grep -q '^idle$'; }

no_agent_installed() {
    ! PATH=$usual_path command -v hpcbootd > /dev/null ||
        skip 'hpcbootd is installed on this host'
}

drive() {
    HPCBOOT_MODULE_DIR=$HB_BUILDDIR/.libs timeout -s KILL "$HB_LIMIT" "$drive" \
        --prefix "$F/prefix" --command 'srun -w %h -N1 -n1' "$@"
}

@test "bytes without line ends go through srun both ways" {
    run -0 drive --echo 10 n0
    says '^echoed 10 bytes'
    wait_until is_idle
    run -0 drive --echo 5000000 n0
    says '^echoed 5000000 bytes'
}

@test "a missing agent is named, and srun's status" {
    no_agent_installed
    wait_until is_idle
    # srun takes PATH along, and the build is in it.
    PATH=$usual_path run -0 drive --prefix /nowhere n0
    says '^chatter .*hpcbootd: not found on n0'
    says '^closed srun exited with status 127'
}

@test "a node that srun does not know" {
    run -0 drive no-such-node
    says '^chatter srun: error: .*Invalid node name'
    says '^closed srun exited with status 1'
}
