#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""A ProxyCommand whose answers come in lumps, as to a client that had no CPU
for a while: what the server says within a moment is read at once.

usage: lumps.py HOST PORT
"""
import os
import socket
import sys
import threading
import time

MOMENT_S = 0.4


def questions(server):
    while data := os.read(0, 65536):
        server.sendall(data)
    server.shutdown(socket.SHUT_WR)


def main():
    server = socket.create_connection(sys.argv[1:3])
    threading.Thread(target=questions, args=(server,), daemon=True).start()
    while data := server.recv(1):
        time.sleep(MOMENT_S)
        os.write(1, data + server.recv(65536))


if __name__ == "__main__":
    main()
