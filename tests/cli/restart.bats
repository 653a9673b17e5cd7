#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# --on-failure restart-job on this host.

load ../common

setup() { common_setup; }
teardown() { nothing_left; }

again() { hb --on-failure restart-job --restart-delay 10ms "$@"; }

@test "a file on stdin is read from its beginning in each life" {
    seq 1000 > numbers
    # shellcheck disable=SC2016
    run again -n 1 bash -c 'cat | md5sum; exit $((2 - HPCBOOT_RESTART))' \
        < numbers
    [ "$status" -eq 0 ]
    [ "$(grep -c "$(md5sum < numbers | cut -d' ' -f1)" <<< "$output")" -eq 3 ]
}

@test "ranks are told which life it is; the first is 0" {
    run again -n 2 env
    [ "$status" -eq 0 ]
    [ "$(grep -c '^HPCBOOT_EPOCH=0$' <<< "$output")" -eq 2 ]
    [ "$(grep -c '^HPCBOOT_RESTART=0$' <<< "$output")" -eq 2 ]
}

@test "output files of all lives are kept" {
    # shellcheck disable=SC2016
    run again --output-filename out -n 1 bash -c \
        'echo "life $HPCBOOT_RESTART"; [ "$HPCBOOT_RESTART" = 1 ]'
    [ "$status" -eq 0 ]
    grep -q 'life 0' out/1/rank.0/stdout
    grep -q 'life 1' out/1/rank.0/stdout
}

@test "files that are pipes say in all lives what they have said" {
    # shellcheck disable=SC2016
    run again --hostfile <(echo localhost:2) --env-file <(echo A=7) bash -c \
        'echo "life $HPCBOOT_RESTART: $A"; [ "$HPCBOOT_RESTART" = 2 ]'
    ended_with 0
    [ "$(grep -c '^life 2: 7$' <<< "$output")" = 2 ]
    # shellcheck disable=SC2016
    run again -H localhost:2 --map-by seq:FILE=<(yes localhost | head -2) \
        bash -c '[ "$HPCBOOT_RESTART" = 1 ]'
    ended_with 0
}

@test "a pipe that has a name says in all lives what it has said" {
    mkfifo named
    echo localhost:2 > named &
    # shellcheck disable=SC2016
    run again --hostfile named bash -c '[ "$HPCBOOT_RESTART" = 2 ]'
    ended_with 0
}

@test "events tell of the restart, in one file" {
    run again --events ev -n 1 bash -c '[ "$HPCBOOT_RESTART" = 1 ] || exit 4'
    [ "$status" -eq 0 ]
    [ "$(grep -c '"event":"job_restart"' ev)" -eq 1 ]
    grep '"event":"job_restart"' ev | grep '"epoch":1' | grep -q 'status 4'
    [ "$(grep -c '"event":"job_end"' ev)" -eq 1 ]
}

@test "a program that is not there is not tried again" {
    run -127 again -n 1 no-such-program
    [[ "$output" != *restart* ]]
}

@test "told to end while it waits for the next life" {
    timeout -s KILL "$HB_LIMIT" "$hbrun" --on-failure restart-job \
        --restart-delay 1h -n 1 false 2> err &
    pid=$!
    wait_until grep -q 'started again' err
    kill -TERM "$(pgrep -P "$pid")"
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 143 ]
    grep -q 'SIGTERM' err
}

# ends_events STATUS: the events of ./events end as those of a job do.
ends_events() {
    run tail -n 1 events
    says "\"event\":\"job_end\",\"status\":$1,"
}

# The signal comes at once: while the life before is still taken down.
@test "told to end while it waits for the next life: the events have an end" {
    timeout -s KILL "$HB_LIMIT" "$hbrun" --on-failure restart-job \
        --restart-delay 1h --events events -n 1 false 2> err &
    pid=$!
    wait_until grep -q 'started again' err
    kill -TERM "$(pgrep -P "$pid")"
    ends $pid
    ended_with 143
    says 'told to end by .*SIGTERM.*, before it had started the ranks again$'
    ends_events 143
}

@test "told to end while it waits for the next life: the metrics have an end" {
    timeout -s KILL "$HB_LIMIT" "$hbrun" --on-failure restart-job \
        --restart-delay 1h --metrics m -n 1 false 2> err &
    pid=$!
    wait_until grep -q 'started again' err
    wait_until grep -qx 'hpcboot_ranks{state="ended"} 1' m
    wait_until grep -qx 'hpcboot_job_phase{phase="connecting"} 1' m
    kill -TERM "$(pgrep -P "$pid")"
    ends $pid
    ended_with 143
    output=$(cat m)
    says '^hpcboot_job_phase\{phase="running"\} 0$'
    says '^hpcboot_job_phase\{phase="over"\} 1$'
    says '^hpcboot_job_exit_status 143$'
    says '^hpcboot_ranks\{state="ended"\} 1$'
    says '^hpcboot_job_info\{id="hpcboot-[^"]*",.*source=".+"'
}

