#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# The command lines of the sample jobs that operators and frameworks publish,
# under the names they call, option by option. Hosts, programs and, where a
# sample has more ranks than a test needs, their number are this machine's.

load ../common
setup() {
    common_setup
    ln -s "$hbrun" mpirun
    ln -s "$hbrun" mpiexec
    # shellcheck disable=SC2123
    PATH=$PWD:$PATH
    printf '#!/bin/sh\necho "rank $HPCBOOT_RANK of $HPCBOOT_SIZE $*"\n' > prog
    chmod 755 prog
    export LD_LIBRARY_PATH=/opt/lib
}

# sample N COMMAND...: N ranks run prog, and nothing is warned of.
sample() {
    local n=$1 rank
    shift
    run timeout -s KILL "$HB_LIMIT" "$@"
    ended_with 0
    for ((rank = 0; rank < n; rank++)); do says "^rank $rank of $n "; done
    says_not 'warning|error'
}

@test "MPI Operator: pi, for Open MPI, Intel MPI and MPICH" {
    sample 2 mpirun -n 2 "$PWD/prog"
}

@test "MPI Operator: tensorflow-benchmarks" {
    sample 2 mpirun --allow-run-as-root -np 2 -bind-to none -map-by slot \
        -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH -mca pml ob1 \
        -mca btl ^openib prog scripts/tf_cnn_benchmarks.py --model=resnet101 \
        --batch_size=64 --variable_update=horovod
    says 'of 2 scripts/tf_cnn_benchmarks.py --model=resnet101'
}

@test "MPI Operator: nccl-tests, with the variables of its pod" {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_orte_base_help_aggregate=0 NCCL_DEBUG=INFO
    sample 4 mpirun -np 4 --oversubscribe -x LD_LIBRARY_PATH -bind-to none prog
    sample 4 mpirun -np 4 --oversubscribe -bind-to none -x NCCL_DEBUG \
        prog -c 0 -b 8 -e 16G -f 4 -g 1 -n 10
    says 'of 4 -c 0 -b 8 -e 16G -f 4 -g 1 -n 10$'
}

@test "MPI Operator: mxnet-mnist" {
    sample 2 mpirun -np 2 -mca btl_tcp_if_exclude lo -mca pml ob1 \
        -mca btl ^openib --bind-to none -map-by slot -x LD_LIBRARY_PATH \
        -x PATH -x NCCL_SOCKET_IFNAME=eth0 -x NCCL_DEBUG=INFO \
        -x MXNET_CUDNN_AUTOTUNE_DEFAULT=0 prog
}

@test "MPI Operator: a job of Intel MPI with -genv NAME=VALUE" {
    sample 2 mpirun -genv I_MPI_DEBUG=2 -n 2 prog
}

@test "Volcano: mpiexec --host with the comma that tr leaves at its end" {
    local MPI_HOST
    printf 'localhost\n127.0.0.1\n' > mpiworker.host
    MPI_HOST=$(tr '\n' ',' < mpiworker.host)
    [ "$MPI_HOST" = localhost,127.0.0.1, ]
    sample 2 mpiexec --allow-run-as-root --host "$MPI_HOST" -np 2 \
        --launch-with fork prog
}

@test "horovodrun's mpirun" {
    sample 2 mpirun --allow-run-as-root -np 2 -H localhost:2 -bind-to none \
        -map-by slot -mca pml ob1 -mca btl ^openib \
        -mca btl_tcp_if_include lo -mca plm_rsh_no_tree_spawn true \
        -mca plm_rsh_num_concurrent 2 -x HOROVOD_LOG_LEVEL=ERROR -x PATH \
        -x LD_LIBRARY_PATH=/opt/lib:/usr/lib prog
    run timeout -s KILL "$HB_LIMIT" mpirun -np 2 -H localhost:2 -tag-output \
        prog
    says '^\[1,1\]<stdout>: ?rank 1 of 2'
}

@test "DeepSpeed's mpirun and mpich launchers" {
    echo 'localhost slots=2' > hosts
    sample 2 mpirun -n 2 -hostfile hosts --mca btl ^openib \
        --mca btl_tcp_if_include eth0 -x PYTHONPATH=/opt -x NCCL_IB_TIMEOUT=23 \
        prog -u train.py
    sample 2 mpirun -n 2 -ppn 2 -genv NCCL_DEBUG INFO prog -u train.py
}

@test "site scripts: hostfile, ppr, rank-by" {
    echo 'localhost slots=4' > hosts
    sample 4 mpirun -np 4 -hostfile hosts -mca plm_rsh_no_tree_spawn 1 \
        -map-by slot -x NCCL_MIN_NRINGS=4 prog
    sample 4 mpirun -np 4 --map-by ppr:4:node -hostfile hosts \
        -x NCCL_P2P_DISABLE=0 --rank-by core prog
}
