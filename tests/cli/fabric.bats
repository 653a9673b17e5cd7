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

@test "a machine that is a file of hwloc's has no fabric to show" {
    run topo --fabric --machine synthetic:pu:2
    [ "$status" -eq 2 ]
    [[ $output == *"tells of no fabric"* ]]
}
