#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hpcboot ps: jobs that run, seen from outside. Jobs of other tests that run at
# the same time are seen too: this one's is known by its mark.

load ../common
setup() {
    common_setup
    hpcboot=$HB_BUILDDIR/hpcboot
    ulimit -c 0
}
teardown() {
    [ -z "${pid:-}" ] || { kill "$pid" && wait "$pid"; } || true
    marked | xargs -r kill -KILL || true
}

ps_here() { timeout -s KILL "$HB_LIMIT" "$hpcboot" ps --here "$@"; }
runs() { # WORDS...
    "$hbrun" "$@" 2> err &
    pid=$!
}
# The name of the job that has N ranks, once they are there.
sees_job() { # N
    local mine
    mine=$(marked | tr '\n' ' ')
    job=$(ps_here --lines | awk -F '\t' -v mine=" $mine" -v n="$1" '
        index(mine, " " $4 " ") { seen[$1]++ }
        END { for (j in seen) if (seen[j] == n) print j }')
    [ -n "$job" ]
}

@test "a job, and its ranks" {
    runs -n 3 sh -c 'sleep 1000; :'
    wait_until sees_job 3
    output=$(ps_here)
    says "^job +since +hosts +ranks +cpu +memory +program$"
    says "^$job +[0-9]+m[0-9]+s +1 +3 +[0-9]+% +[0-9.]+ [KM]iB +sh -c sleep 1000; :$"
    output=$(ps_here "$job")
    says "^job $job: 3 of 3 ranks$"
    says '^ +2 .* S +[0-9]+m[0-9]+s +[0-9]+% +[0-9.]+ [KM]iB +[0-9,-]+ +sh -c sleep'
    [ "$(grep -c 'sh -c sleep' <<< "$output")" = 3 ]
    says_not 'no agent'
}

@test "hosts are looked at by ranks that need not meet" {
    runs -n 1 sh -c 'sleep 1000; :'
    wait_until sees_job 1
    run timeout -s KILL "$HB_LIMIT" "$hpcboot" ps --launch-with fork -H a,b \
        --lines
    ended_with 0
    [ "$(grep -c "^$job" <<< "$output")" = 2 ]
    says_not 'warning'
}

@test "where two names are one host its ranks are counted once, and no look is a job" {
    runs -n 3 sh -c 'sleep 1000; :'
    wait_until sees_job 3
    look() {
        run timeout -s KILL "$HB_LIMIT" "$hpcboot" "$@" --launch-with fork -H a,b
        ended_with 0
    }
    look ps
    says "^$job +[0-9]+m[0-9]+s +1 +3 "
    no_look() { # somebody else's may be under way
        look ps
        says_not 'hpcboot ps --here'
    }
    wait_until no_look
    look ps "$job"
    says "^job $job: 3 of 3 ranks$"
    look ps --json "$job"
    [ "$(grep -o '"rank":' <<< "$output" | wc -l)" = 3 ]
    look stuck "$job"
    says "^job $job: 3 of 3 ranks$"
}

@test "settings of how a job's output is shown, and of its ranks, are not for a look" {
    runs -n 1 sh -c 'sleep 1000; :'
    wait_until sees_job 1
    local setting
    for setting in HPCBOOT_TAG_OUTPUT=yes HPCBOOT_TIMESTAMP_OUTPUT=yes \
        HPCBOOT_OUTFILE_PATTERN=out.%r HPCBOOT_OUTPUT_FILENAME=out:nocopy \
        HPCBOOT_NP=4 HPCBOOT_SPARES=1 HPCBOOT_DRY_RUN=yes \
        HPCBOOT_MAP_BY=ppr:2:node HPCBOOT_NOLOCAL=yes HPCBOOT_WDIR=/nowhere \
        HPCBOOT_EVENTS=events HPCBOOT_ENV_FILE=/nowhere/vars \
        OMPI_MCA_orte_tag_output=1; do
        run env "$setting" timeout -s KILL "$HB_LIMIT" "$hpcboot" ps \
            -H localhost --lines
        ended_with 0
        [ "$(grep -c "^$job" <<< "$output")" = 1 ]
    done
    [ -z "$(compgen -G 'out*')$(compgen -G 'events*')" ]
}

@test "what ranks take, and the processes below them" {
    runs -n 2 sh -c '[ "$HPCBOOT_RANK" = 0 ] || { while :; do :; done; }
        sleep 1000 & wait'
    wait_until sees_job 2
    spins() {
        ps_here --json "$job" | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert [x["rank"] for x in r] == [0, 1] and r[0]["size"] == 2
assert all(x["resident_kib"] > 0 and not x["lost"] for x in r)
assert r[0]["processes"] == 2 and r[1]["processes"] == 1
assert r[1]["cpu_percent"] > r[0]["cpu_percent"]'
    }
    wait_until spins
}

@test "a program's words obey no terminal" {
    runs -n 1 sh -c 'sleep 1000; :' $'a\tb\e[31mred' $'gr\xc3\xbcn\xff'
    wait_until sees_job 1
    output=$(ps_here "$job")
    says '; : a\?b\?\[31mred grün\?$'
}

@test "a rank that no agent watches is told of" {
    # hbrun leaves none, whatever is killed; so it is made by hand.
    HPCBOOT_COOKIE=0123456789abcdef.1 HPCBOOT_RANK=0 HPCBOOT_SIZE=1 \
        sleep 1000 &
    pid=$!
    wait_until sees_job 1
    output=$(ps_here "$job")
    says "^rank 0 of job $job on .* has no agent any more and will not be ended: kill $pid there$"
}

@test "an agent is known wherever hpcboot is installed" {
    # Spack's paths are of this kind, and no more of one than fits is shown.
    local place
    place="$PWD/a place/$(printf 'deep%.0s' {1..45})"
    mkdir -p "$place"
    ln "$HB_BUILDDIR/hbrun" "$HB_BUILDDIR/hpcbootd" "$place" 2> /dev/null ||
        cp "$HB_BUILDDIR/hbrun" "$HB_BUILDDIR/hpcbootd" "$place"
    HPCBOOT_MODULE_DIR=$HB_BUILDDIR/.libs "$place/hbrun" -n 1 \
        sh -c 'sleep 1000; :' 2> err &
    pid=$!
    wait_until sees_job 1
    output=$(ps_here "$job")
    says_not 'no agent'
}

@test "a program of more words than are shown" {
    # shellcheck disable=SC2046
    runs -n 1 sh -c 'sleep 1000; :' $(seq 20000)
    wait_until sees_job 1
    output=$(ps_here "$job")
    says 'sh -c sleep 1000; : 1 2 3 '
}

@test "no job, and wrong lines" {
    run "$hpcboot" ps --here 1
    ended_with 1
    says 'ps: no such job of this user runs here'
    run "$hpcboot" ps zebra
    ended_with 2
    says 'zebra is not how a job is named here'
    run "$hpcboot" ps 0x12
    ended_with 2
    run "$hpcboot" ps --here -H a
    ended_with 2
    says 'ps: --here looks at this host alone'
    run "$hpcboot" ps --json --lines
    ended_with 2
    says '--json and --lines: one of the two'
    run "$hpcboot" ps --nowhere
    ended_with 2
}
