#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What hbrun's exit status and last line say about how a job ended.

load ../common
setup() { common_setup; }

@test "a job whose ranks end well is silent and has status 0" {
    run hb -n 1 true
    ended_with 0
    [ -z "$output" ]
}

@test "a rank that exits 3 gives status 3 and is named" {
    run hb -n 2 sh -c '[ "$HPCBOOT_RANK" = 0 ] || exit 3; sleep 1000'
    ended_with 3
    says 'rank 1 on .* exited with status 3'
    nothing_left
}

@test "a rank that segfaults gives 139 and names the signal" {
    run hb -n 2 sh -c '[ "$HPCBOOT_RANK" = 1 ] || kill -SEGV $$; sleep 1000'
    ended_with 139
    says 'rank 0 on .*SIGSEGV'
    nothing_left
}

@test "a rank killed from outside gives 137 and is named" {
    "$hbrun" -n 2 sh -c 'echo $$ > "pid.$HPCBOOT_RANK"; exec sleep 1000' \
        2> err &
    wait_until lines_in pid.1 1
    kill -KILL "$(cat pid.1)"
    ends $!
    ended_with 137
    says 'rank 1 on .*SIGKILL'
    nothing_left
}

# when_1_is_killed COMMAND...: rank 0 runs it as soon as rank 1 is gone.
when_1_is_killed() {
    # shellcheck disable=SC2016  # expanded in the ranks
    run hb --pmi pmi1 -n 2 bash -c '
        if [ "$HPCBOOT_RANK" = 1 ]; then
            echo $$ > pid.1
            sleep 1000 &
            wait
        fi
        until [ -s pid.1 ]; do :; done
        pid=$(< pid.1)
        kill -KILL "$pid"
        while kill -0 "$pid" 2> /dev/null; do :; done
        eval "$0"' "$1"
    ended_with 137
    says '^hbrun: error: rank 1 on .*SIGKILL'
    nothing_left
}

@test "a rank exits because its peer was killed: the peer is the cause" {
    when_1_is_killed 'exit 3'
}

@test "a rank aborts because its peer was killed: the peer is the cause" {
    when_1_is_killed 'echo cmd=init pmi_version=1 pmi_subversion=1 >&"$PMI_FD"
        read -r -u "$PMI_FD"
        echo cmd=abort exitcode=3 >&"$PMI_FD"
        sleep 1000'
}

# The follower's clock is compared with the launcher's over a link that is slow
# one way: half of that must not date its end before what it follows from.
@test "a rank on another host fails because of the first: the first is the cause" {
    need python3
    run hb --on-failure continue --pmi pmi1 -H localhost,127.0.0.1 \
        --launch-with "bash -c '[ %h = localhost ] ||
            way=(python3 $fakes/slow_link.py)
            exec \"\${way[@]}\" bash -c \"\$0\"' %a" -n 2 bash -c '
            ask() { echo "$1" >&"$PMI_FD"; read -r answer <&"$PMI_FD"; }
            ask "cmd=init pmi_version=1 pmi_subversion=1"
            ask "cmd=barrier_in"
            [ "$PMI_RANK" = 1 ] || exit 5
            ask "cmd=barrier_in"
            exit 6'
    ended_with 5
    says '^hbrun: error: rank 0 on localhost exited with status 5'
    says '^hbrun: warning: rank 1 on 127.0.0.1 exited with status 6'
    nothing_left
}

@test "a program that is not there gives 127 and says which" {
    run hb -n 2 ./nosuch-program
    ended_with 127
    says 'nosuch-program.*No such file'
    nothing_left
}

@test "a program that is not in PATH gives 127 and says which" {
    run hb -n 1 nosuch-program
    ended_with 127
    says 'nosuch-program'
}

