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
    run in_pod hpcboot hostfile --pod-selector volcano.sh/job-name=lm \
        -H lm-worker-1,elsewhere
    ended_with 2
    says '-H: host elsewhere is not in --pod-selector \(3 hosts in namespace hpc'
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

@test "a selector that is mistyped ends a job that could take more hosts, too" {
    plan <<< '{"make": {"count": 3}}'
    run in_pod "$hbrun" --np 1:4 --on-failure restart-job \
        --pod-selector app=typo true
    ended_with 2
    says 'pods with app=typo: it lists no such pods'
}

@test "in a RayCluster the program runs once, on the head" {
    plan <<END
{"pods": [{"metadata": {"name": "rc-w", "uid": "u-w", "labels": {
             "ray.io/cluster": "rc", "ray.io/node-type": "worker"}},
           "status": {"phase": "Running", "podIP": "10.0.0.8"}},
          {"metadata": {"name": "$(hostname)", "uid": "u-h", "labels": {
             "ray.io/cluster": "rc", "ray.io/node-type": "head"}},
           "status": {"phase": "Running", "podIP": "10.0.0.7"}}]}
END
    head=(env RAY_CLUSTER_NAME=rc KUBERAY_GEN_RAY_START_CMD=x RAY_PORT=6379
        RAY_ADDRESS=127.0.0.1:6379 "$hbrun")
    run in_pod "${head[@]}" --explain --dry-run python3 driver.py
    ended_with 0
    says "^framework: ray \(the operator's variables\)"
    says_not 'RAY_PORT'
    says ' driver.py, 1 on each host$'
    [ "$(grep -c '^host ' <<< "$output")" -eq 2 ]
    [[ $(grep '^host ' <<< "$output") == 'host 10.0.0.7: '* ]]
    run in_pod "${head[@]}" --explain --dry-run -n 4 ./program
    ended_with 0
    says_not '^framework:'
    says ' ./program, 4 ranks$'
    # shellcheck disable=SC2016  # expanded in the rank
    run in_pod env HPCBOOT_TASKS=head "${head[@]}" \
        sh -c 'echo "Ray is at $RAY_ADDRESS"'
    ended_with 0
    [ "$(grep -cx 'Ray is at 127.0.0.1:6379' <<< "$output")" -eq 1 ]
}

