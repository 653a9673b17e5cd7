#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Frameworks as a person sees them on one host: which one is chosen, what ranks
# find in their environment, recipes that are wrong, commands around a program.

load ../common
setup() { common_setup; }

# recipe: the text on standard input as a recipe.
recipe() { cat > my.conf; }
my() { hb --recipe my.conf --oversubscribe "$@"; }

@test "ranks of torch find what torchrun would tell them" {
    run hb --framework torch --oversubscribe -n 3 sh -c \
        'echo "$RANK/$WORLD_SIZE/$LOCAL_RANK/$MASTER_ADDR/$PYTHONUNBUFFERED"'
    ended_with 0
    says '^0/3/0/127\.0\.0\.1/1$'
    says '^2/3/2/127\.0\.0\.1/1$'
}

@test "what the user says about a variable stands; what the launcher has does not" {
    RANK=7 run hb --framework torch -x MASTER_ADDR=there -n 1 sh -c \
        'echo "$RANK $MASTER_ADDR"'
    ended_with 0
    says '^0 there$'
}

@test "of what sets and takes away a variable the later one counts" {
    recipe <<< $'env A 1\ndefault B 2\nunset A\nunset B\nunset C\nenv C 3'
    B=own C=own run my -n 1 sh -c 'echo "a=$A b=$B c=$C"'
    ended_with 0
    says '^a= b= c=3$'
}

@test "what a recipe takes away stays where the user has said it" {
    recipe <<< $'unset A\nunset B'
    A=1 run my -x A -x B=2 -n 1 sh -c 'echo "a=$A b=$B"'
    ended_with 0
    says '^a= b=2$'
}

@test "a torchrun command line is understood" {
    printf '#!/bin/sh\necho "$2 $3 rank $RANK of $WORLD_SIZE"\n' > python3
    printf '#!%s/python3\n' "$PWD" > torchrun
    chmod +x python3 torchrun
    PATH=$PWD:$PATH run hb --explain --oversubscribe torchrun \
        --nproc-per-node 2 --master-port 29999 t.py --lr
    ended_with 0
    says '^t.py --lr rank 1 of 2$'
    says "framework: torch \(the command line is torchrun's\)"
    says 'port master: 127\.0\.0\.1:29999'
}

# in_gang FRAMEWORK NAME=VALUE...: in a pod with these variables it is chosen.
in_gang() {
    run env "${@:2}" "$hbrun" --explain --dry-run -n 1 python3 t.py
    ended_with 0
    says "framework: $1 \((the gang|the operator's variables)\)"
}
# shellcheck disable=SC2016  # expanded in the rank
@test "an order of ranks (--map-by node) is no number of them" {
    local by
    printf '#!/bin/sh\necho "$* rank $RANK of $WORLD_SIZE"\n' > python3
    printf '#!%s/python3\n' "$PWD" > torchrun
    chmod +x python3 torchrun
    for by in slot node core core:PE=1; do
        PATH=$PWD:$PATH run hb -H localhost:4 --bind-to none --map-by "$by" \
            torchrun --nproc-per-node 2 t.py
        ended_with 0
        says '^-u t.py rank 1 of 2$'
        PATH=$PWD:$PATH run hb -H localhost:4 --bind-to none --map-by "$by" \
            torchrun --nproc-per-node 2 --max-restarts 1 t.py
        ended_with 0
        [ "$(grep -c '^-m torch.distributed.run' <<< "$output")" -eq 1 ]
        run hb -H localhost:4 --bind-to none --map-by "$by" \
            horovodrun -np 2 sh -c 'echo "rank $HOROVOD_RANK of $HOROVOD_SIZE"'
        ended_with 0
        says '^rank 1 of 2$'
        run hb -H localhost:4 --bind-to none --map-by "$by" \
            --framework tensorflow --role chief=1,worker=1 \
            sh -c 'echo "$TF_CONFIG"'
        ended_with 0
        says '"task":{"type":"chief","index":0}'
    done
    PATH=$PWD:$PATH run hb -H localhost:4 --map-by ppr:3:node \
        torchrun --nproc-per-node 2 t.py
    says '^-u t.py rank 2 of 3$'
}

# Under mpirun -n 1 the torchrun itself would start three.
@test "numbers of ranks that go before those of a command line: told" {
    local each why='torchrun is to start 3 processes on each host, which has no'
    ranks() { run hb --oversubscribe "$@" --no-python true; ended_with 0; }
    ranks -n 1 torchrun --nproc-per-node 3
    says "^hbrun: warning: $why effect"
    ranks -npernode 1 torchrun --nnodes 1 --nproc-per-node 3
    says "$why"
    ranks -n 6 torchrun --nnodes 1 --nproc-per-node 3
    says "$why"
    ranks -n 3 torchrun --nnodes 1 --nproc-per-node 3
    says_not 'has no effect'
    ranks -n 6 torchrun --nproc-per-node 3
    says_not 'has no effect'
    ranks -n 2 torchrun
    says_not 'has no effect'
    ranks -n 4 torchrun --nproc-per-node auto
    says_not 'has no effect'
    for each in '-n 1' '-npernode 1' '--map-by ppr:1:node'; do
        # shellcheck disable=SC2086  # words
        ranks $each torchrun --nproc-per-node auto
        says "torchrun is to start as many .* as .auto. says, which has no eff"
    done
    ranks --map-by ppr:2:node torchrun --nproc-per-node 3
    says "$why"
    ranks --map-by ppr:3:node torchrun --nproc-per-node 3
    says_not 'has no effect'
    ranks -H localhost:4 --map-by pe-list=0 torchrun --nproc-per-node 3
    says "$why"
    ranks -H localhost:4 --map-by pe-list=0 torchrun
    says_not 'has no effect'
    ranks -n 1 deepspeed
    says_not 'has no effect'
    run hb -n 1 horovodrun -np 2 true
    says '^hbrun: warning: horovodrun is to start 2 processes, which has no'
    run hb -n 2 horovodrun -np 2 true
    says_not 'has no effect'
}

@test "in an operator's gang its framework is chosen" {
    need_module gangjson jansson
    in_gang torch PYTHONUNBUFFERED=1 MASTER_PORT=23456 MASTER_ADDR=pt-master-0 \
        PET_MASTER_PORT=23456 PET_MASTER_ADDR=pt-master-0 WORLD_SIZE=2 RANK=0 \
        PET_NODE_RANK=0 PET_NPROC_PER_NODE=1 PET_NNODES=2
    says 'port master: 23456 \(MASTER_PORT\)'
    in_gang torch PET_NNODES=2 PET_NODE_RANK=0 PET_MASTER_ADDR=tj-node-0-0.tj \
        PET_MASTER_PORT=29511 PET_NPROC_PER_NODE=1
    says 'port master: 29511 \(PET_MASTER_PORT\)'
    in_gang tensorflow KUBERNETES_SERVICE_HOST=10.96.0.1 \
        'TF_CONFIG={"cluster":{"ps":["tf-ps-0.hpc.svc:2299"],
        "worker":["tf-worker-0.hpc.svc:2299"]},"environment":"cloud",
        "task":{"type":"worker","index":0}}'
    says 'port task: 2299 \(TF_CONFIG\)'
    in_gang jax COORDINATOR_PORT=6677 COORDINATOR_ADDRESS=jx-worker-0 \
        NUM_PROCESSES=2 PROCESS_ID=0
    says 'port coordinator: 6677 \(COORDINATOR_PORT\)'
    in_gang jax JAX_NUM_PROCESSES=2 JAX_PROCESS_ID=0 \
        JAX_COORDINATOR_ADDRESS=tj-node-0-0.tj:29500
    says 'port coordinator: 29500 \(JAX_COORDINATOR_ADDRESS\)'
    in_gang paddle PADDLE_JOB_ID=pd PADDLE_NNODES=2 POD_IP_DUMMY=10.1.2.3 \
        PADDLE_MASTER=10.1.2.3:36577
    says 'port master: 36577 \(PADDLE_MASTER\)'
    in_gang xgboost MASTER_PORT=9977 MASTER_ADDR=xg-master-0 WORLD_SIZE=2 \
        RANK=0 WORKER_PORT=9977 WORKER_ADDRS=xg-worker-0 PYTHONUNBUFFERED=1
    says 'port tracker: 9977 \(MASTER_PORT\)'
}

@test "in a Volcano Job of the pytorch plugin the master computes, too" {
    local pod
    for pod in master-0 worker-0; do
        in_gang torch POD_NAME="pt-$pod" RANK=0 WORLD_SIZE=3 \
            VC_MASTER_HOSTS=pt-master-0.pt MASTER_ADDR=pt-master-0.pt \
            VC_WORKER_HOSTS=pt-worker-0.pt,pt-worker-1.pt MASTER_PORT=23456
        says 'gang: Volcano Job, torch: 3 hosts in '
        says 'port master: 23456 \(MASTER_PORT\)'
        says '^host pt-master-0.pt: '
        says '^host pt-worker-1.pt: '
    done
}