@test "a program that is not in PATH, part of which may not be searched: 127" {
    need_root
    need setpriv
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" || true
    setpriv --reuid 54323 --clear-groups test -x "$hbrun" ||
        skip 'another user cannot reach the build tree'
    mkdir -m 700 hidden
    mkdir -m 755 open
    run env -u HOME -u USER PATH="$PWD/hidden:$PATH" setpriv --reuid 54323 \
        --clear-groups "$hbrun" -n 1 --wdir / nosuch-program
    ended_with 127
    says "nosuch-program.*; there may not be searched: $PWD/hidden"
    touch open/nosuch-program
    run env -u HOME -u USER PATH="$PWD/hidden:$PWD/open:$PATH" setpriv \
        --reuid 54323 --clear-groups "$hbrun" -n 1 --wdir / nosuch-program
    ended_with 126
    says 'is not executable'
}

@test "a file that is not executable gives 126 and says so" {
    echo text > plain
    run hb -n 1 ./plain
    ended_with 126
    says 'plain.*(ermission denied|not executable)'
}

@test "a script whose interpreter is missing is explained" {
    printf '#!/nosuch/interpreter\n' > script
    chmod +x script
    run hb -n 1 ./script
    says '/nosuch/interpreter|interpreter'
    [ "$status" -eq 126 ] || [ "$status" -eq 127 ]
}

@test "a directory in place of a program is refused in words" {
    mkdir folder
    run hb -n 1 ./folder
    ended_with 126
    says 'folder.*directory'
}

@test "a working directory that is missing is named" {
    run hb -n 2 --wdir /nosuch/folder true
    [ "$status" -eq 126 ] || [ "$status" -eq 127 ]
    says '/nosuch/folder'
    nothing_left
}

@test "the first cause decides, not the ones that follow from it" {
    run hb -n 4 sh -c 'if [ "$HPCBOOT_RANK" = 2 ]; then exit 5; fi
        trap "exit 9" TERM; while :; do sleep 0.1; done'
    ended_with 5
    says 'rank 2 on .* exited with status 5'
}

# Half a second: moments that are too close to be put in order are one.
@test "with --keep-going each failure is told when it happens" {
    after() { echo "until grep -q 'rank $1 on' err; do sleep 0.1; done"; }
    status=0
    hb --keep-going --timeout 60 -n 4 sh -c "case \$HPCBOOT_RANK in
        0) exit 3 ;;
        1) $(after 0); sleep 0.5; kill -KILL \$\$ ;;
        2) $(after 1); exit 4 ;;
        3) $(after 2) ;; esac" 2> err || status=$?
    output=$(cat err)
    ended_with 3
    says 'warning: rank 1 on .*SIGKILL.*; the job goes on'
    says 'warning: rank 2 on .* status 4; the job goes on'
    says '^hbrun: error: rank 0 on .* exited with status 3$'
    nothing_left
}

@test "of very many failures the first ones are told" {
    run hb --keep-going -n 20 sh -c 'exit 3'
    ended_with 3
    [ "$(grep -c 'the job goes on' <<< "$output")" -eq 16 ]
    says 'further failures are not reported one by one'
}

@test "an exit status beyond all signals comes through as it is" {
    run hb -n 1 sh -c 'exit 255'
    ended_with 255
}

@test "--timeout gives 124, says so, and leaves nothing" {
    run hb -n 2 --timeout 1 sleep 1000
    ended_with 124
    says 'time'
    nothing_left
}

@test "a rank that ignores TERM is killed after --grace" {
    run hb -n 1 --timeout 1 --grace 1 sh -c 'trap "" TERM; sleep 1000'
    ended_with 124
    nothing_left
}

@test "--timeout below a second is told as it was given" {
    run hb -n 1 --timeout 250ms sleep 1000
    ended_with 124
    says 'within 0\.25 s'
}

@test "--timeout does not end a job that is quick" {
    run hb -n 2 --timeout 1000 true
    ended_with 0
}

@test "TERM to hbrun ends the ranks with TERM, status 143" {
    "$hbrun" -n 2 sh -c 'trap "echo $HPCBOOT_RANK >> told; exit 0" TERM
        echo $$ >> started; while :; do sleep 0.1; done' 2> err &
    wait_until lines_in started 2
    kill -TERM $!
    ends $!
    ended_with 143
    lines_in told 2
    nothing_left
}