@test "a pod group is asked for where the site selects no pods" {
    plan <<'END'
{"pods": [{"metadata": {"name": "a", "uid": "u", "labels": {
             "scheduling.x-k8s.io/pod-group": "pg"}},
           "status": {"phase": "Running", "podIP": "127.0.0.1"}}]}
END
    mkdir -p "$HOME/.config"
    echo 'pod-selector = none' > "$HOME/.config/hpcboot.conf"
    run in_pod "$hbrun" --pod-group pg -n 1 echo ran
    ended_with 0
    [ "$output" = ran ]
    run in_pod hpcboot hostfile --pod-group pg --format plain
    ended_with 0
    [ "$output" = 127.0.0.1 ]
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

@test "a host that is lost is told with its pod's own reason" {
    plan <<'END'
{"pods": [{"metadata": {"name": "lm-w-0", "uid": "u"},
           "status": {"phase": "Running", "conditions": [
             {"type": "DisruptionTarget", "status": "True",
              "reason": "EvictionByEvictionAPI", "message": "node n1"}]}}]}
END
    # A job at its end does not wait long for the server, which may be slow.
    for _ in 1 2 3 4 5; do
        run in_pod "$hbrun" --launch-with fork -H lm-w-0.lm -n 1 sh -c \
            'kill -KILL $PPID; exec sleep 60'
        ended_with 75
        [[ $output != *'its pod: '* ]] || break
    done
    says 'lm-w-0.lm: its pod: evicted through the API .a drain.'
    says 'the link to its agent is lost'
}

@test "pods that do not come end the job with 75 and their reason" {
    plan <<'END'
{"pods": [{"metadata": {"name": "w", "uid": "u"}, "status": {
            "phase": "Pending", "conditions": [{"type": "PodScheduled",
             "status": "False", "reason": "Unschedulable",
             "message": "0/3 nodes are available"}]}}],
 "watches": [["hold"]]}
END
    # Longer than it takes until the first word of it, which begins the events.
    until_said '^hbrun: warning: .*w: Unschedulable: 0/3 nodes are available' \
        1.1 --pod-selector a!=b --events events -n 1 true
    ended_with 75
    says 'error: .*w: Unschedulable: 0/3 nodes are available'
    run tail -n 1 events
    says '"event":"job_end","status":75,.*"why":"Kubernetes: .*Unschedulable'
}

@test "a plan does not wait for pods" {
    plan <<'END'
{"pods": [{"metadata": {"name": "a", "uid": "u-a", "labels": {"app": "x"}},
           "status": {"phase": "Running", "podIP": "10.0.0.7"}},
          {"metadata": {"name": "b", "uid": "u-b", "labels": {"app": "x"}},
           "status": {"phase": "Pending"}}],
 "watches": [["hold"]]}
END
    run in_pod "$hbrun" --dry-run --pod-selector app=x -n 1 true
    ended_with 0
    says '1 of 2 pods have an address; b: .*; only those that are there are'
    says '^host 10.0.0.7: '
}

@test "a first pod that is not made yet is waited for by who says so" {
    cat > late <<'END'
{"pods": [], "watches": [[{"type": "ADDED", "object": {
   "metadata": {"name": "a", "uid": "u", "labels": {"app": "x"}},
   "status": {"phase": "Running", "podIP": "127.0.0.1"}}}, "hold"]]}
END
    plan < late
    run in_pod "$hbrun" --pod-selector app=x --wait-hosts 1h -n 1 echo ran
    ended_with 0
    says '^ran$'
    plan < late
    run in_pod hpcboot wait --pod-selector app=x
    ended_with 0
    says '1 of 1 host ready'
    plan <<< '{"pods": [], "watches": [["hold"]]}'
    until_said 'error: Kubernetes: no pod with app=x is there' 0.2 \
        --pod-selector app=x -n 1 true
    ended_with 75
    run in_pod "$hbrun" --pod-selector app=x -n 1 true
    ended_with 2
}

@test "pods that are all gone between two lives are waited for" {
    plan <<'END'
{"pods": [{"metadata": {"name": "a", "uid": "u", "labels": {"app": "x"}},
           "status": {"phase": "Running", "podIP": "127.0.0.1"}}]}
END
    cat > late <<'END'
{"pods": [], "watches": [[{"type": "ADDED", "object": {
   "metadata": {"name": "a", "uid": "v", "labels": {"app": "x"}},
   "status": {"phase": "Running", "podIP": "127.0.0.1"}}}, "hold"]]}
END
    # shellcheck disable=SC2016  # expanded in the rank
    run in_pod "$hbrun" --pod-selector app=x --on-failure restart-job \
        --restart-delay 10ms -n 1 sh -c \
        '[ ! -e late ] || { mv late api/plan.json; exit 5; }; echo ran'
    ended_with 0
    says '^ran$'
}

@test "a job that is started again does not go on alone while the API cannot say where" {
    local in='"labels": {"kueue.x-k8s.io/pod-group-name": "g"}'
    plan <<END
{"pods": [{"metadata": {"name": "$(hostname)", "uid": "u", $in},
           "status": {"phase": "Running", "podIP": "127.0.0.1"}},
          {"metadata": {"name": "b", "uid": "v", $in},
           "status": {"phase": "Running", "podIP": "127.0.0.2"}}]}
END
    cat > refuses <<'END'
{"faults": [{"path": "pods", "times": 99, "do": "status", "code": 403,
             "message": "pods is forbidden"}]}
END
    # shellcheck disable=SC2016  # expanded in the rank
    run in_pod env HPCBOOT_GANG_SIZE=2 "$hbrun" --launch-with fork -n 2 \
        --wait-hosts 8 --map-by node --on-failure restart-job \
        --restart-delay 10ms sh -c \
        '[ "$HPCBOOT_LOCAL_SIZE" = 1 ] || { echo alone; exit 0; }
         [ "$HPCBOOT_RANK" = 0 ] || exec sleep 100
         mv refuses api/plan.json; exit 5'
    ended_with 75
    says_not alone
    says 'has named the hosts before, and cannot now: .*pods is forbidden'
}

@test "who could list in the life before is not ended by a first refusal" {
    local each on pods
    pods="[{\"metadata\": {\"name\": \"$(hostname)\", \"uid\": \"u\",
            \"labels\": {\"kueue.x-k8s.io/pod-group-name\": \"g\"}},
            \"status\": {\"phase\": \"Running\", \"podIP\": \"127.0.0.1\"}}]"
    for each in g none; do
        plan <<< "{\"pods\": $pods}"
        cat > refuses <<END
{"faults": [{"path": "pods", "do": "status", "code": 403}], "pods": $pods}
END
        on=()
        [ "$each" = none ] || on=(--pod-group "$each")
        # shellcheck disable=SC2016  # expanded in the rank
        run in_pod env HPCBOOT_GANG_SIZE=1 "$hbrun" "${on[@]}" -n 1 \
            --launch-with fork --on-failure restart-job --restart-delay 10ms \
            sh -c '[ ! -e refuses ] || { mv refuses api/plan.json; exit 5; }
                   echo ran'
        ended_with 0
        says '^ran$'
    done
}

@test "a job that is started again waits for the pod that takes a lost one's place" {
    local app='"labels": {"app": "x"}' b
    b="{\"metadata\": {\"name\": \"b\", \"uid\": \"w\", $app}, \"status\": {
        \"phase\": \"Running\", \"podIP\": \"127.0.0.3\"}}"
    plan <<END
{"pods": [{"metadata": {"name": "a", "uid": "u", $app},
           "status": {"phase": "Running", "podIP": "127.0.0.1"}}, $b]}
END
    cat > left <<END
{"pods": [{"metadata": {"name": "a", "uid": "u", $app},
           "status": {"phase": "Running", "podIP": "127.0.0.1"}}],
 "watches": [[{"type": "ADDED", "object": $b}, "hold"]]}
END
    # shellcheck disable=SC2016  # expanded in the rank
    run in_pod "$hbrun" --launch-with fork --pod-selector app=x -N 1 \
        --on-failure restart-job --restart-delay 10ms sh -c \
        '[ "$HPCBOOT_RESTART" = 0 ] || { echo again of $HPCBOOT_SIZE; exit 0; }
         [ "$HPCBOOT_RANK" = 0 ] || exec sleep 100
         mv left api/plan.json; exit 5'
    ended_with 0
    [ "$(grep -c '^again of 2$' <<< "$output")" -eq 2 ]
}

# two_lives OTHERS WORK OPTION...: two pods with one core each, and a rank on
# each; WORK is done in the first life by the second, and OTHERS is how the pods
# are planned then.
two_lives() {
    local pods=$1 work=$2 cpu
    shift 2
    need taskset
    cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
    plan <<< "{\"pods\": [$pod_a, $pod_b]}"
    echo "$pods" > later
    # shellcheck disable=SC2016  # expanded in the rank
    run in_pod taskset -c "$cpu" "$hbrun" --pod-selector app=x -n 2 \
        --on-failure restart-job --restart-delay 10ms "$@" sh -c '
        [ "$HPCBOOT_RESTART" = 0 ] || {
            echo "again, $HPCBOOT_LOCAL_SIZE of $HPCBOOT_SIZE"
            [ $HPCBOOT_RANK = 0 ] && rm fails 2> /dev/null && exit 6
            exit 0
        }
        [ "$HPCBOOT_RANK" = 1 ] || exec sleep 100
        mv later api/plan.json; '"$work"
    ended_with 0
}
pod_a='{"metadata": {"name": "a", "uid": "u", "labels": {"app": "x"}},
        "status": {"phase": "Running", "podIP": "127.0.0.1"}}'
