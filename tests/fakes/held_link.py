#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""A way to an agent on which what hosts say of one kind waits until it may.

usage: held_link.py KIND LET SAID COMMAND...
  KIND  a name of lib/wire/messages.def
  LET   what host N of the gang says, from 0, waits for the file LET.N
  SAID  and makes the file SAID.N
"""
import os
import struct
import subprocess
import sys
import threading
import time

from greedy_link import MAGIC, listen, number_of, say

lock = threading.Lock()


def pass_on(frame):
    with lock:
        say(frame)


def hold(frame, let, said):
    host = struct.unpack(">I", frame[12:16])[0]
    while not os.path.exists("%s.%d" % (let, host)):
        time.sleep(0.02)
    pass_on(frame)
    with open("%s.%d" % (said, host), "w", encoding="ascii"):
        pass


def main():
    kind, let, said = number_of(sys.argv[1]), sys.argv[2], sys.argv[3]
    agent = subprocess.Popen(sys.argv[4:], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    threading.Thread(target=listen, args=(agent,), daemon=True).start()
    buffer, begun = b"", False
    while data := os.read(agent.stdout.fileno(), 65536):
        buffer += data
        if not begun and MAGIC in buffer:
            begun = True
            pass_on(MAGIC)
            buffer = buffer[buffer.index(MAGIC) + len(MAGIC):]
        while begun and len(buffer) >= 4:
            size = 4 + struct.unpack(">I", buffer[:4])[0]
            if len(buffer) < size:
                break
            frame, buffer = buffer[:size], buffer[size:]
            if struct.unpack(">H", frame[4:6])[0] == kind:
                threading.Thread(target=hold, args=(frame, let, said),
                                 daemon=True).start()
            else:
                pass_on(frame)
    os._exit(agent.wait())


if __name__ == "__main__":
    main()
