#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""What waiting costs where there is nothing to wait for: the CPU time of a
whole gang of pods, launcher and workers, for a job that starts at once, with
one try of each host and with a deadline. Both ways are run in turn. Nothing is
asserted; the figure to be read is the last line, and is meant to be below 5 %.

usage: waiting.py [--pods N] [--rounds N]     (root: it makes pods)
"""
import argparse
import os
import statistics
import subprocess
import sys

SRC = os.environ.get("HB_SRCDIR", os.path.dirname(os.path.abspath(__file__)) + "/../..")
BUILD = os.environ.get("HB_BUILDDIR", SRC + "/build")
PODLAB = SRC + "/tests/pods/podlab"
WAYS = {"one try": "0", "waiting": "300"}
LIMIT_S = 120
NOT_HERE = 77


def podlab(*words, check=True):
    return subprocess.run([PODLAB, *words], check=check, capture_output=True,
                          text=True, timeout=LIMIT_S)


def cpu_ms(pods):
    """Launcher, workers"""
    each = [int(podlab("cpu", str(i)).stdout) / 1e3 for i in range(pods + 1)]
    return each[0], sum(each[1:]) / pods


def once(pods, wait):
    hosts = ",".join(f"pod-{i}" for i in range(1, pods + 1))
    before = cpu_ms(pods)
    podlab("exec", "0", BUILD + "/hbrun", "--wait-hosts", wait, "-H", hosts, "true")
    after = cpu_ms(pods)
    launcher, worker = (b - a for a, b in zip(before, after))
    return launcher / pods, worker


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()

    os.environ["PODLAB_NAME"] = f"bench-{os.getpid()}"
    up = podlab("up", str(args.pods + 1), "--see", SRC, "--see", BUILD, "--owner",
                str(os.getpid()), check=False)
    if up.returncode != 0:
        print("waiting:", up.stderr.strip())
        return 0 if up.returncode == NOT_HERE else 1
    try:
        if podlab("cpu", "0", check=False).returncode != 0:
            print("waiting: no cgroup here counts CPU time")
            return 0
        totals = {way: [] for way in WAYS}
        for way, wait in WAYS.items():
            once(args.pods, wait)  # caches are warm for both
        for turn in range(args.rounds):
            # Who goes first changes: the second one finds warmer caches.
            for way, wait in sorted(WAYS.items(), reverse=turn % 2 == 1):
                totals[way].append(once(args.pods, wait))
    finally:
        podlab("down", check=False)
    print(f"{args.pods} pods that are ready, hbrun true, ms of CPU for each pod, "
          f"medians of {args.rounds} runs in turn")
    sums = {}
    for way, runs in totals.items():
        launcher = statistics.median(r[0] for r in runs)
        worker = statistics.median(r[1] for r in runs)
        sums[way] = statistics.median(sum(r) for r in runs)
        print(f"  {way:8} launcher {launcher:6.2f}, pod {worker:6.2f}, "
              f"together {sums[way]:6.2f}")
    print(f"waiting adds {(sums['waiting'] / sums['one try'] - 1) * 100:+.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
