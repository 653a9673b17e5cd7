#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# A source that asks whether an optional library was there compiles without
# warnings where none was; where they are, another build is of no use here.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

pkg-config --exists cmocka libevent_core || {
    echo 'the headers of cmocka and libevent are not there'
    exit 77
}
libraries=$(sed -nE 's/^HB_OPTIONAL\(\[[a-z]+\], \[([A-Z]+)\].*/\1/p' configure.ac |
    paste -sd '|')
# shellcheck disable=SC2046  # a list of words
mapfile -t asking < <(grep -lE "HAVE_($libraries)\b" $(c_files))

without=$(mktemp -d)
trap 'rm -rf "$without"' EXIT
sed -E "/^#define HAVE_($libraries) /d" "$HB_BUILDDIR/config.h" > "$without/config.h"

read -ra cc <<< "$CC" # "ccache gcc", say
read -ra libs < <(pkg-config --cflags cmocka libevent_core)

# As far as assembly: of functions that nobody calls gcc tells after parsing.
compiles() { # FILE
    "${cc[@]}" -std=c11 -S -o /dev/null -Wall -Wextra -Werror \
        -Wno-unused-parameter -Wno-missing-field-initializers -I"$without" \
        -I. -Iinclude -I"$HB_BUILDDIR/include" "${libs[@]}" "$1" 2>&1
}
check_each 'compiles without optional libraries' compiles "${asking[@]}"
