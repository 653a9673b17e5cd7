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

# Packets that a device received while a command ran: at least as many.
received() { # DEVICE COUNT COMMAND...
    local device=$1 count=$2 before
    shift 2
    before=$(counter "$device" rcvd_pkts)
    "$@" || return 1
    [ $(($(counter "$device" rcvd_pkts) - before)) -ge "$count" ]
}
hb() { timeout -k 2 90 "$build/hbrun" "$@"; }

it 'RoCE is chosen by its IPv4 GID, with a rail for each rank' has \
    'rank 1 uses rxe1:1 GID 1' hb --fabric auto --explain -n 2 true
it 'ranks are told of their device and GID' has 'rxe1:1 1 n' hb --fabric roce \
    -n 2 sh -c 'echo $UCX_NET_DEVICES $UCX_IB_GID_INDEX \
    $UCX_UD_VERBS_ETH_DGID_CHECK'
it 'one device can be named' has 'rxe0:1 rxe0:1' hb --fabric rxe0 -n 2 \
    sh -c 'echo $UCX_NET_DEVICES $HPCBOOT_FABRIC_DEVICES'
it 'InfiniBand that is demanded and not there is refused' has \
    'the hosts do not share InfiniBand' bash -c \
    "! timeout 60 $build/hbrun --fabric ib -n 2 true 2>&1 || false; \
    timeout 60 $build/hbrun --fabric ib -n 2 true 2>&1 || true"
if [ -x /lab/exchange ]; then
    # Ranks of one host would meet in shared memory.
    it 'an Open MPI program talks over rxe when --fabric roce says so' \
        received rxe0 200 has ' 0 bytes wrong' env UCX_TLS=rc,self \
        timeout -k 2 90 "$build/hbrun" --fabric roce -n 2 /lab/exchange
    it 'and over TCP when --fabric tcp says so' has ' 0 bytes wrong' hb \
        --fabric tcp -n 2 /lab/exchange
fi

# Agents of two hosts in this one machine: a has rxe0, b rxe1.
cat > enter << 'END'
#!/bin/sh
case $1 in a) d=rxe0:1 ;; *) d=rxe1:1 ;; esac
shift
exec env HPCBOOT_FABRIC_DEVICES=$d "$@"
END
chmod +x enter
between() { # STATUS... -- WORDS: what doctor says of a and b, and ends with
    local want='' status=0
    while [ "$1" != -- ]; do want="$want $1 "; shift; done
    timeout -k 2 90 "$build/hpcboot" doctor -q -H a,b --wait-hosts 60 \
        --launch-with "$PWD/enter %h" > /tmp/doctor 2>&1 || status=$?
    cat /tmp/doctor
    [[ $want == *" $status "* ]] && grep -qE -- "$2" /tmp/doctor
}
all_verbs() {
    between 0 1 -- 'verbs ah: 2 good, 0 failed' &&
        grep -qF 'verbs ud: 2 good, 0 failed' /tmp/doctor &&
        grep -qF 'verbs rc: 2 good, 0 failed' /tmp/doctor
}
it 'doctor: address handles, UD and RC between two devices, on the wire' \
    received rxe1 40 all_verbs
tc qdisc add dev v0 root netem loss 15%
it 'doctor: packets that are lost' between 1 3 -- ' (loss|rdma-traffic): '
tc qdisc del dev v0 root

ip link add d0 type dummy
rdma link add rxe2 type rxe netdev d0
it 'a device whose link is down is passed over' has 'rank 2 uses rxe0:1' \
    hb --fabric roce --explain -n 3 --oversubscribe true
doctor() { # STATUS WORDS [COMMAND...]: what doctor says and ends with
    local want=$1 words=$2 status=0
    shift 2
    "$@" timeout -k 2 60 "$build/hpcboot" doctor -H localhost > /tmp/doctor \
        2>&1 || status=$?
    cat /tmp/doctor
    [ "$status" -eq "$want" ] && grep -qF -- "$words" /tmp/doctor
}
limited() { (ulimit -l 64; exec "$@"); }
it 'doctor: a link that is down' doctor 1 'rxe2 port 1: its link is down'
rdma link delete rxe2
it 'doctor: 64 KiB of locked memory' doctor 3 \
    'ranks may lock 64 KiB of memory' limited
ip link set v1 mtu 1500
it 'doctor: a small MTU' doctor 1 'rxe1 port 1 has an MTU of 1024'
ip link set v1 mtu 4200
# Root opens every file.
chmod 600 /dev/infiniband/uverbs0
it 'doctor: a device file without permission' doctor 3 \
    'rxe0: /dev/infiniband/uverbs0 cannot be opened: Permission denied' \
    setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/tmp
ip addr flush dev v1
it 'doctor: a port that has lost its addresses' doctor 1 \
    'rxe1 port 1 has only a link-local GID'
ip link set v0 down
it 'without any link RoCE is refused, and the port is named' has \
    'rxe0 port 1: its link is down' bash -c \
    "timeout 60 $build/hbrun --fabric roce -n 1 true 2>&1 || true"

echo "1..$n"
