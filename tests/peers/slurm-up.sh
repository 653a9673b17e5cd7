#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Runs in a pod: starts munged, slurmctld and slurmd of a cluster of one node,
# and waits until a job runs. All they write is in the pod's own /run and /tmp.
set -eu

mkdir -p /run/slurm/spool /run/slurm/state /run/munge
chmod 755 /run/munge
dd if=/dev/urandom of=/run/munge/key bs=1k count=1 status=none
chmod 600 /run/munge/key
munged --force --key-file=/run/munge/key --socket=/run/munge/munge.socket.2 \
    --pid-file=/run/munge/pid --log-file=/run/munge/log \
    --seed-file=/run/munge/seed

mkdir -p /run/etc
cp -a /etc/. /run/etc/
mkdir -p /run/etc/slurm
cat > /run/etc/slurm/slurm.conf <<END
ClusterName=lab
SlurmctldHost=$(hostname)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge/munge.socket.2
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/spool
SlurmctldPidFile=/run/slurm/ctld.pid
SlurmdPidFile=/run/slurm/d.pid
SlurmctldLogFile=/run/slurm/ctld.log
SlurmdLogFile=/run/slurm/d.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
NodeName=$(hostname) CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:8
END
# Not used, but slurmd insists on a kind, and looks for it in vain in a pod.
echo CgroupPlugin=cgroup/v1 > /run/etc/slurm/cgroup.conf
mount --bind /run/etc /etc
slurmctld
slurmd
for _ in $(seq 100); do
    if timeout 5 srun -N1 -n1 true; then exit 0; fi
    sleep 0.2
done
tail -n 5 /run/slurm/ctld.log /run/slurm/d.log >&2
exit 1