@test "told to end while the next life waits for its hosts: events and metrics have an end" {
    printf '#!/bin/sh\ncat hosts\n' > discover
    chmod +x discover
    echo localhost:1 > hosts
    timeout -s KILL "$HB_LIMIT" "$hbrun" --on-failure restart-job \
        --restart-delay 10ms --np 1:2 --discover-hosts ./discover \
        --events events --metrics m sh -c ': > hosts; exit 5' 2> err &
    pid=$!
    wait_until grep -q 'waiting for hosts: 0 are named' err
    kill -TERM "$(pgrep -P "$pid")"
    ends $pid
    ended_with 143
    says 'told to end by .*SIGTERM.*, before it had started the ranks again$'
    ends_events 143
    output=$(cat m)
    says '^hpcboot_job_phase\{phase="over"\} 1$'
    says '^hpcboot_job_exit_status 143$'
}

@test "the job's own time, in metrics and events, is that of all lives" {
    need python3
    # shellcheck disable=SC2016
    run hb --on-failure restart-job --restart-delay 500ms --metrics m \
        --events events -n 1 bash -c \
        'cp m "m.$HPCBOOT_RESTART"; [ "$HPCBOOT_RESTART" = 1 ]'
    ended_with 0
    cat > compare.py <<'END'
import json
def value(name, of):
    return float(next(l.split()[1] for l in open(of) if l.startswith(name + " ")))
starts = {value("hpcboot_job_start_time_seconds", of) for of in ("m.0", "m.1", "m")}
assert len(starts) == 1, starts
events = [json.loads(line) for line in open("events")]
lasted = 0.9 * (events[-1]["time"] - events[0]["time"])
assert events[-1]["seconds"] > lasted, events[-1]
assert value("hpcboot_job_duration_seconds", "m") > lasted
END
    python3 compare.py
}

@test "a life that cannot be planned: the events have an end" {
    echo localhost > hosts
    run again --hostfile hosts --events events -n 1 sh -c 'rm hosts; exit 3'
    ended_with 2
    says 'error: .*hosts'
    says_not 'after 1 restart'
    ends_events 2
}

@test "a life whose ranks were never started counts as no restart" {
    local n
    # Starts one agent; what it says later is final when it is said again.
    cat > once <<'END'
#!/bin/sh
mkdir used 2> /dev/null || { echo "hpcbootd: no room" >&2; exit 1; }
shift
exec "$@"
END
    chmod +x once
    for n in 1 2; do
        run again --max-restarts $n --wait-hosts 60 --launch-with './once %h' \
            -H elsewhere --events events false
        ended_with 75
        says "restart $n of at most $n"
        says 'error: 1 of 1 hosts? did not come up'
        says_not 'after [0-9]* restart'
        ends_events 75
        rmdir used
    done
}

no_loop_hears() { # SIGNAL-NUMBER PID
    local caught
    caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$2/status")
    ((!(0x$caught >> ($1 - 1) & 1)))
}

