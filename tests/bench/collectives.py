#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Collectives of one node beside the MPIs that are installed.

The same loop (collperf.c) runs for Open MPI with ob1 and with ucx, for MPICH,
and for lib/coll with private buffers and with those of hpcboot_alloc: one
after the other, round after round, ranks pinned alike; Open MPI is told to
yield where ranks share cores. A cell is the median over the rounds of a run's
median, in microseconds; the ratio is the best peer's over ours. A peer that
does not end within its limit is killed, and its cells stay empty. Nothing is
asserted: the table is for people.

usage: collectives.py [--ranks 2,4,8] [--rows figures|all] [--rounds N]
                      [--json FILE]
"""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

SRC = os.environ.get("HB_SRCDIR", os.path.dirname(os.path.abspath(__file__)) + "/../..")
BUILD = os.environ.get("HB_BUILDDIR", SRC + "/build")
LIMIT_S = 120
MOST_BYTES = 16 << 20
BLOCK_US = 1000
FIGURES = ["barrier", "allreduce:8", "allreduce:4096", "allreduce:65536",
           "allreduce:1048576", "allreduce:16777216", "bcast:8", "bcast:65536",
           "bcast:1048576", "alltoall:8", "alltoall:65536"]
VECTORS = ["bcast", "reduce", "allreduce", "scan", "exscan"]
BLOCKS = ["gather", "scatter", "allgather", "alltoall", "reduce_scatter_block",
          "reduce_scatter", "gatherv", "scatterv", "allgatherv", "alltoallv"]


def rows(which, ranks):
    if which == "figures":
        return FIGURES
    sizes = [1 << i for i in range(0, 25, 2)]
    return (["barrier"] + [f"{c}:{n}" for c in VECTORS for n in sizes] +
            [f"{c}:{n}" for c in BLOCKS for n in sizes
             if n * ranks <= MOST_BYTES])


def compile_for(compiler, folder):
    path = shutil.which(compiler)
    if not path:
        return None
    program = f"{folder}/collperf-{compiler}"
    subprocess.run([path, "-O2", "-DCOLLPERF_MPI", "-o", program,
                    SRC + "/tests/bench/collperf.c"], check=True)
    return program


def contenders(ranks, folder):
    """name -> command without its rows"""
    ours = [BUILD + "/tests/bench/collperf", "-n", str(ranks)]
    found = {"hpcboot": ours, "hpcboot_alloc": ours + ["-h"]}
    ompi = compile_for("mpicc.openmpi", folder)
    mpich = compile_for("mpicc.mpich", folder)
    if ompi:
        run = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe",
               "--bind-to", "none", "-n", str(ranks)]
        if ranks > len(os.sched_getaffinity(0)):
            run += ["--mca", "mpi_yield_when_idle", "1"]
        found["ompi_ob1"] = run + ["--mca", "pml", "ob1", "--mca", "btl",
                                   "self,vader", ompi]
        # Without a Mellanox device it is not chosen unless asked twice.
        found["ompi_ucx"] = run + ["--mca", "pml", "ucx", "--mca",
                                   "pml_ucx_tls", "any", "--mca",
                                   "pml_ucx_devices", "any", ompi]
    if mpich:
        found["mpich"] = ["mpiexec.mpich", "-n", str(ranks), mpich]
    return {n: c + ["-b", str(BLOCK_US)] for n, c in found.items()}


def run_once(command, specs, cells, name):
    try:
        out = subprocess.run(["timeout", "-k", "2", str(LIMIT_S)] + command +
                             specs, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True,
                             check=False).stdout
    except OSError as e:
        print(f"{name}: {e}", file=sys.stderr)
        return
    for line in out.splitlines():
        words = line.split()
        if len(words) == 5:
            cells.setdefault((words[0], int(words[1])), {}) \
                .setdefault(name, []).append(float(words[3]))


def report(ranks, specs, cells, names):
    peers = [n for n in names if not n.startswith("hpcboot")]
    rounds = lambda us: statistics.median(us) if us else None
    result, ratios = [], {"hpcboot": [], "hpcboot_alloc": []}
    print(f"\n{ranks} ranks, microseconds (spread); ratio = best peer / ours")
    print(f"{'':22}{'bytes':>9}" + "".join(f"{n:>22}" for n in names) +
          f"{'ratio':>8}{'alloc':>8}")
    for spec in specs:
        coll, _, size = spec.partition(":")
        cell = cells.get((coll, int(size or 0)), {})
        us = {n: rounds(cell.get(n)) for n in names}
        best = min((us[p] for p in peers if us[p]), default=None)
        line = f"{coll:22}{size or 0:>9}"
        for n in names:
            line += f"{us[n]:12.2f} ({min(cell[n]):.2f})".rjust(22) \
                if us[n] else f"{'-':>22}"
        for n in ratios:
            ratio = best / us[n] if best and us[n] else None
            line += f"{ratio:8.2f}" if ratio else f"{'-':>8}"
            if ratio:
                ratios[n].append(ratio)
        print(line, flush=True)
        result.append({"collective": coll, "bytes": int(size or 0),
                       "ranks": ranks, "us": us})
    for n, values in ratios.items():
        if values:
            mean = math.exp(sum(map(math.log, values)) / len(values))
            print(f"geometric mean of {len(values)} ratios, {n}: {mean:.2f}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--rows", choices=["figures", "all"],
                        default="figures")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    result = []
    with tempfile.TemporaryDirectory() as folder:
        for ranks in map(int, args.ranks.split(",")):
            found, cells = contenders(ranks, folder), {}
            specs = rows(args.rows, ranks)
            for _ in range(args.rounds):
                for name, command in found.items():
                    run_once(command, specs, cells, name)
            result += report(ranks, specs, cells, list(found))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)


main()
