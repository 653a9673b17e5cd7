# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Runs in one guest, behind guest.bash: two rxe devices, wired to each other.
build=$1
cd /tmp || exit 1
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

it 'RoCE is chosen by its IPv4 GID, with a rail for each rank' has \
    'rank 1 uses rxe1:1 GID 1' hb --fabric auto --explain -n 2 true
# shellcheck disable=SC2016  # expanded by the ranks
it 'ranks are told of their device and GID' has 'rxe1:1 1 n' hb --fabric roce \
    -n 2 sh -c 'echo $UCX_NET_DEVICES $UCX_IB_GID_INDEX \
    $UCX_UD_VERBS_ETH_DGID_CHECK'
# shellcheck disable=SC2016
it 'one device can be named' has 'rxe0:1 rxe0:1' hb --fabric rxe0 -n 2 \
    sh -c 'echo $UCX_NET_DEVICES $HPCBOOT_FABRIC_DEVICES'
it 'InfiniBand that is demanded and not there is refused' fails \
    'the hosts do not share InfiniBand' hb --fabric ib -n 2 true
if [ -x /lab/exchange ]; then
    # Ranks of one host would meet in shared memory.
    it 'an Open MPI program talks over rxe when --fabric roce says so' \
        received rxe0 200 has ' 0 bytes wrong' env UCX_TLS=rc,self \
        timeout -k 2 90 "$build/hbrun" --fabric roce -n 2 /lab/exchange
    it 'and over TCP when --fabric tcp says so' has ' 0 bytes wrong' hb \
        --fabric tcp -n 2 /lab/exchange
fi

# Agents of two hosts in this one machine: a has rxe0, b rxe1; so have the
# probes that they start, and by `mine` the ranks.
cat > enter << 'END'
#!/bin/sh
case $1 in a) d=rxe0:1 ;; *) d=rxe1:1 ;; esac
shift
exec env HPCBOOT_FABRIC_DEVICES=$d "$@"
END
cat > mine << 'END'
#!/bin/sh
d=rxe$((HPCBOOT_NODE % 2)):1
export HPCBOOT_FABRIC_DEVICES=$d UCX_NET_DEVICES=$d
echo $$ > /tmp/rank.$HPCBOOT_RANK
exec "$@"
END
chmod +x enter mine
apart() { # HOSTS TLS ARGUMENT...: libhpcboot between two devices, by TLS
    env UCX_TLS="$2,self" timeout -k 2 120 "$build/hbrun" -H "$1" \
        --launch-with "$PWD/enter %h" --fabric roce "${@:3}"
}
for tls in rc ud; do
    it "libhpcboot: a message over $tls between two devices, on the wire" \
        received rxe0 2 has "rank 1 to 0: ucx ${tls}_verbs/rxe1:1" \
        apart a,b $tls ./mine "$build/tests/cli/apinet" ways
    it "libhpcboot: collectives over $tls between two devices, on the wire" \
        received rxe1 100 has '8 calls on 2 ranks' \
        apart a,b $tls ./mine "$build/tests/pods/netcheck" cases 1 8
    it "libhpcboot: the others shrink and go on over $tls after a death" \
        received rxe1 20 fails '2 of 3 go on' \
        apart a,b,c $tls --on-failure continue ./mine \
        "$build/tests/pods/netcheck" death 10 8
done
# Who has the capability may lock whatever the limit is.
limited() { (ulimit -l 64; exec setpriv --bounding-set -ipc_lock "$@"); }
locked() { # two ranks on two devices, with 64 KiB of locked memory
    limited timeout -k 2 120 "$build/hbrun" -H a,b --fabric roce \
        --launch-with "$PWD/enter %h" ./mine "$build/tests/cli/apinet" ways
}
it 'libhpcboot: RDMA that lacks locked memory is an error, not for ever' fails \
    'RDMA needs locked memory, and ulimit -l is 64 KiB' locked
kill_rank_1() { kill -9 "$(cat /tmp/rank.1)"; }
lose_all() {
    tc qdisc add dev v0 root netem loss 100%
    tc qdisc add dev v1 root netem loss 100%
}
lose_none() {
    tc qdisc del dev v0 root
    tc qdisc del dev v1 root
}
between_two() { apart a,b "$tls" "${@:1:2}" ./mine "${@:3}"; }
for tls in rc ud; do
    it "libhpcboot: a peer that is killed amid transfers over $tls is an error" \
        a_death kill_rank_1 between_two
done
tls=ud
it 'libhpcboot: a wire that is cut is an error' a_death lose_all between_two
lose_none

# A host without the device files, as in a pod that was not given them.
cat > enter-bare << 'END'
#!/bin/sh
host=$1
shift
[ $host = a ] || exec unshare -m sh -c \
    'mount -t tmpfs none /dev/infiniband && exec "$@"' - "$@"
exec "$@"
END
chmod +x enter-bare
with_bare() { hb -H a,b --launch-with "$PWD/enter-bare %h" "$@"; }
falls_back() {
    has 'the job runs over TCP although a has RDMA' with_bare --fabric auto \
        --explain -n 2 "$build/tests/cli/apinet" ways &&
        grep -qE 'rank 0 to 1: tcp ' /tmp/has &&
        grep -qE 'not on b: .*No such file' /tmp/has
}
it 'TCP in place of RoCE is a warning, with the reason' falls_back
it 'or an error where RoCE is demanded' fails \
    'not on b: rxe0: /dev/infiniband/uverbs0: No such file' \
    with_bare --fabric roce -n 2 true

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
# So much that of the few packets some are lost, whatever the dice say.
tc qdisc add dev v0 root netem loss 30%
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
it 'doctor: a link that is down' doctor 1 'rxe2 port 1: its link is down'
rdma link delete rxe2
it 'doctor: 64 KiB of locked memory' doctor 3 \
    'ranks may lock 64 KiB of memory' limited
ip link set v1 mtu 1500
it 'doctor: a small MTU' doctor 1 'rxe1 port 1 has an MTU of 1024'
unhindered() { (ulimit -l 64; exec "$@"); }
it 'doctor: with the capability IPC_LOCK 64 KiB are no fault' doctor 1 \
    'rxe1 port 1 has an MTU of 1024' unhindered
ip link set v1 mtu 4200
# Root opens every file.
chmod 600 /dev/infiniband/uverbs0
it 'doctor: a device file without permission' doctor 3 \
    'rxe0: /dev/infiniband/uverbs0 cannot be opened: Permission denied' \
    setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/tmp
chmod 666 /dev/infiniband/uverbs0
ip addr flush dev v1
it 'doctor: a port that has lost its addresses' doctor 1 \
    'rxe1 port 1 has only a link-local GID'
ip link set v0 down
it 'without any link RoCE is refused, and the port is named' fails \
    'rxe0 port 1: its link is down' hb --fabric roce -n 1 true

# shellcheck disable=SC2154  # of guest.bash
echo "1..$n"
