#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""hpcboot hostfile with 10,000 hosts out of each source that is a file.

Each row is a source: gathered, and printed in the form of Open MPI to a pipe
that is read. Times are the median of the runs, memory the peak of one. The goal
is 30 ms and 20 MB. Nothing is asserted: the table is for people.

usage: gather.py [--rounds N] [--only WORD] [--hosts N]
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time

SRC = os.environ.get("HB_SRCDIR", os.path.dirname(os.path.abspath(__file__)) + "/../..")
BUILD = os.environ.get("HB_BUILDDIR", SRC + "/build")
HPCBOOT = BUILD + "/hpcboot"
SLOTS = 8
GOAL = "30 ms, 20 MB"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as out:
        out.write(text)
    return path


def form_rows(folder, names):
    """Hostfiles in every form."""
    each = {
        "openmpi": "".join(f"{n} slots={SLOTS}\n" for n in names),
        "hydra": "".join(f"{n}:{SLOTS}\n" for n in names),
        "plain": "\n".join(names),
        "pbs": "".join(f"{n}\n" * SLOTS for n in names),
        "list": ",".join(f"{n}:{SLOTS}" for n in names),
    }
    for same, form in (("intel", "hydra"), ("mvapich", "hydra"),
                       ("deepspeed", "openmpi"), ("horovod", "list")):
        each[same] = each[form]
    each["slurm"] = ",".join(names)
    for form, text in each.items():
        path = write(f"{folder}/form/{form}", text)
        yield (f"--hostfile, form {form}",
               [HPCBOOT, "hostfile", "--hostfile", path, "--from", form], {})


def batch_rows(folder, names):
    """Batch systems whose variable names a file."""
    lines = "".join(f"{n}\n" * SLOTS for n in names)
    nodes = write(f"{folder}/batch/nodes", lines)
    queues = write(f"{folder}/batch/pe",
                   "".join(f"{n} {SLOTS} q@{n} UNDEFINED\n" for n in names))
    command = [HPCBOOT, "hostfile"]
    yield "PBS", command, {"PBS_JOBID": "1", "PBS_NODEFILE": nodes}
    yield "LSF", command, {"LSB_JOBID": "1", "LSB_DJOB_HOSTFILE": nodes}
    yield "Cobalt", command, {"COBALT_JOBID": "1", "COBALT_NODEFILE": nodes}
    yield "Grid Engine", command, {"JOB_ID": "1", "NSLOTS": "1",
                                   "PE_HOSTFILE": queues}


def operator_rows(folder, names):
    """What operators mount, in a mount namespace with an /etc of its own."""
    inside = ["unshare", "-rm", "sh", "-c",
              'mount --bind "$0" /etc && exec "$@"']
    slots = "".join(f"{n} slots={SLOTS}\n" for n in names)
    files = {
        "Volcano Job": {"volcano/worker.host": "\n".join(names)},
        "MPI Operator": {"mpi/hostfile": slots, "mpi/discover_hosts.sh": ""},
        "MPIJob v1": {"mpi/hostfile": slots, "mpi/kubexec.sh": ""},
        "Kubeflow Trainer": {"mpi/hostfile": slots},
    }
    for number, (title, mounted) in enumerate(files.items()):
        etc = f"{folder}/etc{number}"
        for path, text in mounted.items():
            write(f"{etc}/{path}", text)
        yield title, inside + [etc, HPCBOOT, "hostfile"], {}


def memory_kb(command, env, folder):
    """A process begins with the peak of the one that made it, so GNU time has
    to make it; None without that."""
    if not os.path.exists("/usr/bin/time"):
        return None
    path = folder + "/memory"
    subprocess.run(["/usr/bin/time", "-f", "%M", "-o", path, *command], env=env,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False)
    with open(path, encoding="ascii") as text:
        return int(text.read().split()[-1])


def once(command, env):
    """(seconds, seconds of CPU, lines) of one run, from fork to exit."""
    start = time.perf_counter()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child:
        lines = child.stdout.read().count(b"\n")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return time.perf_counter() - start, cpu, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", help="rows whose title has this word")
    parser.add_argument("--hosts", type=int, default=10_000)
    args = parser.parse_args()
    names = [f"job-worker-{i}.job.namespace.svc" for i in range(args.hosts)]
    print(f"{args.hosts} hosts, {args.rounds} runs; the goal: {GOAL}\n")
    print(f"{'source':28} {'wall':>9} {'CPU':>9} {'memory':>9}")
    with tempfile.TemporaryDirectory() as folder:
        table = list(form_rows(folder, names)) + list(batch_rows(folder, names))
        if shutil.which("unshare"):
            table += operator_rows(folder, names)
        for title, command, more in table:
            env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **more}
            if args.only and args.only not in title:
                continue
            runs = [once(command, env) for _ in range(args.rounds)]
            if any(run[2] != args.hosts for run in runs):
                print(f"{title:28} {'-':>9}  {runs[0][2]} lines were printed")
                continue
            wall, cpu = (statistics.median(run[i] for run in runs) * 1e3
                         for i in (0, 1))
            memory = memory_kb(command, env, folder)
            print(f"{title:28} {wall:6.1f} ms {cpu:6.1f} ms",
                  f"{memory / 1024:6.1f} MB" if memory else f"{'-':>9}")


if __name__ == "__main__":
    main()
