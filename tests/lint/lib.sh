# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What the lints share: which files there are, and one TAP line per file.

set -u
cd "${HB_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}" || exit 99
: "${HB_BUILDDIR:=$HB_SRCDIR/build}" "${CC:=cc}"

folders="lib bin hostfile include tests man share examples"

# all_files PATTERN...: of the tree, without what a build left in it, and
# without tests/data, which holds other programs' files byte for byte.
all_files() {
    local expression=() pattern
    for pattern; do expression+=(-o -name "$pattern"); done
    # shellcheck disable=SC2086  # a list of words
    find $folders -path tests/data -prune -o -type f \
        \( "${expression[@]:1}" \) -print 2> /dev/null |
        LC_ALL=C sort
}
c_files() { all_files '*.c' '*.h'; }
scripts() {
    local file first
    for file in bootstrap check quickstart .ci/run $(all_files '*'); do
        IFS= read -r first 2> /dev/null < "$file" || continue
        case $first in
            '#!/bin/sh'* | '#!/bin/bash'* | '#!/usr/bin/env bats'*)
                echo "$file" ;;
        esac
    done
}

# check_each WHAT FUNCTION FILE...: the function prints what is wrong.
check_each() {
    local what=$1 function=$2 n=0 failed=0 file words line
    shift 2
    echo "1..$#"
    for file; do
        n=$((n + 1))
        words=$("$function" "$file")
        if [ -z "$words" ]; then
            echo "ok $n - $file $what"
        else
            failed=1
            echo "not ok $n - $file $what"
            while IFS= read -r line; do echo "# $line"; done <<< "$words"
        fi
    done
    exit $failed
}
