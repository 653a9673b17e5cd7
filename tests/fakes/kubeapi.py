#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""The part of a Kubernetes API server that lists pods, over TLS, on loopback.

kubeapi.py DIR: makes two authorities in DIR (ca.crt, whose certificate it
shows, and other.crt), prints the port, and answers until its standard input
ends. What it answers is in DIR/plan.json, read again
when that file is another one:

  pods      list of pods; or
  make      {"count": N, "bytes": N}: so many workers of a Volcano Job
  tokens    which are accepted (default ["good"])
  objects   path -> object
  watches   for each watch in turn, the lines it sends; then it ends, or, where
            the last is "hold", stays open
  faults    [{"path": regex, "times": N, "do": ...}]: in place of an answer,
            "status" (code, message, retry), "cut" (half of it, and the
            connection ends), "short" (half of it, as if that were all),
            "body" (text), "repeat" (first, text, count), "renew" (401, and the
            token in FILE becomes "good"), "rotate" (the connection ends; from
            now on other.crt vouches, which is copied over FILE: now, or with
            "late" once somebody has not believed it), "silence" (nothing, for
            30 s)

DIR/log has a line per request."""
import base64
import http.server
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

DIR = sys.argv[1]


def openssl(*args):
    subprocess.run(["openssl", *args], cwd=DIR, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_certificates():
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
           "-nodes", "-days", "30"]
    for name in ("ca", "other"):
        openssl("req", "-x509", *key, "-subj", f"/CN={name}", "-keyout",
                f"{name}.key", "-out", f"{name}.crt")
    openssl("req", *key, "-subj", "/CN=kube-apiserver", "-keyout",
            "server.key", "-out", "server.csr")
    with open(f"{DIR}/san", "w", encoding="utf-8") as f:
        f.write("subjectAltName=IP:127.0.0.1,IP:::1,"
                "DNS:kubernetes.default.svc\n")
    for name in ("ca", "other"):
        openssl("x509", "-req", "-in", "server.csr", "-CA", f"{name}.crt",
                "-CAkey", f"{name}.key", "-CAcreateserial", "-days", "30",
                "-extfile", "san", "-out", f"server-{name}.crt")


def made_pod(i, size):
    name = f"lm-worker-{i}"
    pod = {
        "metadata": {
            "name": name, "uid": f"uid-{i}", "resourceVersion": str(1000 + i),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"volcano.sh/job-name": "lm",
                       "volcano.sh/task-spec": "worker",
                       "volcano.sh/task-index": str(i)},
            "managedFields": [{"manager": "kubelet", "fieldsType": "FieldsV1",
                               "fieldsV1": {"f:status": {"f:conditions": {
                                   'k:{"type":"Ready"}': {".": {},
                                                          "f:type": {}}}}}}]},
        "spec": {"hostname": name, "subdomain": "lm", "nodeName": f"n-{i}",
                 "containers": [{"name": "main", "image": "mpi", "env": [],
                                 "resources": {"limits": {"memory": "1Gi"}}}],
                 "tolerations": [{"key": "node.kubernetes.io/not-ready",
                                  "operator": "Exists"}]},
        "status": {"phase": "Running",
                   "conditions": [{"type": t, "status": "True"} for t in
                                  ("Ready", "Initialized", "PodScheduled")],
                   "podIP": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}",
                   "containerStatuses": [{"name": "main", "ready": True,
                                          "restartCount": 0,
                                          "state": {"running": {}}}]}}
    fill(pod, size - len(dump(pod)))
    return pod


def dump(value):
    return json.dumps(value, separators=(",", ":"))


def fill(pod, size):
    """What makes real pods large: field sets, and what is mounted."""
    fields = pod["metadata"]["managedFields"][0]["fieldsV1"]["f:status"]
    volumes = pod["spec"]["volumes"] = []
    while size > 0:
        field = {f"f:field{len(fields)}": {".": {}, "f:ip": {}}}
        volume = {"name": f"v{len(volumes)}",
                  "configMap": {"name": "lm-svc", "defaultMode": 420}}
        fields.update(field)
        volumes.append(volume)
        size -= len(dump(field)) + len(dump(volume))


class Plan:
    lock = threading.Lock()
    seen = None
    plan = {}
    texts = []

    @classmethod
    def now(cls):
        with cls.lock:
            stat = os.stat(f"{DIR}/plan.json")
            which = (stat.st_ino, stat.st_mtime_ns)
            if which != cls.seen:
                cls.seen = which
                with open(f"{DIR}/plan.json", encoding="utf-8") as f:
                    cls.plan = json.load(f)
                make = cls.plan.get("make", {"count": 0})
                cls.plan.setdefault("pods", [
                    made_pod(i, make.get("bytes", 0))
                    for i in range(make["count"])])
                cls.texts = [dump(p) for p in cls.plan["pods"]]
            return cls.plan

    @classmethod
    def fault(cls, path):
        with cls.lock:
            for fault in cls.plan.get("faults", []):
                if (re.search(fault["path"], path) and
                        fault.setdefault("times", 1) > 0):
                    fault["times"] -= 1
                    return fault
            return None

    @classmethod
    def rotate(cls, fault):
        cls.plan["authority"] = "other"
        if fault.get("late"):
            cls.plan["late"] = fault["file"]
        else:
            shutil.copyfile(f"{DIR}/other.crt", fault["file"])

    @classmethod
    def distrusted(cls):
        late = cls.plan.pop("late", None)
        if late:
            shutil.copyfile(f"{DIR}/other.crt", late)

    @classmethod
    def watch(cls):
        with cls.lock:
            watches = cls.plan.get("watches", [])
            return watches.pop(0) if watches else []


def field(pod, path):
    value = pod
    for part in path.split("."):
        value = value.get(part, {}) if isinstance(value, dict) else {}
    return value if isinstance(value, str) else ""


def matches(pod, query):
    labels = pod.get("metadata", {}).get("labels", {})
    for term in filter(None, query.get("labelSelector", "").split(",")):
        key, unequal, value = re.match(r"([^!=]+)(!?)=+(.*)", term).groups()
        if (labels.get(key) == value) == bool(unequal):
            return False
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        key, _, value = term.partition("=")
        if field(pod, key) != value:
            return False
    return True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, code, body, headers=()):
        body = body.encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def status(self, code, message, headers=()):
        self.answer(code, json.dumps({"kind": "Status", "status": "Failure",
                                      "message": message, "code": code}),
                    headers)

    def body_of_list(self, query):
        chosen = [t for p, t in zip(Plan.plan["pods"], Plan.texts)
                  if matches(p, query)]
        limit = int(query.get("limit", "0")) or len(chosen) or 1
        start = int(base64.b64decode(query.get("continue", "") or b"MA=="))
        meta = {"resourceVersion": "5000"}
        if start + limit < len(chosen):
            meta["continue"] = base64.b64encode(
                str(start + limit).encode()).decode()
            meta["remainingItemCount"] = len(chosen) - start - limit
        return ('{"kind":"PodList","apiVersion":"v1","metadata":' +
                json.dumps(meta) + ',"items":[' +
                ",".join(chosen[start:start + limit]) + "]}\n")

    def misbehave(self, fault, body):
        what = fault["do"]
        if what == "status":
            headers = ([("Retry-After", str(fault["retry"]))]
                       if "retry" in fault else [])
            self.status(fault["code"], fault.get("message", "no"), headers)
        elif what == "cut":
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:len(body) // 2].encode())
            self.close_connection = True
        elif what == "short":
            self.answer(200, body[:len(body) // 2])
        elif what == "body":
            self.answer(200, fault["text"])
        elif what == "repeat":
            self.answer(200, fault.get("first", "") +
                        fault["text"] * fault["count"])
        elif what == "renew":
            with open(fault["file"], "w", encoding="utf-8") as f:
                f.write("good\n")
            self.status(401, "Unauthorized")
        elif what == "rotate":
            Plan.rotate(fault)
            self.close_connection = True
        elif what == "silence":
            time.sleep(30)
            self.close_connection = True

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def send_watch(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in Plan.watch():
            if line == "hold":
                time.sleep(30)
                self.close_connection = True
                return
            text = line if isinstance(line, str) else json.dumps(line) + "\n"
            # In pieces, as a network may deliver it.
            self.chunk(text[:7])
            if text[7:]:
                self.chunk(text[7:])
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        plan = Plan.now()
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        with open(f"{DIR}/log", "a", encoding="utf-8") as f:
            f.write(f"{self.path}\n")
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        fault = Plan.fault(self.path)
        is_list = re.fullmatch(r"/api/v1/namespaces/[a-z0-9-]+/pods",
                               url.path)
        if fault:
            self.misbehave(fault, self.body_of_list(query))
        elif token not in plan.get("tokens", ["good"]):
            self.status(401, "Unauthorized")
        elif url.path in plan.get("objects", {}):
            self.answer(200, json.dumps(plan["objects"][url.path]))
        elif is_list and query.get("watch") == "1":
            self.send_watch()
        elif is_list:
            self.answer(200, self.body_of_list(query))
        else:
            self.status(404, f"nothing at {url.path}")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    contexts = {}

    def finish_request(self, request, client_address):
        request.settimeout(60)
        try:
            authority = Plan.now().get("authority", "ca")
            tls = self.contexts[authority].wrap_socket(request,
                                                       server_side=True)
            self.RequestHandlerClass(tls, client_address, self)
            tls.close()
        except ssl.SSLError:
            Plan.distrusted()
        except OSError:
            pass  # a client that goes away, or does not trust us


class Server6(Server):
    address_family = socket.AF_INET6


def main():
    make_certificates()
    for name in ("ca", "other"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{DIR}/server-{name}.crt",
                                f"{DIR}/server.key")
        Server.contexts[name] = context
    server = Server(("127.0.0.1", 0), Handler)
    port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        server6 = Server6(("::1", port), Handler)
        threading.Thread(target=server6.serve_forever, daemon=True).start()
    except OSError:
        pass
    print(port, flush=True)
    sys.stdin.read()


main()
