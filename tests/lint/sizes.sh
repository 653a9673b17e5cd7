#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Files of at most 600 lines, functions of at most 60, lines of at most 80
# columns, no tabs, no blanks at a line's end.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

# A function's body begins with a { that ends a line of column 0, and ends
# with a } alone in column 0 (an initialiser or a type ends with "};").
too_big() {
    awk '
    length($0) > 80 { print FNR ": " length($0) " columns" }
    /\t/ { print FNR ": a tab" }
    /[ ]$/ { print FNR ": a blank at the end" }
    /^[^ \t#}\/].*\{$/ || /^\{$/ { begin = FNR }
    /^}[^$]/ || /^extern "C"/ { begin = 0 }
    /^}$/ && begin && FNR - begin > 60 {
        print begin ": a function of " FNR - begin " lines"
    }
    END { if (FNR > 600) { print "a file of " FNR " lines" } }' "$1"
}
mapfile -t files < <(c_files)
check_each 'is of a readable size' too_big "${files[@]}"
