#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Starting a job on many pods over sshd: hbrun beside the launchers that are
installed, runs taken in turn, wall time and the CPU of all pods together.

t is what a start on one pod takes, c the CPU that hbrun's own host spends for
each host when it logs in to all, k the width of its tree. `login` is the CPU of
both ends for a start on one pod: a login, an agent and a rank. Nothing is
asserted. Peers hang: each run has a limit, and those lost are counted.

usage: tree.py [--pods N[,N]] [--rounds N] [--only WORD]  (root: it makes pods)
  with several N: whether all come, and what a pod costs, for hbrun alone
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from serve import BUILD, SRC, Lab

HBRUN = BUILD + "/hbrun"
SSH = "-o KexAlgorithms=curve25519-sha256"


def peers(lab, program):
    """name -> command that runs `program` (words) once on each pod"""
    mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    hydra = shutil.which("mpiexec.hydra") or shutil.which("mpiexec.mpich")
    words = " ".join(program)
    found = {"hbrun": [HBRUN, "-H", lab.hosts, *program],
             "hbrun flat": [HBRUN, "--tree-width", "1", "-H", lab.hosts, *program]}
    if mpirun:
        line = [mpirun, "--allow-run-as-root", "--bind-to", "none"]
        flat = ["-mca", "plm_rsh_no_tree_spawn", "1"]
        found["mpirun tree"] = [*line, "-H", lab.hosts, *program]
        found["mpirun flat"] = [*line, *flat, "-H", lab.hosts, *program]
    if hydra:
        found["mpiexec"] = [hydra, "-launcher", "ssh", "-hosts", lab.hosts, "-n",
                            str(lab.pods), "-ppn", "1", *program]
    if shutil.which("pdsh"):
        found["pdsh"] = ["pdsh", "-R", "ssh", "-f", "32", "-w", lab.hosts, words]
    if shutil.which("clush"):
        found["clush"] = ["clush", "-f", "32", "-w", lab.hosts, words]
    found["xargs ssh"] = ["bash", "-c", "tr , '\\n' <<< \"$0\" | xargs -P32 -I{} "
                          f"ssh {SSH} {{}} \"$1\"", lab.hosts, words]
    return found


def take(lab, commands, rounds):
    runs = {name: [] for name in commands}
    lab.run(*next(iter(commands.values())))  # caches are warm
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(lab.run(*command))
    return runs


def middle(values):
    return statistics.median(values) if values else None


def show(lab, runs):
    own = None
    for name, all_runs in runs.items():
        good = [r for r in all_runs if r]
        lost = len(all_runs) - len(good)
        if not good:
            print(f"  {name:12} no run ended")
            continue
        walls = [r[0] for r in good]
        wall, cpu = middle(walls), middle([r[1] for r in good])
        line = (f"  {name:12} {wall:6.2f} s [{min(walls):.2f}-{max(walls):.2f}], "
                f"CPU {cpu * lab.pods / 1e3:6.2f} s, {cpu:6.1f} ms a pod")
        if own is None:
            own = wall, cpu
        else:
            line += f"   ({wall / own[0]:.2f}x wall, {cpu / own[1]:.2f}x CPU)"
        print(line + (f", {lost} hung or failed" if lost else ""), flush=True)
    return own


def one_login(lab, rounds):
    """t in ms, the CPU of both ends in ms, and c in ms"""
    one = [HBRUN, "--tree-width", "1", "-H", "pod-1", "true"]
    runs = [r for r in (lab.run(*one) for _ in range(rounds)) if r]
    before = int(lab.podlab("cpu", "0").stdout)
    lab.run(HBRUN, "--tree-width", "1", "-H", lab.hosts, "true")
    flat = int(lab.podlab("cpu", "0").stdout) - before
    return (middle([r[0] for r in runs]) * 1e3,
            middle([r[1] for r in runs]) * lab.pods, flat / 1e3 / lab.pods)


def row_true(lab, rounds):
    t, login, c = one_login(lab, rounds)
    print(f"true on {lab.pods} pods, {os.cpu_count()} cores, t {t:.0f} ms, c {c:.1f} "
          f"ms, k 32, login {login:.1f} ms; medians of {rounds} runs in turn "
          "[least-most]")
    own = show(lab, take(lab, peers(lab, ["true"]), rounds))
    if own:
        print(f"  a pod costs hbrun {own[1] / login:.2f}x of one login")


def rank_cpu_s(text):
    """What bash's `times` of all ranks adds up to."""
    return sum(int(m) * 60 + float(s)
               for m, s in re.findall(r"(\d+)m([\d.]+)s", text))


def launcher_cpu(lab, command, rounds):
    """CPU seconds of all pods that no rank has spent."""
    left = []
    for _ in range(rounds):
        before = lab.cpu_ms()
        try:
            done = lab.podlab("exec", "0", "timeout", "-k", "2",
                              str(lab.limit_s), *command, check=False)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0:
            left.append((lab.cpu_ms() - before) / 1e3 - rank_cpu_s(done.stdout))
    return left


