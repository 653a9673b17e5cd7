#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""A way to an agent that speaks of ranks before there are any: what the two say
to each other is carried, and one frame more behind the agent's HELLO.

usage: early_link.py OUTPUT|CONTACT FILE COMMAND...
The file is there once that frame has been written.
"""
import os
import re
import struct
import subprocess
import sys
import threading

MAGIC = b"\033hpcboot-link 1\n"
INIT = 2  # HB_CONTACT_INIT
SAID = {  # of rank 0
    "OUTPUT": struct.pack(">IBBQI", 0, 1, 0, 0, 6) + b"early\n",
    "CONTACT": struct.pack(">II", 0, INIT),
}


def number_of(kind):
    table = os.path.dirname(os.path.abspath(__file__)) + "/../../lib/wire/messages.def"
    with open(table, encoding="ascii") as f:
        return int(re.search(r"HB_MESSAGE\(%s, \w+, (\d+)," % kind, f.read()).group(1))


def listen(agent):
    while data := os.read(0, 65536):
        os.write(agent.stdin.fileno(), data)
    agent.stdin.close()


def hello_of(stream):
    """What the agent says first, as far as the end of HELLO."""
    said = b""
    while not said.endswith(MAGIC):
        said += stream.read(1)
    length = stream.read(4)
    return said, length + stream.read(struct.unpack(">I", length)[0])


def main():
    kind, said = sys.argv[1:3]
    agent = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, bufsize=0)
    threading.Thread(target=listen, args=(agent,), daemon=True).start()
    magic, hello = hello_of(agent.stdout)
    early = struct.pack(">HH", number_of(kind), 0) + hello[8:20] + SAID[kind]
    os.write(1, magic + hello + struct.pack(">I", len(early)) + early)
    with open(said, "w", encoding="ascii"):
        pass
    while data := os.read(agent.stdout.fileno(), 65536):
        os.write(1, data)
    os._exit(agent.wait())


if __name__ == "__main__":
    main()
