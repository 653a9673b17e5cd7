#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hpcboot stuck: programs that wait for something that does not come, seen from
# outside. What is looked for is asked again until it is seen.

load ../common
setup() {
    common_setup
    hpcboot=$HB_BUILDDIR/hpcboot
    probe=$HB_BUILDDIR/tests/cli/stuckprobe
}
teardown() { [ -z "${pid:-}" ] || { kill "$pid" && wait "$pid"; } || true; }

stuck_in() { # WAY [HBRUN'S WORDS...]
    local way=$1
    shift
    "$hbrun" -n 3 "$@" "$probe" "$way" 2> err &
    pid=$!
}
# Of other tests that run at the same time jobs are seen too: this one's is
# known by the processes that carry its mark.
look() {
    local job mine
    mine=$(marked | tr '\n' ' ')
    job=$(timeout -s KILL "$HB_LIMIT" "$hpcboot" stuck --here --lines |
        awk -F '\t' -v mine=" $mine" 'index(mine, " " $5 " ") { print $1; exit }')
    [ -n "$job" ] || return 1
    output=$(timeout -s KILL "$HB_LIMIT" "$hpcboot" stuck --here "$job")
}
sees() { # EXPRESSION...
    look || return 1
    local expression
    for expression; do
        grep -Eq -- "$expression" <<< "$output" || return 1
    done
}
# All of them at one look: ranks come to where they wait one after the other.
waits_to_see() { # EXPRESSION...
    wait_until sees "$@" || { echo "$output"; return 1; }
}

@test "one rank does not come to a barrier" {
    stuck_in absent
    waits_to_see '^ranks 0 and 1 wait for rank 2 on .*, which waits for nobody' \
        '^ +0 .* in barrier of the world, call 2, waits for rank 2, since [0-9.]+ s$' \
        '^ +1 .* in barrier of the world, call 2, waits for rank 2, since' \
        '^ +2 .* sleeps.*; waits in no call of hpcboot$'
}

@test "a loop over jobs has its input to itself" {
    local command
    for command in stuck ps 'perf barrier --time 1ms -n 1'; do
        run bash -c 'seq 3 | while read -r n; do
            echo "turn $n"; timeout -s KILL "$1" $2 -H localhost
            done' - "$HB_LIMIT" "$hpcboot $command"
        [ "$(grep -c '^turn ' <<< "$output")" = 3 ]
    done
}

@test "two ranks use two teams in different orders" {
    stuck_in order
    waits_to_see '^ranks 0 and 1 wait for each other: none of them can go on$' \
        '^ +0 .* in barrier of team [0-9]+ \(2 ranks\), call 1, waits for rank 1' \
        '^ +1 .* in barrier of team [0-9]+ \(2 ranks\), call 1, waits for rank 0'
}

@test "two ranks receive from each other" {
    stuck_in recv
    waits_to_see '^ranks 0 and 1 wait for each other' \
        '^ +0 .* in recv \(team 1, tag 7\), waits for rank 1, since'
}

@test "of a rank with threads one is seen: no circle is claimed for sure" {
    stuck_in threads
    waits_to_see '^ranks 0 and 1 wait for each other: none .* unless by a thread' \
        '^ +0 .* waits for rank 1, since [0-9.]+ s \(in one of its threads\)$'
}

@test "who waits for any of several is held up by none of them" {
    stuck_in any
    waits_to_see '^ +1 .* in recv \(team 1, tag 7\), waits for rank 0, since' \
        '^ +0 .* waits for any of its requests, since' \
        '^rank 1 waits for rank 0 on .*, which names nobody: pid'
    says_not 'each other'
}

@test "a rank that does not come to finalize" {
    stuck_in end
    waits_to_see '^ranks 0 and 1 are in finalize, and rank 2 is not$'
}

@test "what a stopped rank waited for has come meanwhile" {
    stuck_in stale
    waits_to_see '^ +1 .* in barrier of .*, waits for rank 0, since'
    stopped=$(awk '$1 == 1 { print $3 }' <<< "$output")
    kill -STOP "$stopped"
    touch go
    waits_to_see '^rank 0 waits for rank 1 on .*, which is stopped: pid'
    says_not 'each other'
    kill -CONT "$stopped"
}

@test "a fence, and a rank that does not come to hpcboot_init" {
    stuck_in fence
    waits_to_see '^ +0 .* in fence, since' \
        '^ +2 .*waits in no call of hpcboot$'
    kill "$pid"
    wait "$pid" || true
    stuck_in late
    waits_to_see '^ +2 .* sleeps'
}

@test "a rank that is stopped by SIGSTOP" {
    stuck_in loop
    # Once it has come to hpcboot_init: before, the others wait for nobody.
    waits_to_see '^ +1 .*(in barrier|waits in no call) of '
    stopped=$(awk '$1 == 1 { print $3 }' <<< "$output")
    kill -STOP "$stopped"
    waits_to_see '^ +1 .* T +[0-9]+%  stopped by a signal' \
        'wait for rank 1 on .*, which is stopped: pid '
    kill -CONT "$stopped"
}

@test "a rank that spins, of a program without the library" {
    "$hbrun" -n 2 sh -c 'if [ "$HPCBOOT_RANK" = 1 ]; then
        while :; do :; done; fi; sleep 1000' 2> err &
    pid=$!
    waits_to_see '^ +1 .* R +[0-9]+%  runs$' '^ +0 .* S +[0-9]+%  sleeps'
}

@test "labels that an operator's variable asks for" {
    "$hbrun" -n 1 sleep 1000 2> err &
    pid=$!
    seen() {
        output=$(OMPI_MCA_orte_tag_output=1 timeout -s KILL "$HB_LIMIT" \
            "$hpcboot" stuck -H localhost --lines 2> /dev/null) &&
            cut -f 5 <<< "$output" | grep -qxFf <(marked)
    }
    wait_until seen
}

@test "memory that a rank has scribbled on" {
    stuck_in scribble
    wait_until grep -q 'bytes of nonsense' err # it has done so
    wait_until look
    says_not 'barrier'
    kill -0 "$pid"
}

@test "no job, and a wrong line" {
    run "$hpcboot" stuck --here 1
    ended_with 1
    says 'there is no rank of such a job of this user'
    run "$hpcboot" stuck zebra
    ended_with 2
    run "$hpcboot" stuck --nowhere
    ended_with 2
}
