#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hpcboot perf: every collective gives what it should, and rows come out in
# every form. No time is asserted.

load ../common
setup() {
    common_setup
    hpcboot=$HB_BUILDDIR/hpcboot
}

perf() { timeout -s KILL "$HB_LIMIT" "$hpcboot" perf --time 1ms "$@"; }

@test "every collective of three ranks is checked and timed" {
    run perf all -n 3 --sizes 0:64K:257
    ended_with 0
    for name in barrier bcast scatter scatterv gather gatherv allgather \
        allgatherv reduce allreduce reduce_scatter reduce_scatter_block \
        alltoall alltoallv scan exscan pingpong; do
        says "^# $name, 3 ranks"
    done
    [ "$(grep -c ' ok$' <<< "$output")" -eq $((1 + 16 * 3)) ]
    says_not WRONG
}

@test "buffers of hpcboot_alloc, and ranks that are pinned" {
    run perf allreduce,alltoall:5,pingpong -n 2 --sizes 64K:128K --alloc --pin
    ended_with 0
    [ "$(grep -c ' ok$' <<< "$output")" -eq 5 ]
}

@test "--sync: a barrier before each call, of ranks that a launcher starts, too" {
    run perf barrier,bcast,gather -n 3 --sizes 8:4K:512 --sync
    ended_with 0
    [ "$(grep -c ' ok$' <<< "$output")" -eq 5 ]
    run hb -n 2 "$hpcboot" perf bcast:8 --time 1ms --sync --csv
    ended_with 0
    says '^bcast,2,8,([0-9.]+,){5}[0-9]+,0$'
}

@test "--json is a list of rows, --svg a picture" {
    perf barrier,allreduce -n 2 --sizes 8:4K:8 --json --svg out.svg > out.json
    python3 - << 'END'
import json, xml.dom.minidom
rows = json.load(open("out.json"))
assert [(r["collective"], r["ranks"], r["bytes"]) for r in rows] == [
    ("barrier", 2, 0)] + [("allreduce", 2, n) for n in (8, 64, 512, 4096)]
for r in rows:
    assert 0 < r["min_us"] <= r["median_us"] <= r["p99_us"], r
assert "allreduce" in xml.dom.minidom.parse("out.svg").toxml()
END
}

@test "ranks are none of the framework that is set for jobs" {
    echo 'run false' > framework
    HPCBOOT_RECIPE=framework run "$hpcboot" perf barrier -n 2 --time 1ms
    ended_with 0
    says '^0 .* ok$'
    HPCBOOT_FRAMEWORK=torch run "$hpcboot" perf barrier -n 2 --time 1ms
    ended_with 0
    says_not 'torch'
}

@test "ranks of a launcher measure themselves" {
    run hb -n 2 "$hpcboot" perf bcast:64K --time 1ms --csv
    ended_with 0
    says '^bcast,2,65536,([0-9.]+,){5}[0-9]+,0$'
    run env -u HPCBOOT_RANK PMI_RANK=0 "$hpcboot" perf barrier --time 1ms
    says '^# barrier, 1 ranks'
}

@test "ranks have the variables that their library reads" {
    HPCBOOT_COLL_TUNE='allreduce=square' run perf allreduce:8 -n 2
    [ "$status" -ne 0 ]
    says 'HPCBOOT_COLL_TUNE: .*square'
    HPCBOOT_DIALECT=srun HPCBOOT_COLL_TUNE='allreduce=whole' \
        run perf allreduce:8 -n 2
    ended_with 0
    says_not 'warning'
}

@test "what cannot be measured is said, once" {
    run perf pingpong,barrier -n 1
    ended_with 0
    [ "$(grep -c 'pingpong is left out from 1 bytes on: it takes two ranks' \
        <<< "$output")" -eq 1 ]
    run perf gather -n 2 --sizes 1K:16K --most 4K
    ended_with 0
    says 'gather is left out from 4096 bytes on'
    [ "$(grep -c ' ok$' <<< "$output")" -eq 2 ]
}