@test "TERM to hbrun that still gathers its hosts, also as process 1" {
    mkfifo hosts
    opened() { pgrep -f "^$hbrun --hostfile $PWD/hosts" > pid &&
        readlink "/proc/$(cat pid)"/fd/* | grep -q "^$PWD/hosts$"; }
    ways=(env)
    unshare -pf --mount-proc true 2> /dev/null &&
        ways+=('unshare -pf --kill-child --mount-proc')
    for way in "${ways[@]}"; do
        # shellcheck disable=SC2086  # words
        $way "$hbrun" --hostfile "$PWD/hosts" -n 1 true 2> err &
        wait_until opened
        kill -TERM "$(cat pid)"
        ends $!
        ended_with 143
        grep -q 'hbrun: error: hbrun was told to end by signal 15: SIGTERM' err
    done
}

@test "USR1 to hbrun that still gathers its hosts does not end it" {
    local pid
    mkfifo hosts
    "$hbrun" --hostfile hosts -n 1 true 2> err &
    pid=$!
    opened() { readlink "/proc/$pid"/fd/* | grep -q "^$PWD/hosts$"; }
    wait_until opened
    kill -USR1 "$pid"
    echo localhost > hosts &
    ends "$pid"
    ended_with 0
}

# signalled CODE: Python, whose signals to process pid end a job that saves
# what it has when it is told to. Who has had no CPU between two signals says nothing
# of hbrun, and sends them to another job.
signalled() {
    local job
    for _ in {1..30}; do
        rm -f started out
        "$hbrun" -n 1 sh -c 'trap "sleep 0.5; echo saved; exit 0" TERM
            echo $$ > started; while :; do sleep 0.05; done' > out 2> err &
        job=$!
        wait_until test -s started
        slow=$(python3 -c "import os, signal, sys, time
pid, begun = int(sys.argv[1]), time.monotonic()
try:
    exec(sys.argv[2])
except ProcessLookupError:  # it has ended meanwhile
    late = 1
print('yes' if late > 0.03 else 'no')" "$job" "$1")
        ends "$job"
        ended_with 143
        [ "$slow" = yes ] || break
    done
    [ "$slow" = no ] || skip 'no two signals could be sent at once'
    grep -qx saved out
    nothing_left
}

# As timeout(1) does; several times, as the kernel may merge two.
@test "a signal that comes twice at once is one: ranks have their grace" {
    signalled 'for i in range(8):
    os.kill(pid, 15)
    time.sleep(0.002)
late = time.monotonic() - begun'
}

@test "a signal that comes twice at once is one where hbrun hears it late" {
    signalled 'os.kill(pid, 15)
time.sleep(0.01)
os.kill(pid, signal.SIGSTOP)
os.kill(pid, 15)
late = time.monotonic() - begun
time.sleep(0.3) # less than ranks take, and far more than a signal
os.kill(pid, signal.SIGCONT)'
}

@test "an end that takes its time is told of, with the reason" {
    hb -n 2 sh -c 'if [ $HPCBOOT_RANK = 0 ]; then
            until [ -e ready ]; do sleep 0.05; done; exit 3; fi
        trap "until grep -q \"a further\" err; do sleep 0.05; done; exit 0" TERM
        touch ready
        while :; do sleep 0.05; done' 2> err &
    ends $!
    ended_with 3
    says 'rank 0 on .* status 3; ranks on 1 host have been told .* a further'
    run hb --quiet -n 2 sh -c 'if [ $HPCBOOT_RANK = 0 ]; then
            until [ -e ready ]; do sleep 0.05; done; exit 3; fi
        trap "sleep 1.5; exit 0" TERM; touch ready
        while :; do sleep 0.05; done'
    says_not 'a further'
}

@test "a second INT ends stubborn ranks at once, status 130" {
    # A background job of a script ignores INT unless told otherwise.
    env --default-signal=INT "$hbrun" -n 2 --grace 1000 sh -c \
        'trap "echo told >> told" TERM INT
        echo $$ >> started; while :; do sleep 0.1; done' 2> err &
    wait_until lines_in started 2
    kill -INT $!
    wait_until lines_in told 2
    sleep 0.2 # two at once are one
    kill -INT $!
    ends $!
    ended_with 130
    nothing_left
}

# hbrun waits for the reader of its events, who does not read.
@test "a signal behind the job's last word does not change what it has ended with" {
    need python3
    mkfifo events
    exec 8<> events
    head -c "$(python3 -c 'import fcntl
print(fcntl.fcntl(8, 1032))')" /dev/zero >&8 # F_GETPIPE_SZ: it is full
    "$hbrun" --events events -n 1 sh -c 'exit 3' 2> err 8>&- &
    wait_until grep -q 'exited with status 3' err
    kill -TERM $! || true
    sleep 0.1 # two at once are one
    kill -TERM $! || true
    exec 8>&-
    ends $!
    ended_with 3
    says_not 'was told to end'
}

@test "USR1 is passed on to the ranks" {
    "$hbrun" -n 2 sh -c 'trap "echo told >> told; exit 0" USR1
        echo $$ >> started; while :; do sleep 0.1; done' &
    wait_until lines_in started 2
    kill -USR1 $!
    ends $!
    ended_with 0
    lines_in told 2
}

# As a batch system warns all processes of a job.
@test "USR1 and USR2 to the agent and those above it end nothing" {
    # shellcheck disable=SC2016  # expanded in the rank
    run hb -n 1 bash -c 'pid=$PPID
        for above in agent guard keeper; do
            kill -USR1 $pid && kill -USR2 $pid || exit
            read -r pid < <(ps -o ppid= -p $pid)
        done
        echo told all'
    ended_with 0
    [ "$output" = 'told all' ]
}

@test "--forward-signals takes any number of names, however they are written" {
    local list=SIGUSR1,usr2,1,USR1 last i
    for i in {1..20}; do list+=,RTMIN+$i; done
    last=$(kill -l RTMIN+20)
    "$hbrun" --forward-signals "$list" -n 1 bash -c 'trap "echo told > told
        exit 0" '"$last"'; echo > started; while :; do sleep 0.1; done' &
    wait_until lines_in started 1
    kill -"$last" $!
    ends $!
    ended_with 0
    lines_in told 1
}

@test "--forward-signals: one that ends the job is passed on instead" {
    "$hbrun" --forward-signals HUP -n 1 bash -c 'trap "echo told > told" HUP
        echo > started; until [ -e told ]; do sleep 0.1; done; exit 3' &
    wait_until lines_in started 1
    kill -HUP $!
    ends $!
    ended_with 3
}

@test "a signal that is not passed on has no effect" {
    local words
    for words in --no-forward-signals '--forward-signals none' \
        '--forward-signals HUP'; do
        # shellcheck disable=SC2086
        "$hbrun" $words -n 1 bash -c 'trap "echo told > told" USR1 USR2
            echo > started; until [ -e end ]; do sleep 0.1; done; exit 3' &
        wait_until lines_in started 1
        kill -USR1 $!
        kill -USR2 $!
        touch end
        ends $!
        ended_with 3
        [ ! -e told ]
        rm started end
    done
}

@test "--forward-signals: what is no signal, or none that can be caught" {
    local words
    for words in USR9 USR1,KILL RTMIN+99 65 0 ','; do
        run hb --forward-signals "$words" -n 1 true
        ended_with 2
        says '^hbrun: error: .*forward-signals'
    done
}

stopped() { grep -q '^State:.*T' "/proc/$1/status"; }
not_stopped() { ! stopped "$1"; }
@test "what ends a job that has gone on without a rank is told, too" {
    # shellcheck disable=SC2016  # expanded in the ranks
    local ranks='[ $HPCBOOT_RANK = 0 ] || { touch up; exec sleep 1000; }
        until [ -e up ]; do sleep 0.02; done
        rm up
        exit 3'
    in_time 'rank 0 on .* exited with status 3; the job goes on' 2 \
        hb --on-failure continue --timeout WAIT -n 2 sh -c "$ranks"
    ended_with 3
    says "warning: the job did not end within $wait s .*; all ranks are ended$"
    says 'error: rank 0 on .* exited with status 3$'
    timeout -s KILL "$HB_LIMIT" "$hbrun" --on-failure continue -n 2 \
        sh -c "$ranks" 2> err &
    wait_until grep -q 'the job goes on' err
    kill -TERM "$(pgrep -P $! -x hbrun)"
    ends $!
    ended_with 3
    says 'warning: hbrun was told to end by .*SIGTERM.*; all ranks are ended$'
    nothing_left
}

@test "a host that is told to end twice is one that the job goes on without" {
    # The parent of a rank is its agent.
    # shellcheck disable=SC2016  # expanded in the ranks
    run hb -H aa:1,bb:1 --launch-with fork --on-failure continue \
        --events events -n 2 bash -c '
        [ "$HPCBOOT_RANK" != 0 ] || exit 0
        trap "kill -TERM $PPID; exit" TERM
        kill -TERM "$PPID"
        while true; do sleep 0.05; done'
    ended_with 75
    [ "$(grep -c 'the job goes on' <<< "$output")" = 1 ]
    [ "$(grep -c '"event":"host_leaving"' events)" = 1 ]
    nothing_left
}

@test "what ends a job that has gone on without a host is what ranks hear of" {
    # The parent of a rank is its agent.
    # shellcheck disable=SC2016  # expanded in the ranks
    "$hbrun" -H aa:1,bb:1 --launch-with fork --on-failure continue \
        --checkpoint-signal USR1 --grace 60 --events events -n 2 bash -c '
        [ "$HPCBOOT_RANK" = 0 ] || { kill -TERM "$PPID"; exec sleep 1000; }
        for s in TERM USR1; do trap "touch over; echo got $s; exit" $s; done
        touch up
        until [ -e over ]; do sleep 0.05; done' > out 2> err &
    wait_until grep -q 'host bb: .*the job goes on' err
    wait_until test -e up
    kill -HUP $!
    ends $!
    ended_with 75
    [ "$(cat out)" = 'got TERM' ]
    says 'error: host bb: its agent was told to end'
    run grep '"event":"job_ending"' events
    says '"why":"hbrun was told to end by signal 1'
    nothing_left
}

@test "TSTP stops the ranks, CONT continues them" {
    local launcher rank
    "$hbrun" -n 1 sh -c 'echo $$ > started; exec sleep 1000' &
    launcher=$!
    wait_until lines_in started 1
    rank=$(cat started)
    kill -TSTP $launcher
    wait_until stopped "$rank"
    kill -CONT $launcher
    wait_until not_stopped "$rank"
    kill -TERM $launcher
    wait $launcher || true
    nothing_left
}

@test "CONT at any moment of a stop continues the job" {
    local launcher rank late
    "$hbrun" -n 1 sh -c 'echo $$ > started; exec sleep 1000' &
    launcher=$!
    wait_until lines_in started 1
    rank=$(cat started)
    for _ in {1..80}; do
        late=$((SECONDS + HB_LIMIT))
        kill -TSTP $launcher
        until stopped "$rank"; do [ $SECONDS -lt $late ]; done
        sleep 0.00$((RANDOM % 10))$((RANDOM % 10))
        kill -CONT $launcher
        wait_until not_stopped "$rank"
        wait_until not_stopped $launcher
    done
    kill -TERM $launcher
    wait $launcher || true
    nothing_left
}

# Nobody's job control looks after a leader of a session.
@test "TSTP by kill stops the ranks until CONT where the kernel stops nothing" {
    local launcher rank list
    for list in TSTP,CONT TSTP; do
        rm -f started
        setsid "$hbrun" --forward-signals $list -n 1 \
            sh -c 'echo $$ > started; exec sleep 1000' &
        launcher=$!
        wait_until lines_in started 1
        rank=$(cat started)
        kill -TSTP $launcher
        wait_until stopped "$rank"
        for _ in {1..20}; do
            stopped "$rank"
            sleep 0.01
        done
        kill -CONT $launcher
        wait_until not_stopped "$rank"
        kill -TERM $launcher
        wait $launcher || true
    done
    nothing_left
}

can_refuse() {
    refuse=$(fake refuse)
    "$refuse" "${1?}" true || skip 'no seccomp filter can be set here'
}
refused() { # CALLS COMMAND...
    run timeout -s KILL "$HB_LIMIT" "$refuse" "$@"
}
events=epoll_wait,epoll_pwait,epoll_pwait2

# So that nothing of the job can be heard of, and none of it has begun.
@test "a launcher that can wait for no events says so, and not that all is well" {
    can_refuse "$events"
    refused "$events" "$hbrun" -n 2 echo here
    ended_with 70
    says '^hbrun: error: .*events cannot be waited for'
    says_not '^here$'
    nothing_left
}

@test "an agent that can wait for no events says so" {
    can_refuse "$events"
    run hb -H aa --launch-with "$refuse $events sh -c %a" echo here
    ended_with 75
    says '^hbrun: error: host aa: .*events cannot be waited for'
    says_not '^here$'
    nothing_left
}

@test "a server of agents that can wait for no events says so" {
    need unshare ssh-keygen
    need_root
    need_module ssh libssh
    unshare -n true 2> /dev/null || skip 'network namespaces cannot be made'
    can_refuse "$events"
    ssh-keygen -q -N '' -t ed25519 -f key
    refused "$events" unshare -n "$HB_BUILDDIR/hpcbootd" serve --key key
    ended_with 75
    says '^hpcbootd: error: events cannot be waited for'
}

# Else ranks end, and nobody ever hears of it.
@test "an agent, or a server of them, that can wait for no process says so" {
    ! is_sanitized || skip 'a sanitizer makes these calls itself'
    can_refuse wait4
    refused wait4 "$hbrun" -n 2 echo here
    ended_with 75
    says '^hbrun: error: .*processes cannot be waited for'
    says_not '^here$'
    refused wait4 "$HB_BUILDDIR/hpcbootd" serve
    ended_with 75
    says '^hpcbootd: error: processes cannot be waited for'
    nothing_left
}

@test "programs that cannot look at their descriptors say so" {
    ! is_sanitized || skip 'a sanitizer makes these calls itself'
    can_refuse fcntl
    refused fcntl "$hbrun" -n 2 echo here
    ended_with 70
    says '^hbrun: error: descriptor 0 cannot be looked at \(fcntl\): '
    refused fcntl "$HB_BUILDDIR/hpcboot" topo
    ended_with 70
    says '^hpcboot: error: descriptor 0 cannot be looked at'
    refused fcntl "$HB_BUILDDIR/hpcbootd" serve
    ended_with 75
    says '^hpcbootd: descriptor 0 cannot be looked at'
}

@test "a launcher that gets no random numbers says so" {
    ! is_sanitized || skip 'a sanitizer makes these calls itself'
    can_refuse getrandom
    refused getrandom "$hbrun" -n 2 echo here
    ended_with 70
    says '^hbrun: error: no random numbers can be had \(getrandom\): '
    says_not '^here$'
}

# As behind ssh -t and kubectl exec -t: whoever started the session is elsewhere.
@test "a key that stops does not do so for ever where no shell could continue it" {
    need python3
    run timeout -s KILL "$HB_LIMIT" python3 "$fakes/terminal.py" '\x1a' \
        "$hbrun" -n 1 sh -c 'trap "echo continued; exit 0" CONT; echo here
            while :; do sleep 0.02; done'
    ended_with 0
    says '^continued$'
    nothing_left
}
