#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hpcboot and its command hostfile, as a person types them.

load ../common
setup() { common_setup; }

hpcboot() { timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" "$@"; }

@test "hpcboot without a command lists them, with status 2" {
    run hpcboot
    ended_with 2
    says '^  hostfile '
}

@test "hpcboot help, and what is for hbrun" {
    run "$HB_BUILDDIR/hpcboot" help
    ended_with 0
    says '^usage: hpcboot COMMAND'
    run "$HB_BUILDDIR/hpcboot" -n 2 true
    ended_with 2
    says 'there is no command -n.*; programs are started by hbrun'
}

@test "hpcboot doctor does not wait for hosts that nobody has promised" {
    run timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" doctor \
        -H elsewhere --launch-with 'false %h'
    ended_with 75
    says '1 of 1 host did not come up: 1 host starts no agent: elsewhere'
}

@test "hpcboot wait and doctor go to the hosts, whatever is set of --dry-run" {
    local command
    for command in wait doctor; do
        HPCBOOT_DRY_RUN=yes run timeout -s KILL "$HB_LIMIT" \
            "$HB_BUILDDIR/hpcboot" $command -H elsewhere \
            --launch-with 'false %h' --wait-hosts 0
        ended_with 75
        says '1 of 1 host did not come up: 1 host starts no agent: elsewhere'
    done
}

@test "hpcboot wait and doctor say by their own name that they were told to end" {
    local command
    for command in wait doctor; do
        rm -f events
        timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" $command \
            -H elsewhere --launch-with 'false %h' --wait-hosts 1h \
            --events events 2> err &
        job=$!
        wait_until grep -qs host_retry events
        kill -TERM "$(pgrep -P $job)"
        ends $job
        ended_with 143
        says '^hpcboot: error: hpcboot was told to end by signal 15: SIGTERM'
        says_not hbrun
    done
}

@test "hpcboot --help and --version" {
    run hpcboot --help
    ended_with 0
    says '^  hostfile '
    run hpcboot --version
    ended_with 0
    says '^hpcboot [0-9]+\.[0-9]+'
}

@test "a command that is not there: status 2 and the nearest one" {
    run hpcboot hostfil
    ended_with 2
    says 'did you mean hostfile'
}

@test "an option that is not there: status 2 and the nearest one" {
    run hpcboot hostfile --formt plain
    ended_with 2
    says 'did you mean --format'
    run hpcboot hostfile --WHI=yes
    ended_with 2
    says 'unknown option --WHI=yes \(did you mean --why\?\)'
    run hpcboot hostfile -x
    ended_with 2
    says 'unknown option -x; hpcboot hostfile --help lists'
}

@test "-- ends the options of a command, and a letter may be repeated" {
    run hpcboot explain -n 8 -- allreduce
    ended_with 0
    says '^allreduce, 8 bytes'
    run hpcboot explain -- --alloc
    ended_with 2
    says 'there is no collective --alloc'
    run hpcboot hostfile -- --why
    ended_with 2
    says '--why: expected an option'
    run hpcboot wait -vv
    ended_with 0
    says 'debug: host .*: agent ready'
    run hpcboot wait -vq
    ended_with 2
    says 'unknown option -vq'
}

@test "a form that is not there: status 2 and those there are" {
    run hpcboot hostfile --format json
    ended_with 2
    says 'expected one of openmpi, .*slurm'
}

@test "a value that was forgotten is not the option behind it" {
    run hpcboot hostfile --output --why
    ended_with 2
    says '--output: expected FILE after it'
    run hpcboot hostfile --output --help
    ended_with 2
    [ ! -e --why ]
    [ ! -e --help ]
    hpcboot hostfile -H a --output=--why
    [ "$(cat ./--why)" = 'a slots=1' ]
}

@test "a pod that POD_NAME names is this host, whatever the host is called" {
    for variable in POD_NAME K8S_POD_NAME; do
        export $variable=lm-worker-1
        run hb -H lm-worker-1.lm --label echo me
        ended_with 0
        says '^\[0\] me$'
        run hpcboot hostfile --why -H lm-worker-0,lm-worker-1
        says '^host: lm-worker-0: .*\(-H\)$'
        says '^host: lm-worker-1: .*\(-H\), this host$'
        unset $variable
    done
}

@test "hostfile, wait: a script and a default hostfile name hosts as for hbrun" {
    printf '#!/bin/sh\necho n1:3; echo n2:4\n' > script
    chmod +x script
    HPCBOOT_HOST=other run hpcboot hostfile --discover-hosts ./script
    ended_with 0
    [ "$output" = "n1 slots=3"$'\n'"n2 slots=4" ]
    run hpcboot hostfile --discover-hosts ./script -H n2:1
    [ "$output" = "n2 slots=1" ]
    run hpcboot hostfile --discover-hosts ./script -H n2,n9
    ended_with 2
    says '-H: host n9 is not in --discover-hosts \(2 hosts printed by ./script\)'
    echo 'n7 slots=2' > hosts
    run hpcboot hostfile --discover-hosts ./script --hostfile hosts
    ended_with 0
    says '^hpcboot: warning: --discover-hosts has no effect beside --hostfile,'
    says '^n7 slots=2$'
    run hb --discover-hosts ./script --hostfile hosts -H n7:1 --dry-run true
    ended_with 0
    says '^hbrun: warning: --discover-hosts has no effect beside --hostfile,'
    HPCBOOT_DISCOVER_HOSTS=./script run hb --hostfile hosts --dry-run true
    ended_with 0
    says_not 'no effect'
    HPCBOOT_DISCOVER_HOSTS=./script run hpcboot hostfile -H n2:1
    [ "$output" = "n2 slots=1" ]
    HPCBOOT_DISCOVER_HOSTS=./script run hpcboot hostfile -H n9:2
    ended_with 0
    [ "$output" = "n9 slots=2" ]
    run hpcboot hostfile --discover-hosts /bin/false -H n2
    ended_with 2
    says 'error: --discover-hosts: /bin/false failed: status 1'
    run hpcboot hostfile --discover-hosts /bin/true
    ended_with 2
    says 'error: --discover-hosts: /bin/true has printed no host'
    printf '#!/no/such/shell\necho n1\n' > distroless
    chmod +x distroless
    run hpcboot hostfile --discover-hosts ./distroless
    ended_with 2
    says './distroless cannot be started: .* \(its interpreter is not on this host\)'
    echo 'n5 slots=2' > default
    run hpcboot hostfile --default-hostfile default
    ended_with 0
    [ "$output" = "n5 slots=2" ]
    printf '#!/bin/sh\necho localhost:1\n' > script
    run hpcboot wait --discover-hosts ./script --wait-hosts 30
    ended_with 0
    says '1 of 1 host ready'
}

@test "hostfile: a script may count the slots of some hosts and not of others" {
    for lines in 'a\nb:4' 'b:4\na'; do
        printf '#!/bin/sh\nprintf "%s\\n"\n' "$lines" > script
        chmod +x script
        run hpcboot hostfile --discover-hosts ./script
        ended_with 0
        [ "$(sort <<< "$output")" = "a"$'\n'"b slots=4" ]
        run hb --discover-hosts ./script --default-slots 2 --dry-run true
        ended_with 0
        says '^host a: slots 2 '
        says '^host b: slots 4 '
    done
}

@test "hostfile: --from is the form of a file" {
    run hpcboot hostfile -H a --from pbs
    ended_with 2
    says '--from goes with --hostfile$'
    echo a > hosts
    HPCBOOT_HOSTFILE=hosts run hpcboot hostfile --from pbs
    ended_with 0
    [ "$output" = 'a slots=1' ]
}

@test "hostfile: without a gang it is this host" {
    run --separate-stderr hpcboot hostfile
    ended_with 0
    [ "$output" = "$(uname -n)" ]
}

@test "hostfile: -H in several forms" {
    run hpcboot hostfile -H 'a:2,n[01-02]:4'
    ended_with 0
    [ "$output" = $'a slots=2\nn01 slots=4\nn02 slots=4' ]
    run hpcboot hostfile --host='a:2,n[01-02]:4' -format=horovod
    [ "$output" = 'a:2,n01:4,n02:4' ]
    run hpcboot hostfile -H 'a:2,n[01-02]:4' -f intel
    [ "$output" = $'a:2\nn01:4\nn02:4' ]
    run hpcboot hostfile -H a:2 -H 'n[01-02]:4' -f intel
    [ "$output" = $'a:2\nn01:4\nn02:4' ]
}

@test "hostfile: what a form cannot carry is said on stderr" {
    echo 'a slots=2 max_slots=3 port=2222' > hosts
    run --separate-stderr hpcboot hostfile --hostfile hosts -f slurm
    ended_with 0
    [ "$output" = a ]
    output=$stderr
    says 'cannot carry: port'
    says 'cannot carry: slots'
    says 'cannot carry: max_slots'
}

@test "hostfile: a list of -H is believed over one of the configuration" {
    HPCBOOT_HOST=x:3 run hpcboot hostfile
    [ "$output" = 'x slots=3' ]
    HPCBOOT_HOST=x:3 run hpcboot hostfile -H y:2
    [ "$output" = 'y slots=2' ]
}

@test "hostfile --why says what was found and what was passed over" {
    echo 'a slots=2' > hosts
    run --separate-stderr hpcboot hostfile --hostfile hosts --why
    ended_with 0
    [ "$output" = 'a slots=2' ]
    output=$stderr
    says '^passed over: -H: not given'
    says '^found: --hostfile: '
    says '^host: a: 2 slots \(hosts:1\)'
}

@test "hostfile --output is whole or not there, and keeps links and modes" {
    echo old > real
    chmod 600 real
    ln -s real link
    run hpcboot hostfile -H a:2 -o link
    ended_with 0
    [ -L link ]
    [ "$(cat real)" = 'a slots=2' ]
    [ "$(stat -c %a real)" = 600 ]
    run hpcboot hostfile -H a:2 -o nosuch/file
    ended_with 74
    says 'nosuch/file'
    [ "$(ls)" = "$(printf '%s\n' home link real)" ]
}

@test "hostfile --output makes what a link leads to" {
    mkdir to
    ln -s to/real first
    ln -s "$PWD/first" link
    run hpcboot hostfile -H a:2 -o link
    ended_with 0
    [ -L link ]
    [ -L first ]
    [ "$(cat to/real)" = 'a slots=2' ]
}

@test "hostfile --output: a file that takes the command's own output goes on" {
    local name
    for name in /dev/stdout /dev/fd/1 report; do
        run bash -c '{ echo head; "$1" hostfile -H a:2 -o "$2"; echo foot
            } > report; cat report' - "$HB_BUILDDIR/hpcboot" "$name"
        ended_with 0
        [ "$output" = "$(printf '%s\n' head 'a slots=2' foot)" ]
    done
}

