#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Real frameworks over four pods. Each prints a number that only a gang that
# has met comes to.

load peers
setup_file() {
    export PODLAB_NAME=frames-$$
    mkdir -p "$venvs"
    "$podlab" up 4 --see "$HB_SRCDIR" --see "$HB_BUILDDIR" \
        --see "$BATS_FILE_TMPDIR" --owner $$ > "$BATS_FILE_TMPDIR/lab" 2>&1 ||
        true
}
teardown_file() { "$podlab" down > /dev/null 2>&1 || true; }
setup() { common_setup; }

programs=$HB_SRCDIR/tests/peers/frameworks
: "${HB_FRAMEWORK_LIMIT:=240}" # seconds; imports of gigabytes on a busy machine

# asked NAME: skips where this framework is not among those to be tested.
asked() {
    [ "${HB_PEERS:-no}" = yes ] || [[ " ${HB_FRAMEWORKS:-} " == *" $1 "* ]] ||
        skip "$1 is not asked for (./check --frameworks $1, ./check --peers)"
    need_pods
}
# wheels NAME PACKAGE...: an environment with them; $python is its interpreter.
# Debian's Python, which pods see.
wheels() {
    local name=$1 lock log=$venvs/$1.log
    asked "$name"
    [ -x /usr/bin/python3 ] || skip '/usr/bin/python3 is not installed'
    mkdir -p "$venvs"
    exec {lock}> "$venvs/$name.lock"
    flock "$lock"
    [ -e "$venvs/$name/ready" ] || {
        { /usr/bin/python3 -m venv --clear "$venvs/$name" && timeout -k 5 600 \
            "$venvs/$name/bin/pip" install --no-cache-dir "${@:2}"; } \
            > "$log" 2>&1 < /dev/null ||
            skip "${*:2} cannot be installed by pip: $(tail -n 1 "$log")"
        touch "$venvs/$name/ready"
    }
    exec {lock}>&-
    python=$venvs/$name/bin/python
}
# sources NAME PACKAGE NEEDED...: the same for a package that is built here, with
# Debian's torch; a word NAME=VALUE is for the build.
sources() {
    local name=$1 package=$2 lock log=$venvs/$1.log word needs=() settings=()
    asked "$name"
    python=/usr/bin/python3
    $python -c 'import torch' 2> /dev/null ||
        skip "Debian's python3-torch is not installed"
    for word in "${@:3}"; do
        case $word in
            *=*[A-Z0-9]) settings+=("$word") ;;
            *) needs+=("$word") ;;
        esac
    done
    mkdir -p "$venvs"
    exec {lock}> "$venvs/$name.lock"
    flock "$lock"
    [ -e "$venvs/$name/ready" ] || {
        { $python -m venv --clear --system-site-packages "$venvs/$name" &&
            "$venvs/$name/bin/pip" install --no-cache-dir wheel \
                'setuptools<70' "${needs[@]}" && env "${settings[@]}" \
            timeout -k 5 1500 "$venvs/$name/bin/pip" install --no-cache-dir \
                --no-build-isolation --no-deps "$package"; } \
            > "$log" 2>&1 < /dev/null ||
            skip "$package cannot be built: $(tail -n 1 "$log")"
        touch "$venvs/$name/ready"
    }
    exec {lock}>&-
    python=$venvs/$name/bin/python
}
deepspeed() {
    sources deepspeed deepspeed==0.14.5 DS_BUILD_OPS=0 hjson py-cpuinfo \
        psutil pydantic tqdm ninja packaging
}
# Where g++ finds Debian's libtorch without version.
horovod() {
    sources horovod horovod==0.28.1 cloudpickle psutil pyyaml packaging \
        HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 \
        HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1
}
torch() {
    asked torch
    python=/usr/bin/python3
    $python -c 'import torch' 2> /dev/null ||
        skip "Debian's python3-torch is not installed"
}
expect=() # what bats' run is to be told of the status
has=()    # NAME=VALUE of the environment in pod-0
# over4 WORDS...: hbrun from pod-0 over all four, a rank on each.
over4() {
    # shellcheck disable=SC2016  # expanded in the pod
    run "${expect[@]}" pod 0 bash -c 'cd "$0" && exec timeout -s KILL "$@"' \
        "$BATS_FILE_TMPDIR" "$HB_FRAMEWORK_LIMIT" env "${has[@]}" "$hbrun" \
        -H pod-0:1,pod-1:1,pod-2:1,pod-3:1 "$@"
}
four() { # EXPRESSION: four lines of $output are so
    ended_with 0
    [ "$(grep -cE -- "$1" <<< "$output")" -eq 4 ] || {
        echo "not four lines match: $1"
        echo "$output" | head -c 4000
        return 1
    }
}