@test "in a Volcano Job of the tensorflow plugin every role has ranks" {
    local pod
    for pod in ps-0 worker-1; do
        in_gang tensorflow POD_NAME="tj-$pod" VC_PS_HOSTS=tj-ps-0.tj \
            VC_WORKER_HOSTS=tj-worker-0.tj,tj-worker-1.tj \
            'TF_CONFIG={"cluster":{"ps":["tj-ps-0.tj:2222"],"worker":
            ["tj-worker-0.tj:2222","tj-worker-1.tj:2222"]},
            "task":{"type":"worker","index":1}}'
        says 'gang: Volcano Job: 3 hosts in '
        says '^host tj-ps-0.tj: '
        says '^host tj-worker-1.tj: '
    done
}

@test "an elastic PyTorchJob says to torchrun what its options would" {
    export PYTHONUNBUFFERED=1 PET_RDZV_ENDPOINT=pt-worker-0:29400 \
        PET_NNODES=2:4 PET_MAX_RESTARTS=10 PET_NPROC_PER_NODE=2 \
        POD_NAME=pt-worker-0
    run hb --explain --dry-run torchrun --nnodes 2:4 --max-restarts 10 t.py
    ended_with 0
    says 'framework: torchrun '
    says 'elastic: 2 to 4 ranks'
    printf '%s\n' "$output" | grep -v 'process management' > options
    run hb --explain --dry-run torchrun t.py
    printf '%s\n' "$output" | grep -v 'process management' | diff options -
    run hb --explain --dry-run -n 8 torchrun t.py
    ended_with 0
    says 'framework: torch '
    run hb --explain --dry-run --framework torch torchrun t.py
    ended_with 0
    says 'framework: torch '
    says_not 'elastic:'
    run hb --explain --dry-run -H pt-worker-0 torchrun t.py
    ended_with 0
    says 'framework: torchrun '
    says_not 'elastic:'
}

# usual WORDS NAME=VALUE... [-- OPTION...]: what ranks there are in such a pod.
usual() {
    local words=$1 environment=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        environment+=("$1")
        shift
    done
    run env "${environment[@]}" "$hbrun" --explain --dry-run "${@:2}" \
        python3 t.py
    ended_with 0
    says "python3 t.py, $words"
}
jaxjob=(COORDINATOR_PORT=6666 COORDINATOR_ADDRESS=jx-worker-0 NUM_PROCESSES=2
    PROCESS_ID=0)
paddlejob=(PADDLE_JOB_ID=pd PADDLE_NNODES=2 POD_IP_DUMMY=127.0.0.1
    PADDLE_MASTER=127.0.0.1:36543)
@test "operators whose pods are a process each: one on each host, not bound" {
    need_module gangjson jansson
    local each='1 on each host$'
    usual "$each" KUBERNETES_SERVICE_HOST=10.96.0.1 \
        'TF_CONFIG={"cluster":{"ps":["tf-ps-0.hpc.svc:2222"],
        "worker":["tf-worker-0.hpc.svc:2222"]},"environment":"cloud",
        "task":{"type":"worker","index":0}}'
    says '^processes: one on each host, as is usual with TFJob; -n, '
    usual "$each" "${jaxjob[@]}"
    usual "$each" JAX_NUM_PROCESSES=2 JAX_PROCESS_ID=0 \
        JAX_COORDINATOR_ADDRESS=tj-node-0-0.tj:29500
    usual "$each" MASTER_PORT=9999 MASTER_ADDR=xg-master-0 WORLD_SIZE=2 \
        RANK=0 WORKER_PORT=9999 WORKER_ADDRS=xg-worker-0 PYTHONUNBUFFERED=1
    usual 'one rank per slot$' VC_MASTER_HOSTS=pt-master-0.pt RANK=1 \
        VC_WORKER_HOSTS=pt-worker-0.pt,pt-worker-1.pt POD_NAME=pt-worker-0 \
        MASTER_ADDR=pt-master-0.pt MASTER_PORT=23456 WORLD_SIZE=3
    says '^processes: one for each GPU, .* with Volcano Job, torch;'
    usual '6 ranks$' PET_NNODES=2 PET_NODE_RANK=0 PET_NPROC_PER_NODE=3 \
        PET_MASTER_ADDR=tj-node-0-0.tj PET_MASTER_PORT=29511
    says_not '^processes:'
}

@test "what the user says of ranks goes before what is usual in a gang" {
    local by
    usual '8 ranks$' "${jaxjob[@]}" -- -n 8
    usual '8 on each host$' "${jaxjob[@]}" -- -npernode 8
    usual 'as many as --map-by ' "${jaxjob[@]}" -- --map-by ppr:2:node
    for by in slot:PE=2 core:PE=2 pe-list=0,1; do
        usual '([0-9]+ ranks?|one rank per slot)$' "${jaxjob[@]}" -- \
            --map-by "$by"
    done
    for by in slot node core; do
        usual '1 on each host$' "${jaxjob[@]}" -- --map-by "$by"
    done
    usual '[0-9]+ ranks?$' "${jaxjob[@]}" -- --default-slots 3
    says ', 6 ranks$'
    usual '[0-9]+ ranks?$' "${jaxjob[@]}" -- -H jx-worker-0:2,jx-worker-1:2
    says ', 4 ranks$'
    says_not '^processes:'
    usual '2 ranks$' "${jaxjob[@]}" -- -H jx-worker-0,jx-worker-1
}

@test "a command that a framework starts once is that, however many ranks" {
    local ranks
    for ranks in '-n 2' '--npernode 1'; do
        # shellcheck disable=SC2086  # words
        run hb --explain --dry-run -H a:1,b:1 $ranks spark-submit x.py
        ended_with 0
        says '^framework: spark \(the command\)'
    done
}

@test "a PaddleJob has a process for each GPU, or one, and one launcher a pod" {
    usual 'one rank per slot$' "${paddlejob[@]}"
    says '^processes: one for each GPU, and .*, as is usual with PaddleJob'
    run env "${paddlejob[@]}" "$hbrun" --explain --dry-run \
        python3 -u -m paddle.distributed.launch t.py
    ended_with 0
    says 'launch t.py, 1 on each host$'
    says '^processes: one on each host, .* with paddle.distributed.launch'
    need_root
    unshare -u true 2> /dev/null ||
        skip "no name of a process's own can be made here"
    # shellcheck disable=SC2016  # expanded in the pod
    in_pod_0=(unshare -u sh -c 'hostname pd-worker-0 && exec "$@"' - env
        "${paddlejob[@]}" "$hbrun" --dry-run python3 t.py)
    run "${in_pod_0[@]}"
    [ -n "$(ls /dev/nvidia[0-9]* /dev/dri/renderD* 2> /dev/null)" ] ||
        says '^host pd-worker-0: slots 1 \(no GPU in /dev\)'
    with_gpus true || skip "no mounts of a process's own can be made here"
    rmdir dev
    AS_NVIDIA=yes run with_gpus "${in_pod_0[@]}"
    ended_with 0
    says '^host pd-worker-0: slots 2 \(2 NVIDIA GPUs'
}

@test "an elastic PyTorchJob declares its port in the address where it meets" {
    elastic() { # OPTION...
        run env PYTHONUNBUFFERED=1 PET_RDZV_ENDPOINT=pt-worker-0:23456 \
            PET_RDZV_BACKEND=c10d PET_NNODES=1:2 PET_STANDALONE= \
            "$hbrun" --explain --dry-run -n 1 "$@" python3 t.py
        ended_with 0
        says "port $port: 23456 \(PET_RDZV_ENDPOINT\)"
    }
    port=master elastic
    port=rdzv elastic --framework torchrun
    port=master elastic --framework deepspeed
    port=master elastic --framework deepspeed-launcher
}

# ranks_on_gpus OPTION... PROGRAM...: hbrun on a host with two of NVIDIA's.
ranks_on_gpus() {
    AS_NVIDIA=yes run with_gpus "$hbrun" "$@"
    rmdir dev
    ended_with 0
}
# shellcheck disable=SC2016  # expanded in the rank
@test "a process of JAX has all GPUs that nobody else on its host has" {
    with_gpus true || skip "no mounts of a process's own can be made here"
    rmdir dev
    local ids='echo "$JAX_PROCESS_ID: ${JAX_LOCAL_DEVICE_IDS-none}"'
    ranks_on_gpus --framework jax -npernode 1 sh -c "$ids"
    says '^0: 0,1$'
    ranks_on_gpus --framework jax -n 2 sh -c "$ids"
    says '^0: 0$'
    says '^1: 1$'
    ranks_on_gpus --framework jax -n 1 -x JAX_LOCAL_DEVICE_IDS=1 sh -c "$ids"
    says '^0: 1$'
    ranks_on_gpus --framework jax -n 1 -x CUDA_VISIBLE_DEVICES= sh -c "$ids"
    says '^0: none$'
    hwloc_is_there
    ranks_on_gpus --framework jax -n 2 --gpus-per-rank 1 sh -c "$ids"
    says '^0: 0$'
    says '^1: 0$'
}