def row_hello(lab, rounds, folder):
    compiler = shutil.which("mpicc.openmpi")
    if not compiler:
        return
    hello = folder + "/hello"
    subprocess.run([compiler, "-O2", "-o", hello, SRC + "/examples/hello_mpi.c"],
                   check=True)
    program = ["bash", "-c", hello + " > /dev/null; times"]
    commands = {name: words for name, words in peers(lab, program).items()
                if name in ("hbrun", "mpirun tree")}
    print(f"Open MPI hello on {lab.pods} pods: CPU that no rank has spent")
    own = None
    for name, command in commands.items():
        left = launcher_cpu(lab, command, rounds)
        if not left:
            print(f"  {name:12} no run ended")
            continue
        own = own or middle(left)
        print(f"  {name:12} {middle(left):6.2f} s [{min(left):.2f}-{max(left):.2f}]"
              f"   ({middle(left) / own:.2f}x)"
              + (f", {rounds - len(left)} hung or failed"
                 if len(left) < rounds else ""), flush=True)


class Killed:
    """A job on all pods whose launcher is killed, with what stays of it."""
    LIMIT_S = 60
    OWN = ("hbrun", "hb-keeper", "hpcbootd", "sleep")

    def __init__(self, lab, folder, policy):
        self.lab = lab
        self.events = folder + "/events"
        self.pods = {}  # of a PID namespace
        for line in lab.podlab("list").stdout.splitlines():
            words = line.split()
            self.pods[os.readlink(f"/proc/{words[3]}/ns/pid")] = words[1]
        if os.path.exists(self.events):
            os.remove(self.events)
        self.job = subprocess.Popen(
            [SRC + "/tests/pods/podlab", "exec", "0", HBRUN, "--on-failure",
             policy, "--events", self.events, "-H", lab.hosts, "bash", "-c",
             "setsid sleep 1000 & exec sleep 1000"],
            env=lab.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until = time.monotonic() + self.LIMIT_S
        while len(self.told("rank_started")) < lab.pods:
            if self.job.poll() is not None or time.monotonic() > until:
                self.job.kill()
                raise TimeoutError("not all ranks have started, status "
                                   f"{self.job.poll()}: {self.job.stderr.read()}")
            time.sleep(0.05)

    def told(self, name):
        if not os.path.exists(self.events):
            return []
        with open(self.events, encoding="utf-8") as f:
            return [json.loads(line) for line in f
                    if line.endswith("\n") and f'"{name}"' in line]

    def left(self):
        """(pid, program, pod) of what is there of the job."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                    program = f.read().strip()
                pod = self.pods.get(os.readlink(f"/proc/{pid}/ns/pid"))
            except OSError:
                continue
            if program in self.OWN and pod:
                found.append((int(pid), program, pod))
        return found

    def kill(self, inner):
        """Seconds until nothing is left, and how much was there after 2."""
        names = [e["detail"] for e in self.told("host_started_by")]
        victim = max(set(names), key=names.count) if names else "pod-1"
        agents = sorted(pid for pid, program, pod in self.left()
                        if program == "hpcbootd" and pod == victim)
        killed = agents[{False: len(agents), True: -1, "both": 0}[inner]:]
        killed += [pid for pid, program, _ in self.left() if program == "hbrun"]
        for pid in killed:  # the guard is older than its agent
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        began, after_2 = time.monotonic(), None
        while True:
            left = self.left()
            took = time.monotonic() - began
            if after_2 is None and (took >= 2 or not left):
                after_2 = len(left)
            if not left or took > self.LIMIT_S:
                self.job.wait()
                return took, after_2
            time.sleep(0.02)


def row_killed(lab, rounds, folder):
    print(f"hbrun on {lab.pods} pods gets SIGKILL: seconds until nothing is left "
          f"of the job, and processes there 2 s later; {rounds} runs")
    for words, policy, inner in (("abort", "abort", False),
                                 ("abort, after an inner host's agent", "abort", True),
                                 ("continue", "continue", False),
                                 ("continue, after an inner host's agent",
                                  "continue", True),
                                 ("abort, after an inner agent and its guard",
                                  "abort", "both")):
        runs = [Killed(lab, folder, policy).kill(inner) for _ in range(rounds)]
        took = [r[0] for r in runs]
        print(f"  {words:41} {middle(took):5.2f} s [{min(took):.2f}-{max(took):.2f}], "
              f"{max(r[1] for r in runs)} left", flush=True)


def row_size(lab, rounds):
    runs = [lab.run(HBRUN, "--wait-hosts", "60", "-H", lab.hosts, "true")
            for _ in range(rounds)]
    show(lab, {f"{lab.pods} pods": runs})
    return middle([r[1] for r in runs if r])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", default="64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="true, hello or killed")
    args = parser.parse_args()
    sizes = [int(n) for n in args.pods.split(",")]
    costs = []
    for n in sizes:
        with tempfile.TemporaryDirectory(prefix="hpcboot-bench-", dir="/var/tmp") as at:
            lab = Lab("tree", n, "--see", at)
            try:
                if len(sizes) > 1:
                    costs.append(row_size(lab, args.rounds))
                    continue
                if args.only in ("", "true"):
                    row_true(lab, args.rounds)
                if args.only in ("", "hello"):
                    row_hello(lab, args.rounds, at)
                if args.only in ("", "killed"):
                    row_killed(lab, args.rounds, at)
            finally:
                lab.down()
    if len(costs) > 1 and all(costs):
        print(f"a pod of {sizes[-1]} costs {costs[-1] / costs[0]:.2f}x of one of "
              f"{sizes[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