@test "hostfile --output to a file whose place nothing else can take" {
    need_root
    unshare --mount true || skip 'no mount namespace can be made'
    mkdir readonly
    mounted() { # MOUNTS
        seq 1000 | tee file > readonly/file
        run unshare --mount bash -c "$1"' || exit
            "$0" hostfile -H a:2 -o readonly/file && cat readonly/file &&
            timeout -s KILL "$1" "$0" perf barrier -n 1 --time 1ms --csv \
                --svg readonly/file && grep -o "<svg" readonly/file' \
            "$HB_BUILDDIR/hpcboot" "$HB_LIMIT"
        ended_with 0
        [ "${lines[0]}" = 'a slots=2' ]
        [ "${lines[-1]}" = '<svg' ]
    }
    mounted 'mount --bind file readonly/file'
    mounted 'mount --bind readonly readonly &&
        mount -o remount,bind,ro readonly && mount --bind file readonly/file'
    [ "$(ls readonly)" = file ]
}

@test "hostfile: a full disk is an error" {
    [ -w /dev/full ] || skip 'there is no /dev/full'
    run hpcboot hostfile -H a:2 -o /dev/full
    ended_with 74
    says '/dev/full.*No space left'
    run bash -c '"$1" hostfile -H a:2 > /dev/full' - "$HB_BUILDDIR/hpcboot"
    ended_with 74
}