@test "a line of which nothing can be measured is an error" {
    run perf pingpong -n 1 --svg picture
    ended_with 2
    says 'error: perf: nothing is left to measure'
    [ ! -e picture ]
    run perf gather -n 2 --sizes 1K --most 1K
    ended_with 2
}

@test "a wrong line is said" {
    run perf alreduce
    ended_with 2
    says 'no collective alreduce \(did you mean allreduce\?\)'
    for bad in '' allreduce:x allreduce,,bcast 'bcast --sizes 4:2' \
        'bcast, --sizes 8' 'barrier:8' 'bcast --time soon' 'bcast --time 0' 'bcast --sizes 1:2:1' \
        'bcast reduce'; do
        # shellcheck disable=SC2086
        run perf $bad
        ended_with 2
    done
    run perf ''
    ended_with 2
}

@test "a signal leaves nothing" {
    for signal in HUP TERM KILL; do
        "$hpcboot" perf all -n 2 --time 300ms > "rows.$signal" 2> err &
        pid=$!
        wait_until lines_in "rows.$signal" 3
        kill -$signal $pid
        ends $pid
        [ "$status" -ne 0 ]
        nothing_left
    done
}

@test "a reader that goes away is the reason that is given" {
    for form in '' --csv; do
        # shellcheck disable=SC2086
        run bash -c '"$@" 2> err | head -n 1; echo "status ${PIPESTATUS[0]}"' \
            - timeout -s KILL "$HB_LIMIT" "$hpcboot" perf all -n 2 \
            --time 1ms $form
        says '^status 141$'
        output=$(cat err)
        says 'standard output cannot be written: Broken pipe'
        says_not 'signal|SIGTERM'
        nothing_left
    done
}

@test "ranks of a launcher are as many as it has started" {
    run hb -n 2 "$hpcboot" perf barrier --time 1ms -n 2
    ended_with 0
    run hb -n 2 "$hpcboot" perf barrier --time 1ms -n 3
    ended_with 2
    says 'perf: -n 3: this is a job of 2 ranks'
    run hb -n 2 "$hpcboot" perf allreduce --time 1ms -n 8,1M
    ended_with 2
    says 'perf: -n 8,1M: expected a number of ranks; bytes are said by --sizes'
}

@test "what cannot be drawn or printed is told before anything is measured" {
    run perf allreduce -n 2 --sizes 8 --svg nowhere/drawing.svg
    ended_with 74
    says '\-\-svg nowhere/drawing.svg: no file can be made beside it: No such'
    says_not ' ok$'
    run perf allreduce -n 2 --sizes 8 --json --csv
    ended_with 2
    says '\-\-json and \-\-csv: one of the two'
}

@test "settings of how output is shown leave the rows as they are" {
    local setting
    for setting in HPCBOOT_TAG_OUTPUT=yes HPCBOOT_TIMESTAMP_OUTPUT=yes \
        HPCBOOT_OUTFILE_PATTERN=out.%r HPCBOOT_UNBUFFERED=yes \
        HPCBOOT_DRY_RUN=yes OMPI_MCA_orte_tag_output=1; do
        HPCBOOT_NP=2 run -0 env "$setting" timeout -s KILL "$HB_LIMIT" \
            "$hpcboot" perf barrier --time 1ms --csv
        says '^barrier,2,0,'
    done
}

@test "no row is no success" {
    mkdir place
    ln "$hpcboot" place 2> /dev/null || cp "$hpcboot" place
    printf '#!/bin/sh\n' > place/hbrun
    chmod +x place/hbrun
    HPCBOOT_MODULE_DIR=$HB_BUILDDIR/.libs run place/hpcboot perf barrier -n 2 \
        --json
    ended_with 70
    says 'no rank has shown'
}

@test "Ctrl-C on a terminal leaves nothing" {
    run timeout -s KILL "$HB_LIMIT" python3 - "$hpcboot" << 'END'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], ["hpcboot", "perf", "all", "-n", "2", "--time",
                           "300ms"])
said = b""
while b" ok" not in said:
    said += os.read(terminal, 4096)
os.write(terminal, b"\x03")
try:
    while os.read(terminal, 4096):
        pass
except OSError:
    pass
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
    says '^status 130$'
    nothing_left
}