# shellcheck disable=SC2016  # expanded in the rank
@test "a process of PaddlePaddle has its GPU, and Gloo only where there is none" {
    with_gpus true || skip "no mounts of a process's own can be made here"
    rmdir dev
    local has='echo "$PADDLE_TRAINER_ID: ${FLAGS_selected_gpus-none}" \
        "${PADDLE_DISTRI_BACKEND-none}"'
    ranks_on_gpus --framework paddle -n 2 sh -c "$has"
    says '^0: 0 none$'
    says '^1: 1 none$'
    ranks_on_gpus --framework paddle -n 1 sh -c "$has"
    says '^0: 0,1 none$'
    ranks_on_gpus --framework paddle -n 1 -x PADDLE_DISTRI_BACKEND=gloo \
        sh -c "$has"
    says '^0: 0,1 gloo$'
    ranks_on_gpus --framework paddle -n 1 -x CUDA_VISIBLE_DEVICES= sh -c "$has"
    says '^0: none gloo$'
    hwloc_is_there
    ranks_on_gpus --framework paddle -n 2 --gpus-per-rank 1 sh -c "$has"
    says '^0: 0 none$'
    says '^1: 0 none$'
}

@test "outside an operator's gang variables decide nothing" {
    run env PET_NNODES=2 TF_CONFIG='{}' "$hbrun" --explain --dry-run -H a:2 \
        python3 t.py
    ended_with 0
    says_not 'framework:'
}

@test "--framework torchrun keeps the command line for torchrun" {
    printf '#!/bin/sh\necho "itself: $*"\n' > python3
    printf '#!%s/python3\n' "$PWD" > torchrun
    chmod +x python3 torchrun
    PATH=$PWD:$PATH run hb --framework torchrun torchrun --nproc-per-node 2 t.py
    ended_with 0
    says '^itself: -m torch.distributed.run .*--nproc_per_node=2 .* t.py$'
}

# Where the launchers put it: behind its own arguments a script that takes the
# rest of the line would have it among these.
@test "a script has its local rank ahead of its own arguments" {
    need python3
    echo 'import sys; print("has:", *sys.argv[1:])' > t.py
    run hb -n 1 python3 -m torch.distributed.launch t.py a b
    ended_with 0
    says '^has: --local-rank=0 a b$'
    run hb -n 1 python3 -m torch.distributed.launch --module t a b
    says '^has: --local-rank=0 a b$'
    printf '%s\n' '#!/bin/sh' 'echo "has: $*"' > program
    chmod +x program
    run hb -n 1 python3 -m torch.distributed.launch --no_python ./program a
    says '^has: --local-rank=0 a$'
    run hb -n 1 --recipe-set local_rank_argument=--local_rank \
        python3 -m torch.distributed.launch t.py a
    says '^has: --local_rank=0 a$'
    run hb -n 1 deepspeed t.py a
    says '^has: --local_rank=0 a$'
}

@test "an elastic torch.distributed.launch is that one on each host" {
    need python3
    mkdir -p torch/distributed
    echo 'import os, sys
print("itself:", *sys.argv[1:])
print("local address:", os.environ.get("PET_LOCAL_ADDR"))' \
        > torch/distributed/launch.py
    cp torch/distributed/launch.py torch/distributed/run.py
    sed -i s/itself/run/ torch/distributed/run.py
    run hb --oversubscribe python3 -m torch.distributed.launch \
        --max_restarts 3 --role worker --local-addr 10.9.8.7 t.py a
    ended_with 0
    says '^itself: .*--role=worker .*t.py a$'
    says '^local address: [0-9a-f.:]+$'
    says_not 'local address: 10.9.8.7'
    says 'local-addr of .*has no effect'
    run hb --oversubscribe python3 -m torch.distributed.launch --use_env \
        --max_restarts 3 t.py a
    says '^run: .*t.py a$'
}

@test "--framework torchrun: what is no script is not given to Python" {
    printf '#!/bin/sh\necho "itself: $*"\n' > python3
    chmod +x python3
    echo > script
    torchrun() { # WORDS: of the program
        PATH=$PWD:$PATH run hb --framework torchrun "$@"
        ended_with 0
    }
    for program in 'python3 t.py' './python3'; do
        # shellcheck disable=SC2086
        torchrun $program
        says "^itself: .* --no_python $program"'$'
    done
    mkdir -p package data
    echo | tee data/script > scripted
    for program in t.py ./script scripted nowhere package '-wdir data ./script' \
        '--recipe-set no_python= ./python3' '--recipe-set module=--module t'; do
        # shellcheck disable=SC2086
        torchrun $program
        says_not no_python
    done
}

@test "DeepSpeed's processes on several hosts import from where it is started" {
    local hosts=127.0.0.1:1,127.0.0.2:1 rule
    need python3
    mkdir sub
    echo 'import mine' > sub/t.py
    echo 'import os; print("has:", os.environ.get("PYTHONPATH"))' > mine.py
    PYTHONPATH=/other run hb --launch-with fork -H $hosts \
        deepspeed --no_local_rank sub/t.py
    ended_with 0
    [ "$(grep -cx "has: $PWD:/other" <<< "$output")" -eq 2 ]
    run env -u PYTHONPATH "$hbrun" --launch-with fork -H $hosts \
        deepspeed --no_local_rank sub/t.py
    says "^has: $PWD\$"
    for rule in '--unset-env PYTHONPATH' '--unset-env PYTHON*' \
        '-genvlist PATH'; do
        # shellcheck disable=SC2086  # words
        PYTHONPATH=/other run hb --launch-with fork -H $hosts $rule \
            deepspeed --no_local_rank sub/t.py
        says "^has: $PWD\$"
    done
    run hb --launch-with fork -H $hosts -x PYTHONPATH="$PWD:$PWD" \
        deepspeed --no_local_rank sub/t.py
    says "^has: $PWD:$PWD\$"
    run env -u PYTHONPATH "$hbrun" -n 1 deepspeed --no_local_rank sub/t.py
    says "No module named 'mine'"
}

# shellcheck disable=SC2016  # expanded by the rank
@test "DeepSpeed's own file of variables counts, before what hbrun is told" {
    local tool='deepspeed --no_local_rank --no_python'
    show='echo "$A $B $C"'
    printf 'A=home\nB=home\nC=home\n' > "$HOME/.deepspeed_env"
    printf 'B=here=1\nC=here\n' > .deepspeed_env
    echo C=said > said
    # shellcheck disable=SC2086  # words
    run hb -n 1 --env-file said $tool sh -c "$show"
    ended_with 0
    says '^home here=1 said$'
    # shellcheck disable=SC2086  # words
    run hb -n 1 -x B=x $tool sh -c "$show"
    says '^home x here$'
    # shellcheck disable=SC2086  # words
    DS_ENV_FILE=$PWD/said run hb -n 1 $tool sh -c "$show"
    says '^  said$'
    rm .deepspeed_env
    mkdir .deepspeed_env
    # shellcheck disable=SC2086  # words
    run hb -n 1 $tool sh -c "$show"
    says '^home home home$'
    run hb -n 1 torchrun --no-python sh -c "$show"
    says '^  $'
}

# shellcheck disable=SC2016  # expanded by the rank
@test "DeepSpeed's file of variables that is another user's is not used" {
    need_root
    local tool='deepspeed --no_local_rank --no_python'
    echo A=theirs > .deepspeed_env
    chown 65534 .deepspeed_env
    # shellcheck disable=SC2086  # words
    run hb -n 1 $tool sh -c 'echo "<$A>"'
    ended_with 0
    says '^<>$'
    says '\.deepspeed_env belongs to uid 65534, .*; it is not used$'
    chown 0 .deepspeed_env
    chmod 666 .deepspeed_env
    # shellcheck disable=SC2086  # words
    run hb -n 1 $tool sh -c 'echo "<$A>"'
    says '^<>$'
    # shellcheck disable=SC2086  # words
    DS_ENV_FILE=.deepspeed_env run hb -n 1 $tool sh -c 'echo "<$A>"'
    says '^<theirs>$'
}

@test "a launcher on each host learns how few hosts, and how many, there may be" {
    printf '#!/bin/sh\necho "itself: $*"\n' > python3
    chmod +x python3
    nodes() { # RANGE OPTION...
        PATH=$PWD:$PATH run hb --framework torchrun "${@:2}" t.py
        ended_with 0
        says "^itself: .* --nnodes=$1 "
    }
    nodes 1:1
    printf '127.0.0.%d slots=1\n' 1 2 > hosts
    nodes 2:2 --launch-with fork --hostfile hosts
    nodes 1:2 --launch-with fork --hostfile hosts --on-failure continue
    nodes 1:3 --np 1:3 --on-failure continue
    nodes 1:2 --np 1:3 --recipe-set max_nodes=2 --on-failure respawn
    nodes 1:1 --np 1:3 --on-failure restart-job
}

@test "DeepSpeed's own launcher gets a hostfile, with slots" {
    printf '#!/bin/sh\ncat "${1#--hostfile=}"; echo "itself: $*"\n' > deepspeed
    chmod +x deepspeed
    run hb -H localhost:3 --framework deepspeed-launcher ./deepspeed \
        --no_local_rank --module t --lr 1
    ended_with 0
    says '^localhost slots=3$'
    says '^itself: .*--no_ssh --node_rank=0 .* --module --no_local_rank t --lr 1$'
}

@test "--framework none starts torchrun itself" {
    printf '#!/bin/sh\necho "itself: $*"\n' > torchrun
    chmod +x torchrun
    PATH=$PWD:$PATH run hb --framework none -n 1 torchrun --nnodes 1 t.py
    ended_with 0
    says '^itself: --nnodes 1 t.py$'
}

