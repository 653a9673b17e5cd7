#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What people type who have typed it for other launchers, and what they are
# told when it is wrong.

load ../common
setup() { common_setup; }

@test "-vv is -v -v" {
    run hb -vv -n 1 true
    ended_with 0
    says 'debug: host'
    run hb -vvx -n 1 true
    ended_with 2
    says 'unknown option -vvx'
}

@test "--dry-run tells of what a run would be refused for" {
    local words
    echo 'ODD NAME' > odd
    for words in '--env-file missing' '--env-file odd' '--stdin 7' \
        '--launch-with ./missing' '--host-keys never' '--identity missing'; do
        # shellcheck disable=SC2086
        run hb --dry-run $words -n 1 true
        ended_with 2
        says '^hbrun: error: '
    done
}

@test "a program that is not found: the PATH it was looked for in" {
    run hb -x PATH=/opt/none -n 1 nosuch
    ended_with 127
    says "it is not in this host's PATH, /opt/none, nor in $PWD\)"
}

@test "a bare name may be a program in the working directory, as mpirun has it" {
    mkdir -p elsewhere bin
    printf '#!/bin/sh\necho here\n' > prog
    printf '#!/bin/sh\necho elsewhere\n' > elsewhere/prog
    printf '#!/bin/sh\necho in PATH\n' > bin/prog
    chmod +x prog elsewhere/prog bin/prog
    run hb -n 1 prog
    ended_with 0
    says '^here$'
    run hb -n 1 --wdir elsewhere prog
    says '^elsewhere$'
    run hb -n 1 -s prog
    says '^here$'
    PATH=$PWD/bin:$PATH run hb -n 1 prog
    says '^in PATH$'
}

@test "Hydra: -bind-to core:N is N cores for each rank" {
    hwloc_is_there
    [ "$(nproc)" -ge 2 ] || skip 'there is but one core'
    run hb -ppn 1 -bind-to core:2 --report-bindings -n 1 true
    ended_with 0
    says '2 CPUs for each rank'
    run hb -ppn 1 -bind-to socket:2 -n 1 true
    ended_with 2
}

# By it a program knows how many others it may start: mpi4py's pools, say.
@test "Hydra: -usize is the universe that ranks are told of" {
    # shellcheck disable=SC2016 # the rank has the variable
    local ask='echo cmd=get_universe_size >&"$PMI_FD"
        read -r answer <&"$PMI_FD" && echo "$answer"'
    run hb --pmi pmi1 -H localhost:2 -usize 17 -n 1 bash -c "$ask"
    ended_with 0
    says '^cmd=universe_size rc=0 size=17$'
    says_not 'ignored'
    run hb --pmi pmi1 -H localhost:2 -usize INFINITE -n 1 bash -c "$ask"
    ended_with 0
    says '^cmd=universe_size rc=0 size=2$'
    run hb -usize 0 -n 1 true
    ended_with 2
    says '-usize: needs a number from 1 '
}

@test "-c beside -n is not one of two numbers of ranks" {
    run hb -n 4 -c 7 true
    ended_with 2
    says '^hbrun: error: -c: -n says already how many ranks there are, .* --cpus-per-rank 7$'
    run hb -c 7 --np 4 true
    ended_with 2
    says '^hbrun: error: --np: -c says already how many ranks there are, '
    run hb -c 2 true : -n 1 true
    ended_with 0
    run hb --dialect srun -n 1 -c 1 true
    ended_with 0
}

@test "jsrun, mpirun_rsh, PALS: options of theirs are known" {
    local words
    for words in '-n 4 -a 1 -c 7 -g 1' '--nrs 2 --tasks_per_rs 1' '-r 2 -n 4'; do
        # shellcheck disable=SC2086
        run hb $words true
        ended_with 2
        says 'resource sets of jsrun are not known; say -n RANKS, --npernode N, --cpus-per-rank N'
    done
    run hb -n 1 --smpiargs=-gpu true
    ended_with 2
    says "say Open MPI's parameters with --mca"
    run hb -rsh -export-all -np 2 echo here
    ended_with 0
    [ "$(grep -c '^here$' <<< "$output")" -eq 2 ]
    run hb -np 2 none-1 none-2 A=1 /bin/sh -c true
    ended_with 127
    says 'if none-1 is a host and /bin/sh the program, name hosts with -H, not before'
    run hb -n 1 none-1 -f /bin/sh
    ended_with 127
    says_not 'is a host'
    run hb --dry-run --explain -n 1 --ppn 1 --depth 2 --cpu-bind verbose,depth \
        true
    ended_with 0
    says '^cpus-per-rank = 2 '
    says '^bind-to = core '
    run hb -n 1 --cpu-bind list:0 true
    ended_with 2
    says '"list:0" is not served; none, '
    run hb --dialect srun -n 2 --tasks-per-node=2 true
    ended_with 0
}

