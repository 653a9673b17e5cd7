#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""What the tests do at a real API server, as its administrator.

kubeadmin.py DIR COMMAND..., DIR as tests/peers/apiserver.sh fills it:
  ready                     waits until the server is
  account NAME [reads]      makes an account of namespace hpc, which may list
                            pods or not; prints a token of it
  pods NAME COUNT LABELS    makes pods NAME-0 and on
  status POD JSON           sets the status of a pod
  delete POD"""
import http.client
import json
import ssl
import sys
import time

DIR = sys.argv[1]
LIMIT_S = 60


class Server:
    def __init__(self):
        with open(f"{DIR}/port", encoding="utf-8") as f:
            port = int(f.read())
        self.link = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=30,
            context=ssl.create_default_context(cafile=f"{DIR}/ca.crt"))

    def ask(self, method, path, body=None, kind="application/json"):
        self.link.request(method, path, json.dumps(body) if body else None,
                          {"Authorization": "Bearer admin",
                           "Content-Type": kind})
        answer = self.link.getresponse()
        text = answer.read()
        return answer.status, text

    def must(self, *args, **more):
        status, text = self.ask(*args, **more)
        if status >= 300 and status != 409:
            sys.exit(f"{args[:2]}: {status} {text.decode()}")
        return json.loads(text)


CORE = "/api/v1/namespaces"
HPC = f"{CORE}/hpc"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/hpc"


def ready():
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        try:
            if Server().ask("GET", "/readyz")[0] == 200:
                Server().must("POST", CORE, {"metadata": {"name": "hpc"}})
                return
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit("the API server does not become ready")


def account(name, reads=""):
    server = Server()
    server.must("POST", f"{HPC}/serviceaccounts", {"metadata": {"name": name}})
    if reads:
        # The rule that hbrun asks for, and no other.
        server.must("POST", f"{RBAC}/roles", {
            "metadata": {"name": "hpcboot"},
            "rules": [{"apiGroups": [""], "resources": ["pods"],
                       "verbs": ["get", "list", "watch"]}]})
        server.must("POST", f"{RBAC}/rolebindings", {
            "metadata": {"name": f"hpcboot-{name}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                        "kind": "Role", "name": "hpcboot"},
            "subjects": [{"kind": "ServiceAccount", "name": name,
                          "namespace": "hpc"}]})
    token = server.must("POST", f"{HPC}/serviceaccounts/{name}/token",
                        {"kind": "TokenRequest",
                         "apiVersion": "authentication.k8s.io/v1",
                         "spec": {"expirationSeconds": 3600}})
    print(token["status"]["token"], end="")


def pods(name, count, labels):
    server = Server()
    pairs = dict(pair.split("=") for pair in labels.split(","))
    for i in range(int(count)):
        server.must("POST", f"{HPC}/pods", {
            "metadata": {"name": f"{name}-{i}", "labels": pairs},
            "spec": {"hostname": f"{name}-{i}", "subdomain": name,
                     "automountServiceAccountToken": False,
                     "containers": [{"name": "main", "image": "mpi"}]}}
            if "named" in pairs else {
            "metadata": {"name": f"{name}-{i}", "labels": pairs},
            "spec": {"automountServiceAccountToken": False,
                     "containers": [{"name": "main", "image": "mpi"}]}})


def status(pod, text):
    Server().must("PATCH", f"{HPC}/pods/{pod}/status",
                  {"status": json.loads(text)},
                  kind="application/strategic-merge-patch+json")


def delete(pod):
    Server().must("DELETE", f"{HPC}/pods/{pod}", {"gracePeriodSeconds": 0})


{"ready": ready, "account": account, "pods": pods, "status": status,
 "delete": delete}[sys.argv[2]](*sys.argv[3:])
