#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""`true` on a gang of pods: hbrun where `hpcbootd serve` serves, beside Open
MPI's mpirun where sshd does. Two labs stand side by side, runs are taken in
turn. Printed are wall times and their ratio, the CPU time of launcher and pods
for each pod, and what an idle server takes of memory. Nothing is asserted;
what was meant: wall at most 1/8, 14 ms for each pod, 8 MB.

usage: serve.py [--pods N] [--rounds N] [--alone]     (root: it makes pods)
  --alone  without mpirun: does it work at all with so many pods
"""
import argparse
import glob
import os
import shutil
import statistics
import subprocess
import sys
import time

SRC = os.environ.get("HB_SRCDIR", os.path.dirname(os.path.abspath(__file__)) + "/../..")
BUILD = os.environ.get("HB_BUILDDIR", SRC + "/build")
PODLAB = SRC + "/tests/pods/podlab"
LIMIT_S = 300     # for a lab to come up
PEER_LIMIT_S = 60  # for a run: peers hang
ALONE_LIMIT_S = 200
NOT_HERE = 77


class Lab:
    def __init__(self, name, pods, *options):
        self.env = dict(os.environ, PODLAB_NAME=f"bench-{name}-{os.getpid()}")
        self.pods = pods
        self.limit_s = PEER_LIMIT_S
        self.group = None
        up = self.podlab("up", str(pods + 1), "--see", SRC, "--see", BUILD,
                         "--owner", str(os.getpid()), *options, check=False)
        if up.returncode != 0:
            print("serve:", up.stderr.strip())
            sys.exit(0 if up.returncode == NOT_HERE else 1)
        self.hosts = ",".join(f"pod-{i}" for i in range(1, pods + 1))

    def podlab(self, *words, check=True, limit_s=LIMIT_S):
        return subprocess.run([PODLAB, *words], check=check, capture_output=True,
                              text=True, timeout=limit_s, env=self.env)

    def cpu_ms(self):
        """Of all pods: their groups have one above them, if there are any."""
        name = "podlab-" + self.env["PODLAB_NAME"]
        for at in (glob.glob("/sys/fs/cgroup/cpu*/**/" + name, recursive=True)
                   if self.group is None else [self.group]):
            if os.path.exists(at + "/cpuacct.usage"):
                self.group = at
                with open(at + "/cpuacct.usage", encoding="ascii") as f:
                    return int(f.read()) / 1e6
        return sum(int(self.podlab("cpu", str(i)).stdout) / 1e3
                   for i in range(self.pods + 1))

    def memory_kb(self):
        """Pss and Rss of each pod's first process."""
        pids = [line.split()[3] for line in self.podlab("list").stdout.splitlines()]
        found = []
        for pid in pids[1:]:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
                rows = dict(line.split(":", 1) for line in f if ":" in line
                            and not line.startswith(("0", "5", "7", "f")))
            found.append([int(rows[k].split()[0]) for k in ("Pss", "Rss")])
        return [max(column) for column in zip(*found)]

    def run(self, *command):
        """Seconds and ms of CPU for each pod, or None."""
        before, begun = self.cpu_ms(), time.monotonic()
        try:
            done = self.podlab("exec", "0", "timeout", "-k", "2",
                               str(self.limit_s), *command, check=False)
        except subprocess.TimeoutExpired:
            return None
        took = time.monotonic() - begun
        if done.returncode != 0:
            print("  a run ended with", done.returncode, done.stderr[-300:])
            return None
        return took, (self.cpu_ms() - before) / self.pods

    def down(self):
        self.podlab("down", check=False)


def show(name, runs):
    good = [r for r in runs if r]
    lost = len(runs) - len(good)
    if not good:
        print(f"  {name:8} no run ended")
        return None
    wall = statistics.median(r[0] for r in good)
    cpu = statistics.median(r[1] for r in good)
    print(f"  {name:8} {wall * 1e3:8.0f} ms [{min(r[0] for r in good) * 1e3:.0f}-"
          f"{max(r[0] for r in good) * 1e3:.0f}], CPU for each pod {cpu:6.1f} ms"
          + (f", {lost} hung or failed" if lost else ""))
    return wall


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", action="store_true")
    args = parser.parse_args()
    mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")

    labs = []
    try:
        serve = Lab("serve", args.pods, "--init", BUILD + "/hpcbootd serve")
        labs.append(serve)
        peer = None
        if mpirun and not args.alone:
            peer = Lab("sshd", args.pods)
            labs.append(peer)
        if args.alone:
            serve.limit_s = ALONE_LIMIT_S
        pss, rss = serve.memory_kb()
        ours, theirs = [], []
        ours_line = [BUILD + "/hbrun", "--wait-hosts", "300", "-H",
                     serve.hosts, "true"]
        if not args.alone:
            serve.run(*ours_line)  # caches are warm
        for _ in range(args.rounds):
            ours.append(serve.run(*ours_line))
            if peer:
                theirs.append(peer.run(mpirun, "--allow-run-as-root", "--bind-to",
                                       "none", "-H", peer.hosts, "true"))
        print(f"true on {args.pods} pods, medians of {args.rounds} runs in turn")
        mine = show("hbrun", ours)
        other = show("mpirun", theirs) if peer else None
        if mine and other:
            print(f"hbrun takes 1/{other / mine:.1f} of mpirun's wall")
        print(f"an idle server, the largest: PSS {pss} kB, RSS {rss} kB")
    finally:
        for lab in labs:
            lab.down()
    return 0


if __name__ == "__main__":
    sys.exit(main())