@test "--rank-by an object: what Open MPI 4 takes" {
    run hb -H localhost:2 --map-by core --rank-by core -n 2 true
    ended_with 0
    run hb -H localhost:2 --map-by core --rank-by socket -n 2 true
    ended_with 2
    says 'rank-by socket'
}

@test "what stands where the program should, and cannot be it" {
    local words
    for words in '- n 2 true' '--mca btl -n 1 true' '-x A = 1 true' \
        '-n 1 true : :' '-genv A -n 2 true'; do
        # shellcheck disable=SC2086  # a list of words
        run hb $words
        ended_with 2
        says 'where the program should|names no program'
    done
    run hb -n 2 '' true
    ended_with 2
    says 'an empty word stands where the program should'
    run hb -n 2 MV2_USE_CUDA=/0 true
    ended_with 2
    says '"MV2_USE_CUDA=/0" stands where the program should; --set-env sets it for the ranks'
    cp "$(type -P true)" A=1
    run hb -n 2 ./A=1
    ended_with 0
}

@test "a dash of a text's is not the hyphen of an option" {
    local word
    for word in '—np' '–n' '−n' '－n'; do
        run hb "$word" 2 true
        ended_with 2
        says 'a dash that is not the - of an option'
    done
}

@test "-x without its name does not take the next option for it" {
    run hb -x -n 1 true
    ended_with 2
    says '^hbrun: error: -x: needs the name of a variable, not "-n"$'
}

@test "a text that was forgotten is not the option behind it" {
    local words
    for words in '--events --tag-output' '--output-filename -n' \
        '--wdir --np=2' '--env-file --json' '-f --tag-output' '--user -H'; do
        # shellcheck disable=SC2086  # two words
        run hb $words -n 1 touch ran
        ended_with 2
        says "^hbrun: error: ${words% *} needs [A-Z|:a-z]+, and what follows, ${words#* }, is an option; if it is meant, say ${words% *}=${words#* }$"
    done
    [ ! -e ran ]
    run hb --events=--tag-output -n 1 echo here
    ended_with 0
    says '^here$'
    [ -s ./--tag-output ]
    run hb --dry-run --ssh-args -v -n 1 true
    ended_with 0
}

@test "an empty name of a file is no file that is missing" {
    local option
    for option in --env-file --tune --am; do
        run hb $option '' -n 1 true
        ended_with 2
        says "error: $option: needs FILE, not an empty text$"
    done
    run hb --tune ,, -n 1 true
    ended_with 2
    says 'needs FILE, not an empty text$'
}

@test "srun: what its resource manager would act on is passed over" {
    ln -s "$hbrun" srun
    run ./srun -q high -G 1 --nice=3 --nice --threads-per-core=1 --mem-per-gpu \
        1G --reservation=r -X --contiguous -n 2 echo words
    ended_with 0
    says 'warning: -q is ignored: it is the resource manager'
    [ "$(grep -c '^words$' <<< "$output")" -eq 2 ]
    run ./srun --het-group=0 -n 1 true
    ended_with 2
    says 'het-group is not supported: one job has one gang'
}

@test "srun: all ranks read standard input" {
    ln -s "$hbrun" srun
    run bash -c 'printf "a\nb\n" | timeout -s KILL "$0" ./srun -n 2 -l cat' \
        "$HB_LIMIT"
    ended_with 0
    says '^0: b$'
    says '^1: b$'
    run bash -c 'echo a | timeout -s KILL "$0" ./srun -i 1 -n 2 -l cat' \
        "$HB_LIMIT"
    ended_with 0
    says_not '^0: a$'
    says '^1: a$'
}