pod_b='{"metadata": {"name": "b", "uid": "w", "labels": {"app": "x"}},
        "status": {"phase": "Running", "podIP": "127.0.0.3"}}'

@test "slots that are counted: the pod that takes a lost one's place is waited for" {
    two_lives "{\"pods\": [$pod_a], \"watches\": [[{\"type\": \"ADDED\",
        \"object\": $pod_b}, \"hold\"]]}" 'exit 5' --launch-with fork
    [ "$(grep -c '^again, 1 of 2$' <<< "$output")" -eq 2 ]
}

@test "slots that are counted: a lost pod that is there again has its ranks" {
    # shellcheck disable=SC2016  # expanded in the rank
    two_lives "{\"pods\": [$pod_a, $pod_b]}" 'kill -KILL $PPID; exec sleep 100' \
        --launch-with fork
    [ "$(grep -c '^again, 1 of 2$' <<< "$output")" -eq 2 ]
    says 'do not have room for all ranks; waiting for the lost ones: 127.0.0.3'
}

@test "slots that are counted: a lost pod that does not come back is done without" {
    cat > way <<'END'
#!/bin/sh
[ "$1" != 127.0.0.3 ] || [ -e later ] || exit 1
shift
exec "$@"
END
    chmod +x way
    touch fails
    # shellcheck disable=SC2016  # expanded in the rank
    two_lives "{\"pods\": [$pod_a, $pod_b]}" 'kill -KILL $PPID; exec sleep 100' \
        --launch-with './way %h' --wait-hosts 20
    [ "$(grep -c '^again, 2 of 2$' <<< "$output")" -ge 2 ]
    says '127.0.0.3.*; the ranks share the hosts that are left'
    # The one after that does not wait once more.
    says 'exited with status 6; all ranks are started again'
    [ "$(grep -c 'waiting for the lost ones' <<< "$output")" -eq 1 ]
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

@test "an API that does not answer is not waited for in silence" {
    plan <<'END'
{"faults": [{"path": "pods", "times": 99, "do": "status", "code": 503}]}
END
    in_pod env VC_TASK_INDEX=0 "$hbrun" -n 1 echo ran > out 2> err &
    wait_until grep -q 'waiting for pods: the Kubernetes API has not answered' \
        err
    plan <<< '{"pods": []}'
    ends $!
    grep -qx ran out
    grep -q 'has not answered yet: it answers 503' err
}

@test "an answer that is none is worth another try, and no wrong command line" {
    plan <<'END'
{"faults": [{"path": "pods", "times": 9, "do": "body", "text": "<html>"}]}
END
    run in_pod "$hbrun" --pod-selector app=x -n 1 true
    ended_with 75
    says "the Kubernetes API's answer: "
    run in_pod hpcboot hostfile --pod-selector app=x
    ended_with 75
    says "the Kubernetes API's answer: "
}

# The child of the limit becomes hbrun.
@test "told to end while the next life waits for pods, or for the API: the events have an end" {
    local next
    cat > first <<'END'
{"pods": [{"metadata": {"name": "a", "uid": "u", "labels": {"app": "x"}},
           "status": {"phase": "Running", "podIP": "127.0.0.1"}}],
 "watches": [["hold"]]}
END
    cat > pending <<'END'
{"pods": [{"metadata": {"name": "a", "uid": "u", "labels": {"app": "x"}},
           "status": {"phase": "Pending"}}],
 "watches": [["hold"]]}
END
    cat > silent <<'END'
{"faults": [{"path": "pods", "times": 99, "do": "status", "code": 503}]}
END
    for next in pending silent; do
        rm -f err # which is made anew some time after this shell goes on
        plan < first
        # shellcheck disable=SC2016  # expanded in the rank
        in_pod "$hbrun" --pod-selector app=x --on-failure restart-job \
            --restart-delay 10ms --events events -n 1 sh -c \
            'cp "$1" api/new && mv api/new api/plan.json; exit 5' - $next \
            2> err &
        wait_until awk '/started again/ { again = 1 }
            again && /waiting for pods/ { waits = 1 }
            END { exit !waits }' err
        kill -TERM "$(pgrep -P "$(pgrep -P $!)")"
        ends $!
        ended_with 143
        says 'told to end by .*SIGTERM.*, before it had started the ranks again$'
        run tail -n 1 events
        says '"event":"job_end","status":143,'
    done
}

# While it waits for pods, whose events tell of it.
told_to_end() { # COMMAND...
    rm -f events
    in_pod "$@" 2> err &
    wait_until lines_in events 1
    kill -TERM "$(pgrep -P "$(pgrep -P $!)")"
    ends $!
    ended_with 143
    says ': error: .* was told to end by signal 15: SIGTERM [(]Terminated[)]$'
    run tail -n 1 events
    says '"event":"job_end","status":143,'
}

@test "told to end while the first life waits for pods: the events have an end" {
    local on=(--pod-selector app=x --wait-hosts 1h --events events)
    plan <<'END'
{"pods": [{"metadata": {"name": "a", "uid": "u", "labels": {"app": "x"}},
           "status": {"phase": "Pending"}}],
 "watches": [["hold"], ["hold"]]}
END
    told_to_end "$hbrun" "${on[@]}" true
    told_to_end hpcboot wait "${on[@]}"
}

# A group of the scheduler of $1 that is to have two pods, of which one is there.
plan_group() {
    plan <<END
{"pods": [{"metadata": {"name": "g-0", "uid": "u", "labels": {
             "scheduling.x-k8s.io/pod-group": "pg"},
           "annotations": {"scheduling.k8s.io/group-name": "pg"}},
           "status": {"phase": "Pending"}}],
 "objects": {"/apis/$1/namespaces/hpc/podgroups/pg": {
   "spec": {"minMember": 2},
   "status": {"phase": "Pending", "conditions": [{"type": "Unschedulable",
     "status": "True", "reason": "NotEnoughResources",
     "message": "2/2 tasks in gang unschedulable"}]}}},
 "watches": [["hold"]]}
END
}

@test "a pod group says how many pods it has, and what holds them back" {
    local api
    for api in scheduling.volcano.sh/v1beta1 scheduling.x-k8s.io/v1alpha1; do
        plan_group $api
        until_said '1 of 2 pods are there; g-0: no scheduler has looked at it yet; pg: NotEnoughResources: 2/2 tasks in gang unschedulable' \
            0.2 --pod-group pg -n 1 true
        ended_with 75
    done
}

@test "pods beyond those that their group needs: --min-hosts is named" {
    local in='"annotations": {"scheduling.k8s.io/group-name": "pg"}'
    plan <<END
{"pods": [{"metadata": {"name": "g-0", "uid": "u", $in},
           "status": {"phase": "Running", "podIP": "127.0.0.1"}},
          {"metadata": {"name": "g-1", "uid": "v", $in},
           "status": {"phase": "Pending"}}],
 "objects": {"/apis/scheduling.volcano.sh/v1beta1/namespaces/hpc/podgroups/pg":
   {"spec": {"minMember": 1}}},
 "watches": [["hold"]]}
END
    until_said '1 of 2 pods have an address; g-1: .*; the gang.s least number is there: --min-hosts begins without the others' \
        0.2 --pod-group pg -n 1 true
    ended_with 75
}

@test "a host whose pod is held back is told with its group's own words" {
    plan_group scheduling.volcano.sh/v1beta1
    run in_pod "$hbrun" --wait-hosts 0.2 -H g-0.invalid -n 1 true
    ended_with 75
    says 'its pod: no scheduler has looked at it yet; its pod group: NotEnoughResources: 2/2 tasks in gang unschedulable'
}

# A Volcano Job whose group has four pods; the one of task $1 ended at $2, the
# others were made when the year 2026 began.
plan_prepared() { # TASK TIME
    python3 - "$@" "$(hostname)" > api/plan.new <<'END'
import json, sys
def pod(name, task, index, status):
    return {"metadata": {"name": name, "uid": name, "labels": {
                "volcano.sh/job-name": "lm", "volcano.sh/task-spec": task,
                "volcano.sh/task-index": index},
                "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {
                "scheduling.k8s.io/group-name": "lm-u"}}, "status": status}
def runs(ip):
    return {"phase": "Running", "podIP": ip}
task, time, own = sys.argv[1:]
print(json.dumps({
    "pods": [pod("a", task, "9", {"phase": "Succeeded", "containerStatuses": [
                 {"name": "c", "state": {"terminated": {
                     "exitCode": 0, "finishedAt": time}}}]}),
             pod("w-0", "w", "0", runs("10.0.0.2")),
             pod("w-1", "w", "1", runs("10.0.0.3")),
             pod(own, "m", "0", runs("10.0.0.9"))],
    "objects": {"/apis/scheduling.volcano.sh/v1beta1/namespaces/hpc/podgroups/"
                "lm-u": {"spec": {"minMember": 4}}},
    "watches": [["hold"], ["hold"]]}))
END
    mv api/plan.new api/plan.json
}

