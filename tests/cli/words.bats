#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# The command line: what is refused before anything starts, what is taken from
# where, and what is shown without starting anything.

load ../common
setup() { common_setup; }

@test "--version names program and version" {
    run hb --version
    ended_with 0
    says '^(hbrun|hpcboot).* [0-9]+\.[0-9]+'
}

@test "--help shows the options, with status 0" {
    run hb --help
    ended_with 0
    says '--hostfile'
}

@test "--help of something that is not there: status 2, and it is named" {
    run hb --help nosuch
    ended_with 2
    says 'there is no topic or option "nosuch"'
    run hb --help --timeot
    ended_with 2
    says 'no topic or option "--timeot" \(did you mean timeout\?\); --help alone'
    run hb --help srun
    ended_with 0
    says '--kill-on-bad-exit'
}

@test "--help knows the topics of mpirun" {
    local topic
    for topic in general debug output input mapping ranking binding devel \
        compatibility launch dvm unsupported; do
        run -0 hb --help $topic
    done
    run -0 hb --help mapping
    says '--map-by'
    run -0 hb --help launch
    says '--launch-with'
}

@test "help texts fit into 80 columns" {
    local command
    for command in hostfile keys manifest wait topo doctor perf ps stuck explain; do
        run -0 "$HB_BUILDDIR/hpcboot" $command --help
        says_not '.{81}'
    done
    run -0 hb --help all
    says_not '.{81}'
    for command in '' serve; do
        # shellcheck disable=SC2086  # a word or none
        run -0 "$HB_BUILDDIR/hpcbootd" $command --help
        says_not '.{81}'
    done
}

