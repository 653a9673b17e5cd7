#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Collectives of libhpcboot beside those of the MPIs that are installed.

The same loop (bin/hpcboot/perf_loop.c) runs for Debian's Open MPI (ob1, and
UCX) and MPICH, for Open MPI 5 and MPICH 5 where `make check-peers` has left
their environments in the build folder, and for libhpcboot with ordinary
buffers and with those of hpcboot_alloc: one after the other, round after
round, rank r on the r-th CPU, each started by its own launcher. Of many rows
on this host some are measured by all, then the next; each round begins with
another column. A virtual machine's CPUs may be far from each other for seconds,
or one core: a run for which they were, before it or after, is repeated
(distance.c). Where ranks outnumber CPUs, Open MPI is told to yield, and between
pods runs as it comes beside that.

A cell is the median over the rounds of a run's median, in microseconds, with
the least and the most. Where ranks share a core it is that of a run's mean: a
root runs ahead for its time slice and the others then find all there at once,
so that a median of calls would tell of neither. So it is between pods, where
one look at a socket brings many messages. `ratio` is the best peer's median
over libhpcboot's, `alloc` the same with hpcboot_alloc, and `default` that of
the best peer which is not told to yield, where ranks are crowded. Whoever does not end within its
limit is ended, counted, and not asked again in this layout; the rows it has
printed count. Nothing is asserted: the tables are for people.

usage: collectives.py [--long] [--layouts 2,8,p2,p4,p4x2]
                      [--rows figures|some|all|ROW,...] [--rounds N]
                      [--seconds N]
                      [--only NAME,...] [--free] [--env NAME=VALUE]
                      [--json FILE]
  --layouts  N: ranks on this host; pN: N pods with a rank each; pNxM: with M
             each (pods need root)
  --rows     figures: some collectives that are watched; some: all collectives
             at a few sizes; all: from 1 B to 16 MiB (figures, and some for
             pods with several ranks each); ROW: COLLECTIVE[:BYTES]
  --seconds  stop asking for another round when so many are over (300)
  --long     layouts 2,4,8,p2,p4,p4x2, all rows, three rounds of each
  --only     columns, e.g. "hpcboot,ompi ob1"
  --free     ranks are left where the kernel puts them
  --sync     a barrier before each call, which is timed alone
