#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Commands in a pod that may ask the Kubernetes API, which is
# tests/fakes/kubeapi.py. The pod is a mount namespace with an account in it.

load ../common

setup() {
    common_setup
    need python3 openssl unshare
    need_root
    unshare -m true 2> /dev/null || skip 'mount namespaces cannot be made'
    mkdir api
    echo '{"pods":[]}' > api/plan.json
    mkfifo hold
    python3 "$fakes/kubeapi.py" api < hold > port 3>&- &
    server=$!
    exec 9> hold # the server ends when this does
    wait_until lines_in port 1
    export KUBERNETES_SERVICE_HOST=127.0.0.1
    KUBERNETES_SERVICE_PORT=$(cat port)
    export KUBERNETES_SERVICE_PORT
}

teardown() {
    [ -z "${server:-}" ] || { exec 9>&-; wait "$server"; }
}

plan() { cat > api/plan.new; mv api/plan.new api/plan.json; }

in_pod() {
    # shellcheck disable=SC2016  # it is the inner shell's
    timeout -s KILL "$HB_LIMIT" unshare -m sh -c '
        account=/run/secrets/kubernetes.io/serviceaccount
        mount -t tmpfs none /run && mkdir -p $account &&
        cp api/ca.crt $account && printf good > $account/token &&
        printf hpc > $account/namespace && exec "$@"' sh "$@" 9>&-
}

@test "selected pods are printed as a hostfile" {
    plan <<< '{"make": {"count": 3}}'
    run in_pod hpcboot hostfile --pod-selector volcano.sh/task-index!=1 \
        --format plain
    ended_with 0
    [ "$output" = "lm-worker-0.lm
lm-worker-2.lm" ]
}

@test "a job runs on the pods that are selected" {
    plan <<'END'
{"pods": [{"metadata": {"name": "a", "uid": "u", "labels": {"app": "x"}},
           "status": {"phase": "Running", "podIP": "127.0.0.1"}}]}
END
    run in_pod "$hbrun" --pod-selector app=x -n 2 echo ran
    ended_with 0
    [ "$output" = "ran
ran" ]
}

@test "a pod group without pods ends with a reason" {
    run in_pod "$hbrun" --pod-group pg -n 2 true
    [ "$status" -ne 0 ]
    says 'namespace hpc, pod group pg: it lists no such pods'
}

@test "a host that does not come up is told with its pod's own reason" {
    plan <<'END'
{"pods": [{"metadata": {"name": "lm-w-0", "uid": "u"},
           "status": {"phase": "Pending", "containerStatuses": [
             {"name": "main", "state": {"waiting": {
               "reason": "ImagePullBackOff",
               "message": "Back-off pulling image mpi:typo"}}}]}}]}
END
    run in_pod "$hbrun" --wait-hosts 1 -H lm-w-0.invalid -n 1 true
    ended_with 75
    says 'lm-w-0.invalid: its pod: ImagePullBackOff: Back-off pulling image mpi:typo'
}

@test "pods that do not come end the job with 75 and their reason" {
    plan <<'END'
{"pods": [{"metadata": {"name": "w", "uid": "u"}, "status": {
            "phase": "Pending", "conditions": [{"type": "PodScheduled",
             "status": "False", "reason": "Unschedulable",
             "message": "0/3 nodes are available"}]}}],
 "watches": [["hold"]]}
END
    run in_pod "$hbrun" --wait-hosts 0.2 --pod-selector a!=b -n 1 true
    ended_with 75
    says 'w: Unschedulable: 0/3 nodes are available'
}

@test "an account without rights is told which Role it needs" {
    plan <<'END'
{"faults": [{"path": "pods", "times": 9, "do": "status", "code": 403,
             "message": "pods is forbidden"}]}
END
    run in_pod env RAY_CLUSTER_NAME=rc KUBERAY_GEN_RAY_START_CMD=x \
        "$hbrun" -n 1 true
    ended_with 0
    says 'only its head has a name .rc-head-svc.'
    says 'apiGroups: ...., resources: .pods., verbs: .get, list, watch.'
}

@test "a run on this host alone does not open the client" {
    need strace
    run in_pod env -u KUBERNETES_SERVICE_HOST strace -f -e trace=openat \
        "$hbrun" -H localhost -n 1 true
    says openat
    run ! grep -E 'hb_k8s|libcurl' <<< "$output"
}
