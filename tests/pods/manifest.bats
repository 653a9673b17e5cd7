#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# The commands that hpcboot manifest writes for a JobSet, in pods that have the
# names, the variables and the hosts file that a JobSet gives them. The other
# kinds have the commands of the operators' own samples.

load ../common

setup_file() {
    need_root
    [ -e "$HB_BUILDDIR/.libs/hb_ssh.so" ] || skip 'built without libssh'
    export F=$BATS_FILE_TMPDIR
    "$HB_BUILDDIR/hpcboot" manifest jobset --name lm --image any --hosts 3 \
        --slots 2 -- --tag-output -n 6 sh -c \
        'echo "rank $HPCBOOT_RANK on $(hostname), slots"; exit ${HB_STATUS:-0}' \
        > "$F/jobset.yaml"
    # A list in YAML of texts in double quotes is one in JSON; two dollars are
    # one when Kubernetes has looked for its own variables.
    sed -n 's/^ *command: \(\[.*\)$/\1/p' "$F/jobset.yaml" | python3 -c '
import json, sys
for word in json.load(sys.stdin):
    sys.stdout.write(word.replace("$$", "$") + "\0")' > "$F/command"
    cat > "$F/pod" <<'END'
#!/bin/bash
index=$(hostname)
export JOB_COMPLETION_INDEX=${index#pod-} PATH=$HB_BUILDDIR:$PATH
hostname "lm-node-0-$JOB_COMPLETION_INDEX"
mount -t tmpfs tmpfs /mnt
{
    echo '127.0.0.1 localhost'
    for i in 0 1 2; do
        echo "10.77.0.$((i + 1)) lm-node-0-$i.lm.hpc.svc.cluster.local" \
            "lm-node-0-$i.lm lm-node-0-$i"
    done
} > /mnt/hosts
mount --bind /mnt/hosts /etc/hosts
[ "$JOB_COMPLETION_INDEX" != 0 ] || exec sleep infinity
mapfile -d '' -t command < "$F/command"
exec "${command[@]}" 2> /mnt/log
END
    chmod a+rx "$F/pod"
}
setup() {
    common_setup
    lab_up manifest 3 --init "$F/pod" --env F="$F" \
        --env HB_BUILDDIR="$HB_BUILDDIR" --env HPCBOOT_GANG_SIZE=3
}
teardown() { lab_down; }

launcher() { # VARIABLE...: the first pod's command
    mapfile -d '' -t command < "$F/command"
    wait_until pod 2 grep -q 'serves on port' /mnt/log
    pod 0 env JOB_COMPLETION_INDEX=0 HPCBOOT_GANG_SIZE=3 \
        PATH="$HB_BUILDDIR:$PATH" "$@" timeout -s KILL "$HB_LIMIT" \
        "${command[@]}"
}
worker_ended() { ! pod "$1" true 2> /dev/null; }

@test "a JobSet: all its pods run ranks, and end with the job" {
    run launcher
    ended_with 0
    for i in 0 1 2; do
        [ "$(grep -c "on lm-node-0-$i, slots$" <<< "$output")" -eq 2 ]
    done
    wait_until worker_ended 1
    wait_until worker_ended 2
}