@test "hostfile: a file that may not grow is an error, and leaves none" {
    run bash -c 'ulimit -f 0; "$1" hostfile -H a:2 -o made 2>&1 | cat
        exit "${PIPESTATUS[0]}"' - "$HB_BUILDDIR/hpcboot"
    ended_with 74
    says 'made: .*File too large'
    [ -z "$(compgen -G 'made*')" ]
}

@test "hostfile: an error names file, line, column and what was expected" {
    printf 'a slots=2\nb slots=x\n' > hosts
    run hpcboot hostfile --hostfile hosts
    ended_with 2
    says 'hosts:2:9: expected '
}

@test "hostfile: slots that are to be counted on this host are, where a form needs a number" {
    run --separate-stderr hpcboot hostfile -H localhost:auto
    ended_with 0
    [ "$output" = localhost ]
    run --separate-stderr hpcboot hostfile -H localhost:auto -f intel
    ended_with 0
    [[ $output =~ ^localhost:[1-9][0-9]*$ ]]
    [ -z "$stderr" ]
}

@test "hostfile --why says how the slots of this host are counted" {
    run --separate-stderr hpcboot hostfile --why
    ended_with 0
    output=$stderr
    says '^host: .*: [0-9]+ slots: [0-9]+ cores? in the CPU set'
}

