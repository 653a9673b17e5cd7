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
import sys
import threading
import time

from greedy_link import carry, number_of, say

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
    held, let, said = number_of(sys.argv[1]), sys.argv[2], sys.argv[3]

    def take(kind, frame):
        if kind == held:
            threading.Thread(target=hold, args=(frame, let, said),
                             daemon=True).start()
        else:
            pass_on(frame)

    carry(sys.argv[4:], take)


if __name__ == "__main__":
    main()
