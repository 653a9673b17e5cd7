# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Runs in the guest, with two wired rxe devices, behind guest.bash: prints TAP.
build=$1
cd /tmp || exit 1
n=0

# it WHAT COMMAND...: one test; its output is shown when it fails.
it() {
    local what=$1
    shift
    n=$((n + 1))
    if "$@" > /tmp/out 2>&1; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what"
        sed 's/^/# /' /tmp/out | tail -n 30
    fi
}
has() { # WORDS COMMAND...: it succeeds and prints them
    local words=$1
    shift
    "$@" > /tmp/has 2>&1 || { cat /tmp/has; return 1; }
    grep -qF -- "$words" /tmp/has || { cat /tmp/has; return 1; }
}
fabric() {
    "$build/hpcboot" topo --fabric -f json > /tmp/fabric.json &&
        python3 -c '
import json, sys
f = json.load(open("/tmp/fabric.json"))["fabric"]
ports = {d["name"]: d["ports"][0] for d in f["rdma"]}
sys.exit(not eval(f"({sys.argv[1]})"))' "$1"
}

it 'two rxe devices are made' wire
it 'they are found, and libibverbs is asked' fabric \
    'list(ports) == ["rxe0", "rxe1"] and f["verbs"] == "libibverbs"'
it 'libibverbs and sysfs say the same' fabric 'f["differences"] == []'
it 'an IPv4 GID is RoCE v2 and names its net device' fabric \
    '[(g["type"], g["netdev"]) for g in ports["rxe0"]["gids"]
      if g["gid"] == "::ffff:10.9.0.1"] == [("RoCE v2", "v0")]'
it 'the MTU, the state and the link layer are told' fabric \
    '[ports["rxe1"][k] for k in ("mtu", "state_name", "link_layer_name")] ==
     [4096, "active", "Ethernet"]'

echo "1..$n"
