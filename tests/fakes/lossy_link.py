#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""A way to an agent that breaks once: what the launcher says is carried to the
agent up to the first frame of a kind, which is lost, and the agent with it.

usage: lossy_link.py KIND MARK COMMAND...
  KIND  a name of lib/wire/messages.def
  MARK  a file that is made when that happens; where it is, nothing does
"""
import os
import re
import signal
import struct
import subprocess
import sys
import threading


def number_of(kind):
    table = os.path.dirname(os.path.abspath(__file__)) + "/../../lib/wire/messages.def"
    with open(table, encoding="ascii") as f:
        return int(re.search(r"HB_MESSAGE\(%s, \w+, (\d+)," % kind, f.read()).group(1))


def frames():
    buffer = b""
    while data := os.read(0, 65536):
        buffer += data
        while len(buffer) >= 4:
            size = 4 + struct.unpack(">I", buffer[:4])[0]
            if len(buffer) < size:
                break
            yield buffer[:size]
            buffer = buffer[size:]


def answers(agent):
    while data := os.read(agent.stdout.fileno(), 65536):
        os.write(1, data)
    os._exit(agent.wait())


def main():
    kind, mark = number_of(sys.argv[1]), sys.argv[2]
    agent = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    threading.Thread(target=answers, args=(agent,), daemon=True).start()
    for frame in frames():
        if struct.unpack(">H", frame[4:6])[0] == kind and not os.path.exists(mark):
            with open(mark, "w", encoding="ascii"):
                agent.send_signal(signal.SIGKILL)
            os._exit(1)
        os.write(agent.stdin.fileno(), frame)
    agent.stdin.close()
    agent.wait()


if __name__ == "__main__":
    main()
