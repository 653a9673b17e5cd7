#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# The client of the Kubernetes API against a real API server: its TLS, tokens
# and rights, its pages, its watches, its words.

load apiserver

# Starts the server; where that cannot be, prints why.
begin() {
    local program
    program=$(api_program) || { echo "$program"; return; }
    "$HB_SRCDIR/tests/peers/apiserver.sh" up "$cluster" "$program"
    admin ready
    admin account reader reads > "$cluster/reader"
    admin account stranger > "$cluster/stranger"
    echo "$program" > "$cluster/program"
    admin pods many 600 'app=many,named=yes'
}

setup_file() {
    export cluster=$BATS_FILE_TMPDIR/cluster
    begin > "$BATS_FILE_TMPDIR/why-not"
}

teardown_file() {
    if [ -e "$cluster/pids" ]; then
        "$HB_SRCDIR/tests/peers/apiserver.sh" down "$cluster"
    fi
}

admin() { python3 "$HB_SRCDIR/tests/peers/kubeadmin.py" "$cluster" "$@"; }

setup() {
    [ ! -s "$BATS_FILE_TMPDIR/why-not" ] ||
        skip "$(cat "$BATS_FILE_TMPDIR/why-not")"
    need_root
    common_setup
    export KUBERNETES_SERVICE_HOST=127.0.0.1
    KUBERNETES_SERVICE_PORT=$(cat "$cluster/port")
    export KUBERNETES_SERVICE_PORT
    token=$cluster/reader
}

in_pod() {
    # shellcheck disable=SC2016  # it is the inner shell's
    timeout -s KILL "$HB_LIMIT" unshare -m sh -c '
        account=/run/secrets/kubernetes.io/serviceaccount token=$1 ca=$2
        shift 2
        mount -t tmpfs none /run && mkdir -p $account &&
        cp "$ca" $account/ca.crt && cp "$token" $account/token &&
        printf hpc > $account/namespace && exec "$@"' sh "$token" \
        "$cluster/ca.crt" "$@"
}

@test "600 pods are listed by two pages" {
    run in_pod hpcboot hostfile --pod-selector app=many --format plain
    ended_with 0
    [ "${#lines[@]}" -eq 600 ]
    [ "${lines[0]}" = many-0.many ]
    [ "${lines[599]}" = many-599.many ]
}

@test "an account without rights hears the server's words and which Role helps" {
    token=$cluster/stranger
    run in_pod hpcboot hostfile --pod-selector app=x
    [ "$status" -ne 0 ]
    says 'User "system:serviceaccount:hpc:stranger" cannot list resource "pods"'
    says 'verbs: .get, list, watch.'
}

@test "a token of another cluster is refused" {
    echo wrong > "$BATS_TEST_TMPDIR/wrong"
    token=$BATS_TEST_TMPDIR/wrong
    run in_pod hpcboot hostfile --pod-selector app=x
    [ "$status" -ne 0 ]
    says 'does not accept the token in'
}

@test "a selector that is none is refused in the server's words" {
    run in_pod hpcboot hostfile --pod-selector '=='
    [ "$status" -ne 0 ]
    says "400 found .==., expected"
}

@test "a pod whose address comes while it is waited for gets its ranks" {
    admin pods late 1 app=late
    in_pod "$hbrun" --pod-selector app=late --wait-hosts 60 -n 2 echo ran \
        > out 2> err 3>&- &
    sleep 1 # either order must work; this one is the watch
    admin status late-0 '{"phase": "Running", "podIP": "127.0.0.1",
                          "podIPs": [{"ip": "127.0.0.1"}]}'
    wait $!
    [ "$(cat out)" = "ran
ran" ]
}

@test "a pod that no node fits is told in the scheduler's words" {
    admin pods big 1 app=big
    admin status big-0 '{"conditions": [{"type": "PodScheduled",
        "status": "False", "reason": "Unschedulable",
        "message": "0/12 nodes are available: 12 Insufficient cpu."}]}'
    until_said 'big-0: Unschedulable: 0/12 nodes are available: 12 Insufficient cpu.' \
        0.5 --pod-selector app=big -n 1 true
    ended_with 75
}

@test "a pod that is deleted is missing, and that is said" {
    admin pods gone 1 'app=gone,named=yes'
    admin delete gone-0
    run in_pod "$hbrun" -H gone-0.invalid -n 1 true
    ended_with 75
    says 'gone-0.invalid: its pod: no pod of namespace hpc is called so'
}