@test "a pod that had prepared something for others is not missed" {
    plan_prepared init 2025-12-31T23:59:59Z
    run in_pod hpcboot hostfile --format plain
    ended_with 0
    [ "$output" = $'10.0.0.2\n10.0.0.3' ]
    # One that was there with them, and one of theirs, are.
    for ended in 'init 2026-01-01T00:00:01Z' 'w 2025-12-31T23:59:59Z'; do
        # shellcheck disable=SC2086  # words
        plan_prepared $ended
        run in_pod hpcboot hostfile
        ended_with 0
        says "3 of 4 pods are there; lost: a: its command has ended"
    done
}

@test "--min-hosts begins without pods that get no address" {
    plan <<'END'
{"pods": [{"metadata": {"name": "a", "uid": "u"},
           "status": {"phase": "Running", "podIP": "127.0.0.1"}},
          {"metadata": {"name": "b", "uid": "v"},
           "status": {"phase": "Pending"}}],
 "watches": [["hold"], ["hold"]]}
END
    until_said 'warning: .*1 of 2 pods have an address; b: no scheduler has looked' \
        1.1 --pod-selector x!=y --min-hosts 1 --events events echo ran
    ended_with 0
    # What pods are waited for counts as waiting for hosts.
    python3 -c 'import json
events = list(map(json.loads, open("events")))
assert events[0]["event"] == "gathering" and "1 of 2" in events[0]["detail"]
ends = [e["seconds"] for e in events if e["event"] == "wait_end"]
assert len(ends) == 1 and ends[0] >= '"$wait"', ends'
    says '^ran$'
    run in_pod "$hbrun" --pod-selector x!=y --min-hosts 2 --wait-hosts 0.2 \
        echo ran
    ended_with 75
}