@test "a signal for ranks does not end it while it waits for the next life" {
    local list pid signal
    for list in USR1,USR2,WINCH USR2,ALRM,HUP,RTMIN; do
        rm -f err
        "$hbrun" --on-failure restart-job --restart-delay 1h \
            --forward-signals "$list" -n 1 false 2> err &
        pid=$!
        wait_until grep -q 'started again' err
        wait_until no_loop_hears "$(kill -l USR2)" "$pid"
        for signal in ${list//,/ }; do
            [ "$signal" = HUP ] || kill -"$signal" "$pid"
        done
        kill -TERM "$pid"
        ends "$pid"
        ended_with 143
        says 'told to end by .*SIGTERM'
    done
}

# What comes at once is the same signal again.
is_gone_by_term() {
    kill -TERM "$1" 2> /dev/null || true
    is_gone "$1"
}

# It waits for what names its hosts, and does not look for signals.
@test "two signals while hosts are gathered anew: it ends by the first" {
    cat > discover <<'END'
#!/bin/sh
mkdir asked 2> /dev/null && echo localhost && exit
touch asked/again
exec sleep 1000
END
    chmod +x discover
    env --default-signal=INT "$hbrun" --launch-with fork --restart-delay 0 \
        --on-failure restart-job --discover-hosts ./discover -n 1 false 2> err &
    pid=$!
    wait_until [ -e asked/again ]
    kill -INT "$pid"
    wait_until is_gone_by_term "$pid"
    ends "$pid"
    ended_with 130
    says 'told to end by signal 2: SIGINT'
    says_not SIGTERM
}

@test "a HUP that is ignored does not end it between two lives" {
    # shellcheck disable=SC2016  # for the rank
    (trap '' HUP
        exec "$hbrun" --on-failure restart-job --restart-delay 2 \
            --max-restarts 1 -n 1 sh -c '[ "$HPCBOOT_RESTART" = 0 ] ||
                until [ -e sent ]; do sleep 0.05; done; exit 5' 2> err) &
    pid=$!
    wait_until grep -q 'started again' err
    kill -HUP "$pid"
    touch sent
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 5 ]
}

@test "--timeout holds for all lives together" {
    run hb --on-failure restart-job --restart-delay 100ms --timeout 1 \
        --max-restarts 1000 -n 1 false
    [ "$status" -eq 124 ]
}

@test "--timeout holds while the next life waits for its hosts" {
    printf '#!/bin/sh\ncat hosts\n' > discover
    chmod +x discover
    echo localhost:1 > hosts
    run again --np 1:2 --discover-hosts ./discover --timeout 8 \
        --events events sh -c ': > hosts; exit 5'
    ended_with 124
    says 'waiting for hosts: 0 are named'
    says 'error: the job did not end within 8 s \(--timeout\)$'
    ends_events 124
}

@test "a restart that --timeout forestalls is not told as one" {
    in_time 'exited with status 7; all ranks would be started again in 60 s, and' \
        1 hb --on-failure restart-job --restart-delay 60 --timeout WAIT -n 1 \
        bash -c 'exit 7'
    ended_with 124
    says "did not end within $wait s \(--timeout\)$"
    says_not 'after 1 restart'
}

@test "a policy that does not exist, spares without use, sizes upside down" {
    run hb --on-failure restart -n 1 true
    [ "$status" -eq 2 ]
    [[ "$output" == *restart-job* ]]
    run hb --spares 1 -n 1 true
    [ "$status" -eq 2 ]
    [[ "$output" == *--on-failure* ]]
    run hb --np 4:2 true
    [ "$status" -eq 2 ]
    [[ "$output" == *MIN:MAX* ]]
    run hb --checkpoint-signal NOPE -n 1 true
    [ "$status" -eq 2 ]
    local signal
    for signal in KILL SIGSTOP 9; do
        run hb --checkpoint-signal "$signal" -n 1 true
        ended_with 2
        says 'no rank can catch SIG(KILL|STOP)'
    done
    run hb --on-failure restart-job --spares 1 -n 1 true
    [ "$status" -eq 2 ]
    [[ "$output" == *"the gang has 1 host"* ]]
}

@test "spares that leave fewer hosts than --min-hosts wants" {
    local dry
    for dry in '' --dry-run; do
        run hb --on-failure respawn --spares 1 --min-hosts 2 ${dry:+"$dry"} \
            --launch-with fork -H a,b true
        ended_with 2
        says 'spares 1: the gang has 2 hosts, which leaves 1 .*--min-hosts 2'
    done
    run hb --on-failure respawn --spares 1 --min-hosts 1 --launch-with fork \
        -H a,b true
    ended_with 0
}

@test "a spare is told from a host that did not come up" {
    local spare=(--on-failure respawn --spares 1 --launch-with fork)
    run hb "${spare[@]}" -H a,b -n 3 true
    ended_with 2
    says '3 ranks of true asked for, 1 slot there'
    says '  b  0  -H \(kept as a spare\)$'
    run hb "${spare[@]}" --nolocal -H localhost,b true
    ended_with 2
    says 'localhost is the launcher.s own, and no other one may have ranks$'
}

# loses_first POLICY SPARES HOSTS [OPTION...]: the agent of rank 0 is killed.
loses_first() {
    # shellcheck disable=SC2016
    run hb --on-failure "$1" --spares "$2" -H "$3" "${@:4}" \
        --launch-with fork --restart-delay 10ms sh -c '
        [ "$HPCBOOT_RANK $HPCBOOT_RESTART" != "0 0" ] || kill -KILL "$PPID"
        until [ "$HPCBOOT_RESTART" = 1 ] || [ "$HPCBOOT_NODE" != 0 ]; do
            sleep 1
        done
        echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE"'
    ended_with 0
}

@test "respawn: a spare with fewer slots than the lost host had ranks is none" {
    loses_first respawn 2 a:2,b:1,c:1,d:2
    says 'its ranks are started again on the spare d$'
    loses_first respawn 1 a:2,b:1,c:1
    says 'when it is back: no spare has slots for 2 ranks$'
    loses_first respawn 1 a:2,b:1,c:1 --oversubscribe
    says 'its ranks are started again on the spare c$'
}

@test "restart-job: as many spares as have room for all ranks take part" {
    loses_first restart-job 2 a:2,b:1,c:1,d:1
    says_not 'waiting for the lost ones'
    for i in 0 1 2; do says "^rank $i of 3\$"; done
    loses_first restart-job 1 a:2,b:1,c:1
    says 'do not have room for all ranks; waiting for the lost ones: a$'
    loses_first restart-job 0 a:1
    says 'warning: no host is left; waiting for the lost ones: a$'
}

@test "an elastic size without room for its least" {
    run hb --on-failure restart-job --np 64:100 -H localhost:2 true
    [ "$status" -eq 2 ]
    [[ "$output" == *"slots for 2"* ]]
}

@test "an elastic size takes the slots there are" {
    run hb --np 1:100 -H localhost:3 sh -c 'echo "$HPCBOOT_SIZE"'
    [ "$status" -eq 0 ]
    [ "$(grep -c '^3$' <<< "$output")" -eq 3 ]
    run hb --np 1:2 -H localhost:3 sh -c 'echo "$HPCBOOT_SIZE"'
    [ "$status" -eq 0 ]
    [ "$(grep -c '^2$' <<< "$output")" -eq 2 ]
}

@test "an elastic job whose hosts are not named in time is worth another try" {
    printf '#!/bin/sh\ncat hosts\n' > discover
    chmod +x discover
    : > hosts
    run hb --np 2:4 --discover-hosts ./discover --wait-hosts 1 \
        --on-failure continue true
    ended_with 75
    says 'error: --np 2:4: 0 hosts were named in time'
    echo localhost:1 > hosts
    run hb --np 2:4 --hostfile hosts --wait-hosts 1 --on-failure continue true
    ended_with 75
    says 'error: --np 2:4: 1 host was named in time'
    run hb --np 2:4 --hostfile hosts --on-failure continue true
    ended_with 2
    says '--np 2:4: the hosts have slots for 1'
}

# As one that is written in place; its hosts were there once.
@test "a file that names no hosts, or too few, as the next life begins is read again" {
    local np left words
    # shellcheck disable=SC2016  # expanded in the ranks
    while IFS='|' read -r np left words; do
        rm -f err
        printf 'aa slots=1\nbb slots=1\n' > hosts
        again -x LEFT="$left" --np "$np" --launch-with fork --hostfile hosts \
            sh -c '[ "$HPCBOOT_RESTART" = 0 ] || exit 0
            [ "$HPCBOOT_RANK" = 1 ] || exec sleep 1000
            printf "$LEFT" > hosts
            exit 5' < /dev/null 2> err &
        wait_until grep -qs "waiting for hosts: $words" err
        printf 'aa slots=1\nbb slots=1\n' > hosts
        ends $!
        ended_with 0
    done <<'END'
2||hosts:1:1: expected a host
2:3||hosts:1:1: expected a host
2:3|aa slots=1|1 is named by now, and --np 2:3 needs more
END
}

@test "a script of hosts that fails as the next life begins is asked again" {
    local np
    cat > discover <<'END'
#!/bin/sh
[ ! -e broken ] || exit 3
echo localhost:1
END
    chmod +x discover
    for np in 1 1:2; do
        rm -f err # which is made anew some time after this shell goes on
        again --np $np --discover-hosts ./discover sh -c '
            [ "$HPCBOOT_RESTART" = 0 ] || exit 0
            touch broken; exit 5' < /dev/null 2> err &
        wait_until grep -qs 'waiting for hosts: .*discover failed' err
        rm broken
        ends $!
        ended_with 0
    done
}

@test "a file that names no hosts any more is worth another try" {
    echo 'localhost slots=1' > hosts
    run again --np 1:2 --hostfile hosts --wait-hosts 1 sh -c ': > hosts; exit 5'
    ended_with 75
    says 'error: the ranks are not started again: hosts:1:1: expected a host'
}

@test "who looks for hosts has no links of the job" {
    cat > discover <<'END'
#!/bin/sh
echo localhost:1
[ ! -e running ] || { readlink /proc/$PPID/fd/* > new; mv new fds; }
END
    chmod +x discover
    # shellcheck disable=SC2016  # expanded in the rank
    hb --np 1:2 --discover-hosts ./discover --on-failure continue sh -c \
        'touch running; until [ -s fds ]; do sleep 0.05; done'
    run -1 grep -E 'socket:|eventpoll' fds
}

@test "told to end while ranks have their grace for a change of size" {
    printf '#!/bin/sh\ncat hosts\n' > discover
    chmod +x discover
    echo aa:1 > hosts
    "$hbrun" --np 1:4 --discover-hosts ./discover --launch-with fork \
        --on-failure restart-job --grace 60 sh -c 'trap "" TERM; touch up
        until [ -e over ]; do sleep 0.05; done' 2> err &
    pid=$!
    wait_until test -e up
    echo bb:1 >> hosts
    wait_until grep -q 'bb has come into the gang' err
    kill -TERM $pid
    touch over
    ends $pid
    ended_with 143
    says 'error: hbrun was told to end by signal 15'
}
