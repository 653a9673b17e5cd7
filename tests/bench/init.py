#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""hpcboot_init beside MPI_Init, and what memory a rank then has of its own.

Each MPI that is installed and libhpcboot start the same small program
(initperf.c) by their own launchers, one after the other, round after round. A
cell is the median over the rounds of the slowest (or largest) rank, with the
least and the most; `init` is the time in the first call, in milliseconds,
`private` what /proc calls private memory after it, and `then` after two
allreduces, in KiB. A ratio is the best peer's over libhpcboot's. Whoever does
not end within its limit is ended and not asked again in this layout.

usage: init.py [--layouts 2,8,64] [--rounds N]
  --layouts  N: ranks on this host; pN: N pods with a rank each; pNxM: with M
             each (pods need root)
"""
import argparse
import statistics
import sys
import tempfile

import ranks
from ranks import BUILD, SRC, Layout

LIMIT_S = 30
COLUMNS = ("init ms", "private KiB", "then KiB")


def contenders(layout, programs):
    found = [("hpcboot", ranks.hbrun(layout,
                                     [BUILD + "/tests/bench/initperf"]), {})]
    for mpi in ranks.serve(programs, layout):
        found += [(name, [*line, programs[mpi]], mpi.env)
                  for name, line in mpi.ways(layout)]
    return found


def measure(layout, programs, rounds):
    cells, out_of = {}, {}
    for _ in range(rounds):
        for name, command, env in contenders(layout, programs):
            if name in out_of:
                continue
            out, status, words = layout.run(command, env, LIMIT_S)
            for line in out.splitlines():
                figures = line.split()
                if len(figures) == 4 and figures[0] == str(layout.ranks):
                    cells.setdefault(name, []).append(
                        [float(f) for f in figures[1:]])
            if status != 0:
                out_of[name] = ranks.lost(status, words, LIMIT_S)
    return cells, out_of


def report(layout, cells, out_of):
    print(f"\n{layout.title()}: median (least-most) of the slowest rank")
    print(f"{'':16}" + "".join(f"{c:>24}" for c in COLUMNS))
    for name, runs in cells.items():
        print(f"{name:16}" + "".join(ranks.span([r[i] for r in runs])
                                     for i in range(len(COLUMNS))))
    peers = [n for n in cells if n != "hpcboot"]
    if peers and "hpcboot" in cells:
        middle = {n: [statistics.median(r[i] for r in runs)
                      for i in range(len(COLUMNS))]
                  for n, runs in cells.items()}
        print(f"{'ratio':16}" + "".join(
            f"{min(middle[p][i] for p in peers) / middle['hpcboot'][i]:24.2f}"
            for i in range(len(COLUMNS))))
    for name, words in out_of.items():
        print(f"{name}: {words}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layouts", default="2,8,64")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        programs = ranks.compile_all(folder, SRC + "/tests/bench/initperf.c")
        for layout in map(Layout, args.layouts.split(",")):
            why = layout.up()
            if why:
                print(f"\n{layout.title()}: left out: {why}")
                continue
            try:
                cells, out_of = measure(layout, programs, args.rounds)
            finally:
                layout.down()
            report(layout, cells, out_of)


if __name__ == "__main__":
    sys.exit(main())
