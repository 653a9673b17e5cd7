#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Asks Open MPI 5's launcher where it would put ranks, and writes it down.

usage: record.py PRTERUN > openmpi5.map

Nothing is launched: the topology is a file, the hosts are names. A line is

    MACHINE | ALLOWED | HOSTS | NP | MAP-BY | RANK-BY | BIND-TO | OUTCOME

with "-" for what is not given, and an outcome of one word for each rank,
HOST:CORES or HOST:hTHREADS in logical numbers, or HOST where it is not bound;
or "refused". lstopo (hwloc) makes the topology files.
"""
import itertools
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
XEON = "synthetic:pack:2 numa:1 l3:1 l2:8 l1d:1 core:1 pu:2"
NPS4 = "synthetic:pack:1 numa:4 l3:2 l2:2 l1d:1 core:1 pu:2"
ARM = "synthetic:pack:2 numa:1 l2:32 l1d:1 core:1 pu:1"
BIG = "synthetic:pack:4 numa:2 l3:4 l2:16 l1d:1 core:1 pu:2"
MACHINES = {  # name: (description or file, allowed CPUs, hosts, numbers of ranks)
    "xeon": (XEON, None, "a:16,b:16", (3, 12, 20, 40)),
    "nps4": (NPS4, None, "a:16,b:16", (4, 10, 24)),
    "asym": (XEON, "0-9,16-19", "a:7", (2, 5, 7)),
    "masked": (XEON, "0-6,8,16-18,21", "a:9,b:9", (3, 12)),
    "one": (XEON, "5", "a:1,b:1", (1, 2)),
    "gpu": ("gpu-8nic.xml", None, "a:16", (8, 10)),
    "arm": (ARM, None, "a:32,b:32", (6, 40)),
    "hybrid": ("hybrid.xml", None, "a:8", (4, 8)),
    "big": (BIG, None, "a:512", (32,)),
}
OBJECTS = ("hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package")


def policies():
    for by in ("slot", "node"):
        for bind in ("core", "numa", "none"):
            yield by, None, bind
    yield "slot:PE=2", None, None
    yield None, None, "core"
    for by in OBJECTS:
        yield by, None, None
        yield by + ":SPAN", None, None
        yield by, None, "none"
    for by, rank in itertools.product(("numa", "package", "l3cache"),
                                      ("slot", "node", "fill", "span")):
        yield by, rank, None
    for by in ("numa", "package"):
        yield by, None, "core"
        yield by, "slot", "core"
        yield by, None, "hwthread"
        yield by + ":PE=2", None, None
        yield by + ":PE=3", None, None
        yield by + ":PE=2:HWTCPUS", None, None
    for by, bind in itertools.product(("slot", "core", "numa"),
                                      ("hwthread", "l1cache", "l2cache",
                                       "l3cache", "numa", "package")):
        if (by, bind) not in (("slot", "numa"), ("numa", "hwthread")):
            yield by, None, bind
    for by, rank in itertools.product(("slot", "node", "core"),
                                      ("slot", "node", "fill", "span")):
        yield by, rank, "none"
    for by in ("slot", "node", "core", "numa"):
        yield by + ":OVERSUBSCRIBE", None, "none"
        yield by + ":OVERSUBSCRIBE", None, "core:overload-allowed"
    yield "slot:NOOVERSUBSCRIBE", None, "none"
    for by in ("slot", "core", "numa"):
        yield by + ":HWTCPUS", None, None
    for by in ("node", "core", "l3cache"):
        yield by + ":PE=2", None, None
    yield "slot:PE=9999", None, None
    yield "core:PE=1", None, None
    for n, obj in ((1, "node"), (2, "node"), (1, "numa"), (2, "package"),
                   (1, "l3cache"), (1, "core"), (1, "hwthread"),
                   (1, "l1cache"), (2, "l2cache"), (4, "node")):
        yield f"ppr:{n}:{obj}", None, None
        yield f"ppr:{n}:{obj}", None, "core"
    yield "ppr:2:package:PE=2", None, None
    yield "ppr:1:numa", "span", None
    yield "pe-list=0,2,1,3", None, None
    yield "pe-list=0,2,1,3:ORDERED", None, None


def topology(source, allowed, folder):
    path = f"{folder}/machine.xml"
    described = source.removeprefix("synthetic:")
    words = ["lstopo-no-graphics", "-i",
             described if described != source else f"{HERE}/{source}",
             "--of", "xml", "-f", path, "--force"]
    if allowed:
        mask = 0
        for run in allowed.split(","):
            first, _, last = run.partition("-")
            for cpu in range(int(first), int(last or first) + 1):
                mask |= 1 << cpu
        words += ["--restrict", hex(mask)]
    subprocess.run(words, check=True)
    return path


def outcome(text):
    ranks, host, rank = {}, None, None
    for line in text.splitlines():
        if m := re.match(r"\s*Data for node: (\S+)", line):
            host = m.group(1)
        elif m := re.match(r"\s*Data for proc: \[\S+@1,(\d+)\]", line):
            rank = int(m.group(1))
        elif m := re.match(r"\s*Binding: (.*)", line):
            cores = re.findall(r"core:L([\d,-]+)", m.group(1))
            threads = re.findall(r"hwt:L([\d,-]+)", m.group(1))
            ranks[rank] = host + (":" + ",".join(cores) if cores else
                                  ":h" + ",".join(threads) if threads else "")
    return " ".join(ranks[r] for r in sorted(ranks)) or "refused"


def ask(prterun, xml, hosts, np, by, rank, bind):
    words = [prterun, "--allow-run-as-root", "--prtemca", "hwloc_use_topo_file",
             xml, "--rtos", "donotlaunch", "--display", "map", "-H", hosts]
    for name, value in (("--map-by", by), ("--rank-by", rank),
                        ("--bind-to", bind)):
        words += [name, value] if value else []
    done = subprocess.run(words + ["-np", str(np), "true"], text=True, timeout=30,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return outcome(done.stdout)


def lone(words):
    """The only core of a machine is printed by the kernel's number."""
    return re.sub(r":h?\d+", lambda m: ":0" if "h" not in m[0] else m[0], words)


def main():
    only = sys.argv[2:] or MACHINES
    print("# recorded by record.py from Open MPI 5's prterun; do not edit")
    with tempfile.TemporaryDirectory() as folder:
        for name in only:
            source, allowed, hosts, counts = MACHINES[name]
            xml = topology(source, allowed, folder)
            for np, (by, rank, bind) in itertools.product(counts, policies()):
                got = ask(sys.argv[1], xml, hosts, np, by, rank, bind)
                if allowed and allowed.isdigit():
                    got = lone(got)
                print(source, allowed or "-", hosts, np, by or "-", rank or "-",
                      bind or "-", got, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
