#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Goals of one call of make that start a make of their own for the same files
# go one after the other; all others go side by side.
: "${HB_BUILDDIR:=${HB_SRCDIR:=.}/build}"

echo 1..5
n=0
goes() { # WHICH-WAY GOALS...
    local way=beside
    n=$((n + 1))
    if env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$HB_BUILDDIR" -pq \
        "${@:2}" 2> /dev/null | grep -q '^\.NOTPARALLEL:'; then
        way=alone
    fi
    [ $way = "$1" ] || printf "not "
    echo "ok $n - ${*:2}"
}
goes alone all tests/unit/test_kvs
goes alone check-unit lint
goes alone tests/unit/test_kvs all
goes beside all
goes beside tests/unit/test_kvs tests/unit/test_wire
