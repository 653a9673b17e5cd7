#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Collectives of libhpcboot beside those of the MPIs that are installed.

The same loop (bin/hpcboot/perf_loop.c) runs for Debian's Open MPI (ob1, and
UCX) and MPICH, for Open MPI 5 and MPICH 5 where `make check-peers` has left
their environments in the build folder, and for libhpcboot with ordinary
buffers and with those of hpcboot_alloc: one after the other, round after
round, rank r on the r-th CPU, each started by its own launcher. Where ranks
outnumber CPUs, Open MPI is told to yield, and runs as it comes beside that.

A cell is the median over the rounds of a run's median, in microseconds, with
the least and the most. The ratio is the best peer's median over libhpcboot's.
Whoever does not end within its limit is ended, counted, and not asked again in
this layout; the rows it has printed count. Nothing is asserted: the tables are
for people.

usage: collectives.py [--layouts 2,8,p2,p4] [--rows figures|all] [--rounds N]
                      [--seconds N] [--json FILE]
  --layouts  N: ranks on this host; pN: N pods with a rank each; pNxM: with M
             each (pods need root)
  --seconds  stop asking for another round when so many are over (240)
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
import time

SRC = os.environ.get("HB_SRCDIR", os.path.dirname(os.path.abspath(__file__)) + "/../..")
BUILD = os.environ.get("HB_BUILDDIR", SRC + "/build")
PODLAB = SRC + "/tests/pods/podlab"
RUN_LIMIT_S = 20   # of one run of the figures' rows
ALL_LIMIT_S = 600  # of one run of all rows
LAB_LIMIT_S = 120
ROW_MS = 20
MOST_BYTES = 16 << 20
CPUS = len(os.sched_getaffinity(0))
OURS = ("hpcboot", "alloc")
FIGURES = {
    "host": ["barrier", "allreduce:8", "allreduce:4096", "allreduce:65536",
             "allreduce:1048576", "allreduce:16777216", "bcast:8",
             "bcast:65536", "bcast:1048576", "alltoall:8", "alltoall:65536"],
    "crowd": ["barrier", "allreduce:8", "allreduce:4096", "allreduce:65536",
              "allreduce:1048576", "bcast:8", "bcast:65536", "alltoall:8",
              "alltoall:65536"],
    "pods": ["barrier", "allreduce:8", "allreduce:4096", "allreduce:65536",
             "allreduce:1048576", "allreduce:16777216", "bcast:1048576"],
}
VECTORS = ["bcast", "reduce", "allreduce", "scan", "exscan"]
BLOCKS = ["gather", "scatter", "allgather", "alltoall", "reduce_scatter_block",
          "reduce_scatter", "gatherv", "scatterv", "allgatherv", "alltoallv"]


class Layout:
    def __init__(self, text):
        pods, _, each = text.lstrip("p").partition("x")
        self.text = text
        self.pods = int(pods) if text.startswith("p") else 0
        self.each = int(each or 1) if self.pods else int(pods)
        self.ranks = self.each * max(self.pods, 1)
        self.lab = None

    def title(self):
        where = f"{self.pods} pods, {self.each} ranks each" if self.pods \
            else f"{self.ranks} ranks on one host"
        return f"{where}, {CPUS} CPUs"

    def rows(self, which):
        if which == "figures":
            return FIGURES["pods" if self.pods else
                           "host" if self.ranks <= CPUS else "crowd"]
        sizes = [1 << i for i in range(0, 25, 2)]
        return (["barrier"] + [f"{c}:{n}" for c in VECTORS for n in sizes] +
                [f"{c}:{n}" for c in BLOCKS for n in sizes
                 if n * self.ranks <= MOST_BYTES])

    def up(self):
        """None, or why there is no such layout here."""
        if not self.pods:
            return None
        self.lab = dict(os.environ, PODLAB_NAME=f"bench-coll-{os.getpid()}")
        up = self.podlab("up", str(self.pods + 1), "--see", SRC, "--see", BUILD,
                         "--see", tempfile.gettempdir(), "--owner",
                         str(os.getpid()))
        if up.returncode == 0:
            return None
        self.lab = None
        return up.stderr.strip() or f"podlab ended with {up.returncode}"

    def podlab(self, *words):
        return subprocess.run([PODLAB, *words], env=self.lab, text=True,
                              capture_output=True, check=False,
                              timeout=LAB_LIMIT_S)

    def down(self):
        if self.lab:
            self.podlab("down")
            self.lab = None

    def hosts(self, with_slots=False):
        slots = f":{self.each}" if with_slots else ""
        return ",".join(f"pod-{i}{slots}" for i in range(1, self.pods + 1))

    def run(self, command, env, limit_s):
        """Output, and whether it ended by itself."""
        line = ["timeout", "-k", "2", str(limit_s), *command]
        if self.lab:
            words = [f"{k}={v}" for k, v in env.items()]
            line = [PODLAB, "exec", "0", "env", *words, *line]
            env = self.lab
        else:
            env = dict(os.environ, **env)
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, env=env,
                              stderr=subprocess.PIPE, check=False)
        return done.stdout, done.returncode, done.stderr.strip()[-300:]


