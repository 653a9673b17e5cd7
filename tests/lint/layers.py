#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Checks every #include of the tree against the table in ARCHITECTURE.md, and
the table against the levels that are drawn above it.

Prints TAP: one test per module, and one of the table. With --explain, the
table as it was read."""
import os
import re
import sys

TOP = os.environ.get("HB_SRCDIR", os.path.dirname(os.path.abspath(__file__)) + "/../..")

# Whose headers begin like this. What is in no row here is the C library's or
# the kernel's.
OUTSIDE = {
    "libcrypto": ("openssl/",),
    "hwloc": ("hwloc",),
    "libibverbs": ("infiniband/",),
    "UCX": ("ucp/", "ucs/", "uct/"),
    "PMIx": ("pmix",),
    "libcurl": ("curl/",),
    "jansson": ("jansson",),
    "libevent": ("event2/", "event.h"),
    "cairo": ("cairo",),
    "libssh": ("libssh/",),
    "MPI": ("mpi.h", "mpi-ext.h"),
}
# The columns say what a part of a library is used for; its headers are one.
ALIAS = {"PMIx client": "PMIx", "PMIx server": "PMIx"}
# What the library promises its users, its own parts may name.
EVERYWHERE = ("include/hpcboot/", "hpcboot/", "config.h")


def cells(line):
    return [c.strip() for c in line.strip().strip("|").split("|")]


def words(text):
    return [w.strip() for w in text.split(",") if w.strip() not in ("", "-")]


def read_table():
    """module -> (modules it may include, libraries it may include)"""
    rows = {}
    with open(TOP + "/ARCHITECTURE.md", encoding="utf-8") as f:
        lines = iter(f)
        for line in lines:
            if line.startswith("| module |"):
                break
        next(lines)
        for line in lines:
            if not line.startswith("|"):
                break
            name, _, modules, libraries = cells(line)
            rows[name.strip("`")] = (words(modules), words(libraries))
    by_short = {m.split("/")[-1]: m for m in rows}
    table = {}
    for name, (modules, libraries) in rows.items():
        unknown = [m for m in modules if m not in by_short]
        if unknown:
            sys.exit(f"ARCHITECTURE.md: {name} may include {unknown}, "
                     "and no row is called that")
        table[name] = ({by_short[m] for m in modules},
                       {ALIAS.get(w, w) for w in libraries})
    return table


def read_levels():
    """module -> its level"""
    with open(TOP + "/ARCHITECTURE.md", encoding="utf-8") as f:
        drawn = re.findall(r"^level (\d) (.*)$", f.read(), re.M)
    return {word: int(level) for level, line in drawn for word in line.split()}


def off_level(table, level):
    """What the table lets include a module that is not below it."""
    bad = [f"{m} is on no level" for m in table
           if m not in level and m != "include/hpcboot"]
    return bad + [f"{m} is of level {level[m]}, and may include {other}"
                  for m, (may, _) in table.items() for other in may
                  if level.get(m, 9) <= level.get(other, 0)]


def module_of(path, table):
    fits = [m for m in table if path.startswith(m + "/")]
    return max(fits, key=len) if fits else None


def library_of(header):
    for library, beginnings in OUTSIDE.items():
        if header.startswith(beginnings):
            return library
    return None


def sources(module):
    for folder, _, files in os.walk(f"{TOP}/{module}"):
        for name in sorted(files):
            if name.endswith((".c", ".h", ".def", ".h.in")):
                yield os.path.relpath(f"{folder}/{name}", TOP)


def includes(path):
    with open(f"{TOP}/{path}", encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            m = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if m:
                yield number, m.group(1), m.group(2)


def is_private(path, module):
    """A header that only its own folder includes."""
    for root in ("lib", "bin", "hostfile", "include", "tests"):
        for folder, _, files in os.walk(f"{TOP}/{root}"):
            other = os.path.relpath(folder, TOP)
            if other == module or other.startswith(module + "/"):
                continue
            for name in files:
                if name.endswith((".c", ".h")):
                    for _, _, header in includes(f"{other}/{name}"):
                        if header == path:
                            return False
    return True


def check_include(path, module, quote, header, table):
    may, libraries = table[module]
    if header.startswith(EVERYWHERE):
        return None
    if quote == "<":
        library = library_of(header)
        if library is None or header.startswith("hpcboot/"):
            return None
        if library not in libraries:
            return f"{library} is not a library of {module}"
        if path.endswith(".h") and not is_private(path, module):
            return f"{library} in a header that other folders include"
        return None
    target = module_of(header, table)
    if target is None:
        return "a header of ours is included by its path from the top"
    if target != module and target not in may:
        return f"{module} may not include {target}"
    return None


def verdict(n, what, bad):
    print(f"{'not ' if bad else ''}ok {n} - {what}")
    for line in bad:
        print("#", line)
    return bool(bad)


def main():
    table = read_table()
    if "--explain" in sys.argv:
        for module, (may, libraries) in table.items():
            print(f"{module}: {' '.join(sorted(may | libraries))}")
        return 0
    modules = [m for m in table if os.path.isdir(f"{TOP}/{m}")]
    failed = 0
    print(f"1..{len(modules) + 1}")
    for n, module in enumerate(modules, 1):
        bad = []
        for path in sources(module):
            for number, quote, header in includes(path):
                why = check_include(path, module, quote, header, table)
                if why:
                    bad.append(f"{path}:{number}: {header}: {why}")
        failed += verdict(n, f"{module} includes only what the table allows",
                          bad)
    failed += verdict(len(modules) + 1, "the table keeps to the levels",
                      off_level(table, read_levels()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