@test "a framework that is not there has a nearest one" {
    run hb --framework tensorflw -n 1 true
    ended_with 2
    says 'there is no framework tensorflw; did you mean tensorflow\?'
}

@test "the begin of a framework's name is none, whatever the command line" {
    run hb --framework tor torchrun t.py
    ended_with 2
    says 'error: --framework tor: there is no framework tor'
}

@test "a mistake in a recipe has file, line and column, and nothing starts" {
    recipe <<< $'env A 1\nenv B ${rnk}'
    run my -n 1 echo started
    ended_with 2
    says 'my.conf:2:7: there is no variable rnk; did you mean rank\?'
    says_not '^started'
    recipe <<< 'set a ${a}'
    run my -n 1 true
    ended_with 2
    says 'my.conf:1:7: a stands for itself'
    recipe <<< 'env A "two words'
    run my -n 1 true
    ended_with 2
    says 'my.conf:1:7: the quote is not closed on its line'
    run hb --recipe no.conf -n 1 true
    ended_with 2
}

@test "a command of which nothing is left is told, and nothing starts" {
    recipe <<< $'take prog\nrun ${prog}'
    run my -n 1 echo started
    ended_with 2
    says 'my.conf:2:1: nothing is left of this command'
    recipe <<< $'take prog\n[when rank is 1]\nrun ${prog}'
    run my -n 3 echo started
    ended_with 2
    says 'my.conf:3:1: nothing is left of this command'
    says_not '^started'
    recipe <<< $'take prog\nrun ${prog}'
    run my --recipe-set prog -n 1 no
    ended_with 2
    says 'error: --recipe-set: "prog" needs NAME=VALUE$'
    run my --recipe-set prog=echo -n 1 no
    ended_with 0
}

@test "a backslash at the end of a line continues it, also within a word" {
    recipe <<< $'env A one\\\ntwo\nenv B \\\n three'
    run my -n 1 sh -c 'echo "$A $B"'
    ended_with 0
    says '^onetwo three$'
}

@test "a recipe of the user's that is wrong is passed over, and told" {
    mkdir -p "$HOME/.config/hpcboot/recipes"
    printf 'detect command trainer\nenv A ${rnk}\n' \
        > "$HOME/.config/hpcboot/recipes/mine.conf"
    printf '#!/bin/sh\necho trained\n' > trainer
    chmod +x trainer
    run hb -n 1 ./trainer
    ended_with 0
    says 'mine.conf:2:7: there is no variable rnk.*: the recipe is passed over'
    says '^trained$'
    run hb -n 1 true
    ended_with 0
    says_not 'mine.conf'
}

@test "the user's recipes are where XDG_CONFIG_HOME says" {
    local dir
    for dir in "$PWD/xdg" "$HOME/.config"; do
        mkdir -p "$dir/hpcboot/recipes"
        echo "env WHERE $dir" > "$dir/hpcboot/recipes/mine.conf"
    done
    XDG_CONFIG_HOME=$PWD/xdg run hb --framework mine -n 1 sh -c 'echo "$WHERE"'
    ended_with 0
    says "^$PWD/xdg\$"
    XDG_CONFIG_HOME=xdg run hb --framework mine -n 1 sh -c 'echo "$WHERE"'
    ended_with 0
    says "^$HOME/.config\$"
}

@test "a recipe of the user's that knows the command goes before others" {
    local dir=$HOME/.config/hpcboot/recipes
    mkdir -p "$dir"
    printf 'detect command spark-submit\n' > "$dir/zz.conf"
    run hb --explain --dry-run -n 1 spark-submit x.py
    ended_with 0
    says '^framework: zz \(the command\)'
    printf 'detect variable TF_CONFIG\n' > "$dir/zz.conf"
    run hb --explain --dry-run -n 1 spark-submit x.py
    says '^framework: spark \(the command\)'
}

@test "a recipe of the user's that others could have written is not used" {
    local file=$HOME/.config/hpcboot/recipes/torch.conf
    mkdir -p "${file%/*}"
    echo 'env A planted' > "$file"
    chmod 666 "$file"
    run hb --framework torch -n 1 sh -c 'echo "A=$A $MASTER_ADDR"'
    ended_with 0
    says '^A= 127'
    says "warning: the recipe .*torch.conf may be written by others .* not used"
    chmod 644 "$file"
    run hb --framework torch -n 1 sh -c 'echo "A=$A $MASTER_ADDR"'
    ended_with 0
    says '^A=planted $'
    need_root
    chown 4321 "$file"
    run hb --framework torch -n 1 sh -c 'echo "A=$A $MASTER_ADDR"'
    says '^A= 127'
    says 'warning: the recipe .*torch.conf belongs to uid 4321.* not used'
}

# As where a container's image says HOME=/root, and its pod another uid.
@test "a home that is not to be searched keeps nobody from the recipes there are" {
    need_root
    need setpriv
    mkdir closed
    chmod 700 closed
    setpriv --reuid 4321 --clear-groups test -x "$hbrun" ||
        skip 'the build is not for other users'
    # shellcheck disable=SC2016  # expanded by the rank
    HOME=$PWD/closed/home run timeout -s KILL "$HB_LIMIT" setpriv --reuid 4321 \
        --clear-groups "$hbrun" --framework torch -n 1 sh -c 'echo "$RANK:"'
    ended_with 0
    says '^0:$'
    says 'recipes/torch.conf: Permission denied; it is not used'
    HOME=$PWD/closed/home run timeout -s KILL "$HB_LIMIT" setpriv --reuid 4321 \
        --clear-groups "$hbrun" --explain --dry-run -n 1 spark-submit x
    says '^framework: spark \(the command\)'
}

