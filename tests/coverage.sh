#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Prints line coverage per source file and in all, of the build folder it is
# started in (made with --coverage). gcov alone; objects that several programs
# share count once.
set -eu

find . -name '*.gcda' -print0 | LC_ALL=C xargs -0 -r gcov -n 2> /dev/null |
    awk '
/^File / { file = $2; gsub(/\047/, "", file); next }
/^Lines executed:/ {
    split($2, part, /[:%]/); n = $4
    if (file ~ /^\/usr\// || file ~ /tests\//) { next }
    sub(/^.*\/\.\.\//, "", file)
    hit = part[2] * n / 100
    if (!(file in lines) || hit > hits[file]) { hits[file] = hit }
    lines[file] = n
}
END {
    for (file in lines) {
        printf "%6.1f %% of %5d  %s\n", 100 * hits[file] / lines[file],
            lines[file], file | "sort -k6"
        all += lines[file]; run += hits[file]
    }
    close("sort -k6")
    if (all) { printf "%6.1f %% of %5d  in all\n", 100 * run / all, all }
}'