@test "PyTorch: ranks of init_process_group add up" {
    torch
    over4 --framework torch $python "$programs/torch_sum.py"
    four '^sum 10 of 4 '
    says_not 'ever connected'
}

@test "PyTorch: DDP trains one model" {
    torch
    over4 --framework torch $python "$programs/torch_ddp.py"
    four '^weight 3\.00, of 4 ranks the same: True$'
}

@test "PyTorch: torchrun's command line, and that of torch.distributed.launch" {
    torch
    need torchrun
    over4 torchrun --nnodes 4 --nproc-per-node=1 "$programs/torch_sum.py"
    four '^sum 10 of 4 '
    over4 $python -m torch.distributed.launch --use_env \
        "$programs/torch_sum.py"
    four '^sum 10 of 4 '
}

@test "PyTorch: a script that names localhost makes worlds of one, and is told of" {
    torch
    over4 --framework torch $python "$programs/torch_sum.py" local
    four '^sum 1 of 1 '
    says 'no rank on pod-[123] and on others ever connected to .*:[0-9]+, where'
}

@test "PyTorch: of the tracebacks of four ranks the first one is shown" {
    torch
    over4 --framework torch $python "$programs/torch_sum.py" raise
    ended_with 1
    says '^ValueError: rank 2 gives up$'
    [ "$(grep -c '^Traceback' <<< "$output")" -eq 1 ] ||
        { echo "$output"; return 1; }
    says 'rank 2 on pod-2 exited with status 1$'
}

# torch 1.13 looks for the flag that is zero by walking the flags, which Python
# 3.11 does without it: its own torchrun does not start without this.
shim() {
    mkdir -p "$BATS_FILE_TMPDIR/shim"
    cat > "$BATS_FILE_TMPDIR/shim/sitecustomize.py" <<'END'
import sys
if sys.version_info >= (3, 11) and any("torch" in a for a in sys.orig_argv):
    from torch.distributed.elastic.multiprocessing.api import Std
    if Std.from_str("0") is None:
        of_text = Std.from_str
        Std.from_str = classmethod(
            lambda cls, text: Std.NONE if text == "0" else of_text(text))
END
}

@test "PyTorch: elastic torchrun starts failed workers again" {
    torch
    shim
    over4 -x PYTHONPATH="$BATS_FILE_TMPDIR/shim" \
        $python -m torch.distributed.run --nnodes 4 --nproc_per_node 1 \
        --max_restarts 2 "$programs/torch_sum.py" fail
    four '^sum 10 of 4 restarts 1$'
}

# elastic_torchrun MIN:MAX MODE: over the hosts in /tmp/hosts of pod-0.
elastic_torchrun() {
    pod_job env HPCBOOT_TIMEOUT="$HB_FRAMEWORK_LIMIT" "$hbrun" \
        --hostfile /tmp/hosts -x PYTHONPATH="$BATS_FILE_TMPDIR/shim" \
        $python -m torch.distributed.run --nnodes "$1" --nproc_per_node 1 \
        --max_restarts 2 "$programs/torch_sum.py" "$2"
}
hosts() { # I...
    pod 0 bash -c 'printf "pod-%s slots=1\n" "$@" > /tmp/hosts' - "$@"
}

# Its host is no longer named when it is lost, and does not come back.
@test "PyTorch: elastic torchrun goes on without a host that is lost" {
    export HB_LIMIT=$HB_FRAMEWORK_LIMIT
    torch
    shim
    hosts 0 1 2 3
    elastic_torchrun 3:4 lose
    wait_until pod 3 test -e /tmp/met
    hosts 0 1 2
    pod 3 kill -KILL "$(pod 3 pgrep -n -x hpcbootd)" || true
    pod_job_ends
    [ "$status" -eq 75 ] || ended_with 0
    [ "$(grep -cE '^sum 6 of 3 ' <<< "$output")" -eq 3 ] ||
        { echo "$output"; return 1; }
    pods_clean 0 1 2 3
}