@test "a run on this host alone does not open the client" {
    need strace
    run in_pod env -u KUBERNETES_SERVICE_HOST strace -f -e trace=openat \
        "$hbrun" -H localhost -n 1 true
    says openat
    run ! grep -E 'hb_k8s|libcurl' <<< "$output"
}

# Four pods on n-1 ... n-4; HyperNodes or labels say which are neighbours.
cluster_of() { # HYPERNODES NODES [FAULTS]
    python3 - "$@" > api/plan.new <<'END'
import json, sys
pods = [{"metadata": {"name": f"p-{i}", "uid": f"u{i}"},
         "spec": {"nodeName": f"n-{i}"},
         "status": {"phase": "Running", "podIP": f"10.0.0.{i}"}}
        for i in range(1, 5)]
objects = {"/apis/topology.volcano.sh/v1alpha1/hypernodes": sys.argv[1],
           "/api/v1/nodes": sys.argv[2]}
print(json.dumps({"pods": pods, "objects": {
    path: {"metadata": {"resourceVersion": "1"}, "items": json.loads(text)}
    for path, text in objects.items() if text},
    "faults": json.loads((sys.argv + ["[]"])[3])}))
END
    mv api/plan.new api/plan.json
}
hypernode() { # NAME TIER MEMBER-TYPE SELECTOR
    printf '{"metadata":{"name":"%s"},"spec":{"tier":%d,"members":[' "$1" "$2"
    printf '{"type":"%s","selector":%s}]}}' "$3" "$4"
}
node() { # NAME LABELS
    printf '{"metadata":{"name":"%s","labels":{%s}}}' "$1" "$2"
}
ordered() { # OPTION...: the order of the hosts
    run in_pod "$hbrun" -H p-1:1,p-2:1,p-3:1,p-4:1 --dry-run --order topology \
        "$@" true
}
hosts_are() {
    [ "$(sed -n 's/^host \(p-.\): slots.*/\1/p' <<< "$output" |
        tr '\n' ' ')" = "$1 " ]
}

