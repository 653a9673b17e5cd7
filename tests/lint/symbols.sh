#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What the headers declare, the map exports, and the man pages say is one set
# of functions.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

declared() {
    sed '/^#define.*\\$/,/[^\\]$/d; /^#/d; /^static inline/,/^}/d; s|/\*.*\*/||
        /\/\*/,/\*\//d' include/hpcboot/*.h |
        grep -oE '\bhpcboot_[a-z_]+\(' | tr -d '(' | grep -v '_$' | sort -u
}
exported() {
    grep -oE '\bhpcboot_[a-z_]+' lib/api/libhpcboot.map | sort -u
}
documented() {
    sed -n 's/^\.Fo \(hpcboot_[a-z_]*\)$/\1/p' man/hpcboot_*.3 | sort -u
}

echo "1..2"
n=0
for what in exported documented; do
    n=$((n + 1))
    if words=$(diff <(declared) <($what)); then
        echo "ok $n - what is declared is $what"
    else
        echo "not ok $n - what is declared is $what"
        while read -r line; do echo "# $line"; done <<< "$words"
    fi
done
