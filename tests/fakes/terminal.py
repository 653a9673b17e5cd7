#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Runs COMMAND with a terminal as standard input, leader of a session of its
own, so that nobody continues what a key stops there. When it has written a
line, types KEYS, in which \\n and the like are escapes. Prints what it writes;
ends with its status. With --not-its-own the terminal is not that of COMMAND's
session.

usage: terminal.py [--not-its-own] KEYS COMMAND...
"""
import fcntl
import os
import pty
import subprocess
import sys
import termios

words = sys.argv[1:]
own = words[0] != "--not-its-own"
keys, *command = words if own else words[1:]
main, side = pty.openpty()
child = subprocess.Popen(
    command, stdin=side, stdout=subprocess.PIPE, start_new_session=True,
    preexec_fn=lambda: own and fcntl.ioctl(0, termios.TIOCSCTTY, 0))
os.close(side)
print(child.stdout.readline().decode(), end="", flush=True)
os.write(main, keys.encode().decode("unicode_escape").encode())
print(child.stdout.read().decode(), end="")
sys.exit(child.wait())
