#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What needs a real RDMA device, in one boot of a guest that has two: the tests
# are in guest-tests.bash. Skipped with the reason where no guest can be had.
here=$(cd "$(dirname "$0")" && pwd)
export HB_RDMA_DIR=${HB_RDMA_DIR:-$HB_BUILDDIR/tests/rdma/lab}

mkdir -p "$HB_RDMA_DIR"
"$here/rdmalab" prepare 2>&1 || exit
if [ -n "$MPICC_OPENMPI" ]; then
    "$MPICC_OPENMPI" -O1 -o "$HB_RDMA_DIR/share/exchange" \
        "$here/exchange.c" || exit 1
fi
"$here/rdmalab" run "$here/guest-tests.bash" "$HB_BUILDDIR" "$HB_SRCDIR"