# Prints what the completion of bash offers for the words it would see.
offers() {
    bash -c 'source <("$1" --completion bash)
        f=_${2##*/}
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        COMP_LINE=$* COMP_POINT=${#COMP_LINE}
        "$f"
        echo "${COMPREPLY[*]}"' - "$@"
}

@test "hpcboot help COMMAND is that command's help" {
    run -0 "$HB_BUILDDIR/hpcboot" wait --help
    local help=$output
    run -0 "$HB_BUILDDIR/hpcboot" help wait
    [ "$output" = "$help" ]
    run -2 "$HB_BUILDDIR/hpcboot" help wat
    says 'there is no command wat \(did you mean wait\?\)'
}

@test "completion of a value is the same behind a blank and behind =" {
    local option
    run offers "$HB_BUILDDIR/hbrun" hbrun --on-failure re
    says '^respawn restart-job$'
    run offers "$HB_BUILDDIR/hbrun" hbrun --on-failure = re
    says '^respawn restart-job$'
    run offers "$HB_BUILDDIR/hbrun" hbrun --on-failure =
    says '^abort continue respawn restart-job$'
    run offers "$HB_BUILDDIR/hpcboot" hpcboot topo --format = s
    says '^svg$'
    : > plain.txt
    for option in --np --map-by -H --tag-output --launch-with; do
        run offers "$HB_BUILDDIR/hbrun" hbrun $option = ech
        says '^$'
    done
    run offers "$HB_BUILDDIR/hbrun" hbrun --hostfile = pla
    says '^plain.txt$'
    run offers "$HB_BUILDDIR/hbrun" hbrun --np=2 hpcboo
    says 'hpcbootd'
    run offers "$HB_BUILDDIR/hbrun" hbrun ./prog A = pla
    says '^plain.txt$'
}

@test "completion of --help offers its topics" {
    run offers "$HB_BUILDDIR/hbrun" hbrun --help pl
    says '^placement$'
    run offers "$HB_BUILDDIR/hbrun" hbrun -h --noloc
    says '^--nolocal$'
}

@test "behind a program completion offers files, and no option of hbrun" {
    local h=$HB_BUILDDIR/hbrun
    : > --timeout.txt
    run offers "$h" hbrun -n 2 ./prog --time
    says '^--timeout.txt$'
    run offers "$h" hbrun -n 2 ./prog --on-failure re
    says_not 'respawn'
    run offers "$h" hbrun --mca btl tcp -genv A=1 -s ./prog --time
    says '^--timeout.txt$'
    run offers "$h" hbrun -n 2 ./prog : -H a:2 --time
    says '--timeout '
    says_not 'txt'
    run offers "$h" hbrun -n 2 -- --time
    says '^--timeout.txt$'
    run offers "$h" hbrun --mca btl --time
    says '^$'
    run offers "$h" hbrun -n 2 --time
    says '--timeout '
    says_not 'txt'
}

@test "a blank in quotes parts no words for completion" {
    local h=$HB_BUILDDIR/hbrun line
    : > --timeout.txt
    for line in '--ssh-args "-p 22"' "-x 'A=b c'" '-x A=b\ c' '-x "A=\" b"' \
        "-x A='b c'\" d\" --map-by ppr:2:node"; do
        run offers "$h" hbrun "$line" --time
        says '--timeout '
        says_not 'txt'
        run offers "$h" hbrun "$line" ./prog "-n 'a b'" --time
        says '^--timeout.txt$'
    done
    run offers "$h" hbrun --ssh-args '"-p 22'
    says '^$'
}

@test "completion counts the values of an option as its dialect does" {
    local h=$HB_BUILDDIR/hbrun line
    : > --timeout.txt
    for line in '--mca=btl tcp' '-genv=A 1' '-genv=A=1' '-x=A=1' '-x=A' -vv \
        '--dialect hydra -s all' '--dialect=hydra -s all' '-s -N 2' \
        '--dialect srun -d x' '--dialect srun -s'; do
        run offers "$h" hbrun "$line" --time
        says '--timeout '
        says_not 'txt'
    done
    for line in '-s all' '-d x' '--dialect srun -s all'; do
        run offers "$h" hbrun "$line" --time
        says '^--timeout.txt$'
    done
    ln -s "$h" srun
    run bash -c 'source <(./srun --completion bash)
        COMP_WORDS=(./srun -d x --timeo) COMP_CWORD=3 COMP_LINE="${COMP_WORDS[*]}"
        COMP_POINT=${#COMP_LINE}
        _hbrun
        echo "${COMPREPLY[*]}"'
    says '^--timeout$'
}

@test "the shell to complete for may stand behind =" {
    local program
    for program in hbrun hpcboot; do
        run -0 "$HB_BUILDDIR/$program" --completion bash
        local script=$output
        run -0 "$HB_BUILDDIR/$program" --completion=bash
        [ "$output" = "$script" ]
        run -2 "$HB_BUILDDIR/$program" --completion=csh
        says 'bash.*zsh.*fish'
    done
}

@test "behind -- completion of hpcboot offers none of its options" {
    run offers "$HB_BUILDDIR/hpcboot" hpcboot manifest volcano --im
    says '^--image$'
    run offers "$HB_BUILDDIR/hpcboot" hpcboot manifest volcano -- ./app --im
    says '^$'
}

@test "completion of hpcboot offers commands, and the words that they take" {
    local h=$HB_BUILDDIR/hpcboot
    run offers "$h" hpcboot he
    says '^help$'
    run offers "$h" hpcboot help ma
    says '^manifest$'
    run offers "$h" hpcboot manifest ''
    says '^volcano mpijob trainjob jobset$'
    run offers "$h" hpcboot perf all
    says '^allgather allgatherv allreduce alltoall alltoallv all$'
    run offers "$h" hpcboot explain all
    says '^allgather allgatherv allreduce alltoall alltoallv$'
    run offers "$h" hpcboot perf --al
    says '^--alloc$'
    run offers "$h" hpcboot perf allreduce all
    says '^$'
}

@test "completion of hpcboot offers the words of options that hbrun judges" {
    local h=$HB_BUILDDIR/hpcboot command
    for command in doctor ps wait; do
        run offers "$h" hpcboot $command --host-keys ''
        says '^strict pin$'
        run offers "$h" hpcboot $command --progress = n
        says '^no$'
    done
    run offers "$h" hpcboot doctor --fabric ''
    says '^auto ib roce tcp$'
    run "$h" wait --host-keys some
    ended_with 2
    says '"some" is not one of strict.pin$'
    run "$h" wait --progress off --launch-with fork -H a
    ended_with 0
}

# Types words and a tab into a zsh and prints its line then.
zsh_makes() {
    cat > tab.zsh <<'END'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PROMPT=; TERM=dumb; autoload -U compinit; compinit -u -D
for p in hbrun hpcboot; do source <($1/\$p --completion zsh); done; echo rea''dy"
zpty -r -m z text '*ready*'
zpty -w -n z "$2"$'\t\x01echo \'is: \x05\'; echo do\'\'ne\n'
zpty -r -m z text '*done*'
print -r -- "$text" | tr -d '\r'
END
    timeout -s KILL "$HB_LIMIT" zsh -f tab.zsh "$HB_BUILDDIR" "$1"
}

@test "zsh too: options of hbrun before a program alone, and behind ':'" {
    need zsh
    run zsh_makes "hbrun -n 2 --timeo"
    says '^is: hbrun -n 2 --timeout *$'
    run zsh_makes "hbrun -n 2 nosuch --timeo"
    says '^is: hbrun -n 2 nosuch --timeo *$'
    run zsh_makes "hbrun -n 2 nosuch : --timeo"
    says '^is: hbrun -n 2 nosuch : --timeout *$'
    run zsh_makes "hbrun --help placem"
    says '^is: hbrun --help placement *$'
    # The cursor goes back over " : b" before the tab.
    run zsh_makes "hbrun -n 2 a : --timeo : b"$'\x02\x02\x02\x02'
    says '^is: hbrun -n 2 a : --timeout *: b *$'
}

@test "zsh too: names with one dash, and values behind =" {
    local line
    need zsh
    for line in '-np 2' '--np=2' '-np=2' '-mca a b' '--mca=a b' \
        '-allow-run-as-root' '--tag-output=yes'; do
        run zsh_makes "hbrun $line --timeo"
        says "^is: hbrun $line --timeout *\$"
    done
    run zsh_makes "hbrun -on-failure cont"
    says '^is: hbrun -on-failure continue *$'
    run zsh_makes "hbrun --on-failure=cont"
    says '^is: hbrun --on-failure=continue *$'
    run zsh_makes "hpcboot topo --format=sv"
    says '^is: hpcboot topo --format=svg *$'
    run zsh_makes "hpcboot topo -format sv"
    says '^is: hpcboot topo -format svg *$'
}

@test "zsh too: the words that commands of hpcboot take" {
    need zsh
    run zsh_makes "hpcboot perf pi"
    says '^is: hpcboot perf pingpong *$'
    run zsh_makes "hpcboot manifest vo"
    says '^is: hpcboot manifest volcano *$'
    run zsh_makes "hpcboot help man"
    says '^is: hpcboot help manifest *$'
}

# What fish offers at the end of a line, without the texts.
fish_offers() { # PROGRAM LINE
    # shellcheck disable=SC2016  # for fish
    timeout -s KILL "$HB_LIMIT" fish --no-config --features "${features:-}" -c \
        '$argv[1] --completion fish | source; complete -C $argv[2]' \
        "$HB_BUILDDIR/$1" "$2" | cut -f 1
}

@test "fish too: options of hbrun before a program alone, and behind ':'" {
    local line
    need fish
    for line in '' '-n 2' '-n 2 nosuch :' '--mca a b' '--mca=a b' '-x A=b' \
        '--timeout=3' '--dialect srun -s' '--dialect hydra -s all' '-n "2"'; do
        run fish_offers hbrun "hbrun $line --timeo"
        says '^--timeout$'
    done
    for line in '-n 2 nosuch' '-n 2 --' '--mca a' '--mca=a' \
        '-n 2 nosuch : -n 2 nosuch' '--dialect hydra -s'; do
        run fish_offers hbrun "hbrun $line --timeo"
        says_not 'timeout'
    done
}

@test "fish too, where '?' is no wildcard, as from its 4.0 on" {
    local features=qmark-noglob
    need fish
    run fish_offers hbrun 'hbrun -n 2 --timeo'
    says '^--timeout$'
    run fish_offers hbrun 'hbrun --on-failure re'
    [ "$output" = $'respawn\nrestart-job' ]
}

@test "fish too: words of an option, files, programs; and those of hpcboot" {
    need fish
    run fish_offers hbrun 'hbrun --on-failure re'
    [ "$output" = $'respawn\nrestart-job' ]
    run fish_offers hbrun 'hbrun --on-failure=re'
    [ "$output" = $'--on-failure=respawn\n--on-failure=restart-job' ]
    run fish_offers hbrun 'hbrun --help placem'
    [ "$output" = placement ]
    for line in '--hostfile' '-n 2 cat' '-n 2 a : b'; do
        run fish_offers hbrun "hbrun $line /etc/hostnam"
        says '^/etc/hostname$'
    done
    run fish_offers hbrun 'hbrun -n 2 mpirun.op'
    says '^mpirun.openmpi$'
    run fish_offers hpcboot 'hpcboot do'
    [ "$output" = doctor ]
    run fish_offers hpcboot 'hpcboot topo --format s'
    says '^svg$'
    run fish_offers hpcboot 'hpcboot perf pi'
    [ "$output" = pingpong ]
    run fish_offers hpcboot 'hpcboot help man'
    [ "$output" = manifest ]
    run fish_offers hpcboot 'hpcboot manifest volcano --im'
    says '^--image$'
    run fish_offers hpcboot 'hpcboot manifest volcano -- ./app --im'
    says_not image
    for line in 'keys --key' 'keys --make' 'wait --prefix' 'topo --output'; do
        run fish_offers hpcboot "hpcboot $line /et"
        says '^/etc/$'
    done
    run fish_offers hpcboot 'hpcboot --completion f'
    says '^fish$'
}

@test "a completion for zsh registers itself where it is sourced" {
    local program
    for program in hbrun hpcboot; do
        run "$HB_BUILDDIR/$program" --completion zsh
        ended_with 0
        says "compdef _$program $program$"
        # Brackets in an option's text would end it.
        says_not "^ *'[^[]*\[[^]]*[^\\\\]\["
    done
}

@test "a file that cannot be read is named with the option that wants it" {
    run hb --rankfile /nosuch/ranks true
    ended_with 2
    says '--map-by rankfile: cannot open /nosuch/ranks: No such file'
    run hb --order topology --topology /nosuch/net true
    ended_with 2
    says '--topology: cannot open /nosuch/net: No such file'
    run hb --discover-hosts /nosuch/script true
    ended_with 2
    says 'error: --discover-hosts: /nosuch/script cannot be started'
    run hb --discover-hosts /bin/true true
    ended_with 2
    says 'error: --discover-hosts: /bin/true has printed no host'
    echo '#!/bin/sh' > script
    run hb --preload-binary -n 1 ./script
    ended_with 2
    says 'error: --preload-binary: ./script is not executable; chmod'
}

@test "a script for hosts that fails is told of in its own words" {
    printf '#!/bin/sh\necho h; echo "Error: \033no pods" >&2; echo b >&2; exit 3\n' \
        > script
    chmod +x script
    run hb --discover-hosts ./script true
    ended_with 2
    says 'error: --discover-hosts: ./script failed: status 3: Error: \?no pods$'
    printf '#!/bin/sh\nyes >&2 & echo h >&2; kill -9 $! $$\n' > script
    run hb --discover-hosts ./script true
    ended_with 2
    says 'error: --discover-hosts: ./script was ended by signal 9: [hy]$'
    printf '#!/bin/sh\necho localhost; exec > script.out 2>&1; sleep 1000; :\n' \
        > script
    run hb --discover-hosts ./script true
    ended_with 2
    says 'error: --discover-hosts: ./script has not answered within 10 s$'
    nothing_left
}

@test "a bare name of a script for hosts is one of PATH, else of this folder" {
    mkdir bin
    printf '#!/bin/sh\necho localhost:3\n' > discover
    run hb --discover-hosts discover echo ran
    ended_with 2
    says 'error: --discover-hosts: ./discover cannot be started: Permission denied'
    chmod +x discover
    run hb --discover-hosts discover echo ran
    ended_with 0
    [ "$(grep -c '^ran$' <<< "$output")" -eq 3 ]
    printf '#!/bin/sh\necho localhost:2\n' > bin/discover
    chmod +x bin/discover
    PATH=$PWD/bin:$PATH run hb --discover-hosts discover echo ran
    [ "$(grep -c '^ran$' <<< "$output")" -eq 2 ]
    run hb --discover-hosts nosuch echo ran
    ended_with 2
    says 'error: --discover-hosts: nosuch cannot be started: No such file'
}

@test "an option that has no effect without another one is told of" {
    run hb --topology /nosuch/net -n 1 true
    ended_with 0
    says 'warning: --topology has no effect without --order topology'
    run hb --dry-run --launch-with 'ssh %h' --user me --port 22 -H a true
    ended_with 0
    says 'warning: --user has no effect on --launch-with "ssh %h", which has no %u$'
    says 'warning: --port has no effect on --launch-with "ssh %h", which has no %p$'
    run hb --dry-run --launch-with 'ssh -l %u -p %p %h' --user me --port 22 \
        -H a true
    says_not 'warning'
    run hb --dry-run --launch-with ssh --user me --port 22 -H a true
    says_not 'warning'
}

@test "fewer hosts than were asked for are told of" {
    run hb --dialect srun -N 3 -n 2 true
    ended_with 0
    says 'warning: 3 hosts are asked for, and the gang has 1 \(this host\)'
    run hb --dialect srun -N 1-3 -n 2 true
    ended_with 0
    says_not 'warning'
    run hb torchrun --nnodes 2 --nproc-per-node 1 --no-python true
    says 'warning: 2 hosts are asked for, and the gang has 1'
}

@test "without a program: status 2 and what is missing" {
    run hb -n 2
    ended_with 2
    says '[Pp]rogram'
}

@test "an unknown option: status 2, the nearest match, nothing started" {
    run hb --tiemout 5 touch started
    ended_with 2
    says '--timeout'
    [ ! -e started ]
}

@test "a value that is no number: status 2, option and value named" {
    run hb -n four touch started
    ended_with 2
    says 'four'
    [ ! -e started ]
}

@test "a login within no time at all is refused" {
    run hb --connect-timeout 0 touch started
    ended_with 2
    says '--connect-timeout: needs a time above 0'
    [ ! -e started ]
}

@test "times that would end a job at once are refused" {
    local words
    for words in '--heartbeat 1ms' '--heartbeat 4294967297ms' \
        '--heartbeat 858993460ms' '--grace 4294967296ms' \
        '--orphan-grace 2000h' '--connect-timeout 4294970s' \
        '--connect-timeout 1000h'; do
        # shellcheck disable=SC2086
        run hb $words -n 1 sleep 1
        ended_with 2
        says "^hbrun: error: ${words% *}: needs a time .*, not \"${words#* }\"$"
    done
    for words in '--heartbeat 0' '--heartbeat 100h' '--heartbeat 0.1' \
        '--grace 1000h' '--connect-timeout 500h'; do
        # shellcheck disable=SC2086
        run hb --dry-run $words -n 1 true
        ended_with 0
    done
}

@test "where libssh cannot be loaded, what else starts agents is named" {
    : > hb_ssh.so
    HPCBOOT_MODULE_DIR=$PWD run hb --wait-hosts 0 -H node1.invalid true
    ended_with 2
    says 'host node1.invalid: cannot log in .*hb_ssh.so: .*; --launch-with ssh'
    says '--launch-with ssh starts agents by'
}

@test "an option whose value is missing is named" {
    run hb --hostfile
    ended_with 2
    says 'hostfile'
}

@test "a link-local address without its device is told of" {
    [ -e /proc/net/if_inet6 ] || skip 'no IPv6 here'
    need_module ssh libssh
    run hb -H fe80::2 true
    ended_with 75
    says 'host fe80::2: .*a link-local address needs the device .*as fe80::1%eth0$'
}

@test "a hostfile that is missing is named" {
    run hb --hostfile /nosuch/hosts true
    ended_with 2
    says '--hostfile: cannot open /nosuch/hosts: No such file'
    run hb --default-hostfile /nosuch/hosts true
    ended_with 2
    says 'default hostfile: cannot open /nosuch/hosts: No such file'
    for option in --default-hostfile --hostfile; do # a folder is no file
        run hb --dry-run $option "$PWD" true
        ended_with 2
        says "hostfile: cannot read $PWD: Is a directory"
    done
}

@test "words behind a folder for output that are mistyped are no part of its name" {
    for dir in logs:nocpy logs:nocopy,nojbid; do
        run hb --output-filename $dir -n 1 touch ran
        ended_with 2
        says "output-filename: needs DIR, .*DIR:nocopy,nojobid$"
    done
    [ ! -e ran ]
    run hb --output-filename run:1 -n 1 echo here
    ended_with 0
    says '^here$'
    [ -d run:1/1/rank.0 ]
}

@test "files that a login needs are looked at before anybody is contacted" {
    for option in --identity --ssh-config; do
        run hb --dry-run $option /nosuch/file -H node1.invalid true
        ended_with 2
        says "$option /nosuch/file: cannot be read: No such file"
    done
    run hb --dry-run --ssh-config none -H node1.invalid true
    ended_with 0
}

@test "a binding that a host cannot give is the user's to mend: 2, not 75" {
    hwloc_is_there
    run hb -n 4096 --oversubscribe --bind-to core true
    ended_with 2
    says 'host .*: 4096 ranks of 1 core each'
    nothing_left
}

@test "--dry-run starts nothing and contacts nobody" {
    run hb --dry-run --launch-with 'touch contacted' \
        -H node1.invalid:2,node2.invalid:2 -n 4 touch started
    ended_with 0
    says 'node1.invalid'
    says 'node2.invalid'
    [ ! -e started ] && [ ! -e contacted ]
}

@test "--dry-run tells why only when it is asked to" {
    run hb --dry-run -H node1.invalid,node2.invalid:auto -npernode 3 prog
    ended_with 0
    says_not 'passed over'
    says 'host node2.invalid: slots unknown'
    says 'program 0: prog, 3 on each host'
    run hb --dry-run --explain -n 1 prog
    says 'passed over: '
    says 'program 0: prog, 1 rank$'
}

@test "--dry-run --json is JSON" {
    need python3
    hb --dry-run --json -H node1.invalid:2,node2.invalid:2 -n 4 true > plan
    run python3 -c 'import json; print(json.load(open("plan")))'
    ended_with 0
    says 'node2.invalid'
}

@test "--json is for a plan" {
    run hb --json -n 1 true
    ended_with 2
    says '--json goes with --dry-run'
    HPCBOOT_JSON=yes run hb -n 1 true
    ended_with 0
    HPCBOOT_JSON=yes run hb --dry-run -n 1 true
    says '^\{'
}

@test "--explain says which family and which hosts, and why" {
    run hb --explain -n 1 true
    ended_with 0
    says 'process management: none.*MPI'
}

@test "--explain says where an option came from" {
    HPCBOOT_GRACE=7 run hb --explain -n 1 true
    says 'grace.*HPCBOOT_GRACE'
}

@test "a variable sets an option, the command line wins" {
    HPCBOOT_TIMEOUT=1 run hb -n 1 sleep 1000
    ended_with 124
    HPCBOOT_TIMEOUT=1 run hb --timeout 0 -n 1 sh -c 'sleep 2'
    ended_with 0
}

@test "the user's file is not used where others can write it" {
    local conf=$HOME/.config/hpcboot.conf
    mkdir -p "$HOME/.config"
    echo 'timeout = 1' > "$conf"
    chmod 666 "$conf"
    run hb -n 1 sh -c 'sleep 2'
    ended_with 0
    says "hpcboot.conf may be written by others than its owner .*; it is not used"
    chmod 600 "$conf"
    [ "$(id -u)" != 0 ] || chown 65534 "$conf"
    run hb -n 1 sh -c 'sleep 2'
    [ "$(id -u)" = 0 ] || { ended_with 124 && return; }
    ended_with 0
    says 'hpcboot.conf belongs to uid 65534, and this is uid 0; it is not used'
}

@test "an option from a file or a variable that is wrong: where it came from" {
    local conf=$HOME/.config/hpcboot.conf
    mkdir -p "$HOME/.config"
    printf '\357\273\277# some editors begin a file so\nbind-to = cores\n' \
        > "$conf"
    run hb -n 1 true
    ended_with 2
    says "did you mean \"core\"\? \($conf:2\)$"
    HPCBOOT_BIND_TO=none run hb -n 1 true
    ended_with 0
    echo 'x = NOT_HERE' > "$conf"
    run hb -n 1 true
    ended_with 0
    says "warning: x NOT_HERE: no such variable here, .* \($conf:1\)$"
    rm "$conf"
    HPCBOOT_HOSTFILE=nosuch run hb -n 1 true
    ended_with 2
    says 'nosuch: No such file or directory \(variable HPCBOOT_HOSTFILE\)$'
    HPCBOOT_HOST='a b' run hb -n 1 --dry-run true
    ended_with 2
    says '^hbrun: error: -H, column 2: .* \(variable HPCBOOT_HOST\)$'
    run hb -n 1 --bind-to cores true
    ended_with 2
    says 'did you mean "core"\?$'
}

@test "two hostfiles are an error that names both, one said twice is none" {
    echo 'localhost slots=2' > one
    echo 'localhost slots=1' > two
    for line in '--hostfile one -machinefile two -n 1 true' '-f one -f two true' \
        '--hostfile one -n 1 true : -n 1 --hostfile two true'; do
        # shellcheck disable=SC2086
        run hb $line
        ended_with 2
        says '(file|-f): there are two hostfiles, one and two; put all hosts into one, or .* -H$'
    done
    printf -- '--hostfile one -n 1 true\n--hostfile two -n 1 true\n' > programs
    run hb --app programs
    ended_with 2
    says 'there are two hostfiles, one and two'
    run hb --hostfile one -n 1 echo here : -n 1 -machinefile ./one echo there
    ended_with 0
    says '^here$'
    says '^there$'
    HPCBOOT_HOSTFILE=two run hb --hostfile one -n 2 echo here
    ended_with 0
}

@test "stated slots are a limit" {
    run hb -H localhost:2 -n 3 touch started
    ended_with 2
    says 'slots'
    [ ! -e started ]
    run hb -H localhost:2 --oversubscribe -n 3 true
    ended_with 0
    echo 'localhost slots=2 max_slots=3' > hosts
    run hb --hostfile hosts --oversubscribe -n 4 true
    ended_with 2
    says 'max_slots of localhost allows 3'
    says_not 'OVERSUBSCRIBE'
}

@test "counted slots are none: more ranks than cores run" {
    run hb -n $(($(nproc) * 2 + 1)) sh -c 'echo rank $HPCBOOT_RANK'
    ended_with 0
    [ "$(grep -c '^rank' <<< "$output")" -eq $(($(nproc) * 2 + 1)) ]
}

@test "without -n each slot gets a rank" {
    run hb -H localhost:3 echo here
    ended_with 0
    [ "$(grep -c '^here$' <<< "$output")" -eq 3 ]
}

# Command lines of the operators' sample jobs, as far as one host goes.
@test "mpi-operator: mpirun -n 2 -bind-to none -map-by slot -x ... -mca ..." {
    run hb -n 2 -bind-to none -map-by slot -x LD_LIBRARY_PATH -x PATH \
        -mca pml ob1 -mca btl ^openib \
        sh -c 'echo $OMPI_MCA_pml $OMPI_MCA_btl'
    ended_with 0
    [ "$(grep -c '^ob1 ^openib$' <<< "$output")" -eq 2 ]
}

@test "volcano: mpirun --allow-run-as-root -np 2 --host HOSTS" {
    MPI_HOST=localhost:2
    run hb --allow-run-as-root -np 2 --host $MPI_HOST echo here
    ended_with 0
    [ "$(grep -c '^here$' <<< "$output")" -eq 2 ]
}

@test "horovod: mpirun with NCCL settings and a plm argument" {
    run hb --allow-run-as-root --tag-output -np 2 -H localhost:2 -bind-to none \
        -map-by slot -mca pml ob1 -mca btl ^openib \
        -mca btl_tcp_if_exclude lo,docker0 -mca plm_rsh_no_tree_spawn true \
        -x NCCL_DEBUG=INFO sh -c 'echo $NCCL_DEBUG'
    ended_with 0
    says '^\[1,0\]<stdout>: ?INFO$'
    says '^\[1,1\]<stdout>: ?INFO$'
}

@test "mpiexec.hydra: -n 2 -ppn 2 -genv A B -hosts" {
    run hb -n 2 -ppn 2 -genv COLOUR green -hosts localhost \
        sh -c 'echo $COLOUR'
    ended_with 0
    [ "$(grep -c '^green$' <<< "$output")" -eq 2 ]
}

@test "under the name mpiexec.hydra Hydra's words are understood" {
    ln -s "$hbrun" mpiexec.hydra
    run timeout -s KILL "$HB_LIMIT" ./mpiexec.hydra -l -n 2 echo here
    ended_with 0
    says '^\[?0\]?:? *here'
}

@test "under the names mpirun and mpiexec it is hbrun" {
    ln -s "$hbrun" mpirun
    ln -s "$hbrun" mpiexec
    run timeout -s KILL "$HB_LIMIT" ./mpirun -np 2 echo here
    ended_with 0
    run timeout -s KILL "$HB_LIMIT" ./mpiexec -n 2 echo here
    ended_with 0
}

# Horovod, CMake files and scripts choose their options by these words.
@test "--version names the launcher whose command line the name stands for" {
    local name own others
    for name in mpirun mpiexec mpiexec.hydra srun; do
        ln -s "$hbrun" $name
        run -0 ./$name --version
        [[ ${lines[0]} == hbrun* ]]
        case $name in
            mpiexec.hydra) own='HYDRA.*MPICH' others='Open MPI|slurm' ;;
            srun) own='slurm' others='Open MPI|MPICH|HYDRA' ;;
            *) own='Open MPI' others='MPICH|HYDRA|slurm' ;;
        esac
        says "$own"
        says_not "$others"
    done
    run -0 hb --dialect hydra --version
    says HYDRA
}

@test "an option without meaning here is warned about once, and ignored" {
    run hb --hetero-nodes --hetero-nodes -n 1 echo here
    ended_with 0
    says '^here$'
    [ "$(grep -c 'hetero-nodes' <<< "$output")" -le 1 ]
}
