#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Writes ssh_config files by chance and compares what sshsays (tests/cli) makes
of them with what OpenSSH's `ssh -G` does.

    sshconfigs.py SSHSAYS DIR SEED COUNT

DIR is an empty folder for the files. Prints each difference with its file, and
how many files were compared. What a file is left in DIR for is looked at again
with the same seed and number."""
import os
import pwd
import random
import shlex
import subprocess
import sys

HOSTS = ["node-1", "node-2", "Gpu7", "a.b.example", "10.0.0.7", "login"]
USERS = ["", "", "", "joe", "Root"]
ME = pwd.getpwuid(os.geteuid())


def pattern(r):
    return r.choice(["node-*", "node-?", "*", "!node-2", "!*.example", "Gpu*",
                     "gpu7", "10.0.*", "login", "a.b.*", "*-1", "node-1",
                     "far-*", "*.lab", "\"node-2\"", "!login"])


def path(r):
    return r.choice(["~/.ssh/k%d" % r.randrange(4), "/k/%h", "/k/%n-%p",
                     "~/%r@%h", "\"/k/a b\"", "/k/%u-%%-%d", "/k/%L.%i",
                     "/k/a\\ b", "/k/${HB_SSH_WORD}", "'/k/q q'", "/k/%l",
                     "/k/${HB_SSH_WORD}/%h", "none"])


def jump(r):
    one = ["bastion", "joe@bastion:2022", "ssh://joe@b:7", "[::1]:22",
           "ssh://b/", "gw-%r", "x@%h-gw", "joe@[fe80::1]"]
    if r.random() < 0.15:
        return "none"
    return ",".join(r.choice(one) for _ in range(r.choice([1, 1, 1, 2, 3])))


VALUES = {
    "HostName": lambda r: r.choice(["%h.lab", "far-%h", "10.1.1.1", "Far.LAB",
                                    "a%%b", "\"%h.q\""]),
    "Port": lambda r: str(r.choice([22, 2222, 7, 65535])),
    "User": lambda r: r.choice(["ann", "Bob", "\"carl\"", "root"]),
    "HostKeyAlias": lambda r: r.choice(["gang", "Gang-Key", "\"x y\""]),
    "IdentityFile": path,
    "CertificateFile": path,
    "IdentitiesOnly": lambda r: r.choice(["yes", "no"]),
    "IdentityAgent": lambda r: r.choice(["none", "~/agent", "/a/%h-%r",
                                         "SSH_AUTH_SOCK", "/a/${HB_SSH_WORD}",
                                         "$HB_SSH_WORD", "$HB_SSH_NOT_SET"]),
    "UserKnownHostsFile": lambda r: r.choice(
        ["~/kh", "/kh/%h /kh/%k", "\"/kh/a b\" ~/c", "/kh/${HB_SSH_WORD}"]),
    "GlobalKnownHostsFile": lambda r: r.choice(["/g/a", "/g/a /g/b"]),
    "RevokedHostKeys": lambda r: r.choice(["/r/a", "none"]),
    "ProxyJump": jump,
    "ProxyCommand": lambda r: r.choice(["nc %h %p", "none", "exec x  \"%h\" %r",
                                        "p --to=%n # no comment"]),
    "StrictHostKeyChecking": lambda r: "no",
    "CanonicalizeHostname": lambda r: r.choice(["no", "no", "yes"]),
    "ConnectTimeout": lambda r: "5",
}


def keyword(r, word):
    return r.choice([word, word, word.lower(), word.upper()])


def setting(r):
    word = r.choice(sorted(VALUES) + ["IdentityFile", "HostName", "User"])
    between = r.choice([" ", " ", "=", " = ", "\t", "  ", " =", "= "])
    tail = r.choice(["", "", "", " ", "\t", "\r"])
    if not word.startswith("Proxy") and r.random() < 0.1:
        tail = " # words"
    return "%s%s%s%s%s" % (r.choice(["", "  ", "\t"]), keyword(r, word),
                           between, VALUES[word](r), tail)


def criterion(r):
    word = r.choice(["host", "originalhost", "user", "localuser",
                     "final", "canonical", "host", "user", "final"])
    sign = r.choice(["", "", "", "!"])
    if word in ("final", "canonical"):
        return sign + word
    if word in ("user", "localuser"):
        value = r.choice(["ann", "joe,Bob", "root", "!ann,*", "ROOT", "r*",
                          ME.pw_name])
    else:
        value = ",".join(pattern(r) for _ in range(r.choice([1, 1, 2])))
    return "%s%s%s%s" % (sign, word, r.choice([" ", " ", "="]),
                         value.replace("\"", ""))


def block(r):
    if r.random() < 0.5:
        return keyword(r, "Host") + r.choice([" ", "=", " = "]) + " ".join(
            pattern(r) for _ in range(r.choice([1, 2, 3])))
    if r.random() < 0.15:
        return "Match " + r.choice(["all", "final all", "canonical all"])
    return keyword(r, "Match") + " " + " ".join(
        criterion(r) for _ in range(r.choice([1, 1, 2, 3])))


def write(r, folder, name, depth=0):
    lines = []
    for i in range(r.randrange(2, 14)):
        chance = r.random()
        if chance < 0.3:
            lines.append(block(r))
        elif chance < 0.36 and depth < 2:
            inner = "%s.%d" % (name, i)
            for part in range(r.choice([1, 1, 2])):
                write(r, folder, "%s.%d.inc" % (inner, part), depth + 1)
            lines.append("Include " + r.choice(["%s/%s.*.inc", "%s/%s.[01].inc",
                                                "\"%s/%s.0.inc\" /not/there"])
                         % (folder, inner))
        elif chance < 0.4:
            lines.append(r.choice(["", "# Port 1", "   ", "\t# x"]))
        else:
            lines.append(setting(r))
    text = "\n".join(lines) + r.choice(["\n", ""])
    with open("%s/%s" % (folder, name), "w", encoding="ascii") as f:
        f.write(text)


def run(words):
    env = dict(os.environ, HOME=ME.pw_dir, HB_SSH_WORD="wd", USER=ME.pw_name)
    env.pop("HB_SSH_NOT_SET", None)
    env.pop("SSH_AUTH_SOCK", None)
    done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60, text=True)
    return done.returncode, done.stdout, done.stderr


def table(text):
    out = {}
    for line in text.splitlines():
        word, _, value = line.partition(" ")
        out.setdefault(word, []).append(value)
    return out


def once(values):
    return list(dict.fromkeys(values))


class Letters:
    """What ssh replaces where -G shows a value as it was written."""

    def __init__(self, ssh, host):
        here = os.uname().nodename
        alias = ssh.get("hostkeyalias", [host])[0]
        self.map = {"%": "%", "h": ssh["hostname"][0], "n": host, "k": alias,
                    "p": ssh["port"][0], "r": ssh["user"][0],
                    "u": ME.pw_name, "d": ME.pw_dir, "l": here,
                    "L": here.split(".")[0], "i": str(os.geteuid())}

    def put(self, text, variables=True):
        out, i = "", 0
        if variables and text.startswith("~/"):
            text = ME.pw_dir + text[1:]
        if variables:
            text = text.replace("${HB_SSH_WORD}", "wd")
        while i < len(text):
            if text[i] == "%":
                i += 1
                out += self.map[text[i]]
            else:
                out += text[i]
            i += 1
        return out


def expected(ssh, host):
    """The lines of sshsays that follow from those of ssh -G."""
    letters = Letters(ssh, host)
    agent = ssh.get("identityagent", ["-"])[0]
    alias = ssh.get("hostkeyalias", [ssh["hostname"][0]])[0]
    if agent == "SSH_AUTH_SOCK":
        agent = "-"
    elif agent.startswith("$"):
        agent = {"$HB_SSH_WORD": "wd"}.get(agent, "none")
    return {
        "hostname": ssh["hostname"], "port": ssh["port"], "user": ssh["user"],
        "knownas": [alias],
        "certificatefile": once(letters.put(f) for f in
                                ssh.get("certificatefile", [])
                                if f != "none"),
        "knownhosts": once((ssh["userknownhostsfile"][0] + " "
                            + ssh["globalknownhostsfile"][0]).split(" ")),
        "identityagent": [agent],
        "revokedhostkeys": ssh.get("revokedhostkeys", ["none"]),
        "identityfile": once(letters.put(f) for f in ssh["identityfile"]
                             if f != "none"
                             and not f.startswith("~/.ssh/id_")),
        "proxy": proxy(ssh, letters),
    }


def hop_words(hop):
    """ssh's words for one hop of -G's proxyjump."""
    if hop.startswith("ssh://"):
        hop = hop[len("ssh://"):].rstrip("/")
    user, at, place = hop.rpartition("@")
    host, colon, port = place.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        host, port = place, ""
    if host.startswith("["):  # of which ssh itself knows in a hop only
        host = host[1:-1]
    return (["-p", port] if port else []) + [user + at + host]


def proxy(ssh, letters):
    command = ssh.get("proxycommand", ["none"])[0]
    jumps = ssh.get("proxyjump", ["none"])[0]
    if jumps != "none":
        *first, last = letters.put(jumps, False).split(",")
        words = hop_words(last)
        target = "[%s]:%s" % (letters.map["h"], letters.map["p"])
        return (["-J", ",".join(first)] if first else []) + words[:-1] + [
            "-W", target, words[-1]]
    if command != "none":
        command = letters.put(command, False)
        return ["/bin/sh", "-c", ("" if command.startswith("exec ")
                                  else "exec ") + command]
    return []


def said(mine):
    """What sshsays has, in the form of expected()."""
    words = mine.get("proxy", [])
    if words[:1] == ["ssh"]:
        words = words[words.index("-oBatchMode=yes") + 1:]
    mine = dict(mine, proxy=words,
                knownhosts=" ".join(mine.get("knownhosts", [])).split(" "))
    for word in ("certificatefile", "identityfile"):
        mine.setdefault(word, [])
    return mine


def compare(program, config, host, user, port):
    asked = ((["-l", user] if user else []) + (["-p", str(port)] if port
                                               else []))
    words = ["ssh", "-G", "-F", config] + asked + [host]
    status, out, err = run(words)
    mine = table(run([program, config, host, user, str(port)])[1])
    if status != 0:
        if "refused" in mine or "Bad" not in err:
            return []
        return ["ssh refuses (%s), hpcboot does not" % err.strip()]
    if "refused" in mine:
        return ["hpcboot refuses: %s" % mine["refused"][0]]
    want, got = expected(table(out), host), said(mine)
    return ["%s: ssh %s, hpcboot %s" % (word, want[word], got.get(word))
            for word in sorted(want) if want[word] != got.get(word)]


def main():
    program, folder, seed, count = sys.argv[1:]
    different = 0
    for number in range(int(count)):
        r = random.Random("%s/%d" % (seed, number))
        name = "%s/%d" % (folder, number)
        os.mkdir(name)
        write(r, name, "config")
        for _ in range(3):
            host, user = r.choice(HOSTS), r.choice(USERS)
            port = r.choice([0, 0, 0, 2022])
            for line in compare(program, name + "/config", host, user, port):
                different += 1
                print("%s/config: %s: %s" % (name, shlex.join(
                    ["host", host, "user", user, "port", str(port)]), line))
    print("%s files compared, %d differences" % (count, different))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
