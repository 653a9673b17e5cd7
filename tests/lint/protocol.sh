#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# The table of messages in hpcboot-protocol(7) is that of
# lib/wire/messages.def: names, numbers, fields and their order.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

# NAME NUMBER kind field kind field ..., a line for each message
of_table() {
    sed 's|/\*.*\*/||; /\/\*/,/\*\//d' lib/wire/messages.def | tr '\n' ' ' |
        sed 's/HB_MESSAGE(/\n/g' | sed -n 's/^\([A-Z_0-9]*\), [a-z_0-9]*, /\1 /p' |
        sed 's/F(//g; s/[,)]/ /g; s/  */ /g; s/ *$//'
    echo
}
of_page() {
    sed -n '/^\.\\" table begins/,/^\.\\" table ends/p' man/hpcboot-protocol.7 |
        grep -v '^\.' | tr '\n' ' ' |
        sed 's/\([A-Z][A-Z_]*\) \([0-9][0-9]*\) /\n\1 \2 /g' |
        sed 's/\(up\|down\|both\)\( \|$\)//; s/,/ /g; s/  */ /g; s/ *$//' |
        grep .
}

echo "1..1"
if words=$(diff <(of_table) <(of_page)); then
    echo "ok 1 - hpcboot-protocol(7) has every message as it is"
else
    echo "not ok 1 - hpcboot-protocol(7) has every message as it is"
    while read -r line; do echo "# $line"; done <<< "$words"
    exit 1
fi
