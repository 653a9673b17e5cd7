#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Launchers of frameworks behind other programs, as a person sees them on one
# host.

load ../common
setup() { common_setup; }

# launchers: a python3 that says what it is given, and tools that name it.
launchers() {
    printf '#!/bin/sh\necho "$A $* rank $RANK of $WORLD_SIZE"\n' > python3
    printf '#!%s/python3\n' "$PWD" | tee torchrun > deepspeed
    # shellcheck disable=SC2016  # expanded when it runs
    printf '%s\n' '#!/bin/sh' 'for w; do
        shift
        case $w in run | -* | x) ;; *) exec "$w" "$@" ;; esac
    done' | tee uv conda > poetry
    cp poetry perf
    chmod +x python3 torchrun deepspeed uv conda poetry perf
    PATH=$PWD:$PATH
}

@test "a torchrun behind what only starts it is understood" {
    local ahead
    launchers
    for ahead in 'env A=1' 'nice -n 1 env A=1' 'env A=1 nohup' \
        'uv run --with x env A=1' 'env A=1 uv run' 'env A=1 conda run -n x' \
        'env A=1 poetry run'; do
        # shellcheck disable=SC2086
        run hb --explain --oversubscribe $ahead torchrun --nproc-per-node 2 t.py
        ended_with 0
        says "framework: torch \(the command line is torchrun's\)"
        says '^1 -u t.py rank 1 of 2$'
    done
    run hb --oversubscribe env A=1 python3 -m torch.distributed.run \
        --nproc-per-node 2 -m mod a
    ended_with 0
    says '^1 -u -m mod a rank 1 of 2$'
}

@test "a PATH in front of a torchrun finds its Python, too" {
    launchers
    mkdir other
    printf '#!/bin/sh\necho "other $*"\n' > other/python3
    cp python3 other/torchrun
    chmod +x other/python3
    run hb -n 1 env "PATH=$PWD/other:$PATH" torchrun t.py
    ended_with 0
    says '^other -u t.py$'
}

@test "behind another program a script has its local rank where it belongs" {
    launchers
    run hb -n 1 env A=1 deepspeed t.py a
    ended_with 0
    says '^1 -u t.py --local_rank=0 a rank'
}

@test "a launcher that runs on each host has ahead of it what it had" {
    launchers
    run hb -H localhost:2 nice -n 1 env 'A=it is' torchrun --nproc-per-node 2 \
        --max-restarts 1 t.py
    ended_with 0
    says '^it is -m torch.distributed.run .*--nproc_per_node=2 .* t.py rank'
    [ "$(grep -c distributed <<< "$output")" -eq 1 ]
    run hb -H localhost:2 --framework deepspeed-launcher env "A=it's" \
        deepspeed t.py
    ended_with 0
    says "^it's .*/deepspeed --hostfile=.* t.py rank"
    run hb -H localhost:2 --framework torchrun env "A=\"it's\"" torchrun t.py
    ended_with 2
    says 'both kinds of quotes'
}

@test "what a recipe knows a command by is seen behind another program" {
    printf 'detect command solver\nenv SEEN yes\n' > known.conf
    mkdir -p "$HOME/.config/hpcboot/recipes"
    cp known.conf "$HOME/.config/hpcboot/recipes"
    printf '#!/bin/sh\necho "seen: $SEEN"\n' > solver
    chmod +x solver
    run hb -n 1 nice ./solver
    ended_with 0
    says '^seen: yes$'
}

@test "among several programs a launcher behind another one is refused, too" {
    run hb -n 1 env A=1 torchrun t.py : -n 1 touch started
    ended_with 2
    says 'program 0 of 2 is a command line of torchrun'
    [ ! -e started ]
}

@test "launchers that hbrun does not read, several on a host: told" {
    local why='is behind another program, where hbrun does not read its options'
    launchers
    printf 'set -e\nexport A=2\nexec torchrun --nproc-per-node 2 t.py\n' > job
    { echo '#!/bin/sh' && cat job; } > job.sh
    chmod +x job.sh
    out_of_sight() { # COMMAND...
        run hb -H localhost:2 "$@"
        ended_with 0
        says "warning: torch.*run $why: .* a host has up to 2;"
        run hb -H localhost:2 -npernode 1 "$@"
        ended_with 0
        says_not "$why"
        run hb -H localhost:2 --framework none "$@"
        ended_with 0
        says_not "$why"
    }
    out_of_sight sh -c 'A=2 torchrun --nproc-per-node 2 t.py'
    out_of_sight bash job
    out_of_sight ./job.sh
    out_of_sight perf run -x --x=y torchrun t.py
    out_of_sight perf run -- torchrun t.py
    out_of_sight env -u A torchrun t.py
    out_of_sight uv run sh -c 'torchrun t.py'
    out_of_sight sh -c 'exec python3 -m torch.distributed.run t.py'
}

@test "launchers that hbrun has no table of, several on a host: told" {
    local why='does not read the options of accelerate launch: each rank starts'
    launchers
    cp torchrun accelerate
    cp torchrun accelerate-launch
    for words in 'accelerate launch t.py' 'sh job' \
        'env A=1 uv run accelerate launch t.py' \
        'python3 -m accelerate.commands.launch t.py' \
        'accelerate-launch t.py' 'perf run x accelerate launch t.py'; do
        echo 'accelerate launch t.py' > job
        # shellcheck disable=SC2086
        run hb -H localhost:2 $words
        ended_with 0
        says "warning: hbrun $why .* a host has up to 2; --framework torch and"
        # shellcheck disable=SC2086
        run hb -H localhost:2 -npernode 1 $words
        says_not "$why"
    done
    run hb -H localhost:2 accelerate env
    says_not 'does not read'
}

@test "launchers that hbrun does not read are told of where slots are counted" {
    launchers
    # shellcheck disable=SC2016  # expanded when it runs
    printf '#!/bin/sh\nshift\nexec "$@"\n' > way
    chmod +x way
    run hb -H first:auto --launch-with './way %h' --oversubscribe -n 2 \
        sh -c 'torchrun t.py'
    ended_with 0
    says 'warning: torchrun is behind another program.* a host has up to 2;'
}

@test "scripts that start each other are not looked through for ever" {
    launchers
    { echo '#!/bin/sh'
      for ((i = 0; i < 200; i++)); do echo '"$0" step'; done; } > again.sh
    chmod +x again.sh
    run hb -H localhost:2 --dry-run ./again.sh
    ended_with 0
}

@test "a word like a launcher's name is no launcher" {
    launchers
    for words in 'conda run -n deepspeed python3 t.py' './python3 torchrun' \
        'perf run ./t.py --strategy deepspeed' 'sh -c true' \
        'uv run python3 t.py deepspeed' 'uv run -w deepspeed python3 t.py' \
        'uv run --no-build-isolation-package deepspeed python3 t.py'; do
        # shellcheck disable=SC2086
        run hb -H localhost:2 --dry-run $words
        ended_with 0
        says_not 'does not read its options'
        says_not 'ramework'
    done
}
