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
  delete POD
  leave POD                 deletes one that has to end first, as a kubelet sees it
  network ACCOUNT           makes pods at-1 ... at-4 on nodes n-1 ... n-4, of
                            which 1 and 3, 2 and 4 share a rack: as labels and
                            as HyperNodes; ACCOUNT may read both
  groups                    makes the kind PodGroup, as Volcano has it
  group NAME MIN JSON       makes one with a status
  kind FILE                 makes the kind that FILE defines, in YAML
  takes FILE                has each document of FILE checked as strictly as can
                            be, and keeps none
  compact                   etcd forgets all but the last revision
  answers CODE              how often the server has answered so
  lists                     how often it has listed pods
  watches                   how many watches of pods are open
  proxy                     prints a port that leads to the server; in the first
                            long answer that passes, compacts. Ends with stdin"""
import http.client
import json
import select
import socket
import ssl
import sys
import threading
import time
import urllib.request

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
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        self.link.request(method, path, body,
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


def leave(pod):
    # One that no node has is gone at once.
    Server().must("POST", f"{HPC}/pods/{pod}/binding", {
        "metadata": {"name": pod},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n-0"}})
    Server().must("DELETE", f"{HPC}/pods/{pod}", {"gracePeriodSeconds": 600})


RACKS = {"n-1": "r-0", "n-2": "r-1", "n-3": "r-0", "n-4": "r-1"}
VOLCANO = "topology.volcano.sh"


def make_kind(server, group_name, version, scope, kind):
    """A kind of objects, of any content; returns its path."""
    plural = kind.lower() + "s"
    server.must("POST", "/apis/apiextensions.k8s.io/v1/"
                "customresourcedefinitions", {
                    "metadata": {"name": f"{plural}.{group_name}"},
                    "spec": {
                        "group": group_name, "scope": scope,
                        "names": {"kind": kind, "plural": plural},
                        "versions": [{
                            "name": version, "served": True, "storage": True,
                            "schema": {"openAPIV3Schema": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            }}}]}})
    space = "namespaces/hpc/" if scope == "Namespaced" else ""
    path = f"/apis/{group_name}/{version}/{space}{plural}"
    deadline = time.monotonic() + LIMIT_S
    while server.ask("GET", path)[0] != 200:
        if time.monotonic() > deadline:
            sys.exit(f"the kind {kind} does not come")
        time.sleep(0.1)
    return path


def make_hypernodes(server):
    path = make_kind(server, VOLCANO, "v1alpha1", "Cluster", "HyperNode")
    for rack in set(RACKS.values()):
        nodes = [n for n, r in RACKS.items() if r == rack]
        server.must("POST", path, {
            "apiVersion": f"{VOLCANO}/v1alpha1", "kind": "HyperNode",
            "metadata": {"name": rack}, "spec": {"tier": 1, "members": [
                {"type": "Node", "selector": {"exactMatch": {"name": nodes[0]}}},
                {"type": "Node", "selector": {"labelMatch": {
                    "matchLabels": {"rack": rack}}}}]}})


def network(account_name):
    server = Server()
    for name, rack in RACKS.items():
        server.must("POST", "/api/v1/nodes", {
            "metadata": {"name": name, "labels": {"rack": rack}}})
        server.must("POST", f"{HPC}/pods", {
            "metadata": {"name": name.replace("n-", "at-")},
            "spec": {"nodeName": name, "automountServiceAccountToken": False,
                     "containers": [{"name": "main", "image": "mpi"}]}})
    make_hypernodes(server)
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterrole"
    server.must("POST", f"{roles}s", {"metadata": {"name": "network"}, "rules": [
        {"apiGroups": [VOLCANO], "resources": ["hypernodes"],
         "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}]})
    server.must("POST", f"{roles}bindings", {
        "metadata": {"name": "network"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole", "name": "network"},
        "subjects": [{"kind": "ServiceAccount", "name": account_name,
                      "namespace": "hpc"}]})


SCHEDULING = "scheduling.volcano.sh"


def groups():
    server = Server()
    make_kind(server, SCHEDULING, "v1beta1", "Namespaced", "PodGroup")
    server.must("POST", f"{RBAC}/roles", {
        "metadata": {"name": "groups"},
        "rules": [{"apiGroups": [SCHEDULING],
                   "resources": ["podgroups"], "verbs": ["get"]}]})
    server.must("POST", f"{RBAC}/rolebindings", {
        "metadata": {"name": "groups"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                    "name": "groups"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader",
                      "namespace": "hpc"}]})


def group(name, least, text):
    Server().must("POST", f"/apis/{SCHEDULING}/v1beta1/namespaces/hpc/podgroups", {
        "apiVersion": f"{SCHEDULING}/v1beta1", "kind": "PodGroup",
        "metadata": {"name": name}, "spec": {"minMember": int(least)},
        "status": json.loads(text)})


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def kind(path):
    server = Server()
    with open(path, encoding="utf-8") as f:
        made = server.must("POST", DEFINITIONS, f.read(),
                           kind="application/yaml")
    name = made["metadata"]["name"]
    end = time.monotonic() + LIMIT_S
    while not any(c["type"] == "Established" and c["status"] == "True"
                  for c in server.must("GET", f"{DEFINITIONS}/{name}")
                  .get("status", {}).get("conditions") or []):
        if time.monotonic() > end:
            sys.exit(f"{name} is not established")
        time.sleep(0.1)


def first(key, document):
    return next(line.split(":", 1)[1].strip() for line in
                document.splitlines() if line.startswith(key + ":"))


def takes(path):
    server = Server()
    with open(path, encoding="utf-8") as f:
        documents = f.read().split("\n---\n")
    for document in documents:
        made = server.must(
            "POST", f"/apis/{first('apiVersion', document)}/namespaces/hpc/"
            f"{first('kind', document).lower()}s"
            "?dryRun=All&fieldValidation=Strict", document,
            kind="application/yaml")
        print("taken:", made["kind"], made["metadata"]["name"])


def etcd(call, body):
    with open(f"{DIR}/etcd.port", encoding="utf-8") as f:
        port = int(f.read())
    with urllib.request.urlopen(urllib.request.Request(
            f"http://127.0.0.1:{port}/v3/kv/{call}",
            json.dumps(body).encode())) as answer:
        return json.loads(answer.read())


def compact():
    # A new revision, so that those before it are old.
    etcd("put", {"key": "eA==", "value": "eA=="})
    now = etcd("range", {"key": "eA=="})["header"]["revision"]
    etcd("compaction", {"revision": now, "physical": True})


# The server itself looks at those of all namespaces.
PODS = ('resource="pods"', 'scope="namespace"')


def count(metric, *labels):
    _, text = Server().ask("GET", "/metrics")
    print(sum(int(line.rsplit(" ", 1)[1])
              for line in text.decode().splitlines()
              if line.startswith(metric + "{") and
              all(label in line for label in labels)))


def answers(code):
    count("apiserver_request_total", f'code="{code}"')


def lists():
    count("apiserver_request_total", *PODS, 'verb="LIST"')


def watches():
    count("apiserver_longrunning_requests", *PODS, 'verb="WATCH"')


def carry(client, state):
    with open(f"{DIR}/port", encoding="utf-8") as f:
        server = socket.create_connection(("127.0.0.1", int(f.read())))
    peers = {client: server, server: client}
    passed = 0
    while True:
        for end in select.select(list(peers), [], [])[0]:
            data = end.recv(65536)
            if not data:
                client.close()
                server.close()
                return
            passed += len(data) if end is server else 0
            # More than a handshake, and less than a page of pods.
            if passed > 100_000 and not state["done"]:
                state["done"] = True
                compact()
                print("compacted", flush=True)
            peers[end].sendall(data)


def proxy():
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    state = {"done": False}

    def serve():
        while True:
            client = listener.accept()[0]
            threading.Thread(target=carry, args=(client, state),
                             daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    sys.stdin.read()


{"ready": ready, "groups": groups, "group": group, "kind": kind,
 "takes": takes, "compact": compact,
 "answers": answers, "lists": lists, "watches": watches, "proxy": proxy,
 "account": account, "pods": pods, "status": status, "delete": delete,
 "leave": leave, "network": network}[sys.argv[2]](*sys.argv[3:])
