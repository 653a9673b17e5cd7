#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hbrun through the srun of a real Slurm: a controller in pod-0, a node in each
# other pod, munge between them, all with the lab's own configuration, and gone
# with it.
#
# shellcheck disable=SC2016  # expanded in the pod

load ../common

carrier='srun -N1 -n1 -w %h --overlap'

setup_file() {
    need_root
    need srun slurmctld slurmd munged
    lab_up slurm 3
    export F=$BATS_FILE_TMPDIR
    export SLURM_CONF=$F/slurm.conf
    head -c 1024 /dev/urandom > "$F/munge.key"
    chmod 600 "$F/munge.key"
    # Tasks are in no cgroups here, and the plugin is loaded all the same.
    echo 'CgroupPlugin=cgroup/v1' > "$F/cgroup.conf"
    cat > "$SLURM_CONF" << 'END'
ClusterName=lab
SlurmctldHost=pod-0
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=/run/slurm
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/run/slurmctld.log
SlurmdLogFile=/run/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
NodeName=pod-[1-2] CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:4 State=UP
END
    start_daemons 0 slurmctld
    start_daemons 1 'slurmd -N pod-1'
    start_daemons 2 'slurmd -N pod-2'
    wait_until all_idle || {
        pod 0 tail -n 20 /run/slurmctld.log
        pod 1 tail -n 20 /run/slurmd.log
        return 1
    }
}
teardown_file() { lab_down; }

start_daemons() { # I COMMAND
    pod "$1" env SLURM_CONF="$SLURM_CONF" bash -c 'mkdir -m 755 /run/munge
        munged --key-file="$0" --seed-file=/run/munge/seed \
            --log-file=/run/munge/log --pid-file=/run/munge/pid &&
            exec $1' "$F/munge.key" "$2" < /dev/null > /dev/null 2>&1 3>&-
}
all_idle() {
    [ "$(pod 0 env SLURM_CONF="$SLURM_CONF" sinfo -h -N -o %T |
        grep -c '^idle')" -eq 2 ]
}

# hbrun in an allocation of both nodes, for $TASKS tasks in all.
slurm_hb() {
    pod 0 env SLURM_CONF="$SLURM_CONF" bash -c 'cd "$0" &&
        exec timeout -s KILL "$@"' "$F" "$HB_LIMIT" salloc -Q -N2 \
        -n "${TASKS:-2}" -O "$hbrun" "$@"
}

# What runs in pod I besides sshd, munge and Slurm.
job_processes() { pod_processes "$1" | grep -Ev ' (munged|slurm[a-z]+:?) ' ||
    true; }
no_job_processes() { [ -z "$(job_processes "$1")" ]; }
nodes_clean() {
    local i
    for i in 1 2; do
        wait_until no_job_processes "$i" || { job_processes "$i"; return 1; }
    done
}

@test "srun carries the link to two nodes of an allocation" {
    run slurm_hb --launch-with "$carrier" -H pod-1,pod-2 --label hostname
    ended_with 0
    says '^\[0\] ?pod-1$'
    says '^\[1\] ?pod-2$'
    nodes_clean
}

@test "ranks over srun do not take themselves for tasks of Slurm" {
    run slurm_hb --launch-with "$carrier" -H pod-1 env
    ended_with 0
    says '^HPCBOOT_RANK=0$'
    says_not '^(SLURM_(PROCID|STEP|NTASKS|JOB_?ID|UNBUFFERED)|PMI_)'
}

@test "an MPI program over srun" {
    need mpicc.openmpi
    mpicc.openmpi -o "$F/hello" "$HB_SRCDIR/examples/hello_mpi.c"
    TASKS=4 run slurm_hb --launch-with "$carrier" -H pod-1:2,pod-2:2 "$F/hello"
    ended_with 0
    says '^rank 3 of 4 on pod-2$'
    says 'right$'
}

@test "bytes both ways over srun" {
    head -c 3000000 /dev/urandom > "$F/data"
    slurm_hb --launch-with "$carrier" -H pod-1 cat < "$F/data" > "$F/back"
    cmp "$F/data" "$F/back"
}

@test "a rank that fails over srun: its status, and nothing is left" {
    run slurm_hb --launch-with "$carrier" -H pod-1,pod-2 sh -c \
        '[ $HPCBOOT_RANK = 0 ] || exit 7; sleep 1000'
    ended_with 7
    says 'rank 1 on pod-2.* 7'
    nodes_clean
}

@test "a step that is cancelled: its host is named, status 75" {
    pod 0 env SLURM_CONF="$SLURM_CONF" bash -c 'exec salloc -Q -N2 "$@" \
        2> /tmp/err' - "$hbrun" --launch-with "$carrier" -H pod-1,pod-2 \
        bash -c 'echo $$ > /tmp/started; exec sleep 1000' &
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
    pod 0 env SLURM_CONF="$SLURM_CONF" bash -c 'scancel $(squeue -h -s \
        -w pod-2 -o %i | grep -E "\.[0-9]+$")'
    wait $! && status=0 || status=$?
    output=$(pod 0 cat /tmp/err)
    pod 1 rm /tmp/started
    pod 2 rm /tmp/started
    ended_with 75
    says 'host pod-2'
    nodes_clean
}

@test "the launcher is killed by SIGKILL under srun" {
    pod 0 env SLURM_CONF="$SLURM_CONF" bash -c 'exec salloc -Q -N2 "$@" \
        2> /tmp/err' - "$hbrun" --launch-with "$carrier" -H pod-1,pod-2 \
        bash -c 'echo $$ > /tmp/started; exec sleep 1000' &
    wait_until pod 1 test -s /tmp/started
    wait_until pod 2 test -s /tmp/started
    pod 0 pkill -KILL -x hbrun
    wait $! || true
    pod 1 rm /tmp/started
    pod 2 rm /tmp/started
    nodes_clean
}

@test "a node that Slurm does not know: srun's words" {
    run slurm_hb --launch-with "$carrier" -H pod-1,pod-9 true
    ended_with 75
    says 'host pod-9:.*srun: error'
    nodes_clean
}

@test "a partition that does not exist: srun's words" {
    run pod 0 env SLURM_CONF="$SLURM_CONF" timeout -s KILL "$HB_LIMIT" \
        "$hbrun" --launch-with 'srun -N1 -n1 -w %h -p nosuch' -H pod-1 true
    ended_with 75
    says 'host pod-1:.*srun'
}

@test "a command that is not there is a mistake of usage" {
    run slurm_hb --launch-with 'no-such-srun -w %h' -H pod-1,pod-2 true
    ended_with 2
    says 'no-such-srun'
    [ "$(grep -c . <<< "$output")" -eq 1 ]
}

@test "srun --mpi=pmix starts ranks of libhpcboot on two nodes" {
    pod 0 env SLURM_CONF="$SLURM_CONF" srun --mpi=list 2>&1 |
        grep -q pmix ||
        skip 'this Slurm has no pmix plugin'
    # What libpmix leaves unfreed in its clients is not ours.
    run pod 0 env SLURM_CONF="$SLURM_CONF" ASAN_OPTIONS=detect_leaks=0 \
        timeout -s KILL "$HB_LIMIT" srun --mpi=pmix -N2 -n4 -O \
        "$HB_BUILDDIR/tests/cli/apiprobe" who kvs blobs coll teams messages
    ended_with 0
    says '^rank 3 of 4, local 1 of 2, node 1 of 2, host pod-2, by pmix$'
}