@test "srun: a time without a limit" {
    run hb --dialect srun -t UNLIMITED -n 1 echo here
    ended_with 0
    says '^here$'
    run hb --dialect srun --time=infinity -n 1 true
    ended_with 2
    says 'days-.hours:minutes:seconds, UNLIMITED or INFINITE, not "infinity"'
}

@test "srun: short options, old spellings, letters with their value attached" {
    ln -s "$hbrun" srun
    run ./srun -n 2 -C fast -d afterok:1 -L l -I60 -s -E -T 2 --cpu_bind=none \
        --mem_bind=local --compress --open echo words
    ended_with 2
    says 'unknown option --open; did you mean --open-mode\?'
    run ./srun -n 2 -C fast -d afterok:1 -L l -I60 -s -E -T 2 --cpu_bind=none \
        --mem_bind=local --compress echo words
    ended_with 0
    says 'warning: -C is ignored: it is the resource manager'
    [ "$(grep -c '^words$' <<< "$output")" -eq 2 ]
    run ./srun -K0 -n 2 sh -c 'test $HPCBOOT_RANK -eq 0 || { sleep 1; echo on; }
        test $HPCBOOT_RANK -eq 1'
    says '^on$'
    run ./srun --open-mode=append -o out -n 1 true
    ended_with 2
    says 'open-mode is not supported: files of ranks are made anew'
}

@test "Intel MPI: what it has beside Hydra's options is known" {
    hwloc_is_there
    ln -s "$hbrun" mpiexec.hydra
    run ./mpiexec.hydra -print-rank-map -ordered-output -localroot \
        -bootstrap-exec-args '-p 22' -n 1 echo words
    ended_with 0
    says 'port = 22|ssh-args = -p 22'
    says '^words$'
    run ./mpiexec.hydra -gdb -n 1 true
    ended_with 2
    says '-gdb is not supported: start the debugger as the program'
    run ./mpiexec.hydra -g 512 -n 1 true
    ended_with 2
    says 'each rank was to get 512 of the host.s GPUs'
}

@test "Open MPI: options that 4 has and 5 has not, and a parameter in one word" {
    run hb -d -novm --max-vm-size 2 --display-diffable-map -n 1 echo words
    ended_with 0
    says '^words$'
    run hb --mca btl=self,tcp -n 1 true
    ended_with 2
    says '--mca: needs two words, as in: --mca btl self,tcp$'
}

@test "Open MPI: a file of 5 that 4 takes for the program is asked for with =" {
    run hb --output-proctable out.txt echo words
    ended_with 2
    says '^hbrun: error: --output-proctable: .*in 5 it is, in 4 it is not.*; leave'
    run hb --output-proctable=out.txt -n 1 echo words
    ended_with 0
    says 'warning: --output-proctable is ignored: hbrun writes no such file$'
    says '^words$'
}

@test "the beginning of an option's name is answered with the option" {
    run hb --use-hwthr -n 1 true
    ended_with 2
    says 'unknown option --use-hwthr; did you mean --use-hwthread-cpus\?'
    run hb --disp true
    says 'unknown option --disp; did you mean --display\?'
}

@test "a program and its arguments in one quotation: told" {
    local words
    for words in 'ls -l' './prog arg'; do
        run hb -n 1 "$words"
        ended_with 127
        says 'with a blank in its name; arguments of a program are words of'
    done
}

@test "what is typed goes before files and variables, also under another name" {
    local fails='exit $HPCBOOT_RANK'
    HPCBOOT_ON_FAILURE=restart-job run hb --keep-going -n 2 sh -c "$fails"
    ended_with 1
    says 'the job goes on'
    HPCBOOT_ON_FAILURE=restart-job run hb --dialect srun -K0 -n 2 sh -c "$fails"
    says 'the job goes on'
    run hb --keep-going --on-failure abort --explain -n 2 sh -c "$fails"
    ended_with 1
    says '^hbrun: on-failure = abort \(command line\)$'
    says_not '(keep-going =|the job goes on)'
    HPCBOOT_OVERSUBSCRIBE=no run hb --map-by :OVERSUBSCRIBE --cpu-list 0 \
        -n 1025 --dry-run true
    ended_with 0
    HPCBOOT_OVERSUBSCRIBE=no run hb -n 1025 --dry-run true
    ended_with 2
    HPCBOOT_QUIET=yes run hb -v -n 1 true
    says 'debug: host'
    HPCBOOT_VERBOSE=2 run hb -q -n 1 true
    [ -z "$output" ]
    HPCBOOT_CPUS_PER_RANK=2 run hb --dry-run -H a:2 --map-by slot:PE=1 -n 2 \
        --topo-of 'a=synthetic:pack:1 core:4 pu:1' true
    ended_with 0
    says 'rank 1 bound to .*\(CPU 1\)$'
}

