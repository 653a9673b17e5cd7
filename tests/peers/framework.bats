#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Frameworks whose ranks meet, over four pods: JAX, TensorFlow, PaddlePaddle,
# XGBoost.
#
# shellcheck disable=SC2034  # read by over4

load frameworks

@test "JAX: jax.distributed.initialize without arguments" {
    wheels jax jax
    over4 --framework jax "$python" "$programs/jax_sum.py"
    four '^sum 10 of 4$'
}

@test "TensorFlow: MultiWorkerMirrored over four workers" {
    wheels tensorflow tensorflow-cpu
    over4 --framework tensorflow "$python" "$programs/tf_sum.py"
    four '^sum 10 of 4$'
}

@test "TensorFlow: a parameter server, and the job ends with its chief" {
    wheels tensorflow tensorflow-cpu
    over4 --framework tensorflow --role chief=1,ps=1,worker=2 "$python" \
        "$programs/tf_ps.py"
    ended_with 0
    says '^sum 55 on job:ps 2 workers$'
}

@test "PaddlePaddle: collective on CPUs" {
    wheels paddle paddlepaddle
    over4 --framework paddle "$python" "$programs/paddle_sum.py"
    four '^sum 10 of 4$'
}

# Its own launcher says whether this build of Paddle has parameter servers at
# all; the wheel 3.3 for CPUs does not. What it tells its processes is read by
# Paddle's own role maker in either case.
@test "PaddlePaddle: parameter servers and trainers" {
    local launcher
    wheels paddle paddlepaddle
    launcher=("$python" -m paddle.distributed.launch --server_num 1
        --trainer_num 2 --log_dir "$PWD/log")
    over4 --framework paddle --role server=1,worker=3 "$python" \
        "$programs/paddle_ps.py"
    ended_with 0
    [ "$(grep -c '^sum 6 of 3 trainers, 1 servers$' <<< "$output")" -eq 3 ]
    says_not 'ever connected'
    if timeout -k 5 "$HB_FRAMEWORK_LIMIT" "${launcher[@]}" \
        "$programs/paddle_ps.py" train > own 2>&1; then
        over4 --framework paddle --role server=1,worker=3 "$python" \
            "$programs/paddle_ps.py" train
        ended_with 0
        [ "$(grep -c '^weight 3\.00$' <<< "$output")" -eq 3 ]
    else
        grep -Eq "(import name|attribute) '(CommContext|DistFleetWrapper)'" \
            own log/* || { tail -n 20 own; return 1; }
    fi
}

@test "PaddlePaddle, elastic: its launchers start trainers again, by etcd" {
    need etcd
    wheels paddle-elastic paddlepaddle etcd3 'protobuf<3.21' 'setuptools<70'
    pod 0 sh -c 'echo $$ > /tmp/etcd.pid; exec etcd --data-dir /tmp/etcd \
        --listen-client-urls http://10.77.0.1:2389 \
        --advertise-client-urls http://10.77.0.1:2389 \
        --listen-peer-urls http://127.0.0.1:2390' > etcd.log 2>&1 &
    wait_until pod 0 bash -c ': < /dev/tcp/10.77.0.1/2389' 2> /dev/null
    has=(PADDLE_ELASTIC_SERVER=10.77.0.1:2389)
    over4 --framework paddle-launcher --recipe-set "python=$python" \
        --on-failure continue --recipe-set min_nodes=3 \
        "$programs/paddle_elastic.py" pod-2 "$BATS_FILE_TMPDIR/mark"
    pod 0 sh -c 'kill -KILL "$(cat /tmp/etcd.pid)"'
    says 'Container failed'
    says '^sum (10 of 4|6 of 3)$'
    [ -e "$BATS_FILE_TMPDIR/mark" ]
    pods_clean 0 1 2 3
}

@test "XGBoost: a tracker in rank 0, a model of all workers' rows" {
    wheels xgboost xgboost
    over4 --framework xgboost "$python" "$programs/xgboost_sum.py"
    four '^sum 10 of 4 model 0 30$'
}