class Mpi:
    """A kind of MPI: its compiler, its launcher, their folder."""

    def __init__(self, name, family, mpicc, launcher, folder):
        self.name, self.family, self.launcher = name, family, launcher
        self.env = {"PATH": os.path.dirname(mpicc) + ":" + os.environ["PATH"]} \
            if mpicc.startswith(BUILD) else {}
        self.program = f"{folder}/mpiperf-{name}"
        subprocess.run([mpicc, "-O2", "-I" + SRC, "-I" + SRC + "/include", "-o",
                        self.program, SRC + "/tests/bench/mpiperf.c",
                        SRC + "/bin/hpcboot/perf_loop.c"], check=True,
                       env=dict(os.environ, **self.env))

    def open_mpi(self, layout, *options):
        line = [self.launcher, "--allow-run-as-root", "--bind-to", "none",
                "--oversubscribe" if self.name == "ompi" else "--map-by",
                *([] if self.name == "ompi" else [":OVERSUBSCRIBE"]),
                "-n", str(layout.ranks), *options]
        if self.env:
            line += ["-x", "PATH"]
        return line + (["-H", layout.hosts(True)] if layout.pods else []) + \
            [self.program]

    def contenders(self, layout):
        """(name, command) of each way in which it communicates"""
        if self.family == "mpich":
            hosts = ["-launcher", "ssh", "-hosts", layout.hosts(True)] \
                if layout.pods else []
            return [(self.name, [self.launcher, *hosts, "-n",
                                 str(layout.ranks), self.program])]
        crowd = layout.ranks > CPUS
        calm = ["--mca", "mpi_yield_when_idle", "1"] if crowd else []
        ob1 = ["--mca", "pml", "ob1"]
        # Without a Mellanox device it is not chosen unless asked twice.
        ucx = ["--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any",
               "--mca", "opal_common_ucx_devices", "any"]
        ways = [("ob1", ob1 + calm)]
        if self.name == "ompi":
            ways.append(("ucx", ucx + calm))
        if crowd and layout.pods:
            ways.append(("as it comes", ob1))
        return [(f"{self.name} {n}", self.open_mpi(layout, *w)) for n, w in ways]


def find_mpis(folder):
    kinds = [("ompi", "openmpi", "mpicc.openmpi", "mpirun.openmpi"),
             ("mpich", "mpich", "mpicc.mpich", "mpiexec.mpich")]
    for name, family, launcher in (("ompi5", "openmpi", "mpirun"),
                                   ("mpich5", "mpich", "mpiexec")):
        at = f"{BUILD}/peers/{family}"
        if os.path.exists(at + "/ready"):
            kinds.append((name, family, at + "/bin/mpicc", f"{at}/bin/{launcher}"))
    found = []
    for name, family, mpicc, launcher in kinds:
        if not shutil.which(mpicc) or not shutil.which(launcher):
            print(f"{name}: not here ({mpicc}, {launcher})")
            continue
        try:
            found.append(Mpi(name, family, shutil.which(mpicc), launcher, folder))
        except subprocess.CalledProcessError as e:
            print(f"{name}: {e}")
    return found


