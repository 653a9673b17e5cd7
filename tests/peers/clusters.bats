#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Ray and Spark: clusters over four pods.
#
# shellcheck disable=SC2034  # read by over4

load frameworks

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
    says 'rank 0 on pod-0 was ended by signal 9: SIGKILL'
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
