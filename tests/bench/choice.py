#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Whether the model chooses the way that is fastest here.

For each collective, size and number of ranks on this host: every way and piece
that `hpcboot explain` weighs is forced with HPCBOOT_COLL_TUNE and measured, one
after the other, round after round. A line has what the model took, what it
predicted for it and what that took, then what was fastest, and `loss`: how many
times longer the choice takes than that. With --all, every candidate has a line.
A loss near 1 is within what runs differ by. Where ranks share cores, means are
compared: most calls of a turn find all there.

usage: choice.py [--ranks 2,4,8] [--colls NAME,...] [--sizes 4096,65536,...]
                 [--rounds N] [--alloc] [--all] [--env NAME=VALUE]
"""
import argparse
import re
import statistics
import subprocess
import sys

import ranks
from ranks import BUILD, Layout

COLLS = ("bcast,scatter,gather,allgather,reduce,allreduce,reduce_scatter_block,"
         "alltoall,scan")
SIZES = "64,4096,65536,1048576"
LIMIT_S = 20
ROW_MS = 20
CROWD_MS = 100
MEDIAN, MEAN = 4, 5  # columns of what perf prints
CANDIDATE = re.compile(r"(\w+) +(\d+|-) +\d+ +([\d.]+)( +chosen)?$")


def candidates(coll, size, n, alloc):
    """[(way with its piece, predicted us, is chosen)]"""
    out = subprocess.run(
        [BUILD + "/hpcboot", "explain", coll, "-n", str(size), "--ranks",
         str(n), *(["--alloc"] if alloc else [])],
        check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if out.returncode != 0:
        sys.exit("choice: " + out.stderr.strip())
    found = []
    for line in out.stdout.splitlines():
        match = CANDIDATE.match(line)
        if match:
            way, piece, us, chosen = match.groups()
            found.append((way if piece == "-" else f"{way}/{piece}",
                          float(us), bool(chosen)))
    if not any(chosen for _, _, chosen in found):
        sys.exit(f"choice: {coll} of {n} ranks is no choice between ways")
    return found


def measure(layout, coll, size, way, args):
    ms, column = (CROWD_MS, MEAN) if layout.crowd else (ROW_MS, MEDIAN)
    line = ranks.hbrun(layout, [BUILD + "/hpcboot", "perf", f"{coll}:{size}",
                                "--pin", "--csv", "--time", f"{ms}ms",
                                *(["--alloc"] if args.alloc else [])],
                       [f"HPCBOOT_COLL_TUNE={coll}={way}", *args.env])
    out, status, words = layout.run(line, {}, LIMIT_S)
    if status != 0:
        sys.exit(f"choice: {' '.join(line)}: ended with {status}: {words}")
    return float(out.splitlines()[-1].split(",")[column])


def one_row(layout, coll, size, args):
    """The loss."""
    ways = candidates(coll, size, layout.ranks, args.alloc)
    us = {way: [] for way, _, _ in ways}
    for _ in range(args.rounds):
        for way in us:
            us[way].append(measure(layout, coll, size, way, args))
    took = {way: statistics.median(v) for way, v in us.items()}
    best = min(took, key=took.get)
    for way, predicted, chosen in ways:
        if chosen:
            loss = took[way] / took[best]
            print(f"{coll:21}{layout.ranks:>4}{size:>9}  {way:<14}"
                  f"{predicted:>10.2f}{took[way]:>10.2f}  {best:<14}"
                  f"{took[best]:>10.2f}{loss:>7.2f}", flush=True)
    if args.all:
        for way, predicted, _ in ways:
            print(f"{'':36}{way:<14}{predicted:>10.2f}{took[way]:>10.2f}"
                  f"   {ranks.span(us[way]).strip()}")
    return loss


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--colls", default=COLLS)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alloc", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--env", action="append", default=[])
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds: one at least")
    losses = []
    print(f"{'':21}{'n':>4}{'bytes':>9}  {'chosen':<14}{'predicted':>10}"
          f"{'us':>10}  {'fastest':<14}{'us':>10}{'loss':>7}")
    for layout in map(Layout, args.ranks.split(",")):
        for coll in args.colls.split(","):
            for size in map(int, args.sizes.split(",")):
                losses.append(one_row(layout, coll, size, args))
    if losses:
        print(f"geometric mean of {len(losses)} losses "
              f"{ranks.geometric_mean(losses):.3f}, most {max(losses):.2f}")


if __name__ == "__main__":
    sys.exit(main())
