#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hpcboot manifest: what it writes, and what it refuses before Kubernetes does.
# Whether the operators' own kinds take it: tests/peers/kubernetes.bats.

load ../common
setup() {
    common_setup
    hpcboot=$HB_BUILDDIR/hpcboot
}

makes() { run "$hpcboot" manifest "$@"; }
refuses() { # EXPRESSION WORDS...
    local expression=$1
    shift
    makes "$@"
    ended_with 2
    says "$expression"
}

@test "a gang for each operator" {
    makes volcano --image lab/app:1 --hosts 4 --slots 8 -- ./app -v
    ended_with 0
    says '^kind: Job$'
    says '^  minAvailable: 5$'
    says '^          command: \["hbrun","./app","-v"\]$'
    says '^          command: \["hpcbootd", "serve"\]$'
    says '^              cpu: "8"$'
    makes mpijob --image lab/app:1 --slots 3 -- ./app
    says '^kind: MPIJob$'
    says '^  slotsPerWorker: 3$'
    makes trainjob --image lab/app:1 -- ./app
    says '^kind: TrainingRuntime$'
    says '^kind: TrainJob$'
    says '^  trainer: \{numNodes: 2, numProcPerNode: 1\}$'
    says 'FailJob, onExitCodes: \{operator: NotIn, values: \[75\]\}'
    [ "$(grep -c podFailurePolicy <<< "$output")" -eq 1 ]
    makes jobset --name s --image lab/app:1 --hosts 3 -n hpc -- ./app
    says '^kind: JobSet$'
    says 'hpcboot keys --secret s-key -n hpc \| kubectl apply -f -$'
    says 'HPCBOOT_GANG_SIZE, value: "3"'
    says 'FailJobSet, onJobFailureReasons: \[PodFailurePolicy\]'
    says 'FailJob, onExitCodes: \{operator: NotIn, values: \[75, 137, 143\]\}'
}

@test "slots are those that were asked for, whatever the CPUs" {
    makes volcano --image i --slots 4 --cpus 16 -- ./app
    says '^          - \{name: HPCBOOT_DEFAULT_SLOTS, value: "4"\}$'
    makes jobset --image i --slots 4 --cpus 16 -- ./app
    says '^              - \{name: HPCBOOT_DEFAULT_SLOTS, value: "4"\}$'
    python3 -c 'import yaml' || skip 'python3-yaml is not installed'
    for kind in volcano mpijob trainjob jobset; do
        makes $kind --image i -- ./app
        python3 -c 'import sys, yaml; list(yaml.safe_load_all(sys.stdin))' \
            <<< "$output"
    done
}

