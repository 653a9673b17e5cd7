#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hbrun(1) lists the variables that stay on their host, those that reach no rank
# and those that do not from another job's, as the tables of bin/proc/env_names.c have them, in their order.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

# The names in the quotes of a table's rows, without their labels.
of_table() { # TABLE
    sed -n "/ $1\[\] = {/,/^};/p" bin/proc/env_names.c |
        sed 's|^ */\*.*||; s|.*\*/$||; s/^ *{"[^"]*",//' |
        grep -oE '"[^"]*"' | tr -d '"' | tr ' ' '\n' | grep .
}
of_page() { # MARK
    sed -n "/^\.\\\\\" $1 begin/,/^\.\\\\\" $1 end/p" man/hbrun.1 |
        sed -n 's/^\.Ev //p' | tr -d ',' | sed 's/ \.$//' | tr ' ' '\n' | grep .
}

n=0 failed=0
same() { # WHAT TABLE MARK
    local words
    n=$((n + 1))
    if words=$(diff <(of_table "$2") <(of_page "$3")); then
        echo "ok $n - $1"
        return
    fi
    failed=1
    echo "not ok $n - $1"
    while read -r line; do echo "# $line"; done <<< "$words"
}
same 'hbrun(1) lists what stays on its host' denied_rows stays
same 'hbrun(1) lists what reaches no rank' family_rows leftovers
same 'hbrun(1) lists the paths that an outer job told' path_rows 'told paths'
echo "1..$n"
exit $failed
