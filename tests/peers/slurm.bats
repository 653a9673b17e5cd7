#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# --launch-with srun: agents started by a real Slurm whose controller and
# node daemon run on this host, for the time of this file, in a network
# namespace of their own.

load ../common

setup_file() {
    need_root
    need slurmctld slurmd srun munged unshare
    lab_up slurm 1 --init 'sleep infinity'
    pod 0 bash -e "$HB_SRCDIR/tests/peers/slurm-up.sh" \
        > "$BATS_FILE_TMPDIR/slurm.log" 2>&1 ||
        skip "slurm does not come up here: $(tail -n 3 \
            "$BATS_FILE_TMPDIR/slurm.log" | tr '\n' ' ')"
}
teardown_file() { lab_down; }

@test "srun starts the agent, which starts the ranks" {
    run pod_hb --launch-with 'srun -N1 -n1 -w %h' -H pod-0:2 --label \
        sh -c 'echo $HPCBOOT_RANK of $HPCBOOT_SIZE'
    ended_with 0
    says '^\[0\] ?0 of 2$'
    says '^\[1\] ?1 of 2$'
}

@test "Slurm's variables do not reach the ranks" {
    run pod_hb --launch-with 'srun -N1 -n1 -w %h' -H pod-0 \
        sh -c 'echo "procid:$SLURM_PROCID."'
    ended_with 0
    says '^procid:\.$'
}

@test "a rank that exits 3 under an agent of srun" {
    run pod_hb --launch-with 'srun -N1 -n1 -w %h' -H pod-0 sh -c 'exit 3'
    ended_with 3
}