@test "the words of hbrun arrive as they are" {
    makes mpijob --image i -- --tag-output ./app $'a "b"\t\\' '' "it's"
    ended_with 0
    # What a YAML string in double quotes says, a JSON string does.
    sed -n 's/^ *command: \(\["hbrun".*\)$/\1/p' <<< "$output" |
        python3 -c '
import json, sys
assert json.load(sys.stdin) == ["hbrun", "--tag-output", "./app",
                                "a \"b\"\t\\", "", "it'"'"'s"]'
}

# expand() is what Kubernetes does to each word of a command.
@test "Kubernetes puts nothing in for a dollar in the words of hbrun" {
    local kind
    for kind in volcano mpijob trainjob jobset; do
        # shellcheck disable=SC2016  # the words are meant as they stand
        makes $kind --image i -- sh -c 'echo $(hostname) $$ $HOME $' \
            '$(HPCBOOT_DEFAULT_SLOTS)' '$$$(A)$' '$$(A'
        ended_with 0
        python3 -c '
import json, re, sys
def expand(word):
    return re.sub(r"\$\$|\$\(([^)]*)\)",
                  lambda m: "$" if m[0] == "$$" else "put in", word)
for line in sys.stdin:
    found = re.match(r" *command: (\[.*\"hbrun\",.*\])$", line)
    if found:
        words = json.loads(found[1])
assert list(map(expand, words))[-5:] == sys.argv[1:], words' \
            -c 'echo $(hostname) $$ $HOME $' '$(HPCBOOT_DEFAULT_SLOTS)' \
            '$$$(A)$' '$$(A' <<< "$output"
    done
}

@test "without root, with devices, with room" {
    makes volcano --image i --run-as 1000 --gpus 2 --rdma rdma/hca \
        --shm 2Gi --memory 8Gi --cpus 3500m --queue q -- ./app
    ended_with 0
    says 'ssh: \["--ssh-key-file-path=/home/mpiuser/.ssh"\]'
    says 'securityContext: \{runAsUser: 1000, runAsNonRoot: true, fsGroup: 1000\}'
    says '^              nvidia.com/gpu: "2"$'
    says '^              rdma/hca: "1"$'
    says 'add: \["IPC_LOCK"\]'
    says 'sizeLimit: "2Gi"'
    says '^  queue: "q"$'
    makes jobset --image i --queue q -- ./app
    says 'kueue.x-k8s.io/queue-name: "q"'
}

@test "a namespace of the restricted standard takes every container" {
    local kind wanted containers
    for kind in volcano mpijob trainjob jobset; do
        makes $kind --image i --run-as 1000 --restricted --rdma rdma/hca -- ./a
        ended_with 0
        containers=$(grep -c '^ *image: ' <<< "$output")
        for wanted in 'allowPrivilegeEscalation: false' \
            'capabilities: {drop: ["ALL"]}' \
            'seccompProfile: {type: RuntimeDefault}'; do
            [ "$(grep -cF "$wanted" <<< "$output")" -eq "$containers" ]
        done
        says_not 'IPC_LOCK'
    done
    refuses '--restricted: nothing may run as root then: add --run-as UID' \
        mpijob --image i --restricted -- ./a
}

@test "the file is there whole, or not at all" {
    makes mpijob --image i -o job.yaml -- ./app
    ended_with 0
    grep -q '^kind: MPIJob$' job.yaml
    makes mpijob --image i -o no/where.yaml -- ./app
    [ "$status" -ne 0 ]
    says 'no/where.yaml'
}

@test "what Kubernetes would refuse" {
    refuses 'the image is missing: --image IMAGE' mpijob -- ./app
    refuses 'the program is missing: -- PROGRAM' mpijob --image i
    refuses 'the program is missing' mpijob --image i --
    refuses 'the kind is missing: expected volcano, mpijob' --image i -- ./app
    refuses 'pod: expected volcano' pod --image i -- ./app
    refuses '--hosts 0: expected a number from 1' mpijob --image i --hosts 0 -- a
    refuses '--slots x: expected a number' mpijob --image i --slots x -- a
    refuses '--memory 8GB: expected a quantity' mpijob --image i --memory 8GB -- a
    refuses '--shm .: expected a quantity' mpijob --image i --shm . -- a
    refuses '--name A_b: not a name' mpijob --image i --name A_b -- a
    refuses '--name 1a: expected a letter in front' mpijob --image i --name 1a -- a
    refuses '--namespace a.b: not a name' mpijob --image i -n a.b -- a
    refuses '--rdma hca: expected the name of a resource' \
        mpijob --image i --rdma hca -- a
    for name in a/b/c a..b/c a/-b A/b a/; do
        refuses '--rdma .*: expected the name' mpijob --image i \
            --rdma "$name" -- a
    done
    for name in a..b a.-b a/b .a; do
        refuses '--queue .*: not a name' volcano --image i --queue "$name" -- a
    done
    makes volcano --image i --queue a-b.c --rdma nvidia.com/Host_dev.1 -- a
    ended_with 0
    refuses '^hpcboot: error: manifest: word 2: not UTF-8, and a manifest' \
        mpijob --image i -- a $'b\xff'
    refuses 'manifest: --image: not UTF-8' mpijob --image $'\xe4' -- a
    makes mpijob --image i -- a $'\u00e4\u20ac\U1f600'
    ended_with 0
    refuses '--run-as 0: expected a number from 1' \
        mpijob --image i --run-as 0 -- a
    refuses '--name a{60}: too long' mpijob --image i \
        --name "$(printf 'a%.0s' {1..60})" -- a
    # JobSet counts what a Job adds to the names of its pods.
    refuses '--name a{49}: too long' jobset --image i --hosts 2 \
        --name "$(printf 'a%.0s' {1..49})" -- a
    makes jobset --image i --hosts 2 --name "$(printf 'a%.0s' {1..48})" -- a
    ended_with 0
    for word in $'\u0085' $'\u009f' $'\u2028' $'\ufffe' $'\x7f'; do
        refuses 'word 2: holds a character that no manifest can' \
            mpijob --image i -- a "x$word"
    done
    refuses 'unknown option --imag \(did you mean --image\?\)' mpijob --imag i
}
