#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Figures of placement: more ranks than CPUs in a pod with a quota, a million
ranks mapped, and what looking at the topology costs an agent.

The pod has a quota of one CPU and a hostfile that says slots=8, as an operator
writes it; eight ranks run a loop of MPI_Allreduce, under hbrun and under
Open MPI's own launcher. Root is needed for the pod. Nothing is asserted.

usage: place.py [--rounds N]
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

SRC = os.environ.get("HB_SRCDIR", os.path.dirname(os.path.abspath(__file__)) + "/../..")
BUILD = os.environ.get("HB_BUILDDIR", SRC + "/build")
LIMIT_S = 60
LOOP = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    double a = 1, b, t;
    int rank, rounds = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    t = MPI_Wtime();
    for (; rounds < 20 ; rounds++) {
        MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    t = MPI_Wtime() - t;
    if (rank == 0) {
        printf("us %.1f\\n", t / rounds * 1e6);
    }
    MPI_Finalize();
    return 0;
}
"""


def run(words, **kw):
    return subprocess.run(words, text=True, stdout=subprocess.PIPE, check=False,
                          stderr=subprocess.STDOUT, timeout=LIMIT_S, **kw)


def oversubscribed(folder, rounds):
    compiler, mpirun = map(shutil.which, ("mpicc.openmpi", "mpirun.openmpi"))
    if not compiler or not mpirun or os.geteuid() != 0:
        return print("pod with a quota: root, mpicc.openmpi and mpirun.openmpi "
                     "are needed")
    with open(folder + "/loop.c", "w", encoding="ascii") as f:
        f.write(LOOP)
    with open(folder + "/hosts", "w", encoding="ascii") as f:
        f.write("pod-0 slots=8\n")
    subprocess.run([compiler, "-O2", "-o", folder + "/loop", folder + "/loop.c"],
                   check=True)
    lab = SRC + "/tests/pods/podlab"
    env = dict(os.environ, PODLAB_NAME=f"bench-place-{os.getpid()}")
    up = run([lab, "up", "1", "--cpus", "1", "--see", folder, "--see", BUILD,
              "--see", SRC, "--owner", str(os.getpid())], env=env)
    if up.returncode != 0:
        return print("pod with a quota:", up.stdout.strip())
    ways = {"hbrun": [BUILD + "/hbrun"],
            "mpirun": [mpirun, "--allow-run-as-root"]}
    times = {name: [] for name in ways}
    try:
        for _ in range(rounds):
            for name, words in ways.items():
                done = run([lab, "exec", "0", "timeout", "-k", "2", "40", *words,
                            "--hostfile", folder + "/hosts", "-n", "8",
                            folder + "/loop"], env=env)
                if found := re.search(r"^us ([\d.]+)$", done.stdout, re.M):
                    times[name].append(float(found.group(1)))
    finally:
        run([lab, "down"], env=env)
    print("8 ranks, quota of 1 CPU, slots=8: us of an MPI_Allreduce of 8 bytes")
    for name, got in times.items():
        print(f"  {name:8} {statistics.median(got) if got else float('nan'):12.1f}"
              f"   ({len(got)} of {rounds} runs ended)")
    return None


def million(folder):
    with open(folder + "/many", "w", encoding="ascii") as f:
        f.writelines(f"n{i} slots=1024\n" for i in range(1024))
    for policy in ("slot", "node"):
        begun = time.monotonic()
        subprocess.run([BUILD + "/hbrun", "--dry-run", "--json", "-n", "1048576",
                        "--hostfile", folder + "/many", "--map-by", policy,
                        "true"], check=True, stdout=subprocess.DEVNULL)
        print(f"1,048,576 ranks on 1,024 hosts by {policy}, planned and printed:"
              f" {time.monotonic() - begun:.2f} s")


def topology(folder):
    env = dict(os.environ, HPCBOOT_TOPO_CACHE=folder + "/cache")
    for _ in range(2):
        done = run([BUILD + "/hbrun", "-vv", "-n", "1", "--bind-to", "core",
                    "true"], env=env)
        for line in re.findall(r"the topology came from .*", done.stdout):
            print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="hpcboot-bench-") as folder:
        os.chmod(folder, 0o755)
        oversubscribed(folder, rounds)
        million(folder)
        topology(folder)


if __name__ == "__main__":
    main()
