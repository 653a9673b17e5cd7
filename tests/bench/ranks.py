# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Ranks of libhpcboot and of the MPIs that are installed: where they run, how
each is started, and how what they took is printed. Used by collectives.py and
init.py; does nothing by itself.
"""
import bisect
import math
import os
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time

SRC = os.environ.get("HB_SRCDIR",
                     os.path.dirname(os.path.abspath(__file__)) + "/../..")
BUILD = os.environ.get("HB_BUILDDIR", SRC + "/build")
PODLAB = SRC + "/tests/pods/podlab"
LAB_LIMIT_S = 120
CPUS = len(os.sched_getaffinity(0))


class Layout:
    """8: ranks on this host; p4: pods with a rank each; p4x2: with two."""

    def __init__(self, text):
        pods, _, each = text.lstrip("p").partition("x")
        self.text = text
        self.pods = int(pods) if text.startswith("p") else 0
        self.each = int(each or 1) if self.pods else int(pods)
        self.ranks = self.each * max(self.pods, 1)
        self.crowd = self.ranks > CPUS
        self.lab = None

    def title(self):
        where = f"{self.pods} pods, {self.each} ranks each" if self.pods \
            else f"{self.ranks} ranks on one host"
        return f"{where}, {CPUS} CPUs"

    def up(self):
        """None, or why there is no such layout here."""
        if not self.pods:
            return None
        self.lab = dict(os.environ, PODLAB_NAME=f"bench-coll-{os.getpid()}")
        up = self.podlab("up", str(self.pods + 1), "--see", SRC, "--see",
                         BUILD, "--see", tempfile.gettempdir(), "--owner",
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

    def hosts(self):
        return ",".join(f"pod-{i}:{self.each}"
                        for i in range(1, self.pods + 1))

    def run(self, command, env, limit_s):
        """What it prints, its status, and its last words."""
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


class Distance:
    """How far this host's first two CPUs are from each other. Where they are a
    guest's, its host moves them: for a while each line that passes between
    them takes several times longer, for every library, or they are two threads
    of one core, and a column of figures that was measured then says nothing
    beside the others."""

    FAR = 3  # times what a quarter of the readings are below
    ONE_CORE = 0.6  # times what half of them are below
    TRIES = 6

    def __init__(self, folder):
        self.program = folder + "/distance"
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O2",
                        "-pthread", "-o", self.program,
                        SRC + "/tests/bench/distance.c"], check=True)
        self.readings = sorted(self.ns() for _ in range(9))
        self.asked = self.again = self.away = 0

    def ns(self):
        return float(subprocess.run([self.program], check=True, text=True,
                                    stdout=subprocess.PIPE).stdout)

    def is_elsewhere(self):
        ns = self.ns()
        bisect.insort(self.readings, ns)
        n = len(self.readings)
        return (ns > self.FAR * self.readings[n // 4] or
                ns < self.ONE_CORE * self.readings[n // 2])

    def run(self, once):
        """What once() returns, of a time when they were where they mostly are,
        if that comes; who fails is not asked again."""
        self.asked += 1
        for left in reversed(range(self.TRIES)):
            away = self.is_elsewhere()
            if away and left:
                time.sleep(0.3)
                continue
            result = once()
            away = away or self.is_elsewhere()
            if not away or not left or result[1] != 0:
                break
            self.again += 1
        self.away += away
        return result

    def summary(self):
        return (f"the CPUs were far from each other, or one core, in "
                f"{self.away} of {self.asked} runs, and in {self.again} that "
                "were repeated")


def hbrun(layout, program, env=()):
    line = [BUILD + "/hbrun", "-n", str(layout.ranks), "--bind-to", "none"]
    for value in env:
        line += ["-x", value]
    if layout.pods:
        line += ["-H", layout.hosts()]
    return line + program


class Mpi:
    """A kind of MPI: its compiler, its launcher, their folder."""

    def __init__(self, name, family, mpicc, launcher):
        self.name, self.family, self.launcher = name, family, launcher
        self.mpicc = mpicc
        self.env = {"PATH": os.path.dirname(mpicc) + ":" + os.environ["PATH"]} \
            if mpicc.startswith(BUILD) else {}

    def compile(self, folder, *sources):
        program = f"{folder}/{os.path.basename(sources[0])[:-2]}-{self.name}"
        subprocess.run([self.mpicc, "-O2", "-DBENCH_MPI", "-I" + SRC,
                        "-I" + SRC + "/include", "-o", program, *sources],
                       check=True, env=dict(os.environ, **self.env))
        return program

    def open_mpi(self, layout, *options):
        line = [self.launcher, "--allow-run-as-root", "--bind-to", "none",
                "--oversubscribe" if self.name == "ompi" else "--map-by",
                *([] if self.name == "ompi" else [":OVERSUBSCRIBE"]),
                "-n", str(layout.ranks), *options]
        if self.env:
            line += ["-x", "PATH"]
        return line + (["-H", layout.hosts()] if layout.pods else [])

    def ways(self, layout):
        """(name, command without the program) of each way to communicate; in
        a crowd Open MPI is told to yield, and also runs as it comes."""
        if self.family == "mpich":
            hosts = ["-launcher", "ssh", "-hosts", layout.hosts()] \
                if layout.pods else []
            return [(self.name, [self.launcher, *hosts, "-n",
                                 str(layout.ranks)])]
        calm = ["--mca", "mpi_yield_when_idle", "1"] if layout.crowd else []
        ob1 = ["--mca", "pml", "ob1"]
        # Without a Mellanox device it is not chosen unless asked twice.
        ucx = ["--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any",
               "--mca", "opal_common_ucx_devices", "any"]
        ways = [("ob1", ob1 + calm)]
        if self.name == "ompi":
            ways.append(("ucx", ucx + calm))
        if layout.crowd and layout.pods:
            ways.append(("default", ob1))
        return [(f"{self.name} {n}", self.open_mpi(layout, *w))
                for n, w in ways]


def is_default(name):
    """Whether this peer waits as its makers left it."""
    return name.startswith("mpich") or name.endswith(" default")


def compile_all(folder, *sources):
    """{Mpi: program} of each that is installed."""
    programs = {}
    for mpi in find_mpis():
        try:
            programs[mpi] = mpi.compile(folder, *sources)
        except subprocess.CalledProcessError as e:
            print(f"{mpi.name}: {e}")
    return programs


def find_mpis():
    kinds = [("ompi", "openmpi", "mpicc.openmpi", "mpirun.openmpi"),
             ("mpich", "mpich", "mpicc.mpich", "mpiexec.mpich")]
    for name, family, launcher in (("ompi5", "openmpi", "mpirun"),
                                   ("mpich5", "mpich", "mpiexec")):
        at = f"{BUILD}/peers/{family}"
        if os.path.exists(at + "/ready"):
            kinds.append((name, family, at + "/bin/mpicc",
                          f"{at}/bin/{launcher}"))
    found = []
    for name, family, mpicc, launcher in kinds:
        if shutil.which(mpicc) and shutil.which(launcher):
            found.append(Mpi(name, family, shutil.which(mpicc), launcher))
        else:
            print(f"{name}: not here ({mpicc}, {launcher})")
    return found


def serve(mpis, layout):
    """Those that can: what is in the build folder is not in the pods."""
    return [m for m in mpis if not (layout.pods and m.env)]


def lost(status, words, limit_s):
    return f"not back within {limit_s} s" if status in (124, 137) \
        else f"ended with {status}: {words}"


def figure(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def span(values):
    if not values:
        return f"{'-':>24}"
    low, mid, high = min(values), statistics.median(values), max(values)
    return f"{figure(mid)} ({figure(low)}-{figure(high)})".rjust(24)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))