@test "hosts stand in the order of HyperNodes, and of labels" {
    ordered() {
        run in_pod "$hbrun" -H at-1:1,at-2:1,at-3:1,at-4:1 --dry-run \
            --order topology "$@" true
    }
    hosts() { sed -n 's/^host \(at-.\): slots.*/\1/p' <<< "$output"; }
    ordered --topology labels:rack
    ended_with 2
    says 'cannot list resource "nodes"'
    says 'a ClusterRole with the rule'
    admin network reader
    ordered --topology labels:rack
    ended_with 0
    [ "$(hosts | tr '\n' ' ')" = 'at-1 at-3 at-2 at-4 ' ]
    ordered
    ended_with 0
    [ "$(hosts | tr '\n' ' ')" = 'at-1 at-3 at-2 at-4 ' ]
}

@test "pages whose revision etcd has forgotten are listed anew" {
    local proxy
    mkfifo hold
    python3 "$HB_SRCDIR/tests/peers/kubeadmin.py" "$cluster" proxy < hold \
        > said 3>&- &
    proxy=$!
    exec 9> hold
    wait_until lines_in said 1
    KUBERNETES_SERVICE_PORT=$(head -n 1 said)
    run in_pod hpcboot hostfile --pod-selector app=many --format plain
    exec 9>&-
    wait "$proxy"
    ended_with 0
    [ "$(tail -n 1 said)" = compacted ]
    [ "$(admin answers 410)" -gt 0 ]
    [ "${#lines[@]}" -eq 600 ]
    [ "$(printf '%s\n' "${lines[@]}" | sort -u | wc -l)" -eq 600 ]
}

@test "a watch outlives the server's end and the compaction of its past" {
    admin pods old 1 app=old
    in_pod "$hbrun" --pod-selector app=old --wait-hosts 90 -n 1 echo ran \
        > out 2> err 3>&- &
    wait_until grep -q 'waiting for pods' err
    "$HB_SRCDIR/tests/peers/apiserver.sh" again "$cluster" \
        "$(cat "$cluster/program")"
    admin compact
    admin ready
    admin status old-0 '{"phase": "Running", "podIP": "127.0.0.1",
                         "podIPs": [{"ip": "127.0.0.1"}]}'
    wait $! || { cat err; return 1; }
    [ "$(cat out)" = ran ]
}

@test "a PodGroup of Volcano says how many pods it has and what holds them" {
    admin groups
    admin group pg-1 2 '{"phase": "Pending", "conditions": [
        {"type": "Unschedulable", "status": "True",
         "reason": "NotEnoughResources", "lastTransitionTime":
         "2026-01-01T00:00:00Z", "message": "2/2 tasks in gang unschedulable"}]}'
    admin pods held 1 'app=held,kueue.x-k8s.io/pod-group-name=pg-1'
    until_said '1 of 2 pods are there; held-0: .*; pg-1: NotEnoughResources: 2/2 tasks in gang unschedulable' \
        0.5 --pod-group pg-1 -n 1 true
    ended_with 75
}

@test "what hpcboot manifest writes is what the operators' kinds take" {
    local file kind
    command -v go > /dev/null || skip 'go is not installed'
    (cd / && timeout -k 5 300 "$HB_SRCDIR/tests/peers/apiserver.sh" kinds) \
        > defined || skip 'the modules that define the kinds cannot be had'
    while read -r file; do admin kind "$file"; done < defined
    for kind in volcano mpijob trainjob jobset; do
        "$HB_BUILDDIR/hpcboot" manifest $kind --image lab/app:1 -- ./app \
            > plain.yaml
        "$HB_BUILDDIR/hpcboot" manifest $kind --name solver --image lab/app:1 \
            --hosts 16 --slots 8 --cpus 9500m --memory 64Gi --gpus 8 \
            --rdma rdma/hca --shm 8Gi --queue night --run-as 1000 --restricted -n hpc -- \
            --on-failure restart-job ./app 'two words' $'"\t\\' > full.yaml
        run admin takes plain.yaml
        ended_with 0
        says 'taken: .* hpcboot$'
        run admin takes full.yaml
        ended_with 0
        says 'taken: .* solver$'
    done
    sed 's/slotsPerWorker/slotsPerWorkers/' plain.yaml |
        sed 's/maxRestarts/maxRestart/' > wrong.yaml
    run admin takes wrong.yaml
    ended_with 1
    says 'unknown field'
}
