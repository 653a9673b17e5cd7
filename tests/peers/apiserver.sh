#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# A real Kubernetes API server on loopback: kube-apiserver over etcd, without
# any scheduler or kubelet, so that pods are what a test says they are.
#
#   apiserver.sh build       prints the program; it is built from the Go module
#                            proxy once (15 minutes of a core) and kept outside
#                            of the tree
#   apiserver.sh up DIR PROGRAM    starts both; DIR/port, DIR/ca.crt
#   apiserver.sh away DIR    ends the server alone
#   apiserver.sh back DIR PROGRAM  starts it on what etcd has
#   apiserver.sh again DIR PROGRAM both
#   apiserver.sh down DIR    ends both
#   apiserver.sh kinds       prints the files in which four operators define
#                            their kinds of gangs, from the Go module proxy
set -euo pipefail

version=31.4 # of 1.x and 0.x: Kubernetes numbers its modules twice
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/hpcboot-check/kube-apiserver-1.$version

# The module of Kubernetes names its parts by paths of its own tree.
write_module() {
    local part
    cat <<END
module apiserver

go 1.22

require (
	k8s.io/component-base v0.$version
	k8s.io/kubernetes v1.$version
)

replace (
END
    for part in api apiextensions-apiserver apimachinery apiserver \
        cli-runtime client-go cloud-provider cluster-bootstrap \
        code-generator component-base component-helpers controller-manager \
        cri-api cri-client csi-translation-lib dynamic-resource-allocation \
        endpointslice kms kube-aggregator kube-controller-manager kube-proxy \
        kube-scheduler kubectl kubelet metrics mount-utils \
        pod-security-admission sample-apiserver sample-cli-plugin \
        sample-controller; do
        echo "	k8s.io/$part => k8s.io/$part v0.$version"
    done
    echo ')'
}

# By one at a time: several files of tests want it.
build() {
    local folder=$cache.building lock
    mkdir -p "${cache%/*}"
    exec {lock}> "$cache.lock"
    flock -w 500 "$lock" # the file's own tests have their time, too
    if [ ! -x "$cache" ]; then
        rm -rf "$folder"
        mkdir -p "$folder"
        write_module > "$folder/go.mod"
        cat > "$folder/main.go" <<'END'
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
END
        (exec {lock}>&- && cd "$folder" && go mod tidy &&
            CGO_ENABLED=0 nice go build -trimpath -ldflags '-s -w' \
                -o program .) >&2
        mv "$folder/program" "$cache"
        rm -rf "$folder"
    fi
    exec {lock}>&-
    echo "$cache"
}

free_port() {
    python3 -c 'import socket; s = socket.socket()
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

request() {
    openssl req "$@" -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
        -nodes -days 30 2> /dev/null
}

start_server() {
    # Nobody here makes the default accounts that one plugin insists on.
    "$1" --etcd-servers "http://127.0.0.1:$(cat etcd.port)" \
        --bind-address 127.0.0.1 --advertise-address 127.0.0.1 \
        --secure-port "$(cat port)" --tls-cert-file server.crt \
        --tls-private-key-file server.key --token-auth-file tokens \
        --service-account-issuer https://kubernetes.default.svc \
        --service-account-signing-key-file sa.key \
        --service-account-key-file sa.key \
        --service-cluster-ip-range 10.0.0.0/24 --authorization-mode RBAC \
        --disable-admission-plugins ServiceAccount \
        >> apiserver.log 2>&1 < /dev/null 3>&- &
    echo $! >> pids
}

up() {
    local program=$2 etcd peers
    mkdir -p "$1"
    cd "$1"
    request -x509 -subj /CN=ca -keyout ca.key -out ca.crt
    request -subj /CN=kube-apiserver -keyout server.key -out server.csr
    echo 'subjectAltName=IP:127.0.0.1,DNS:kubernetes.default.svc' > san
    openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key \
        -CAcreateserial -days 30 -extfile san -out server.crt 2> /dev/null
    openssl genrsa -out sa.key 2048 2> /dev/null
    echo 'admin,admin,1,system:masters' > tokens
    etcd=$(free_port) peers=$(free_port)
    echo "$etcd" > etcd.port
    free_port > port
    etcd --data-dir etcd --listen-client-urls "http://127.0.0.1:$etcd" \
        --advertise-client-urls "http://127.0.0.1:$etcd" \
        --listen-peer-urls "http://127.0.0.1:$peers" \
        > etcd.log 2>&1 < /dev/null 3>&- &
    echo $! > pids
    start_server "$program"
}

away() {
    local server
    cd "$1"
    server=$(tail -n 1 pids)
    kill -KILL "$server" # else it may wait a minute for its requests
    while kill -0 "$server" 2> /dev/null; do sleep 0.05; done
    sed -i '$d' pids
}

back() {
    cd "$1"
    start_server "$2"
}

again() {
    away "$1"
    back "$@"
}

down() {
    local pid
    while read -r pid; do
        kill -KILL "$pid" 2> /dev/null || true
        while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done
    done < "$1/pids"
}

# The module's folder in Go's cache, which it is downloaded to once.
module() {
    go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p'
}

kinds() {
    local trainer
    echo "$(module volcano.sh/volcano@v1.10.0)/config/crd/volcano/bases/batch.volcano.sh_jobs.yaml"
    echo "$(module github.com/kubeflow/mpi-operator@v0.6.0)/manifests/base/kubeflow.org_mpijobs.yaml"
    trainer=$(module github.com/kubeflow/trainer/v2@v2.0.0)/manifests/base/crds
    echo "$trainer/trainer.kubeflow.org_trainingruntimes.yaml"
    echo "$trainer/trainer.kubeflow.org_trainjobs.yaml"
    echo "$(module sigs.k8s.io/jobset@v0.8.0)/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"
}

"$@"
