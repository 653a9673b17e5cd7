#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""What answers in place of hpcbootd on a host that is somebody else's: a forced
command of sshd. It knows the protocol and not the gang's key.

usage: fake_agent.py WAY FILE
  guess    says HELLO as it should, answers PROVE with 8 proofs it made up
  silent   the same, without a proof and with an excuse
  early    sends a PROOF before it was asked for one
  record   as silent, and keeps its HELLO in FILE.hello
  replay   says the HELLO that FILE.hello holds
  borrow   says HELLO with the token in FILE.token
  lend     puts its own token into FILE.token and says nothing
  huge     says HELLO, then announces a frame of 4 GB
  flags    says HELLO with flags that do not exist
  cut      says half a HELLO
  trail    says HELLO with a byte too much
  newer    says HELLO as another version may: with one field more
  older    or with one less
  kind     says HELLO, then a frame of a kind that does not exist
  forward  as silent, but says that it cannot do what is asked for, and a
           sentence, before it is asked who it is
Everything that it is told is kept in FILE.
"""
import os
import re
import struct
import sys
import threading

MAGIC = b"\033hpcboot-link 1\n"
HELLO, NOTE, FAILED, PROVE, PROOF = 1, 26, 28, 34, 35
ERR_USAGE = -1
LAUNCHER, UNSET = 0xFFFFFFFF, 0xFFFFFFFD


def blob(data):
    return struct.pack(">I", len(data)) + data


def string(text):
    return blob(text.encode()) + b"\0"


def frame(kind, payload, flags=0):
    body = struct.pack(">HHIII", kind, flags, 0, UNSET, LAUNCHER) + payload
    return struct.pack(">I", len(body)) + body


def own_token():
    words = re.findall(r"'([^']*)'", os.environ.get("SSH_ORIGINAL_COMMAND", ""))
    return words[4] if len(words) > 4 else "none"


def hello(token, version):
    """With the fields that the table of messages has."""
    table = os.path.dirname(os.path.abspath(__file__)) + "/../../lib/wire/messages.def"
    with open(table, encoding="ascii") as f:
        row = re.search(r"HB_MESSAGE\(HELLO, hello, 1,(.*?)\)\)", f.read(), re.S)
    known = {"protocol": 1, "version": version, "token": token,
             "host_name": "fake", "slots": 1, "cores": 1, "pus": 1}
    out = b""
    for kind, name in re.findall(r"F\((\w+), (\w+)\)?", row.group(1)):
        if kind == "str":
            out += string(known.get(name, ""))
        else:
            code = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i"}[kind]
            out += struct.pack(">" + code, known.get(name, 0))
    return out


def say(data):
    os.write(1, data)


def listen(path, on_prove):
    """Keeps what comes; a PROVE is answered."""
    buffer = b""
    with open(path, "ab", buffering=0) as log:
        while True:
            data = os.read(0, 65536)
            if not data:
                return
            log.write(data)
            buffer += data
            while len(buffer) >= 4:
                size = struct.unpack(">I", buffer[:4])[0]
                if len(buffer) < 4 + size:
                    break
                if struct.unpack(">H", buffer[4:6])[0] == PROVE:
                    on_prove()
                buffer = buffer[4 + size:]


def main():
    way, path = sys.argv[1:3]
    version = sys.argv[3]
    token = own_token()
    with open(path, "ab"):
        pass
    if way == "lend":
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write(token)
        os.rename(path + ".new", path + ".token")
        listen(path, lambda: None)
        return
    if way == "borrow":
        while not os.path.exists(path + ".token"):
            threading.Event().wait(0.02)
        with open(path + ".token", encoding="ascii") as f:
            token = f.read()
    mine = frame(HELLO, hello(token, version))
    if way == "replay":
        with open(path + ".hello", "rb") as f:
            mine = f.read()
    if way == "record":
        with open(path + ".hello", "wb") as f:
            f.write(mine)
    if way == "flags":
        mine = frame(HELLO, hello(token, version), flags=0xFFFF)
    if way == "cut":
        mine = mine[: len(mine) // 2]
    if way == "trail":
        mine = frame(HELLO, hello(token, version) + b"x")
    if way == "newer":
        mine = frame(HELLO, hello(token, version) + string("more"))
    if way == "older":
        mine = frame(HELLO, hello(token, version)[: -len(string(""))])
    say(MAGIC)
    if way == "early":
        say(frame(PROOF, blob(os.urandom(32)) + string("")))
    say(mine)
    if way == "cut":
        return
    if way == "huge":
        say(struct.pack(">I", 0xFFFFFFFF) + b"x" * 100000)
    if way == "kind":
        say(frame(9999, b""))
    if way == "forward":
        say(frame(FAILED, struct.pack(">i", ERR_USAGE) + string("no such thing")))
        say(frame(NOTE, bytes([1]) + string("trust me")))
    proofs = os.urandom(256) if way == "guess" else b""
    listen(path, lambda: say(frame(PROOF, blob(proofs)
                                   + string("" if proofs else "my dog ate it"))))


if __name__ == "__main__":
    main()
