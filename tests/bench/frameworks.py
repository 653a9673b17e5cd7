#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Starting programs of frameworks on a gang of pods, runs taken in turn.

python  What a launcher adds until the first line of a Python program, in the
        rank that comes first and in the one that comes last: hbrun, also with
        --framework torch, beside Open MPI's mpirun. What Python takes by itself,
        as many of them at once on this machine, is measured in the same turns
        and taken off.
ray     Until a cluster of all pods is ready: hbrun --framework ray until the
        driver's first line, beside `ray start` by hand: the head's, then all
        others at once over ssh, until the last of them says that its node is in.

Medians, [smallest-largest], ratios. Nothing is asserted; what was meant: at most
1/3 of mpirun's, and a ratio of at most 1.

usage: frameworks.py [--pods N] [--rounds N] [--only WORD] [--ray FOLDER]
  (root: it makes pods) --ray: a virtual environment that has ray
"""
import argparse
import os
import shlex
import shutil
import statistics
import sys

from serve import BUILD, SRC, Lab

HBRUN = BUILD + "/hbrun"
PYTHON = "/usr/bin/python3"  # pods see Debian's
NOW = "time.clock_gettime(time.CLOCK_MONOTONIC)"  # one clock for all pods
LINE = f"import time; print('line', {NOW}, flush=True)"
BEGIN = (f"import os, sys, time; print('begin', {NOW}, flush=True); "
         "os.execvp(sys.argv[1], sys.argv[1:])")
RAY_LIMIT_S = 120
COUNT = """import ray
ray.init(log_to_driver=False, logging_level="ERROR")
print("nodes", sum(n["Alive"] for n in ray.nodes()), flush=True)"""


def moments(text, word):
    return [float(line.split()[1]) for line in text.splitlines()
            if line.startswith(word + " ") and len(line.split()) == 2]


def timed(lab, command, lines):
    """Seconds until each of the lines, sorted, or None where not all came."""
    done = lab.podlab("exec", "0", "timeout", "-k", "2", str(lab.limit_s), PYTHON,
                      "-c", BEGIN, *command, check=False)
    begun, came = moments(done.stdout, "begin"), moments(done.stdout, "line")
    if done.returncode != 0 or len(came) != lines or not begun:
        print("  a run ended with", done.returncode, done.stderr[-300:])
        return None
    return [t - begun[0] for t in sorted(came)]


def in_turn(lab, commands, rounds, lines):
    """name -> the runs that ended, after one each that is not counted"""
    runs = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            run = timed(lab, command, lines)
            if run and turn > 0:
                runs[name].append(run)
    return runs


def spread(values):
    return (f"{statistics.median(values) * 1e3:6.0f} ms "
            f"[{min(values) * 1e3:.0f}-{max(values) * 1e3:.0f}]")


def python_row(lab, rounds):
    mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    program = [PYTHON, "-c", LINE]
    many = f"for i in $(seq {lab.pods}); do \"$@\" & done; wait"
    commands = {"python alone": ["bash", "-c", many, "bash", *program],
                "hbrun": [HBRUN, "-H", lab.hosts, *program],
                "hbrun torch": [HBRUN, "--framework", "torch", "-H", lab.hosts,
                                *program]}
    if mpirun:
        commands["mpirun"] = [mpirun, "--allow-run-as-root", "--bind-to", "none",
                              "-H", lab.hosts, *program]
    runs = in_turn(lab, commands, rounds, lab.pods)
    print(f"the first line of Python on {lab.pods} pods")
    for which, at in (("first", 0), ("last", -1)):
        bare = statistics.median(r[at] for r in runs["python alone"])
        added = {}
        for name, all_runs in runs.items():
            values = [r[at] for r in all_runs]
            if not values:
                print(f"  {which} rank, {name:12}  no run ended")
                continue
            added[name] = statistics.median(values) - bare
            print(f"  {which} rank, {name:12} {spread(values)}", end="")
            print("" if name == "python alone" else
                  f", adds {added[name] * 1e3:.0f} ms", flush=True)
        for name in ("hbrun", "hbrun torch"):
            if "mpirun" in added and name in added:
                print(f"  {which} rank: {name} adds "
                      f"{added[name] / added['mpirun']:.2f} of what mpirun adds")


def by_hand(lab, ray):
    """A shell line: when its `line` comes, all nodes are in."""
    start = f"{ray} start --disable-usage-stats --num-cpus=1"
    head, *others = lab.hosts.split(",")
    ssh = "ssh -o BatchMode=yes"
    lines = [f"a=$(getent ahostsv4 {head} | head -n 1 | cut -d' ' -f1)",
             f"{ssh} {head} {start} --head --node-ip-address=$a --port=6379 "
             "--include-dashboard=false > /dev/null 2>&1"]
    lines += [f"{ssh} {other} {start} --address=$a:6379 > /dev/null 2>&1 &"
              for other in others]
    # That they have been started is not yet that they are in: as hbrun does, a
    # driver looks first.
    lines += ["wait",
              f"echo {shlex.quote(COUNT + chr(10) + LINE)} | {ssh} {head} "
              f"RAY_ADDRESS=$a:6379 {ray[:-3]}python -",
              f"for h in {' '.join(lab.hosts.split(','))}; do {ssh} $h {ray} stop "
              "--force > /dev/null 2>&1 & done; wait"]
    return ["bash", "-c", "\n".join(lines)]


def ray_row(lab, rounds, folder):
    ray, python = folder + "/bin/ray", folder + "/bin/python"
    if not os.access(ray, os.X_OK):
        print(f"ray: not in {folder} (make check-peers, or --ray)")
        return
    lab.limit_s = RAY_LIMIT_S
    commands = {
        "hbrun": [HBRUN, "--framework", "ray", "--recipe-set", "ray=" + ray,
                  "--recipe-set", "python=" + python, "--recipe-set", "cpus=1",
                  "-H", lab.hosts, python, "-c", LINE + "\n" + COUNT],
        "by hand": by_hand(lab, ray)}
    runs = in_turn(lab, commands, rounds, 1)
    print(f"a Ray cluster of {lab.pods} pods is ready")
    for name, all_runs in runs.items():
        print(f"  {name:12}", spread([r[0] for r in all_runs]) if all_runs
              else "no run ended", flush=True)
    if all(runs.values()):
        ours, theirs = (statistics.median(r[0] for r in runs[n])
                        for n in ("hbrun", "by hand"))
        print(f"  hbrun takes {ours / theirs:.2f} of what it takes by hand")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--ray", default=BUILD + "/peers/ray")
    args = parser.parse_args()

    lab = Lab("frameworks", args.pods)
    try:
        if args.only in "python":
            python_row(lab, args.rounds)
        if args.only in "ray":
            ray_row(lab, max(args.rounds // 3, 1), args.ray)
    finally:
        lab.down()
    return 0


if __name__ == "__main__":
    sys.exit(main())
