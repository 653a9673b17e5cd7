#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""hbrun beside the launchers that are installed, in one run.

Each row is a thing to do, each column a launcher. Runs are interleaved (one of
each, then the next round), so that a noisy minute hits all of them; a cell is
the median, with the spread between the quartiles. A peer that does not end is
killed and counted, not run again. Nothing is asserted: the table is for people.

usage: bench.py [--rounds N] [--only WORD] [--json FILE]
"""
import argparse
import json
import os
import platform
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SRC = os.environ.get("HB_SRCDIR", os.path.dirname(os.path.abspath(__file__)) + "/../..")
BUILD = os.environ.get("HB_BUILDDIR", SRC + "/build")
LIMIT_S = 20  # no row takes a working launcher more than a few seconds
FLOOD_BYTES = 100_000_000
FLOOD_RANKS = 8


def first_of(*names):
    return next((p for p in map(shutil.which, names) if p), None)


def launchers():
    """name -> words before -n"""
    found = {"hbrun": [BUILD + "/hbrun"]}
    mpiexec = first_of("mpiexec.mpich", "mpiexec.hydra")
    mpirun = first_of("mpirun.openmpi", "mpirun")
    if mpiexec:
        found["mpiexec"] = [mpiexec]
    if mpirun:
        found["mpirun"] = [mpirun, "--allow-run-as-root", "--oversubscribe"]
    return found


def compile_hello(compiler, folder):
    path = shutil.which(compiler)
    if not path:
        return None
    program = f"{folder}/hello-{compiler}"
    subprocess.run([path, "-O2", "-o", program, SRC + "/examples/hello_mpi.c"],
                   check=True)
    return program


def compile_flood(folder):
    program = f"{folder}/flood"
    subprocess.run([os.environ.get("CC", "cc").split()[0], "-O2", "-o", program,
                    SRC + "/tests/fakes/flood.c"], check=True)
    return program


def rows(found, folder):
    """(title, bytes through the launcher or 0, {launcher: command})"""
    def each(n, program, only=None):
        return {name: words + ["-n", str(n)] + program
                for name, words in found.items() if only is None or name in only}

    table = [(f"true, {n} ranks", 0, each(n, ["true"])) for n in (2, 8, 64)]
    for compiler, own, label in (("mpicc.mpich", "mpiexec", "MPICH"),
                                 ("mpicc.openmpi", "mpirun", "Open MPI")):
        program = compile_hello(compiler, folder)
        if program and own in found:
            for n in (2, 8):
                table.append((f"{label} hello, {n} ranks", 0,
                              each(n, [program], ("hbrun", own))))
    flood = compile_flood(folder)
    table.append((f"{FLOOD_RANKS} ranks x {FLOOD_BYTES // 10**6} MB to /dev/null",
                  FLOOD_RANKS * FLOOD_BYTES,
                  each(FLOOD_RANKS, [flood, "raw", str(FLOOD_BYTES)])))
    return table


def once(command, folder, limit_s):
    """Seconds, or None for a run that did not end well in time."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=folder,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
    try:
        # wait() with a limit asks again and again, up to 50 ms apart.
        ended = os.pidfd_open(child.pid)
        select.select([ended], [], [], limit_s)
        took = time.monotonic() - began
        os.close(ended)
        return took if child.poll() == 0 else None
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()


def measure(commands, rounds, folder, limit_s):
    times = {name: [] for name in commands}
    lost = dict.fromkeys(commands, 0)
    for name, command in commands.items():
        once(command, folder, limit_s)  # caches are warm for everybody
    for _ in range(rounds):
        for name, command in commands.items():
            took = once(command, folder, limit_s)
            if took is None:
                lost[name] += 1
            else:
                times[name].append(took)
    return times, lost


def quartiles(values):
    if len(values) < 2:
        return (values[0], values[0]) if values else (0, 0)
    q = statistics.quantiles(values, n=4)
    return q[0], q[2]


def cell(values, lost, size):
    text = "no run ended"
    if values:
        middle = statistics.median(values)
        low, high = quartiles(values)
        if size:
            text = f"{size / middle / 1e6:.0f} MB/s"
        else:
            text = f"{middle * 1e3:.1f} ms [{low * 1e3:.1f}-{high * 1e3:.1f}]"
    return text + (f", {lost} hung or failed" if lost else "")


def ratio(values, own):
    if not values or not own:
        return "-"
    return f"{statistics.median(values) / statistics.median(own):.2f}x"


def version(words):
    for flag in ("--version",):
        try:
            out = subprocess.run([words[0], flag], capture_output=True, text=True,
                                 timeout=10, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            return "?"
        lines = [line.strip() for line in out.splitlines() if line.strip()]
        for line in lines:
            if any(w in line for w in ("hpcboot", "ersion", "Open MPI")):
                return line
        return lines[0] if lines else "?"
    return "?"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", help="rows whose title has this word")
    parser.add_argument("--json", help="write all single times there")
    args = parser.parse_args()

    found = launchers()
    if not os.access(found["hbrun"][0], os.X_OK):
        sys.exit(f"bench: {found['hbrun'][0]} is not built")
    print(f"{os.cpu_count()} cores, Linux {platform.release()}, "
          f"medians of {args.rounds} interleaved runs [quartiles]")
    for name, words in found.items():
        print(f"{name}: {version(words)}")
    for name in ("mpiexec", "mpirun"):
        if name not in found:
            print(f"{name}: not installed")
    print()

    record = []
    with tempfile.TemporaryDirectory(prefix="hpcboot-bench-") as folder:
        for title, size, commands in rows(found, folder):
            if args.only and args.only not in title:
                continue
            limit_s = LIMIT_S * 3 if size else LIMIT_S
            times, lost = measure(commands, args.rounds, folder, limit_s)
            print(title)
            for name in commands:
                line = f"  {name:8} {cell(times[name], lost[name], size)}"
                if name != "hbrun":
                    line += f"   ({ratio(times[name], times['hbrun'])} of hbrun's time)"
                print(line, flush=True)
            record.append({"row": title, "seconds": times, "lost": lost})
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(record, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