# Where /tmp is not for this user others may have made what lies there.
@test "files of a recipe are put into no folder that was there before" {
    need_root
    need unshare
    [[ $HB_BUILDDIR != /tmp/* ]] || skip 'the build itself lies in /tmp'
    unshare -m true || skip 'no mount name space can be made'
    recipe <<< $'file a "text"\nenv A ${file_a}'
    run unshare -m sh -c 'cp my.conf /run/my.conf &&
        mount -t tmpfs none /tmp && mkdir /tmp/rank.0 &&
        mount -t tmpfs none /tmp/rank.0 && mount -o remount,ro /tmp &&
        mount -t tmpfs -o ro none /dev/shm || exit 77
        cd / && rm -rf /run/user && "$@"; echo "status $?"; ls /tmp/rank.0' - \
        timeout -s KILL "$HB_LIMIT" env -u TMPDIR "$hbrun" --pmi none \
        --recipe /run/my.conf -n 1 sh -c 'echo "in $A"'
    [ "$status" -ne 77 ] || skip 'nothing can be mounted'
    says '^status 75$'
    says 'error: .*set HPCBOOT_TMPDIR on this host'
    says_not '^(in |a$)'
}

@test "--explain says of a port that was asked for that it is that one" {
    run hb --explain --dry-run -n 1 torchrun --master-port 29999 t.py
    ended_with 0
    says '^port master: 29999, as it was asked for$'
}

@test "what a variable sets in a recipe keeps no job from running that has none" {
    export HPCBOOT_RECIPE_SET=cpus=4 HPCBOOT_ROLE=ps=1
    run hb -n 1 echo ran
    ended_with 0
    says '^ran$'
    run hb --framework torch -n 1 echo ran
    ended_with 0
    says '^ran$'
    run hb --framework torch --role ps=1 -n 1 touch started
    ended_with 2
    HPCBOOT_ROLE=pss=1 run hb --framework tensorflow -n 1 touch started
    ended_with 2
    unset HPCBOOT_ROLE
    recipe <<< $'take cpus\nenv A ${cpus}'
    # shellcheck disable=SC2016  # expanded by the rank
    run my -n 1 sh -c 'echo "has $A"'
    says '^has 4$'
    run hb --recipe-set cpus=3 -n 1 touch started
    ended_with 2
    run my --recipe-set A=x -n 1 touch started
    ended_with 2
    says '^hbrun: error: --recipe-set A=x: '
    # shellcheck disable=SC2016  # expanded by the rank
    HPCBOOT_RECIPE_SET=prog=x run my --recipe-set cpus=5 -n 1 sh -c 'echo "has $A"'
    ended_with 0
    says '^has 5$'
    unset HPCBOOT_RECIPE_SET
    mkdir -p "$HOME/.config"
    echo 'recipe-set = prog=x' > "$HOME/.config/hpcboot.conf"
    # shellcheck disable=SC2016  # expanded by the rank
    run my --recipe-set cpus=6 -n 1 sh -c 'echo "has $A"'
    ended_with 0
    says '^has 6$'
    rm "$HOME/.config/hpcboot.conf"
    run hb --framework torch --recipe-set cpus=3 -n 1 touch started
    ended_with 2
    [ ! -e started ]
}

# shellcheck disable=SC2016  # expanded by the rank
@test "what ranks are told by -x of where they meet counts as hbrun's own environment" {
    run hb --explain --dry-run --framework torch -x MASTER_PORT=29977 -n 2 true
    ended_with 0
    says '^port master: 29977, as it was asked for$'
    run hb --framework ray --recipe-set ray=./there_is_none \
        -x RAY_ADDRESS=10.1.2.3:6379 -n 1 sh -c 'echo "at $RAY_ADDRESS"'
    ended_with 0
    says '^at 10\.1\.2\.3:6379$'
    echo RAY_ADDRESS=10.1.2.3:6380 > said
    run hb --framework ray --recipe-set ray=./there_is_none --env-file said \
        -n 1 sh -c 'echo "at $RAY_ADDRESS"'
    says '^at 10\.1\.2\.3:6380$'
    recipe <<< 'env B ${env_A}'
    A=own run my -x A=said -n 1 sh -c 'echo "has $B"'
    says '^has said$'
    A=own run my -x A -n 1 sh -c 'echo "has $B"'
    says '^has own$'
}

@test "a recipe that is typed goes before a framework that a variable names" {
    recipe <<< 'env A mine'
    HPCBOOT_FRAMEWORK=torch run my -n 1 sh -c 'echo "$A$RANK"'
    ended_with 0
    says '^mine$'
    HPCBOOT_RECIPE=my.conf run hb --framework torch -n 1 sh -c 'echo "$A$RANK"'
    ended_with 0
    says '^0$'
    run my --framework torch -n 1 true
    ended_with 2
}

@test "what a recipe starts with Python it starts with the program's own" {
    mkdir own
    # shellcheck disable=SC2016  # expanded when it runs
    printf '%s\n' '#!/bin/sh' \
        'echo "own $*${PYSPARK_PYTHON:+ by $PYSPARK_PYTHON}" >> started' 'case $* in
        *"start --head"*) exec sleep 1000 ;;
        wait.py) exec sleep 1000 ;;
        "-c import ray"*) until grep -q "start --head" started; do sleep 0.05; done ;;
    esac' > own/python3
    chmod +x own/python3
    run hb --framework ray own/python3 driver.py
    ended_with 0
    grep '^own -m ray.scripts.scripts start --head --block ' started
    grep '^own -c import ray' started
    grep '^own driver.py$' started
    run hb --framework torchrun own/python3 t.py
    ended_with 0
    grep '^own -m torch.distributed.run .* --no_python own/python3 t.py' started
    SPARK_MASTER_URL=spark://nowhere:7077 run hb --framework spark \
        own/python3 driver.py
    ended_with 0
    grep "^own driver.py by $PWD/own/python3$" started
    run -127 hb --framework ray --recipe-set ray=./nowhere own/python3 wait.py
    ended_with 127
    says 'cannot start ./nowhere'
}

@test "Spark's cluster is of the Spark that the program uses" {
    mkdir -p own home/bin pyspark/bin other
    # It gives up in the place of a master that does not listen.
    printf '#!/bin/sh\necho "$0 $*"; exit 9\n' | tee home/bin/spark-class \
        other/spark-class > pyspark/bin/spark-class
    : > pyspark/__init__.py
    chmod +x home/bin/spark-class pyspark/bin/spark-class other/spark-class
    ln -s "$(command -v python3)" own/python3
    printf '#!/bin/sh\n' > other/spark-submit
    chmod +x other/spark-submit
    export PATH=$PWD/other:$PATH
    run -9 hb --framework spark own/python3 driver.py
    says "$PWD/pyspark/bin/spark-class org.apache.spark.deploy.master.Master "
    SPARK_HOME=$PWD/home run -9 hb --framework spark own/python3 driver.py
    says "$PWD/home/bin/spark-class org.apache.spark.deploy.master.Master "
    run -9 hb spark-submit driver.py
    says "$PWD/other/spark-class org.apache.spark.deploy.master.Master "
    SPARK_HOME=$PWD/home run -9 hb spark-submit driver.py
    says "$PWD/home/bin/spark-class org.apache.spark.deploy.master.Master "
    rm -r pyspark
    run -9 hb --framework spark own/python3 driver.py
    says "$PWD/other/spark-class org.apache.spark.deploy.master.Master "
    rm other/spark-class
    run -1 hb --framework spark own/python3 driver.py
    says 'cannot start spark-class: No such file or directory; SPARK_HOME or '
}

@test "a torchrun whose first line is a shell's runs with the Python it names" {
    mkdir 'a place'
    printf '#!/bin/sh\necho "its own: $*"\n' > 'a place/python3'
    printf '#!/bin/sh\n%s "%s/a place/python3" "$0" "$@"\n' "'''exec'" \
        "$PWD" > torchrun
    chmod +x torchrun 'a place/python3'
    run hb -n 1 ./torchrun t.py
    ended_with 0
    says '^its own: -u t.py$'
}

@test "a variable that is longer than Linux takes is told before the start" {
    { printf 'set x '; head -c 700 /dev/zero | tr '\0' x
      printf '\nset y '; for _ in {1..20}; do printf '${x}'; done
      printf '\nenv TF_CONFIG '; for _ in {1..10}; do printf '${y}'; done
      echo; } | recipe
    run my -n 1 echo started
    ended_with 2
    says 'my.conf:3:5: TF_CONFIG would have 140011 bytes'
    says_not '^started'
}

@test "roles by --role, and numbers that do not add up" {
    # The workers' end is the server's: they wait for its words.
    run hb --framework tensorflow --role ps=1,worker=2 --oversubscribe \
        sh -c 'echo "$TF_CONFIG"
            case $TF_CONFIG in
                *\"type\":\"ps\"*) : > ps_spoke ;;
                *) until [ -e ps_spoke ]; do sleep 0.01; done ;;
            esac'
    ended_with 0
    [ "$(grep -c '"type":"worker"' <<< "$output")" -eq 2 ]
    [ "$(grep -c '"type":"ps","index":0' <<< "$output")" -eq 1 ]
    # Three ports on one host: no two are the same.
    [ "$(grep -oE '127.0.0.1:[0-9]+' <<< "$output" | sort -u | wc -l)" -eq 3 ]
    run hb --framework tensorflow --role ps=1,worker=2 --oversubscribe -n 4 true
    ended_with 2
    says 'the roles add up to 3 ranks \(ps=1,worker=2\), and the job has 4'
    run hb --framework mxnet --role server=1,worker=1 --oversubscribe true
    ended_with 0
    says '^hbrun: warning: --role .*: no rank is scheduler, of which mxnet has 1'
    run hb --framework mxnet --role scheduler=1,server=0,worker=1 \
        --oversubscribe true
    ended_with 0
    says_not 'no rank is'
    run hb --framework tensorflow --role pss=1 true
    ended_with 2
    says 'tensorflow has no role pss'
    run hb --role ps=1 true
    ended_with 2
}

@test "a recipe may have any number of roles" {
    { printf 'roles worker'; printf ' r%d=0' {1..70}; printf ' last=1\n'
      echo 'env ROLE ${role}'; } | recipe
    # shellcheck disable=SC2016  # expanded by the rank
    run my -n 2 sh -c 'echo "is $ROLE"'
    ended_with 0
    says '^is worker$'
    says '^is last$'
}

@test "more ranks than hosts of a framework with one process on each: why" {
    recipe <<< 'processes host'
    run my -n 2 true
    ended_with 2
    says 'my.conf has one process on each host: .*2 ranks asked for'
}

@test "a port that is taken: another one, or an error where it was asked for" {
    need python3
    python3 -c '
import socket, time
s = socket.socket(); s.bind(("0.0.0.0", 0)); s.listen()
print(s.getsockname()[1], flush=True); time.sleep(300)' > port &
    holder=$!
    wait_until lines_in port 1
    recipe <<< "port m head $(cat port)
env P \${port_m}"
    run my -n 1 sh -c 'echo "port $P"'
    ended_with 0
    says_not "^port $(cat port)\$"
    run hb --framework torch --recipe-set "max_restarts=1" -n 1 true
    ended_with 0
    MASTER_PORT=$(cat port) run hb --framework torch -n 1 sh -c \
        'echo "port $MASTER_PORT"'
    ended_with 0
    says "port $(cat port), which MASTER_PORT declares, is taken"
    run hb torchrun --master-port "$(cat port)" t.py
    ended_with 2
    says "cannot listen on port $(cat port), which was asked for"
    kill $holder
}

# Neither job's rank listens, as if it were still importing its modules.
@test "two jobs at once on one host have ports of their own" {
    hb --framework torch -n 1 sh -c 'echo "$MASTER_PORT" > first
        until [ -e over ]; do sleep 0.01; done' &
    local job=$!
    wait_until lines_in first 1
    run hb --framework torch -n 1 sh -c 'echo "port $MASTER_PORT"'
    ended_with 0
    says_not "^port $(cat first)\$"
    run hb torchrun --master-port "$(cat first)" t.py
    ended_with 2
    says "cannot listen on port $(cat first), which was asked for"
    : > over
    wait $job
}

@test "files and lists of ranks" {
    recipe <<'END'
file table <<E
${each rank: {"r":${rank}}}
E
env TABLE ${file_table}
END
    run my -n 2 sh -c 'cat "$TABLE"'
    ended_with 0
    [ "$(grep -c '^{"r":0},{"r":1}$' <<< "$output")" -eq 2 ]
}

# A server, and workers.
serving_recipe() {
    recipe <<'END'
roles ps=1 worker
env ROLE ${role}${role_index}
[when role is ps]
serves
END
}

@test "ranks that serve end with the others, also where one of these has failed" {
    serving_recipe
    run my --on-failure continue -n 3 sh -c 'case $ROLE in
        ps*) exec sleep 1000 ;;
        worker0) exit 3 ;;
        *) echo done ;;
    esac'
    ended_with 3
    says '^done$'
    run -127 my --on-failure continue -n 1 sleep 1000 : -n 1 ./there_is_none
    ended_with 127
    nothing_left
}

@test "servers that take their time to end: said why they are to" {
    serving_recipe
    my --grace 60 -n 2 bash -c 'case $ROLE in
        ps*) trap "until grep -q \"told to end\" err; do sleep 0.05; done
                exit" TERM
            : > ready
            while :; do sleep 0.05; done ;;
        *) until [ -e ready ]; do sleep 0.05; done ;;
    esac' 2> err &
    ends $!
    ended_with 0
    says 'hbrun: the program has ended; ranks on 1 host have been told to end'
}

@test "where all ranks only serve, nobody says when it is over: told" {
    run hb --framework mxnet --oversubscribe -n 2 true
    ended_with 0
    says 'warning: all ranks have roles that only serve others \(mxnet\)'
    run hb --framework mxnet --oversubscribe -n 3 true
    ended_with 0
    says_not 'only serve others'
}

# A server that writes down its life, and a program that needs it.
crew() {
    { printf '#!/bin/sh\ntrap "echo over >> %s/log; exit 0" TERM\n' "$PWD"
      printf 'echo up > %s/log\nwhile :; do sleep 0.05; done\n' "$PWD"
    } > serve
    chmod +x serve
    recipe <<END
processes host
program first
start $PWD/serve
ready 60 test -e $PWD/log
stop sh -c "echo stop >> $PWD/log"
END
}

@test "commands around a program: ready before it, stopped after it" {
    crew
    run my -n 1 sh -c 'cat log; exit 3'
    ended_with 3
    says '^up$'
    [ "$(tr '\n' ' ' < log)" = 'up stop over ' ]
    nothing_left
}

@test "what comes on standard input is the program's, not the commands'" {
    recipe <<END
start sh -c "cat > $PWD/eaten; echo over > $PWD/eaten.all; exec sleep 1000"
ready 60 test -e $PWD/eaten.all
END
    run my -n 1 cat <<< 'for the program'
    ended_with 0
    says '^for the program$'
    [ ! -s eaten ]
}

@test "commands where there is no room for a process: said, and worth another try" {
    is_sanitized && skip 'the sanitizer wants to be preloaded first'
    "${cc[@]}" -shared -fPIC -o nofork.so "$fakes/nofork.c"
    for line in '-- true' '--ready 60 1 true -- true' '--start 1 true --'; do
        # shellcheck disable=SC2086  # words
        run timeout -s KILL "$HB_LIMIT" env LD_PRELOAD="$PWD/nofork.so" \
            "$HB_BUILDDIR/hpcbootd" crew $line
        ended_with 75
        says '^hpcbootd: true cannot be started: Resource temporarily'
    done
}

@test "a server that fails ends the job, with its words" {
    recipe <<'END'
processes host
program first
start sh -c "echo no such port; exit 9"
ready 60 false
END
    run my -n 1 echo started
    ended_with 9
    says '^no such port$'
    says_not '^started'
}

@test "of what a server prints for ever, the end is kept, and on no disk" {
    recipe <<'END'
processes host
program first
start sh -c "yes | head -c 20000000; stat -L -c %F /proc/self/fd/1; exit 9"
ready 60 false
END
    run my -n 1 echo started
    ended_with 9
    says '^fifo$'
    [ "${#output}" -lt 8192 ]
    says_not '^started'
}

@test "a head that dies before the others join ends them, with its words" {
    recipe <<'END'
[when rank is 0]
start sh -c "echo no such port; exit 9"
[always]
ready 300 false
END
    run my -n 3 echo started
    ended_with 9
    says '^no such port$'
    says 'rank 0 on .* exited with status 9$'
    says_not '^started'
    nothing_left
}

# killed FILE WORDS: of a job that runs its program, what wrote its number into
# FILE gets SIGKILL.
killed() {
    recipe <<'END'
[when rank is 0]
start sh -c "echo $PPID > crew; echo $$ > serve; exec sleep 300"
ready 60 test -s serve
END
    rm -f crew serve runs
    # shellcheck disable=SC2016  # expanded by the rank
    "$hbrun" --recipe my.conf --oversubscribe -n 2 sh -c \
        '[ "$HPCBOOT_RANK" = 1 ] || echo $$ > runs; exec sleep 300' \
        > out 2> err < /dev/null &
    job=$!
    wait_until lines_in runs 1
    kill -KILL "$(cat "$1")"
    ends $job
    ended_with 137
    says "$2"
    nothing_left
}
@test "a server, the program, what holds both: killed, it is the end of all" {
    killed serve '^hpcbootd: sh was ended by signal 9$'
    says 'rank 0 on .* exited with status 137$'
    killed runs 'rank 0 on .* was ended by signal 9'
    killed crew 'rank 0 on .* was ended by signal 9'
}

# What its lives are given is a quarter of a mebibyte each. The agent is two
# above the program.
@test "a rank that lives again and again costs its agent no memory" {
    ! is_sanitized || skip 'a sanitizer keeps what was freed'
    recipe <<'END'
start true
END
    local words
    words=$(printf '%0100000d' 0)
    # shellcheck disable=SC2016  # expanded by the rank
    run my -n 1 --on-failure respawn --restart-delay 0 --max-restarts 110 \
        sh -c 'agent=$(awk "{ print \$4 }" "/proc/$PPID/stat")
        case $HPCBOOT_RESTART in
            10 | 110) awk "/^VmRSS/ { print \"KiB:\", \$2 }" \
                "/proc/$agent/status" ;;
        esac
        [ "$HPCBOOT_RESTART" -eq 110 ]' sh "$words" "$words"
    ended_with 0
    local sizes
    mapfile -t sizes < <(sed -n 's/^KiB: //p' <<< "$output")
    [ ${#sizes[@]} -eq 2 ]
    [ $((sizes[1] - sizes[0])) -lt 8192 ]
}

@test "a worker that is killed before it has joined ends the job" {
    recipe <<'END'
[when rank is 1]
start sh -c "echo $$ > serve; exec sleep 300"
[always]
ready 300 test -e joined
END
    "$hbrun" --recipe my.conf --oversubscribe -n 2 echo started \
        > out 2> err < /dev/null &
    job=$!
    wait_until lines_in serve 1
    kill -KILL "$(cat serve)"
    ends $job
    ended_with 137
    says '^hpcbootd: sh was ended by signal 9$'
    says 'rank 1 on .* exited with status 137$'
    [ ! -s out ]
    nothing_left
}

# Of a job whose ready command ended with 4 each time, and said "not yet".
never_ready() {
    run my -n 1 echo started
    ended_with 75
    says 'did not succeed within 5 s \(last status 4\)'
    says '^not yet$'
    nothing_left
}
@test "what never becomes ready is told, and is worth a retry" {
    recipe <<'END'
processes host
program first
start sleep 300
ready 5 sh -c "echo not yet; exit 4"
END
    never_ready
}

@test "a command that is not there is not waited for" {
    recipe <<< 'ready 3600 ./there_is_none'
    run -127 my -n 1 true
    says 'cannot start ./there_is_none: No such file'
    says_not 'did not succeed'
}

@test "of a stop command that fails its words are shown, the status is the program's" {
    recipe <<< $'stop sh -c "echo words of it; exit 3"\nstop ./there_is_none'
    run my -n 1 true
    ended_with 0
    says '^words of it$'
    says 'sh ended with status 3$'
    says 'cannot start ./there_is_none: No such file'
}

@test "a stop command that does not end takes no time from the next one" {
    recipe <<END
stop sleep 300
stop touch $PWD/stopped
END
    run my -n 1 true
    ended_with 0
    says 'sleep did not end within 5 s, the time of a stop command$'
    says_not 'touch'
    [ -e stopped ]
    nothing_left
}

@test "a try that is cut off does not hide what the one before it said" {
    recipe <<'END'
processes host
program first
ready 5 sh -c "test ! -e been || exec sleep 300; touch been; echo not yet; exit 4"
END
    never_ready
}

@test "what does not end even once is told of as that" {
    recipe <<'END'
processes host
program first
ready 1 sleep 300
END
    run my -n 1 echo started
    ended_with 75
    says 'sleep did not come to an end within 1 s'
    nothing_left
}

@test "a program behind commands that a signal ends is told of by its signal" {
    recipe <<< 'stop sh -c "echo stopped"'
    # shellcheck disable=SC2016  # expanded by the rank
    run my -n 1 sh -c 'kill -SEGV $$'
    ended_with 139
    says "rank 0 on .* was ended by signal 11"
    says_not 'exited with status'
    nothing_left
}

@test "hbrun is told to end: the commands are stopped" {
    crew
    "$hbrun" --recipe my.conf -n 1 sh -c 'echo runs > runs; sleep 300' \
        > out 2> err < /dev/null &
    job=$!
    wait_until lines_in runs 1
    kill -TERM $job
    ends $job
    ended_with 143
    [[ $(cat log) == *stop* ]]
    nothing_left
}

# For longer than the stop commands may take.
@test "hbrun is told to end: a program saves what it has before the commands are stopped" {
    crew
    # shellcheck disable=SC2016  # expanded by the rank
    "$hbrun" --recipe my.conf --grace 80 --print-exit-codes -n 1 sh -c '
        trap "trap : TERM; echo told >> log; sleep 7; echo saved >> log
              exit 3" TERM
        echo runs > runs; while :; do sleep 0.05; done' \
        > out 2> err < /dev/null &
    job=$!
    wait_until lines_in runs 1
    kill -TERM $job
    ends $job
    ended_with 143
    says 'rank 0 on .*status 3'
    [[ $(grep -v -e up -e over log | tr '\n' ' ') == 'told saved stop ' ]]
    nothing_left
}

@test "what holds a program and its commands is told to end: the program is" {
    "$HB_BUILDDIR/hpcbootd" crew --stop 2 touch stopped -- sh -c '
        trap "test ! -e stopped && exit 7" TERM
        echo runs > runs; while :; do sleep 0.05; done' &
    job=$!
    wait_until lines_in runs 1
    kill -TERM $job
    ends $job
    ended_with 7
    [ -e stopped ]
}

@test "a program goes on after a HUP: what was started beside it may fail all the same" {
    "$HB_BUILDDIR/hpcbootd" crew --start 3 sh -c \
        'until [ -e fail ]; do sleep 0.05; done; exit 9' -- sh -c '
        trap "echo hup > hup" HUP
        echo runs > runs; while :; do sleep 0.05; done' 2> err &
    job=$!
    wait_until lines_in runs 1
    kill -HUP $job
    wait_until lines_in hup 1
    touch fail
    ends $job
    ended_with 9
}

@test "a signal that is passed on is the program's, whichever it is" {
    recipe <<< 'start sleep 300'
    local signal
    for signal in ALRM PROF RTMIN+3; do
        rm -f runs
        # shellcheck disable=SC2016  # expanded by the rank
        "$hbrun" --recipe my.conf --forward-signals "$signal" -n 1 bash -c '
            trap "exit 3" "$0"
            echo > runs; while :; do sleep 0.05; done' "$signal" \
            > out 2> err < /dev/null &
        job=$!
        wait_until lines_in runs 1
        kill -s "$signal" $job
        ends $job
        ended_with 3
    done
    nothing_left
}

# The others fail when the first one's has been shown.
@test "of many tracebacks one is shown whole" {
    need python3
    cat > t.py <<'END'
import os, time
if os.environ["RANK"] == "1":
    raise ValueError("first")
while "ValueError" not in open("out").read(): time.sleep(0.01)
raise KeyError("later")
END
    status=0
    hb --framework torch --keep-going --oversubscribe -n 4 python3 t.py \
        > out 2>&1 || status=$?
    output=$(cat out)
    ended_with 1
    says '^ValueError: first$'
    says 'also ranks? .*KeyError'
    [ "$(grep -c '^Traceback' <<< "$output")" -le 2 ]
}

# Rank 1 ends long after rank 0, which fails because of it.
@test "where another ends before the rank that showed a traceback first: both are told of" {
    need python3
    cat > t.py <<'END'
import atexit, os, time
if os.environ["RANK"] == "1":
    atexit.register(time.sleep, 300)
    raise ValueError("first")
while "ValueError" not in open("out").read(): time.sleep(0.01)
raise KeyError("later")
END
    status=0
    hb --framework torch --oversubscribe -n 2 python3 t.py > out 2>&1 ||
        status=$?
    output=$(cat out)
    ended_with 1
    says '^hbrun: error: the first traceback, above, was rank 1.s on .*; rank 0 '
    says '^hbrun: error: rank 0 on .* exited with status 1$'
    [ "$(grep -c '^Traceback' <<< "$output")" -eq 2 ]
}

@test "of tracebacks that a job outlives the last lines are shown, too" {
    need python3
    cat > t.py <<'END'
import os, time, traceback
rank = os.environ["RANK"]
while rank == "1" and "ValueError" not in open("out").read(): time.sleep(0.01)
try:
    raise ValueError("of rank " + rank)
except ValueError:
    traceback.print_exc()
END
    status=0
    hb --framework torch --oversubscribe -n 2 python3 t.py \
        > out 2>&1 || status=$?
    output=$(cat out)
    ended_with 0
    says '^ValueError: of rank 0$'
    says '^hbrun: warning: also rank 1: ValueError: of rank 1$'
    [ "$(grep -c '^Traceback' <<< "$output")" = 1 ]
}

@test "ranks that never met are told of" {
    run hb --framework torch --oversubscribe -n 2 true
    ended_with 0
    says 'none of your 2 ranks ever connected to 127.0.0.1:29[0-9]*'
}

@test "ranks that the user sends elsewhere are not told that they never met" {
    run hb --framework torch -x MASTER_ADDR=10.1.2.3 --oversubscribe -n 2 true
    ended_with 0
    says_not 'ever connected'
    run hb --framework torch -x MASTER_ADDR=localhost --oversubscribe -n 2 true
    ended_with 0
    says 'none of your 2 ranks ever connected'
}

# A rank of elastic Horovod that is left when rank 1 of four is lost.
@test "Horovod, elastic: those that are left are numbered anew" {
    need python3
    cat > t.py <<'END'
import os, signal, time, urllib.request, urllib.error
base = "http://%s:%s/" % (os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"],
                          os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"])
me = "%s:%s" % (os.environ["HOROVOD_HOSTNAME"], os.environ["HOROVOD_LOCAL_RANK"])
assert os.environ["HOROVOD_ELASTIC"] == "1"
def ask(key):
    while True:
        try:
            return urllib.request.urlopen(base + key, timeout=60).read()
        except (ConnectionError, urllib.error.URLError):
            time.sleep(0.02)
if os.environ["HOROVOD_RANK"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
print("was", me, "is", ask("rank_and_size/" + me).decode(), flush=True)
if os.environ["HOROVOD_RANK"] == "0": # the server ends with rank 0
    while len([f for f in os.listdir(".") if f.startswith("over.")]) < 2:
        time.sleep(0.02)
open("over." + me, "w").close()
END
    run hb -H localhost:4 --oversubscribe horovodrun -np 4 --min-np 2 \
        python3 t.py
    ended_with 137
    says '^was .*:0 is 0,3,0,3,0,1$'
    says '^was .*:2 is 1,3,1,3,0,1$'
    says '^was .*:3 is 2,3,2,3,0,1$'
    nothing_left
}

# kv.py: what ranks of elastic Horovod on this host have to do with the server
# at which they meet.
kv_client() {
    cat > kv.py <<'END'
import base64, os, pickle, urllib.request
base = "http://%s:%s/" % (os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"],
                          os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"])
me = "%s:0" % os.environ["HOROVOD_HOSTNAME"]
def ask(method, path, body=None):
    q = urllib.request.Request(base + path, body, method=method)
    return urllib.request.urlopen(q, timeout=60).read().decode()
def listens(listener, key):
    where = {"lo": [listener.getsockname()]}
    ask("PUT", "worker_addresses/" + me,
        base64.b64encode(pickle.dumps((where, key))))
END
}

# Rank 0 of elastic Horovod, which listens for news of others.
@test "Horovod, elastic: rank 0 is told of one that begins, who gets a number" {
    need python3
    kv_client
    cat > t.py <<'END'
import hashlib, hmac, os, socket, struct
from kv import ask, listens, me
print("is", os.environ["HOROVOD_RANK"], "of", os.environ["HOROVOD_SIZE"],
      flush=True)
if os.environ["HOROVOD_SIZE"] == "1":
    listener, key = socket.create_server(("127.0.0.1", 0)), os.urandom(32)
    listens(listener, key)
    news, _ = listener.accept()
    digest, length = struct.unpack("=32si", news.recv(36, socket.MSG_WAITALL))
    text = news.recv(length, socket.MSG_WAITALL)
    assert hmac.compare_digest(digest,
                               hmac.new(key, text, hashlib.sha256).digest())
    print("told", text.split(b"\n")[1].decode(), flush=True)
    print("is now", ask("GET", "rank_and_size/" + me), flush=True)
END
    # shellcheck disable=SC2016  # expanded by the rank
    run hb --oversubscribe --framework horovod --recipe-set controller=gloo \
        --on-failure continue -n 1 sh -c '
            "$0" join "$HOROVOD_GLOO_RENDEZVOUS_ADDR" \
                "$HOROVOD_GLOO_RENDEZVOUS_PORT" 1/other:0 python3 t.py &
            python3 t.py && wait' "$HB_BUILDDIR/hpcbootd"
    ended_with 0
    says '^is 0 of 1$'
    says '^told HostsUpdatedRequest$'
    says '^is now 0,2,0,1,0,2$'
    says '^is 1 of 2$'
    nothing_left
}

# It says a byte now and then, and has never said all.
@test "Horovod, elastic: a rank whose answer to the news does not end holds up nobody" {
    need python3
    kv_client
    cat > t.py <<'END'
import os, socket, time
from kv import ask, listens, me
if os.environ["HOROVOD_SIZE"] == "1":
    listener = socket.create_server(("127.0.0.1", 0))
    listens(listener, os.urandom(32))
    news, _ = listener.accept()
    if os.fork() == 0:
        while not os.path.exists("joined"):
            news.sendall(b"x")
            time.sleep(0.1)
        os._exit(0)
    print("is now", ask("GET", "rank_and_size/" + me), flush=True)
    os.wait()
else:
    open("joined", "w").close()
END
    # shellcheck disable=SC2016  # expanded by the rank
    run hb --oversubscribe --framework horovod --recipe-set controller=gloo \
        --on-failure continue -n 1 sh -c '
            "$0" join "$HOROVOD_GLOO_RENDEZVOUS_ADDR" \
                "$HOROVOD_GLOO_RENDEZVOUS_PORT" 1/other:0 python3 t.py &
            python3 t.py && wait' "$HB_BUILDDIR/hpcbootd"
    ended_with 0
    says '^is now 0,2,0,1,0,2$'
    [ -e joined ]
    nothing_left
}

@test "among several programs another launcher's command line is refused" {
    run hb -n 1 torchrun t.py : -n 1 touch started
    ended_with 2
    says 'program 0 of 2 is a command line of torchrun, whose options hbrun'
    [ ! -e started ]
    printf '#!/bin/sh\necho itself\n' > torchrun
    chmod +x torchrun
    run hb --framework none -n 1 ./torchrun t.py : -n 1 true
    ended_with 0
    says '^itself$'
}

@test "what follows a failure is hbrun's own: a recipe is told nothing else" {
    run hb --framework horovod --recipe-set controller=gloo \
        --recipe-set on_failure=continue -n 1 touch started
    ended_with 2
    says 'on_failure=continue: .* that is abort; --on-failure changes it'
    [ ! -e started ]
    run hb --framework ray --recipe-set ray_address=10.0.0.1:6379 -n 1 \
        touch started
    ended_with 2
    says 'ray.conf sets nothing of that name'
    [ ! -e started ]
    run hb --framework horovod --recipe-set on_failure=abort -n 1 true
    ended_with 0
    run hb --framework horovod --recipe-set live=yes -n 1 touch started
    ended_with 2
    says 'live=yes: .* that is no; --np MIN:MAX changes it'
    [ ! -e started ]
    # shellcheck disable=SC2016  # expanded by the rank
    run hb --framework torch --max-restarts 5 --recipe-set max_restarts=2 \
        -n 1 sh -c 'echo "$TORCHELASTIC_MAX_RESTARTS restarts"'
    ended_with 0
    says '^2 restarts$'
}

@test "horovodrun: variables that hbrun is told itself stand" {
    # shellcheck disable=SC2016  # expanded by the rank
    show='echo "$NCCL_SOCKET_IFNAME $OMPI_MCA_btl_tcp_if_include $HOROVOD_GLOO_IFACE"'
    for said in '-x NCCL_SOCKET_IFNAME=ib0' '-genv NCCL_SOCKET_IFNAME ib0'; do
        # shellcheck disable=SC2086
        run hb $said horovodrun -np 1 --network-interfaces lo,eth0 \
            sh -c "$show"
        ended_with 0
        says '^ib0 lo,eth0 lo$'
    done
    run hb --mca btl_tcp_if_include ib0 horovodrun -np 1 \
        --network-interfaces lo sh -c "$show"
    ended_with 0
    says '^lo ib0 lo$'
}

@test "Horovod, elastic: fewer than the least number are the end" {
    need python3
    cat > t.py <<'END'
import os, signal, time, urllib.request, urllib.error
if os.environ["HOROVOD_RANK"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
url = "http://%s:%s/rank_and_size/%s:0" % (
    os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"],
    os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"], os.environ["HOROVOD_HOSTNAME"])
while True:
    try:
        print(urllib.request.urlopen(url, timeout=60).read(), flush=True)
    except (OSError, urllib.error.URLError):
        time.sleep(0.02)
END
    run hb --oversubscribe horovodrun -np 2 --min-np 2 python3 t.py
    ended_with 137
    says 'ranks that are left: 1; at least 2 are needed'
    nothing_left
}

@test "Horovod with Gloo: the key-value server is in front of rank 0" {
    need python3
    cat > t.py <<'END'
import os, time, urllib.request, urllib.error
base = "http://%s:%s/global/" % (os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"],
                                 os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"])
rank, size = int(os.environ["HOROVOD_RANK"]), int(os.environ["HOROVOD_SIZE"])
def ask(method, key, body=None):
    q = urllib.request.Request(base + key, body, method=method)
    return urllib.request.urlopen(q, timeout=30).read()
def patient(method, key, body=None):
    while True:
        try:
            return ask(method, key, body)
        except (urllib.error.HTTPError, urllib.error.URLError, OSError):
            time.sleep(0.02)
patient("PUT", str(rank), b"%d" % (rank + 1))
print("sum", sum(int(patient("GET", str(i))) for i in range(size)), flush=True)
patient("PUT", "done%d" % rank, b"x")
for i in range(size if rank == 0 else 0): # the server ends with rank 0
    patient("GET", "done%d" % i)
END
    run hb --oversubscribe horovodrun -np 4 --gloo python3 t.py
    ended_with 0
    [ "$(grep -c '^sum 10$' <<< "$output")" -eq 4 ]
    nothing_left
}

@test "Horovod: connections that say nothing do not keep ranks from the server" {
    need python3
    run timeout -s KILL "$HB_LIMIT" python3 - "$HB_BUILDDIR/hpcbootd" << 'END'
import resource, socket, subprocess, sys, urllib.request
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
server = subprocess.Popen(
    [sys.argv[1], "kv", "--port", str(port)],
    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)))
def connect():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            assert server.poll() is None
try:
    silent = [connect() for _ in range(60)]
    url = "http://127.0.0.1:%d/a/b" % port
    urllib.request.urlopen(urllib.request.Request(url, b"x", method="PUT")).read()
    print("got", urllib.request.urlopen(url).read())
finally:
    server.kill()
    server.wait()
END
    ended_with 0
    says "^got b'x'"
}

@test "Horovod: the key-value server is killed, the job ends" {
    # shellcheck disable=SC2016  # expanded by the rank
    "$hbrun" --oversubscribe horovodrun -np 2 --gloo sh -c \
        'echo $PPID > ranks.$HOROVOD_RANK; exec sleep 300' \
        > out 2> err < /dev/null &
    job=$!
    wait_until lines_in ranks.0 1
    wait_until lines_in ranks.1 1
    kill -KILL "$(ps -o pid=,args= --ppid "$(cat ranks.0)" |
        awk '/hpcbootd kv / { print $1 }')"
    ends $job
    ended_with 137
    says '^hpcbootd: .*hpcbootd was ended by signal 9$'
    nothing_left
}

# A module that starts a key-value server, whom nobody but its port keeps out.
kv_server_module() {
    cat > kv_server.py << 'END'
import http.client, re, socket, subprocess, sys
with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
kv = subprocess.Popen([sys.argv[1], "kv", "--port", str(port)])
def connect():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            assert kv.poll() is None
END
}

# As below: who asks need not be one of the job.
@test "answers that nobody takes take no more than the store would" {
    need python3
    ! is_sanitized || skip 'memory is counted'
    kv_server_module
    run python3 - "$HB_BUILDDIR/hpcbootd" << 'END'
from kv_server import *
def request(*words):
    connect().close()
    c = http.client.HTTPConnection("127.0.0.1", port)
    c.request(*words)
    return c.getresponse()
def ask():
    s = connect()
    s.sendall(b"GET /a/b HTTP/1.1\r\n\r\n")
    s.recv(1)
    return s
try:
    print("put", request("PUT", "/a/b", bytes(8 << 20)).status)
    asked = [ask() for _ in range(40)]
    print("got", len(request("GET", "/a/b").read()))
    with open(f"/proc/{kv.pid}/status") as f:
        print("MiB", int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) >> 10)
finally:
    kv.kill()
    kv.wait()
END
    ended_with 0
    says '^put 200$'
    says '^got 8388608$'
    [ "$(sed -n 's/^MiB //p' <<< "$output")" -lt 160 ]
}

# Who reaches the port need not be one of the job.
@test "requests that are begun and not ended take no more than the store would" {
    need python3
    ! is_sanitized || skip 'memory is counted'
    kv_server_module
    run python3 - "$HB_BUILDDIR/hpcbootd" << 'END'
from kv_server import *
def begin():
    s = connect()
    try:
        s.sendall(b"PUT /a/b HTTP/1.1\r\nContent-Length: 8388608\r\n\r\n"
                  + bytes((8 << 20) - 1))
    except ConnectionError:
        pass
    return s
try:
    begun = [begin() for _ in range(24)]
    c = http.client.HTTPConnection("127.0.0.1", port)
    c.request("PUT", "/a/c", b"value")
    print("put", c.getresponse().status)
    with open(f"/proc/{kv.pid}/status") as f:
        print("MiB", int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) >> 10)
finally:
    kv.kill()
    kv.wait()
END
    ended_with 0
    says '^put 200$'
    [ "$(sed -n 's/^MiB //p' <<< "$output")" -lt 128 ]
}