@test "PyTorch: elastic torchrun takes a host in that comes" {
    export HB_LIMIT=$HB_FRAMEWORK_LIMIT
    torch
    shim
    pod 2 rm -f /tmp/met
    hosts 0 1 2
    elastic_torchrun 2:4 grow
    wait_until pod 2 test -e /tmp/met
    hosts 0 1 2 3
    pod_job_ends
    ended_with 0
    [ "$(grep -cE '^sum 10 of 4 ' <<< "$output")" -eq 4 ] ||
        { echo "$output"; return 1; }
    pods_clean 0 1 2 3
}

@test "DeepSpeed: its own launcher on every host, by the hostfile" {
    deepspeed
    over4 --framework deepspeed-launcher "$venvs/deepspeed/bin/deepspeed" \
        --no_local_rank "$programs/torch_sum.py"
    four '^sum 10 of 4 '
}

@test "DeepSpeed: its command line, a process per rank" {
    deepspeed
    over4 "$venvs/deepspeed/bin/deepspeed" --num_nodes 4 --no_local_rank \
        "$programs/torch_sum.py"
    four '^sum 10 of 4 '
}

@test "Horovod with Gloo: ranks add up" {
    horovod
    over4 horovodrun -np 4 --gloo "$python" "$programs/horovod_sum.py"
    four '^sum 10 of 4$'
    says_not 'ever connected'
}

# Four steps of four ranks, and six of three.
@test "Horovod, elastic: those that are left go on with the state" {
    horovod
    expect=(-137)
    over4 horovodrun --min-np 2 --max-np 4 --gloo-timeout-seconds 10 \
        "$python" "$programs/horovod_sum.py" lose
    ended_with 137
    [ "$(grep -c '^work 34 of 3$' <<< "$output")" -eq 3 ]
    says 'rank 2 on pod-2 was ended by signal 9'
}

@test "Horovod, elastic: a lost rank comes back and learns the state" {
    horovod
    over4 --on-failure respawn horovodrun -np 4 --gloo \
        --gloo-timeout-seconds 20 "$python" "$programs/horovod_sum.py" lose
    four '^work 40 of 4$'
}

@test "JAX: jax.distributed.initialize without arguments" {
    wheels jax jax
    over4 --framework jax "$python" "$programs/jax_sum.py"
    four '^sum 10 of 4$'
}

ray() {
    over4 --framework ray --recipe-set "ray=$venvs/ray/bin/ray" \
        --recipe-set "python=$python" --recipe-set cpus=1 "$@"
}
@test "Ray: a task on every node, and everything is stopped" {
    wheels ray 'ray[default]'
    ray "$python" "$programs/ray_sum.py"
    ended_with 0
    says '^sum 30 on 4 nodes$'
    says_not 'left behind'
}

@test "Ray: attached to a running one, which stays" {
    wheels ray 'ray[default]'
    pod 0 "$venvs/ray/bin/ray" start --head --node-ip-address=10.77.0.1 \
        --port=6400 --num-cpus=1 --include-dashboard=false > started 2>&1
    has=(RAY_ADDRESS=10.77.0.1:6400)
    over4 --framework ray \
        --recipe-set "ray=/nowhere/ray" "$python" "$programs/ray_sum.py"
    ended_with 0
    says '^sum 1 on 1 nodes$'
    run pod 0 "$venvs/ray/bin/ray" status --address 10.77.0.1:6400
    ended_with 0
    pod 0 "$venvs/ray/bin/ray" stop --force > stopped 2>&1
}

