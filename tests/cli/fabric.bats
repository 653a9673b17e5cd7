#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hpcboot topo --fabric, on this host and on captured ones.

load ../common
setup() {
    common_setup
    export HPCBOOT_TOPO_CACHE=$BATS_TEST_TMPDIR/cache
    [ -e "$HB_BUILDDIR/.libs/hb_hwloc.so" ] || skip 'built without hwloc'
}

topo() { timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" topo "$@"; }

@test "the net devices of this host are shown with their addresses" {
    run topo --fabric
    [ "$status" -eq 0 ]
    [[ $output == *"net lo: up, MTU "*127.0.0.1/8* ]]
    [[ $output == *"fabric: "* ]]
}

@test "JSON has the fabric when it is asked for, and else not" {
    run topo --fabric -f json
    [ "$status" -eq 0 ]
    [ "$(python3 -c '
import json, sys
f = json.load(sys.stdin)["fabric"]
print("lo" in [d["name"] for d in f["net"]])' <<< "$output")" = True ]
    run topo -f json
    [[ $output != *'"fabric"'* ]]
}

@test "the drawing has a box for each net device" {
    topo --fabric -f svg > drawing.svg
    grep -q '>lo: up, ' drawing.svg
}

@test "--fabric with a framework, whose ports are asked for in between" {
    run hb --fabric tcp --framework torch -n 2 echo ran
    ended_with 0
    [ "$(grep -c '^ran$' <<< "$output")" -eq 2 ]
}

# All of them are this host under other names; the agent is the ranks' parent.
@test "ranks on a spare, and on a host that comes, have the fabric of the others" {
    local fabric='echo "rank $HPCBOOT_RANK by ${GLOO_SOCKET_IFNAME:-none}" >> said'
    hb -H a:1,b:1,c:1 --spares 1 -n 2 --on-failure respawn --fabric tcp \
        --launch-with fork bash -c "$fabric"'
            [ "$HPCBOOT_RANK" = 0 ] || [ "$HPCBOOT_RESTART" != 0 ] ||
                kill -KILL $PPID'
    [ "$(grep -c '^rank 1' said)" -eq 2 ]
    [ "$(grep -c none said)" -eq 0 ]
    [ "$(cut -d ' ' -f 4 said | sort -u | wc -l)" -eq 1 ]
    rm said
    printf '%s slots=1\n' a > hosts
    hb --hostfile hosts --np 1:2 --on-failure continue --fabric tcp \
        --launch-with fork bash -c "$fabric"'
            [ "$HPCBOOT_RANK" != 0 ] || printf "%s slots=1\n" a b > hosts
            until grep -q "rank 1" said; do sleep 0.05; done'
    [ "$(grep -c '^rank 1' said)" -eq 1 ]
    [ "$(grep -c none said)" -eq 0 ]
    [ "$(cut -d ' ' -f 4 said | sort -u | wc -l)" -eq 1 ]
}

@test "without --fabric no library is told anything" {
    run hb -n 1 env
    [ "$status" -eq 0 ]
    [[ $output != *NCCL_* && $output != *GLOO_* && $output != *UCX_NET* ]]
}

# The net device of the default route, as all of these name it.
@test "--fabric tcp names one net device to every library, and says why" {
    run hb --fabric tcp --explain -n 2 env
    [ "$status" -eq 0 ]
    device=$(sed -n 's/^GLOO_SOCKET_IFNAME=//p' <<< "$output" | sort -u)
    [ -n "$device" ]
    [[ $output == *"NCCL_SOCKET_IFNAME==$device"* ]]
    [[ $output == *"UCX_NET_DEVICES=$device"* ]]
    [[ $output == *"OMPI_MCA_btl_tcp_if_include=$device"* ]]
    [[ $output == *"fabric: TCP "*": used, "* ]]
    [[ $output == *"fabric: $device for all ranks"* ]]
}

@test "a variable that is set stays, and that is said" {
    GLOO_SOCKET_IFNAME=mine run hb --fabric tcp -n 1 \
        sh -c 'echo "$GLOO_SOCKET_IFNAME"'
    [ "$status" -eq 0 ]
    [[ $output == *mine* ]]
    [[ $output == *"leaves what is set as it is: GLOO_SOCKET_IFNAME"* ]]
}

@test "a device that is not there is refused by its name" {
    run hb --fabric nosuch0 -n 1 true
    [ "$status" -eq 2 ]
    [[ $output == *"has no device nosuch0, and it is none of auto, ib, "* ]]
}

@test "a machine that is a file of hwloc's has no fabric to show" {
    run topo --fabric --machine synthetic:pu:2
    [ "$status" -eq 2 ]
    [[ $output == *"tells of no fabric"* ]]
}

doctor() { timeout -s KILL "$HB_LIMIT" "$HB_BUILDDIR/hpcboot" doctor "$@"; }

@test "doctor looks at this host, says what it would use, and leaves nothing" {
    run doctor -H localhost
    [ "$status" -eq 0 ] || [ "$status" -eq 1 ] # degraded on a small machine
    [[ $output == *"fabric: "* ]]
    [[ $output == *": 1 host, "* ]]
}

@test "doctor: a program that is not there is bad, in JSON too" {
    run doctor -q -H localhost --program nosuchprogram -f json
    [ "$status" -eq 3 ]
    [ "$(python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["grade"], [(f["check"], f["hosts"]) for f in r["findings"]
                   if f["grade"] == "bad"])' <<< "$output")" = \
        "bad [('program', ['localhost'])]" ]
}

@test "doctor: a fabric that no job could take is bad" {
    run doctor -q -H localhost --fabric nosuch0
    [ "$status" -eq 3 ]
    [[ $output == *"fabric: localhost: the hosts do not share nosuch0"* ]]
}

@test "doctor ends as other commands do when its reader goes away" {
    mkfifo gone
    exec 8<> gone # so that the next one does not wait for a reader
    exec 9> gone
    exec 8<&-
    run bash -c 'exec "$@" 2>&1 >&9' - "$HB_BUILDDIR/hpcboot" doctor -q \
        -H localhost --traffic none
    exec 9>&-
    ended_with 141
    says_not 'error'
}

@test "doctor: a reader that is gone is an error where SIGPIPE is ignored" {
    mkfifo gone
    exec 8<> gone # so that the next one does not wait for a reader
    exec 9> gone
    exec 8<&-
    run bash -c 'trap "" PIPE; exec "$@" 2>&1 >&9' - "$HB_BUILDDIR/hpcboot" \
        doctor -q -H localhost --traffic none
    exec 9>&-
    ended_with 74
    says '^hpcboot: error: doctor: stdout: .*Broken pipe'
}

@test "doctor: a place that cannot be written is told before hosts are asked" {
    local place
    for place in /nonexistent/x "$PWD"; do
        run doctor -o "$place" --launch-with 'touch contacted' -H node1.invalid
        ended_with 74
        says "^hpcboot: error: doctor: --output $place: "
        [ ! -e contacted ]
    done
}

@test "doctor: a probe that does not speak as one is told of by its end" {
    mkdir place
    ln "$HB_BUILDDIR"/{hpcboot,hpcbootd} place 2> /dev/null ||
        cp "$HB_BUILDDIR"/{hpcboot,hpcbootd} place
    printf '#!/bin/sh\necho no frame; exit 3\n' > place/hbprobe
    chmod +x place/hbprobe
    HPCBOOT_MODULE_DIR=$HB_BUILDDIR/.libs run timeout -s KILL "$HB_LIMIT" \
        place/hpcboot doctor -q --launch-with fork -H a,b
    ended_with 3
    says 'it ended with status 3'
}

@test "doctor draws no traffic where none is sent" {
    run doctor -H localhost --traffic none -f svg
    [ "$status" -eq 2 ]
    [[ $output == *"--format svg draws the traffic, and --traffic none leaves it out" ]]
}

@test "--preflight starts the job where nothing is bad, and else not" {
    run hb --preflight -n 2 echo started
    [ "$status" -eq 0 ]
    [ "$(grep -c '^started$' <<< "$output")" -eq 2 ]
    run hb --preflight -n 2 nosuchprogram
    [ "$status" -eq 75 ]
    [[ $output == *"preflight: program: "*"nosuchprogram is not found"* ]]
}