"""
import argparse
import functools
import json
import statistics
import sys
import tempfile
import time

import ranks
from ranks import BUILD, SRC, Layout

RUN_LIMIT_S = {"figures": 20, "some": 45, "all": 600}
ROW_MS = 20
# A kernel takes some tenths of a second to share a core fairly between new
# groups: so long barriers run first, and do not count.
ROW_OF_CROWDED_PODS_MS = 60
SETTLING_ROWS = 5
ROWS_AT_A_TIME = 16
LONG_S = 4 * 3600
MOST_BYTES = 16 << 20
OURS = ("hpcboot", "alloc")
FIGURES = {
    "host": ["barrier", "allreduce:8", "allreduce:4096", "allreduce:65536",
             "allreduce:1048576", "allreduce:16777216", "bcast:8",
             "bcast:65536", "bcast:1048576", "alltoall:8", "alltoall:65536"],
    "crowd": ["barrier", "allreduce:8", "allreduce:4096", "allreduce:65536",
              "allreduce:1048576", "bcast:8", "bcast:65536", "alltoall:8",
              "alltoall:65536"],
    "pods": ["barrier", "allreduce:8", "allreduce:4096", "allreduce:65536",
             "allreduce:1048576", "allreduce:16777216", "bcast:8",
             "bcast:4096", "bcast:1048576"],
}
VECTORS = ["bcast", "reduce", "allreduce", "scan", "exscan"]
BLOCKS = ["gather", "scatter", "allgather", "alltoall", "reduce_scatter_block",
          "reduce_scatter", "gatherv", "scatterv", "allgatherv", "alltoallv"]
SIZES = {"some": [8, 1024, 65536, 1 << 20],
         "all": [1 << i for i in range(0, 25, 2)]}


def rows_of(layout, which):
    if which not in ("figures", *SIZES):
        return which.split(",")
    if which == "figures":
        return FIGURES["pods" if layout.pods else
                       "crowd" if layout.crowd else "host"]
    return (["barrier"] + [f"{c}:{n}" for c in VECTORS for n in SIZES[which]] +
            [f"{c}:{n}" for c in BLOCKS for n in SIZES[which]
             if n * layout.ranks <= MOST_BYTES])


def comes_in_bursts(layout):
    return layout.crowd or layout.pods > 0


def which_rows(layout, args):
    return args.rows or ("all" if args.long else
                         "some" if layout.pods and layout.each > 1 else
                         "figures")


def commands(layout, programs, rows, args):
    pin, sync = [] if args.free else ["--pin"], ["--sync"] if args.sync else []
    ms = ROW_OF_CROWDED_PODS_MS if layout.pods and layout.crowd else ROW_MS
    ours = ranks.hbrun(layout, [BUILD + "/hpcboot", "perf", rows, *pin,
                                *sync, "--csv", "--time", f"{ms}ms"], args.env)
    found = [("hpcboot", ours, {})]
    if not layout.pods:
        found.append(("alloc", ours + ["--alloc"], {}))
    for mpi in ranks.serve(programs, layout):
        found += [(name, [*line, programs[mpi], str(ms), rows,
                          *(["free"] if args.free else []),
                          *(["sync"] if args.sync else [])], mpi.env)
                  for name, line in mpi.ways(layout)]
    return found


MEDIAN, MEAN, WRONG = 4, 5, 9  # columns of what a run prints


def settling_rows(layout):
    return SETTLING_ROWS if layout.pods and layout.crowd else 0


def take(out, name, cells, column, settling):
    rows = [line.split(",") for line in out.splitlines()]
    rows = [w for w in rows if len(w) == 10 and w[1].isdigit()]
    for words in rows[settling:]:
        if words[WRONG] != "0":
            print(f"  {name}: WRONG: {','.join(words)}")
        cells.setdefault((words[0], int(words[2])), {}) \
            .setdefault(name, []).append(float(words[column]))


def measure(layout, programs, specs, args, until, distance):
    cells, out_of = {}, {}
    limit = RUN_LIMIT_S.get(which_rows(layout, args), RUN_LIMIT_S["some"])
    at_a_time = len(specs) if layout.pods else ROWS_AT_A_TIME
    rounds = 0
    while rounds < args.rounds and (rounds == 0 or time.monotonic() < until):
        for i in range(0, len(specs), at_a_time):
            rows = ["barrier"] * settling_rows(layout) + \
                specs[i:i + at_a_time]
            columns = [c for c in commands(layout, programs, ",".join(rows),
                                           args)
                       if not args.only or c[0] in args.only.split(",")]
            first = rounds % max(len(columns), 1)
            for name, command, env in columns[first:] + columns[:first]:
                if name in out_of:
                    continue
                out, status, words = distance.run(
                    functools.partial(layout.run, command, env, limit))
                take(out, name, cells, MEAN if comes_in_bursts(layout)
                     else MEDIAN, settling_rows(layout))
                if status != 0:
                    out_of[name] = ranks.lost(status, words, limit)
        rounds += 1
    return cells, out_of, rounds, [name for name, _, _ in columns]


def ratios_of(us, names, crowd):
    """What each column of ratios has, and who was the best peer."""
    peers = [n for n in names if n not in OURS and n in us]
    as_they_come = [n for n in peers if crowd and ranks.is_default(n)]
    best = min(peers, key=us.get, default=None)
    found = {n: us[best] / us[n] for n in OURS if best and n in us}
    if as_they_come and "hpcboot" in us:
        found["default"] = min(us[n] for n in as_they_come) / us["hpcboot"]
    return found, best


def report(layout, specs, cells, names):
    columns = [n for n in OURS if n in names] + \
        (["default"] if layout.crowd else [])
    result, ratios = [], {n: [] for n in columns}
    of_a_run = "mean" if comes_in_bursts(layout) else "median"
    print(f"\n{layout.title()}: microseconds, {of_a_run} of a run: median "
          "(least-most) of the runs")
    print(f"{'':21}{'bytes':>9}" + "".join(f"{n:>24}" for n in names) +
          "".join(f"{'ratio' if n == 'hpcboot' else n:>9}" for n in columns) +
          "  best peer")
    for spec in specs:
        coll, _, size = spec.partition(":")
        cell = cells.get((coll, int(size or 0)), {})
        us = {n: statistics.median(cell[n]) for n in names if cell.get(n)}
        found, best = ratios_of(us, names, layout.crowd)
        line = f"{coll:21}{size or 0:>9}" + "".join(ranks.span(cell.get(n))
                                                    for n in names)
        for n in columns:
            line += f"{found[n]:9.2f}" if n in found else f"{'-':>9}"
            ratios[n] += [found[n]] if n in found else []
        print(line + f"  {best or '-'}", flush=True)
        result.append({"layout": layout.text, "collective": coll,
                       "bytes": int(size or 0), "ranks": layout.ranks,
                       "best": best, "ratios": found, "us": cell})
    for n, values in ratios.items():
        summary(layout.title(), "ratio" if n == "hpcboot" else n, values)
    return result


def summary(where, name, values):
    if values:
        slower = sum(v < 1 for v in values)
        print(f"{where}: {name}: geometric mean of {len(values)} rows "
              f"{ranks.geometric_mean(values):.2f}, least {min(values):.2f}, "
              f"slower than the best peer in {slower}")


def one_layout(layout, programs, args, until, folder):
    specs, why = rows_of(layout, which_rows(layout, args)), layout.up()
    if why:
        print(f"\n{layout.title()}: left out: {why}")
        return []
    began = time.monotonic()
    try:
        distance = ranks.Distance(folder)
        cells, out_of, rounds, names = measure(layout, programs, specs, args,
                                               until, distance)
    finally:
        layout.down()
    result = report(layout, specs, cells, names)
    print(f"{rounds} rounds, {time.monotonic() - began:.0f} s")
    print(distance.summary())
    for name, words in out_of.items():
        print(f"{name}: {words}")
    return result


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layouts")
    parser.add_argument("--rows")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--free", action="store_true")
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    args = parser.parse_args()
    args.layouts = args.layouts or ("2,4,8,p2,p4,p4x2" if args.long else
                                    "2,8,p2,p4,p4x2")
    args.rounds = args.rounds or (3 if args.long else 5)
    args.seconds = args.seconds or (LONG_S if args.long else 300)
    return args


def main():
    args = arguments()
    layouts = [Layout(text) for text in args.layouts.split(",")]
    end, result = time.monotonic() + args.seconds, []
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        programs = ranks.compile_all(folder, SRC + "/tests/bench/mpiperf.c",
                                     SRC + "/bin/hpcboot/perf_loop.c")
        for i, layout in enumerate(layouts):
            now = time.monotonic()
            result += one_layout(layout, programs, args,
                                 now + (end - now) / (len(layouts) - i),
                                 folder)
    on_hosts = [r["ratios"] for r in result if not r["layout"].startswith("p")]
    for name in OURS:
        summary("\nall layouts of one host", name,
                [r[name] for r in on_hosts if name in r])
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
