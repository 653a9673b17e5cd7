#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Hosts that come into a running job, are lost, or were given up before it: all
# of them this one, under other names.

load ../common

setup() { common_setup; }
teardown() {
    touch go # for what a failed test has left waiting
    let_up
    nothing_left
}

hosts() { printf '%s slots=1\n' "$@" > hosts; }
job() { # OPTION... -- COMMAND...
    hb --events events --heartbeat 1 "$@" > out 2> err &
    launcher=$!
}
job_ends() {
    ends $launcher
    output=$(cat out err)
}
# What `ranks` run waits for the file "go"; the agent's pid is in agent.RANK.
# shellcheck disable=SC2016  # expanded in the ranks
ranks='echo $PPID > agent.$HPCBOOT_RANK
    echo "rank $HPCBOOT_RANK life $HPCBOOT_RESTART" >> begun
    until [ -e go ]; do sleep 0.05; done'
begun() { [ -e begun ] && [ "$(grep -c "$1" begun)" -ge "$2" ]; } # WORDS N

# What waits for the file "up", by a look at it or in the FIFO, goes on.
let_up() {
    touch up
    [ ! -p hangs ] || : <> hangs
}
# More hosts than logins at once: they hang, and so do not get as far as the
# others before the job begins without them.
many_hang() { # HOW_LONG
    hosts a b $(seq -f 'slow-%g' 140)
    mkfifo hangs
    cat > way <<END
#!/bin/sh
case \$1 in slow-*) [ -e up ] || read -r _ < hangs ;; esac
shift
exec "\$@"
END
    chmod +x way
    hang=(--hostfile hosts --wait-hosts 15 --connect-timeout "$1"
        --restart-delay 100ms --launch-with "$PWD/way %h")
}

@test "a host that was given up is not logged in to when another comes back" {
    many_hang 60
    job "${hang[@]}" --min-hosts 2 --on-failure respawn -n 2 bash -c "$ranks"
    wait_until begun 'life 0' 2
    kill -KILL "$(cat agent.1)"
    wait_until begun 'rank 1 life 1' 1
    let_up
    sleep 3 # they would be up by now
    touch go
    job_ends
    ended_with 0
    says 'going on with 2 of 142 hosts'
}

@test "nor is it an error that such a host does not come up" {
    many_hang 4
    job "${hang[@]}" --np 2:4 --on-failure continue bash -c "$ranks"
    wait_until begun 'life 0' 2
    wait_until grep -q '"host_not_taken"' events
    wait_until eval '[ "$(grep -c host_not_taken events)" -ge 2 ]'
    touch go
    job_ends
    ended_with 0
    says_not 'did not come'
}

@test "a newcomer that cannot do what is asked for is left out" {
    hwloc_is_there
    need taskset
    [ "$(nproc)" -ge 2 ] || skip 'one CPU only'
    hosts a
    cat > way <<'END'
#!/bin/sh
one=
[ "$1" = a ] || one="taskset -c $(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')"
shift
exec $one "$@"
END
    chmod +x way
    job --np 1:3 --hostfile hosts --on-failure continue --cpu-list 1 \
        --launch-with "$PWD/way %h" bash -c "$ranks"
    wait_until begun 'life 0' 1
    hosts a b
    wait_until grep -q '"host_not_taken","host":"b"' events
    touch go
    job_ends
    ended_with 0
    says 'warning: host b .*cannot do what is asked for: .*the job goes on'
}

@test "a host that never comes up does not keep another one out" {
    hosts a
    cat > way <<'END'
#!/bin/sh
[ "$1" != bad ] || exit 1
shift
exec "$@"
END
    chmod +x way
    job --np 1:2 --hostfile hosts --on-failure continue \
        --launch-with "$PWD/way %h" bash -c "$ranks"
    wait_until begun 'life 0' 1
    hosts a bad
    wait_until grep -q '"host_not_taken","host":"bad"' events
    hosts bad a good
    wait_until begun 'rank 1' 1
    touch go
    job_ends
    ended_with 0
    grep -q '"host_joins","host":"good"' events
}

@test "a host whose agent was told to end comes back while it is named" {
    for policy in continue respawn; do
        rm -f go begun events
        hosts a b
        job --np 1:2 --hostfile hosts --on-failure $policy --launch-with fork \
            --restart-delay 100ms bash -c "$ranks"
        wait_until begun 'life 0' 2
        kill -TERM "$(cat agent.1)"
        wait_until begun 'rank 1 life 1' 1
        touch go
        job_ends
        says 'host b: its agent was told to end'
    done
}

# Of a host that was lost before, and is lost again after the cause.
@test "the first of the causes is told, not the host that was lost before" {
    # shellcheck disable=SC2016  # expanded in the ranks
    job -H a:1,b:1 --on-failure respawn --max-restarts 1 --launch-with fork \
        --restart-delay 100ms --grace 20 -n 2 bash -c "trap '' TERM; $ranks"'
        [ $HPCBOOT_RANK = 1 ] || exit 3
        until [ -e up ]; do sleep 0.05; done'
    wait_until begun 'life 0' 2
    kill -KILL "$(cat agent.1)"
    wait_until begun 'rank 1 life 1' 1
    touch go
    wait_until grep -q 'told to end' err
    agent=$(cat agent.1)
    kill -STOP "$agent"
    job_ends
    kill -CONT "$agent" || true
    ended_with 3
    says 'error: rank 0 on a exited with status 3'
}

# Both get files, and the second is ready while the first has not got all.
@test "a host that comes back and one that is new are told their own lives" {
    hosts a b
    truncate -s 300M big
    job --np 1:3 --hostfile hosts --on-failure respawn --launch-with fork \
        --restart-delay 100ms --preload-files big bash -c "$ranks"
    wait_until begun 'life 0' 2
    hosts a b c
    wait_until grep -q '"host_joins","host":"c"' events
    kill -KILL "$(cat agent.1)"
    wait_until begun 'rank 1 life 1' 1
    wait_until begun 'rank 2 life 0' 1
    touch go
    job_ends
    ended_with 0
}

@test "a job that has enough hosts does not wait for one that is lost while all are asked" {
    need python3
    cat > way <<END
#!/bin/sh
host=\$1
shift
[ \$host = b ] || exec "\$@"
[ ! -e lost ] || exit 1
exec python3 $fakes/greedy_link.py EXAMINED 0 lost "\$@"
END
    chmod +x way
    enough=(-H "a:1,b:1,c:1" --np 1:3 --on-failure continue --wait-hosts 600
        --launch-with "$PWD/way %h")
    run hb "${enough[@]}" --fabric tcp \
        sh -c 'echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE"'
    ended_with 0
    says 'going on with 2 of 3 hosts'
    says '^rank 0 of 2$'
    says '^rank 1 of 2$'
    [ -e lost ]
    rm lost
    run hb "${enough[@]}" --preflight nosuchprogram
    ended_with 75
    says 'preflight: program: .*: nosuchprogram is not found'
    [ -e lost ]
}
