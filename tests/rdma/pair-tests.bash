# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Runs in both of two guests, behind guest.bash. The first is the launcher, the
# second serves logins as a pod does; both trust the key of the gang.
build=$1
cd /tmp || exit 1
hostname "node-$NODE"
printf '127.0.0.1 localhost\n10.9.0.1 node-0\n10.9.0.2 node-1\n' > /etc/hosts
rm -rf /root/.ssh
cp -r /lab/gang-key /root/.ssh
chmod -R go= /root/.ssh
chown -R 0:0 /root/.ssh
wire_pair
if [ "$NODE" = 1 ]; then
    "$build/hpcbootd" serve 2> /lab/serve.log &
    until [ -e /lab/over ]; do sleep 0.5; done
    exit 0
fi

both() { hb -H node-0,node-1 "$@"; }
there() { hb -H node-1 sh -c "$1"; }
roce() { both --fabric roce "$@"; }

it 'RoCE is chosen on two hosts, by the subnet that both are on' has \
    'RoCE 10.9.1.0/24' roce --explain true
for tls in rc ud; do
    export UCX_TLS=$tls,self
    it "libhpcboot: a message over $tls" received rxe0 2 has \
        "rank 0 to 1: ucx ${tls}_verbs/rxe0:1" roce \
        "$build/tests/cli/apinet" ways
    it "libhpcboot: collectives over $tls" received rxe0 100 has \
        '8 calls on 2 ranks' roce "$build/tests/pods/netcheck" cases 2 8
    kill_there() { there 'pkill -9 -x apinet'; }
    it "libhpcboot: a peer that is killed amid transfers over $tls is an error" \
        a_death kill_there roce
done
unset UCX_TLS
it 'libhpcboot: many messages of any size' has ' 0 descriptors more' roce \
    "$build/tests/cli/apinet" soak 2 1
if [ -x /lab/exchange ]; then
    it 'an Open MPI program' received rxe0 200 has ' 0 bytes wrong' roce \
        /lab/exchange
fi

doctor() { # STATUS... -- WORDS [OPTION...]
    local want='' status=0 words
    while [ "$1" != -- ]; do want="$want $1 "; shift; done
    words=$2
    shift 2
    timeout -k 2 120 "$build/hpcboot" doctor -q -H node-0,node-1 "$@" \
        > /tmp/doctor 2>&1 || status=$?
    cat /tmp/doctor
    [[ $want == *" $status "* ]] && grep -qE -- "$words" /tmp/doctor
}
it 'doctor: verbs carry, and what carries libhpcboot is told' doctor 0 1 -- \
    'traffic: 2 directions in 1 rounds by ucx' --fabric roce
it 'doctor: verbs rc' doctor 0 1 -- 'verbs rc: 2 good, 0 failed'
there 'ip addr flush dev eth1; ip addr add 10.88.1.2/24 dev eth1'
# Linux sends to it all the same, as both are on one wire; on a machine with much
# else to do the guests' answers may take longer than doctor waits, which is bad.
it 'doctor: hosts on subnets that no router joins' doctor 1 3 -- \
    'subnet: node-0, node-1: its RDMA port is on a subnet of its own'
there 'ip addr flush dev eth1; ip addr add 10.9.1.2/24 dev eth1
    ip link set eth1 mtu 1500'
it 'doctor: an MTU that the hosts do not share' doctor 3 -- \
    'mtu: .*4096 on node-0.*1024 on node-1'
there 'ip link set eth1 mtu 4200 down'
it 'without a link there the job goes by TCP, and says why' has \
    'the job runs over TCP although node-0 has RDMA' both --fabric auto \
    "$build/tests/cli/apinet" ways
it 'or not at all' fails 'rxe0 port 1: its link is down' roce true
# shellcheck disable=SC2154  # of guest.bash
echo "1..$n"
