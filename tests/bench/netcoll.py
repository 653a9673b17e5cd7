#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Collectives between pods beside the MPIs that are installed.

The same loop (collperf.c) runs over a lab of pods for libhpcboot started by
hbrun, for Open MPI over TCP and over UCX, and for MPICH: one after the other,
round after round, ranks left where the kernel puts them. Where ranks share
cores Open MPI is told to yield; with --untold also as it comes. A cell is the
median over the rounds of a run's median, in microseconds; the ratio is the
best peer's over ours. A peer that does not end within its limit is killed, and
its cells stay empty. Nothing is asserted: the table is for people.

usage: netcoll.py [--pods N] [--ranks N] [--rows figures|all] [--rounds N]
                  [--only NAME,...] [--untold] [--env NAME=VALUE]
                                                   (root: it makes pods)
"""
import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

SRC = os.environ.get("HB_SRCDIR", os.path.dirname(os.path.abspath(__file__)) + "/../..")
BUILD = os.environ.get("HB_BUILDDIR", SRC + "/build")
PODLAB = SRC + "/tests/pods/podlab"
LIMIT_S = 40
BLOCK_US = 4000
FIGURES = ["barrier", "allreduce:8", "allreduce:4096", "allreduce:65536",
           "allreduce:1048576", "allreduce:16777216", "bcast:1048576"]
KINDS = ["bcast", "reduce", "allreduce", "scan", "exscan", "gather", "scatter",
         "allgather", "alltoall", "reduce_scatter_block", "reduce_scatter",
         "gatherv", "scatterv", "allgatherv", "alltoallv"]
SIZES = [8, 1024, 65536, 1048576]


def rows(which):
    if which == "figures":
        return FIGURES
    return ["barrier"] + [f"{c}:{n}" for c in KINDS for n in SIZES]


def compile_for(compiler, folder):
    path = shutil.which(compiler)
    if not path:
        return None
    program = f"{folder}/collperf-{compiler}"
    subprocess.run([path, "-O2", "-DCOLLPERF_MPI", "-o", program,
                    SRC + "/tests/bench/collperf.c"], check=True)
    return program


def contenders(args, folder, hosts, addresses):
    """name -> command without its rows"""
    ours = [BUILD + "/hbrun", "-H", hosts]
    for value in args.env:
        ours += ["-x", value]
    found = {"hpcboot": ours + [BUILD + "/tests/bench/collperf-api", "-u"]}
    ompi = compile_for("mpicc.openmpi", folder)
    mpich = compile_for("mpicc.mpich", folder)
    ranks = args.pods * args.ranks
    if ompi:
        run = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe",
               "--bind-to", "none", "-H", hosts]
        told = ["--mca", "mpi_yield_when_idle", "1"]
        crowded = ranks > len(os.sched_getaffinity(0))
        tcp = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp", ompi,
               "-u"]
        ucx = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca",
               "pml_ucx_devices", "any", ompi, "-u"]
        found["ompi_tcp"] = run + (told if crowded else []) + tcp
        found["ompi_ucx"] = run + (told if crowded else []) + ucx
        if crowded and args.untold:
            found["untold_tcp"] = run + tcp
    if mpich:
        with open(f"{folder}/hosts", "w", encoding="ascii") as f:
            f.write("".join(f"{a}:{args.ranks}\n" for a in addresses))
        found["mpich"] = ["mpiexec.mpich", "-f", f"{folder}/hosts", "-n",
                          str(ranks), mpich, "-u"]
    only = args.only.split(",") if args.only else list(found)
    return {n: c + ["-b", str(BLOCK_US)] for n, c in found.items()
            if n in only}


def run_once(env, command, specs, cells, name):
    done = subprocess.run([PODLAB, "exec", "0", "timeout", "-k", "2",
                           str(LIMIT_S)] + command + specs, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        print(f"{name}: {done.returncode} {done.stderr[-200:]}",
              file=sys.stderr)
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 5:
            cells.setdefault((words[0], int(words[1])), {}) \
                .setdefault(name, []).append(float(words[3]))


def report(specs, cells, names):
    ratios = []
    print(f"{'':21}{'bytes':>9}" + "".join(f"{n:>12}" for n in names) +
          f"{'ratio':>8}")
    for spec in specs:
        coll, _, size = spec.partition(":")
        cell = cells.get((coll, int(size or 0)), {})
        us = {n: statistics.median(cell[n]) if n in cell else None
              for n in names}
        peers = [us[n] for n in names if n not in ("hpcboot", "untold_tcp")
                 and us[n]]
        line = f"{coll:21}{size or 0:>9}" + "".join(
            f"{us[n]:12.1f}" if us[n] else f"{'-':>12}" for n in names)
        if peers and us.get("hpcboot"):
            ratios.append(min(peers) / us["hpcboot"])
            line += f"{ratios[-1]:8.2f}"
        print(line, flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean of {len(ratios)} ratios: {mean:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=4)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rows", choices=["figures", "all"],
                        default="figures")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--untold", action="store_true")
    parser.add_argument("--env", action="append", default=[])
    args = parser.parse_args()
    env = dict(os.environ, PODLAB_NAME=f"netcoll-{os.getpid()}")
    with tempfile.TemporaryDirectory() as folder:
        up = subprocess.run([PODLAB, "up", str(args.pods), "--see", SRC,
                             "--see", BUILD, "--see", folder, "--owner",
                             str(os.getpid())], env=env, text=True,
                            stderr=subprocess.PIPE, check=False)
        if up.returncode != 0:
            sys.exit(up.stderr)
        try:
            out = subprocess.run([PODLAB, "list"], env=env, text=True,
                                 stdout=subprocess.PIPE, check=True).stdout
            addresses = [line.split()[2] for line in out.splitlines()]
            hosts = ",".join(f"pod-{i}:{args.ranks}"
                             for i in range(args.pods))
            specs, cells = rows(args.rows), {}
            found = contenders(args, folder, hosts, addresses)
            for _ in range(args.rounds):
                for name, command in found.items():
                    run_once(env, command, specs, cells, name)
            print(f"\n{args.pods} pods of {args.ranks}, microseconds; "
                  "ratio = best peer / ours")
            report(specs, cells, list(found))
        finally:
            subprocess.run([PODLAB, "down"], env=env, check=False)


main()