def ours(layout):
    line = [BUILD + "/hpcboot", "perf", None, "-n", str(layout.ranks), "--pin",
            "--csv", "-q", "--time", f"{ROW_MS}ms"]
    if layout.pods:
        line += ["-H", layout.hosts(True)]
    return [("hpcboot", line), ("alloc", line + ["--alloc"])]


def commands(layout, mpis, specs):
    rows, found = ",".join(specs), []
    for name, line in ours(layout):
        found.append((name, [rows if w is None else w for w in line], {}))
    for mpi in mpis:
        found += [(name, line + [str(ROW_MS), rows], mpi.env)
                  for name, line in mpi.contenders(layout)]
    return found


def take(out, name, cells):
    for line in out.splitlines():
        words = line.split(",")
        if len(words) == 10 and words[1].isdigit():
            if words[9] != "0":
                print(f"  {name}: WRONG: {line}")
            cells.setdefault((words[0], int(words[2])), {}) \
                .setdefault(name, []).append(float(words[4]))


def measure(layout, mpis, specs, args, until):
    cells, out_of, all_of_them = {}, {}, commands(layout, mpis, specs)
    limit = RUN_LIMIT_S if args.rows == "figures" else ALL_LIMIT_S
    rounds = 0
    while rounds < args.rounds and (rounds == 0 or time.monotonic() < until):
        for name, command, env in all_of_them:
            if name in out_of:
                continue
            out, status, words = layout.run(command, env, limit)
            take(out, name, cells)
            if status != 0:
                out_of[name] = f"not back within {limit} s" if status in \
                    (124, 137) else f"ended with {status}: {words}"
        rounds += 1
    return cells, out_of, rounds, [name for name, _, _ in all_of_them]


def span(values):
    if not values:
        return f"{'-':>24}"
    low, mid, high = min(values), statistics.median(values), max(values)
    return f"{mid:.4g} ({low:.4g}-{high:.4g})".rjust(24)


def report(layout, specs, cells, names):
    peers = [n for n in names if n not in OURS]
    result, ratios = [], {n: [] for n in OURS}
    print(f"\n{layout.title()}: microseconds, median (least-most)")
    print(f"{'':21}{'bytes':>9}" + "".join(f"{n:>24}" for n in names) +
          f"{'ratio':>8}{'alloc':>8}  best peer")
    for spec in specs:
        coll, _, size = spec.partition(":")
        cell = cells.get((coll, int(size or 0)), {})
        us = {n: statistics.median(cell[n]) for n in names if cell.get(n)}
        best = min((p for p in peers if p in us), key=us.get, default=None)
        line = f"{coll:21}{size or 0:>9}" + "".join(span(cell.get(n))
                                                    for n in names)
        for n in OURS:
            if best and n in us:
                ratios[n].append(us[best] / us[n])
                line += f"{us[best] / us[n]:8.2f}"
            else:
                line += f"{'-':>8}"
        print(line + f"  {best or '-'}", flush=True)
        result.append({"layout": layout.text, "collective": coll,
                       "bytes": int(size or 0), "ranks": layout.ranks,
                       "best": best, "us": cell})
    for n, values in ratios.items():
        if values:
            mean = math.exp(sum(map(math.log, values)) / len(values))
            print(f"geometric mean of {len(values)} ratios, {n}: {mean:.2f}")
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layouts", default="2,8,p2,p4")
    parser.add_argument("--rows", choices=["figures", "all"],
                        default="figures")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=240)
    parser.add_argument("--json")
    args = parser.parse_args()
    layouts = [Layout(text) for text in args.layouts.split(",")]
    end, result = time.monotonic() + args.seconds, []
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        mpis = find_mpis(folder)
        for i, layout in enumerate(layouts):
            specs, why = layout.rows(args.rows), layout.up()
            if why:
                print(f"\n{layout.title()}: left out: {why}")
                continue
            now = time.monotonic()
            until = now + (end - now) / (len(layouts) - i)
            try:
                cells, out_of, rounds, names = measure(layout, mpis, specs,
                                                       args, until)
            finally:
                layout.down()
            result += report(layout, specs, cells, names)
            print(f"{rounds} rounds, {time.monotonic() - now:.0f} s")
            for name, words in out_of.items():
                print(f"{name}: {words}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
