#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""A way to an agent that says more than it may: what the two say to each other
is carried, and the agent's first frame of a kind many times.

usage: greedy_link.py KIND TIMES MARK COMMAND...
  KIND  a name of lib/wire/messages.def
  TIMES 0: it is not said, and the way ends there
  MARK  a file that is made when all is said, or is heard no more
"""
import os
import re
import struct
import subprocess
import sys
import threading

MAGIC = b"\033hpcboot-link 1\n"


def number_of(kind):
    table = os.path.dirname(os.path.abspath(__file__)) + "/../../lib/wire/messages.def"
    with open(table, encoding="ascii") as f:
        return int(re.search(r"HB_MESSAGE\(%s, \w+, (\d+)," % kind, f.read()).group(1))


def say(data):
    while data:
        data = data[os.write(1, data):]


def repeat(frame, times, mark):
    try:
        for _ in range(times):
            say(frame)
    finally:
        with open(mark, "w", encoding="ascii"):
            pass


def listen(agent):
    while data := os.read(0, 65536):
        os.write(agent.stdin.fileno(), data)
    agent.stdin.close()


def carry(command, take):
    """Runs the agent; each frame that it says goes to take(kind, frame)."""
    agent = subprocess.Popen(command, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    threading.Thread(target=listen, args=(agent,), daemon=True).start()
    buffer, begun = b"", False
    while data := os.read(agent.stdout.fileno(), 65536):
        buffer += data
        if not begun and MAGIC in buffer:
            begun = True
            say(MAGIC)
            buffer = buffer[buffer.index(MAGIC) + len(MAGIC):]
        while begun and len(buffer) >= 4:
            size = 4 + struct.unpack(">I", buffer[:4])[0]
            if len(buffer) < size:
                break
            take(struct.unpack(">H", buffer[4:6])[0], buffer[:size])
            buffer = buffer[size:]
    os._exit(agent.wait())


def main():
    wanted, times = [number_of(sys.argv[1])], int(sys.argv[2])

    def take(kind, frame):
        if kind in wanted:
            wanted.clear()
            repeat(frame, times, sys.argv[3])
            if times == 0:
                os._exit(1)
        say(frame)

    carry(sys.argv[4:], take)


if __name__ == "__main__":
    main()