@test "auto, cpu, gpu or a number may stand where a number of slots may" {
    for word in auto cpu gpu 3; do
        run --separate-stderr hpcboot hostfile -H "a:$word" -f list
        ended_with 0
        [ -z "$stderr" ]
    done
    [ "$output" = a:3 ]
    echo b > hosts
    HPCBOOT_DEFAULT_SLOTS=gpu run --separate-stderr \
        hpcboot hostfile --hostfile hosts -f list
    [ "$output" = b:gpu ]
    run hb --default-slots many true
    ended_with 2
    says 'default-slots.*auto, cpu or gpu'
}

@test "a host without GPUs cannot have them as slots" {
    [ -z "$(ls /dev/nvidia[0-9]* /dev/dri/renderD* 2> /dev/null)" ] ||
        skip 'there is a GPU'
    run hb -H localhost:gpu touch started
    [ "$status" -ne 0 ]
    says 'its slots are to be its GPUs.*no GPU in /dev'
    [ ! -e started ]
    run hb -H elsewhere:gpu --launch-with fork touch started
    ended_with 75
    says '1 of 1 host did not come up: 1 host could not be used: elsewhere'
    [ ! -e started ]
    run hb torchrun --nproc-per-node gpu --no-python touch started
    [ "$status" -ne 0 ]
    says 'its slots are to be its GPUs.*no GPU in /dev'
    [ ! -e started ]
}

@test "a short name selects a host of the gang, and brackets do too" {
    printf 'w-%d.job.ns.svc slots=4\n' 0 1 2 > hosts
    run hpcboot hostfile --hostfile hosts -H 'w-[1-2]:2'
    ended_with 0
    [ "$output" = $'w-1.job.ns.svc slots=2\nw-2.job.ns.svc slots=2' ]
}

@test "variables of a batch system that is not here do not win" {
    run --separate-stderr env SLURM_JOB_ID=1 SLURM_JOB_NODELIST='n[1-4]' \
        PATH=/nonexistent "$HB_BUILDDIR/hpcboot" hostfile --why
    ended_with 0
    [ "$output" = "$(uname -n)" ]
    output=$stderr
    says '^passed over: Slurm: 4 hosts .* no srun here'
    says 'warning: variables of Slurm are set .*-H'
}

@test "what one program writes another reads: every form, through a file" {
    printf 'w-%d slots=2\n' {0..11} > hosts
    for form in openmpi hydra intel mvapich list horovod pbs deepspeed; do
        hpcboot hostfile --hostfile hosts -f $form -o out
        run hpcboot hostfile --hostfile out --from $form
        ended_with 0
        [ "$output" = "$(cat hosts)" ]
    done
    for form in plain slurm; do
        hpcboot hostfile --hostfile hosts -f $form -o out 2> /dev/null
        run hpcboot hostfile --hostfile out --from $form
        [ "$output" = "$(cut -d ' ' -f 1 hosts)" ]
    done
    [ "$(cat out)" = 'w-[0-11]' ]
}

@test "hostfile: a FIFO is waited for, and not forever" {
    mkfifo hosts
    hpcboot hostfile --hostfile hosts -f plain > out &
    reader=$!
    echo 'a slots=2' > hosts
    wait $reader
    [ "$(cat out)" = a ]
    run hpcboot hostfile --hostfile hosts
    [ "$status" -ne 0 ]
    says 'hosts: it is a FIFO, and nobody has written to it for 10 s'
}

@test "a Volcano Job of several tasks: who misses hosts is told how to name some" {
    local hint='HPCBOOT_TASKS=TASK,... names those that run ranks'
    export POD_NAME=lm-master-0 VC_MASTER_HOSTS=lm-master-0.lm \
        VC_INIT_HOSTS=lm-init-0.lm VC_WORKER_HOSTS=lm-worker-0.lm
    run hb --launch-with false --wait-hosts 0 -n 1 true
    ended_with 75
    says "all pods of the tasks (init, worker|worker, init) are asked for; $hint"
    HPCBOOT_TASKS=init,worker run hb --launch-with false --wait-hosts 0 true
    ended_with 75
    says_not "$hint"
    VC_INIT_HOSTS='' run hb --launch-with false --wait-hosts 0 -n 1 true
    ended_with 75
    says_not "$hint"
}
