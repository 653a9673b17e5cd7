#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What a test asks for fails the test where it is not so. bash looks, in the
# middle of a test, neither at what stands before && nor at what follows !.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

# A line of its own that is one of these, and not the last of a function.
unheeded() {
    awk '
    was != "" && !/^}/ { print was }
    { was = "" }
    / \|\|/ || /\\$/ { next }
    $0 ~ "^ +" what " .*&& " what " " || /^ +! / { was = FNR ": " $0 }
    ' what='([[]|cmp|diff|grep|says|says_not|ended_with|nothing_left|[a-z]*_clean)' \
        "$1"
}
mapfile -t files < <(all_files '*.bats' '*.bash')
check_each 'heeds all of its conditions' unheeded "${files[@]}"