@test "--order topology by HyperNodes: exact, patterns, labels, two tiers" {
    cluster_of "[$(hypernode leaf-0 1 Node \
        '{"exactMatch":{"name":"n-1"}}'),$(hypernode leaf-1 1 Node \
        '{"regexMatch":{"pattern":"^n-(?:2|\\d{2})$"}}'),$(hypernode leaf-2 1 \
        Node '{"labelMatch":{"matchLabels":{"row":"far"},"matchExpressions":[
            {"key":"row","operator":"In","values":["far","further"]},
            {"key":"row","operator":"NotIn","values":["near"]},
            {"key":"row","operator":"Exists"},
            {"key":"off","operator":"DoesNotExist"}]}}'),$(hypernode s-0 2 \
        HyperNode '{"regexMatch":{"pattern":"leaf-[02]"}}'),$(hypernode s-1 2 \
        HyperNode '{"exactMatch":{"name":"leaf-1"}}')]" \
        "[$(node n-3 '"row":"far"'),$(node n-4 '"row":"near"')]"
    ordered --topology hypernodes
    ended_with 0
    hosts_are 'p-1 p-3 p-2 p-4'
    says '1 of 4 hosts are not in the HyperNodes'
}

@test "--order topology by labels that are named, and by those that are known" {
    cluster_of '' "[$(node n-1 '"rack":"r1","row":"x"'),$(node n-2 \
        '"rack":"r2","row":"y"'),$(node n-3 '"rack":"r3","row":"y"'),$(node \
        n-4 '"rack":"r1","row":"x","topology.kubernetes.io/zone":"z"')]"
    ordered --topology labels:row,rack
    ended_with 0
    hosts_are 'p-1 p-4 p-2 p-3'
    ordered # no HyperNodes: what the cluster has
    ended_with 0
    hosts_are 'p-4 p-1 p-2 p-3'
    ordered --topology labels:shelf
    ended_with 2
    says 'no node of these hosts has a label of shelf'
}

@test "--order topology: a cluster that says nothing, or refuses, is told" {
    local forbidden='[{"path": "hypernodes|nodes", "times": 9, "do": "status",
        "code": 403, "message": "it is forbidden"}]'
    cluster_of '' ''
    ordered --topology hypernodes
    ended_with 2
    says 'answers 404'
    cluster_of '[]' '[]' "$forbidden"
    ordered
    ended_with 2
    says 'ClusterRole with the rule .apiGroups: .topology.volcano.sh., resources: .hypernodes., verbs: .get, list.'
    says 'resources: .nodes., verbs: .get, list.'
    cluster_of "[$(hypernode x 1 Node '{"regexMatch":{"pattern":"n-("}}')]" ''
    ordered --topology hypernodes
    ended_with 2
    says 'HyperNode x: the pattern "n-\(" is not understood'
    cluster_of '[{"metadata":{"name":"x"},"spec":{"tier":1,"members":7}}]' ''
    ordered --topology hypernodes
    ended_with 2
    says 'x: expected spec.members to be a list'
}
