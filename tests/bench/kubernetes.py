#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""What it costs to list many pods of 3 KB each, page by page, over TLS.

The server is tests/fakes/kubeapi.py; its own cost is not counted. Nothing is
asserted: the figures are for people.

usage: kubernetes.py [PODS] (default 10000)
"""
import os
import shutil
import subprocess
import sys
import tempfile

SRC = os.environ.get("HB_SRCDIR", os.path.dirname(os.path.abspath(__file__)) + "/../..")
BUILD = os.environ.get("HB_BUILDDIR", SRC + "/build")
ROUNDS = 5
ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"


def main():
    pods = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    with tempfile.TemporaryDirectory(prefix="hpcboot-bench-") as folder:
        with open(f"{folder}/plan.json", "w", encoding="utf-8") as f:
            f.write('{"make": {"count": %d, "bytes": 3000}}' % pods)
        server = subprocess.Popen(
            ["python3", f"{SRC}/tests/fakes/kubeapi.py", folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port = server.stdout.readline().strip()
        account = f"{folder}/root/{ACCOUNT}"
        os.makedirs(account)
        shutil.copy(f"{folder}/ca.crt", account)
        for name, text in (("token", "good"), ("namespace", "hpc")):
            with open(f"{account}/{name}", "w", encoding="utf-8") as f:
                f.write(text)
        env = dict(os.environ, KUBERNETES_SERVICE_HOST="127.0.0.1",
                   KUBERNETES_SERVICE_PORT=port,
                   HPCBOOT_MODULE_DIR=f"{BUILD}/.libs")
        try:
            for _ in range(ROUNDS):
                subprocess.run([f"{BUILD}/tests/bench/k8slist",
                                f"{folder}/root"], env=env, check=True)
        finally:
            server.stdin.close()
            server.wait()


main()