@test "Ray: a driver that fails, a head that cannot start" {
    wheels ray 'ray[default]'
    ray "$python" "$programs/ray_sum.py" fail
    ended_with 7
    says 'rank 0 on pod-0 exited with status 7$'
    expect=(-127)
    over4 --framework ray --recipe-set ray=/nowhere/ray \
        --recipe-set "python=$python" "$python" "$programs/ray_sum.py"
    ended_with 127
    says 'cannot start /nowhere/ray'
    says_not '^sum'
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

# The JVM of Debian 12 stumbles over the cgroups of test pods.
java_options=JAVA_TOOL_OPTIONS=-XX:-UseContainerSupport
spark() { # OPTION... PROGRAM ARGUMENT...
    over4 --framework spark -x $java_options -x PYSPARK_PYTHON="$python" \
        --recipe-set cores=1 --recipe-set memory=600m "$@"
}
@test "Spark: Pi over all workers" {
    wheels spark pyspark
    need java
    spark --recipe-set "class=$venvs/spark/bin/spark-class" "$python" \
        "$programs/spark_pi.py" 4
    ended_with 0
    says 'pi 3\.1 on 4 hosts'
}

# by_hand I CLASS WORD...: in the background of pod I; its pid there is in
# /tmp/CLASS.
by_hand() {
    # shellcheck disable=SC2016  # expanded in the pod
    pod "$1" env $java_options PYSPARK_PYTHON="$python" \
        "SPARK_LOCAL_IP=10.77.0.$(($1 + 1))" sh -c \
        'echo $$ > "/tmp/$1"; exec "$0" "org.apache.spark.deploy.$@"' \
        "$venvs/spark/bin/spark-class" "${@:2}" > "$2.$1" 2>&1 &
}
@test "Spark: attached to a running cluster, which stays" {
    wheels spark pyspark
    need java
    by_hand 0 master.Master --host 10.77.0.1 --port 7099
    wait_until pod 0 bash -c ': < /dev/tcp/10.77.0.1/7099' 2> /dev/null
    by_hand 1 worker.Worker --host 10.77.0.2 --cores 1 --memory 600m \
        spark://10.77.0.1:7099
    by_hand 2 worker.Worker --host 10.77.0.3 --cores 1 --memory 600m \
        spark://10.77.0.1:7099
    has=(SPARK_MASTER_URL=spark://10.77.0.1:7099)
    spark --recipe-set class=/nowhere "$python" "$programs/spark_pi.py" 2
    pod 0 bash -c ': < /dev/tcp/10.77.0.1/7099'
    pod 0 sh -c 'kill -KILL "$(cat /tmp/master.Master)"'
    pod 1 sh -c 'kill -KILL "$(cat /tmp/worker.Worker)"'
    pod 2 sh -c 'kill -KILL "$(cat /tmp/worker.Worker)"'
    ended_with 0
    says 'pi 3\.1 on 2 hosts'
    pods_clean 0 1 2 3
}

# killed I PATTERN COMMAND...: of a job that runs COMMAND, what matches
# in pod I gets SIGKILL as soon as it is there.
killed() {
    export HB_LIMIT=$HB_FRAMEWORK_LIMIT
    pod_job env "HPCBOOT_TIMEOUT=$HB_FRAMEWORK_LIMIT" "$hbrun" \
        -H pod-0:1,pod-1:1,pod-2:1,pod-3:1 "${@:3}"
    wait_until pod "$1" pkill -KILL -o -f "$2"
    pod_job_ends
    pods_clean 0 1 2 3
}
@test "Ray: its head, a worker that joins, the driver: killed, all ends" {
    local command
    wheels ray 'ray[default]'
    command=(--framework ray --recipe-set "ray=$venvs/ray/bin/ray"
        --recipe-set "python=$python" --recipe-set cpus=1 sleep 600)
    killed 0 'gcs/gcs_serve[r]' "${command[@]}"
    ended_with 1
    says 'rank 0 on pod-0 exited with status 1$'
    killed 2 '^[^ ]*/python[0-9.]* [^ ]*/bin/ray star[t]' "${command[@]}"
    ended_with 137
    says '^hpcbootd: .*/ray was ended by signal 9$'
    says 'rank 2 on pod-2 exited with status 137$'
    killed 0 '^sleep 60[0]' "${command[@]}"
    ended_with 137
    says 'rank 0 on pod-0 exited with status 137$'
}

@test "Spark: its master is killed, all ends" {
    wheels spark pyspark
    need java
    killed 0 '[-]Xmx1g .* org.apache.spark.deploy.master.Maste[r]' \
        --framework spark -x $java_options -x PYSPARK_PYTHON="$python" \
        --recipe-set "class=$venvs/spark/bin/spark-class" \
        --recipe-set memory=600m sleep 600
    ended_with 137
    says '^hpcbootd: .*/spark-class was ended by signal 9$'
    says 'rank 0 on pod-0 exited with status 137$'
}

@test "PyTorch: a torchrun is killed, its workers go with it" {
    torch
    shim
    killed 1 'torch_sum.py los[e]' -x PYTHONPATH="$BATS_FILE_TMPDIR/shim" \
        $python -m torch.distributed.run --nnodes 4 --nproc_per_node 1 \
        --max_restarts 2 "$programs/torch_sum.py" lose
    ended_with 137
    says 'rank 1 on pod-1 was ended by signal 9'
}
