#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Asks hbrun and Open MPI 5's launcher to place the same job, on machines that
nobody has seen before.

usage: oracle.py PRTERUN HBRUN [--seed N] [--jobs N]

Machines and policies are drawn by the seed; nothing is launched. Jobs that the
other one refuses, and those that hbrun(1) lists as different, do not count.
Status 1: the two differ, and how."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) +
                "/../data/topo")
import record  # noqa: E402  (found by the line above)


def machine(draw):
    """One thread a core, so that CPUs and logical cores have one number."""
    return (f"pack:{draw.choice((1, 2, 4))} numa:{draw.choice((1, 2))} "
            f"l3:{draw.choice((1, 2))} l2:{draw.choice((1, 2, 3))} l1d:1 "
            f"core:{draw.choice((1, 2))} pu:1")


def cores_of(description):
    n = 1
    for level in description.split():
        n *= int(level.partition(":")[2])
    return n


def is_listed(by, bind, np, slots):
    """hbrun(1), "Differences to Open MPI 5"."""
    unasked = bind is None and (by or "slot").partition(":")[0] in (
        "slot", "node", "ppr") and "PE=" not in (by or "")
    by_object = "ppr:" in (by or "") and not by.endswith("node")
    return ((unasked and not by_object) or "HWTCPUS" in (by or "") or
            "hwthread" in (by or "", bind or "") or
            "pe-list" in (by or "") or "OVERSUBSCRIBE" in (by or "") or
            (by or "").startswith("ppr:") or np > slots)


def rankfile(draw, hosts, cores, np, path):
    """Each rank on cores of its own, of a host of its own choice."""
    free = {host: list(range(cores)) for host in hosts}
    with open(path, "w", encoding="ascii") as f:
        for rank in range(np):
            host = draw.choice([h for h in hosts if free[h]])
            first = free[host].pop(0)
            last = free[host].pop(0) if free[host] and draw.random() < 0.3 \
                else first
            f.write(f"rank {rank}={host} slot={first}"
                    f"{f'-{last}' if last > first else ''}\n")
    return f"rankfile:file={path}"


def plain(words):
    """Each list in one form: the other one writes 11,12 and 11-12."""
    def expand(found):
        cores = []
        for run in found[1].split(","):
            first, _, last = run.partition("-")
            cores += range(int(first), int(last or first) + 1)
        return ":" + ",".join(map(str, cores))
    return words if words.startswith("refused ") else re.sub(
        r":h?([\d,-]+)", expand, words)


def ask_hbrun(hbrun, description, hosts, np, by, rank, bind):
    words = [hbrun, "--dry-run", "--json", "--pmi", "pmix", "-H", hosts, "-n",
             str(np), "--topo-of", f"*=synthetic:{description}"]
    for name, value in (("--map-by", by), ("--rank-by", rank),
                        ("--bind-to", bind)):
        words += [name, value] if value else []
    done = subprocess.run(words + ["true"], text=True, timeout=60, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        return "refused " + done.stderr.strip()
    ranks = {}
    for host in json.loads(done.stdout)["hosts"]:
        for run in filter(None, host.get("ranks", "").split(",")):
            first, _, last = run.partition("-")
            for r in range(int(first), int(last or first) + 1):
                ranks[r] = host["host"]
        for b in host.get("bindings", []):
            ranks[b["rank"]] += ":" + b["cpus"]
    return " ".join(ranks[r] for r in sorted(ranks))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prterun")
    parser.add_argument("hbrun")
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 6))
    parser.add_argument("--jobs", type=int, default=60)
    a = parser.parse_args()
    draw = random.Random(a.seed)
    same = wrong = 0
    policies = list(record.policies())
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(a.jobs):
            description = machine(draw)
            cores = cores_of(description)
            hosts = [f"{h}:{cores}" for h in "abc"[:draw.choice((1, 2, 3))]]
            np = draw.randint(1, cores * len(hosts))
            by, rank, bind = draw.choice(policies)
            if draw.random() < 0.15:
                np, rank, bind = min(np, (cores + 1) // 2), None, None
                by = rankfile(draw, [h[0] for h in hosts], cores, np,
                              folder + "/ranks")
            if is_listed(by, bind, np, cores * len(hosts)):
                continue
            xml = record.topology("synthetic:" + description, None, folder)
            job = (",".join(hosts), np, by, rank, bind)
            there = plain(record.ask(a.prterun, xml, *job))
            if there == "refused":
                continue
            here = plain(ask_hbrun(a.hbrun, description, *job))
            same += here == there
            if here != there:
                wrong += 1
                print(description, *job, "\n    there", there, "\n    here ",
                      here)
    print(f"seed {a.seed}: {same} jobs placed alike, {wrong} not")
    return 1 if wrong > 0 or same == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
