#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Runs COMMAND in the background of a terminal at which somebody types a line
that nobody reads, and prints its CPU time from then on to its end, in ms.

usage: setsid -w background.py COMMAND...
"""
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios

main, side = pty.openpty()
fcntl.ioctl(side, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = subprocess.Popen(sys.argv[1:], stdin=side,
                         preexec_fn=lambda: os.setpgid(0, 0))
os.write(main, b"a line\n")
_, _, usage = os.wait4(child.pid, 0)
print("cpu ms:", int((usage.ru_utime + usage.ru_stime) * 1000))
