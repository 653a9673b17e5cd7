# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What the tests at a real API server share. $cluster is the folder in which
# apiserver.sh keeps it.

load peers

# api_program: prints the server's path, 1: why there is none.
api_program() {
    local command
    [ "${HB_PEERS:-no}" = yes ] || {
        echo 'a real API server is not asked for (make check-peers, ./check --peers)'
        return 1
    }
    for command in python3 openssl unshare etcd; do
        command -v "$command" > /dev/null || {
            echo "$command is not installed"
            return 1
        }
    done
    cached_server || {
        echo 'kube-apiserver cannot be built'
        return 1
    }
}

# It takes long to build, so that is done where a compiler is there already.
cached_server() {
    command -v go > /dev/null || [ -d "$HOME/.cache/hpcboot-check" ] ||
        return 1
    timeout -k 5 1800 "$HB_SRCDIR/tests/peers/apiserver.sh" build \
        2> "$BATS_FILE_TMPDIR/build.log"
}
