#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What needs a real RDMA device: guest-tests.bash in one boot of a guest that
# has two, pair-tests.bash in two guests with one each (where the agent can be
# reached by SSH). Skipped with the reason where no guest can be had.
here=$(cd "$(dirname "$0")" && pwd)
export HB_RDMA_DIR=${HB_RDMA_DIR:-$HB_BUILDDIR/tests/rdma/lab}

mkdir -p "$HB_RDMA_DIR/share"
"$here/rdmalab" prepare 2>&1 || exit
if [ -n "$MPICC_OPENMPI" ]; then
    "$MPICC_OPENMPI" -O1 -o "$HB_RDMA_DIR/share/exchange" \
        "$here/exchange.c" || exit 1
fi
"$here/rdmalab" run "$here/guest-tests.bash" "$HB_BUILDDIR" "$HB_SRCDIR"
one=$?

if [ ! -e "$HB_BUILDDIR/.libs/hb_ssh.so" ] ||
    ! command -v ssh-keygen > /dev/null; then
    echo 'ok 1 - two guests # SKIP built without libssh, or no ssh-keygen'
    echo '1..1'
    exit $one
fi
key=$HB_RDMA_DIR/share/gang-key
rm -rf "$key"
mkdir "$key"
ssh-keygen -q -t ed25519 -N '' -f "$key/id_ed25519"
cp "$key/id_ed25519.pub" "$key/authorized_keys"
"$here/rdmalab" pair "$here/pair-tests.bash" "$HB_BUILDDIR" "$HB_SRCDIR" ||
    exit
exit $one