@test "hosts that are typed go before those of files and variables" {
    printf '#!/bin/sh\necho n1:3; echo n2:4\n' > script
    chmod +x script
    echo 'a slots=2' > hosts
    HPCBOOT_HOSTFILE=hosts run hb --dry-run --discover-hosts ./script true
    ended_with 0
    says '^host n2: slots 4 '
    says_not 'hostfile = hosts'
    HPCBOOT_HOST=b run hb --dry-run --hostfile hosts true
    ended_with 0
    says '^host a: slots 2 '
    says_not '^host = b'
    HPCBOOT_HOST=b run hb --dry-run -H a:3 true
    says '^host a: slots 3 '
    says_not '^host = b'
    HPCBOOT_HOSTFILE=hosts run hb --dry-run --pod-selector none true
    says '^host a: slots 2 '
    HPCBOOT_HOSTFILE=hosts run hb --dry-run -H b true
    ended_with 2
    says '^hbrun: error: -H: host b is not in --hostfile \(1 host in hosts\)$'
    HPCBOOT_DISCOVER_HOSTS=./script run hb --dry-run -H n1:1 true
    ended_with 0
    says '^host n1: slots 1 '
    HPCBOOT_DISCOVER_HOSTS=./script run hb --dry-run -H n9:1 true
    ended_with 0
    says '^host n9: slots 1 '
    HPCBOOT_POD_SELECTOR=app=x KUBERNETES_SERVICE_HOST='' \
        run hb --dry-run -H n9:1 true
    ended_with 0
    run hb --dry-run --discover-hosts ./script -H n9:1 true
    ended_with 2
    says 'host n9 is not in --discover-hosts'
    HPCBOOT_HOSTFILE=hosts run "$HB_BUILDDIR/hpcboot" hostfile -H b
    ended_with 2
    says 'host b is not in --hostfile'
}

@test "where the default hostfile is from is told as it was said" {
    echo 'a slots=2' > hosts
    run hb --dry-run --default-hostfile hosts true
    ended_with 0
    says '^gang: default hostfile: 1 host in hosts \(--default-hostfile\)$'
}

@test "--help has the names of the dialect it is asked in" {
    run hb --help
    says '^  --np N, -n, -c  '
    says '^  --npernode N, -N  '
    run hb --dialect srun --help
    ended_with 0
    says '^  --np N, -n, --ntasks  '
    says '^  --nodes N, -N  '
    says '^  --cpus-per-rank N,.* -c$'
    says_not '(^  -x|accepted, no effect|refused:)'
    run hb --dialect srun --help -N
    says '^  --nodes N'
    ln -s "$hbrun" mpiexec.hydra
    run ./mpiexec.hydra --help
    ended_with 0
    says '^  --stdin RANK\|all\|none, -s '
    says '^  --ppn N '
}

@test "an option of another dialect is told with its name in this one" {
    run hb --ntasks 2 true
    ended_with 2
    says 'no option of --dialect=openmpi; it is one of --dialect=srun, here --np$'
    run hb -D /tmp true
    says 'it is one of --dialect=srun, here --wdir$'
    run hb --dialect srun -x A=1 true
    says '^hbrun: error: -x is not supported'
    run hb --export ALL true
    says 'it is one of --dialect=srun$'
}

@test "srun -N with the larger number first is a mistake" {
    run hb --dialect srun -N 2-1 --dry-run true
    ended_with 2
    says '^hbrun: error: -N: needs MIN-MAX, the smaller one first, not "2-1"$'
}
