#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What the pages of the library say: their programs are compiled and run, and
# HPCBOOT_CHECK finds calls that differ.

load ../common
setup() { common_setup; }

# Writes each program of a page, a literal block with a main(), to its own
# file: mdoc's escapes are what they stand for.
programs() { # PAGE
    awk -v page="$(basename "$1")" '
        /^\.Bd -literal/ { inside = 1; text = ""; next }
        /^\.Ed/ { if (text ~ /[ \n]main\(/) {
                printf "%s", text > (page "." ++n ".c") }
            inside = 0 }
        inside { gsub(/\\e/, "\\"); gsub(/\\&/, ""); gsub(/\\-/, "-")
            gsub(/\\\(dq/, "\""); text = text $0 "\n" }' "$1"
}

@test "every program of a manual page is compiled and runs" {
    ! is_sanitized ||
        skip 'a sanitized library wants a sanitized program'
    for page in "$HB_SRCDIR"/man/*.[1-9]; do programs "$page"; done
    [ -e hpcboot_intro.7.1.c ]
    for source in *.c; do
        echo "$source"
        "$CC" -std=c11 -Wall -Wextra -Werror -I"$HB_SRCDIR/include" \
            -I"$HB_BUILDDIR/include" "$source" -o program \
            -L"$HB_BUILDDIR/.libs" -lhpcboot -Wl,-rpath,"$HB_BUILDDIR/.libs"
        for n in 1 3; do
            run hb -n $n ./program
            ended_with 0
        done
    done
}

@test "HPCBOOT_CHECK names both sides of calls that differ" {
    probe=$HB_BUILDDIR/tests/cli/mismatch
    differ() { # WAY WORDS OTHER_WORDS
        run hb -x HPCBOOT_CHECK=1 -n 3 "$probe" "$1"
        says "^rank 0: the ranks of a team have made different calls: .*rank 0 $2"
        says "^rank 0: .*rank 1 $3"
        says "^rank 1: .*rank 1 $3"
    }
    differ collective 'allreduce of 32 bytes' 'bcast of 32 bytes'
    differ root 'reduce .*root 0' 'reduce .*root 1'
    differ count 'bcast of 32 bytes' 'bcast of 40 bytes'
    differ type 'allreduce .*type double' 'allreduce .*type int64'
    differ op 'allreduce .*op sum' 'allreduce .*op max'
    run hb -x HPCBOOT_CHECK=1 -n 3 "$probe" none
    ended_with 0
    [ "$(grep -c ': good$' <<< "$output")" -eq 3 ]
}
