#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# PyTorch, and DeepSpeed, which is built on it.
#
# shellcheck disable=SC2034  # read by over4

load frameworks

@test "PyTorch: ranks of init_process_group add up" {
    torch
    over4 --framework torch "$python" "$programs/torch_sum.py"
    four '^sum 10 of 4 '
    says_not 'ever connected'
}

@test "PyTorch: DDP trains one model" {
    torch
    over4 --framework torch "$python" "$programs/torch_ddp.py"
    four '^weight 3\.00, of 4 ranks the same: True$'
}

@test "PyTorch: torchrun's command line, and that of torch.distributed.launch" {
    torch
    need torchrun
    over4 torchrun --nnodes 4 --nproc-per-node=1 "$programs/torch_sum.py"
    four '^sum 10 of 4 '
    over4 "$python" -m torch.distributed.launch --use_env \
        "$programs/torch_sum.py"
    four '^sum 10 of 4 '
}

@test "PyTorch: a script that names localhost makes worlds of one, and is told of" {
    torch
    over4 --framework torch "$python" "$programs/torch_sum.py" local
    four '^sum 1 of 1 '
    says 'no rank on pod-[123] and on others ever connected to .*:[0-9]+, where'
}

@test "PyTorch: of the tracebacks of four ranks the first one is shown" {
    torch
    over4 --framework torch "$python" "$programs/torch_sum.py" raise
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
        "$python" -m torch.distributed.run --nnodes 4 --nproc_per_node 1 \
        --max_restarts 2 "$programs/torch_sum.py" fail
    four '^sum 10 of 4 restarts 1$'
}

# elastic_torchrun MIN:MAX MODE: over the hosts in /tmp/hosts of pod-0.
elastic_torchrun() {
    pod_job env HPCBOOT_TIMEOUT="$HB_FRAMEWORK_LIMIT" "$hbrun" \
        --hostfile /tmp/hosts -x PYTHONPATH="$BATS_FILE_TMPDIR/shim" \
        "$python" -m torch.distributed.run --nnodes "$1" --nproc_per_node 1 \
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

@test "PyTorch: a torchrun is killed, its workers go with it" {
    torch
    shim
    killed 1 'torch_sum.py los[e]' -x PYTHONPATH="$BATS_FILE_TMPDIR/shim" \
        "$python" -m torch.distributed.run --nnodes 4 --nproc_per_node 1 \
        --max_restarts 2 "$programs/torch_sum.py" lose
    ended_with 137
    says 'rank 1 on pod-1 was ended by signal 9'
}
