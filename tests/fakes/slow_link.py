#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""A way to an agent that is slow at its beginning, and in one direction alone:
what the launcher says in the first second arrives when that is over.

usage: slow_link.py COMMAND...
"""
import os
import subprocess
import sys
import threading
import time

DELAY_S = 1


def carry(source, sink, delay_s):
    data = os.read(source, 65536)
    time.sleep(delay_s)
    while data:
        os.write(sink, data)
        data = os.read(source, 65536)


def answers(agent):
    carry(agent.stdout.fileno(), 1, 0)
    os._exit(agent.wait())


def main():
    agent = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    threading.Thread(target=answers, args=(agent,), daemon=True).start()
    carry(0, agent.stdin.fileno(), DELAY_S)
    agent.stdin.close()
    agent.wait()


if __name__ == "__main__":
    main()
