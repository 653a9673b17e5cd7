#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# The test driver counts what programs of each kind report, and hides nothing.
set -u
driver=$HB_SRCDIR/tests/driver
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99

# Runs a shell text under the driver; prints the results in one line.
results() {
    printf '%s\n' "$1" > prog
    "$driver" --test-name t --log-file log --trs-file trs --color-tests no \
        -- sh prog > out
    sed -n 's/^:test-result: //p' trs | tr '\n' ';'
    sed -n 's/^:global-test-result: //p' trs
}

echo 1..11
n=0
expect() { # WHAT TEXT EXPECTED
    local got
    n=$((n + 1))
    got=$(results "$2")
    if [ "$got" = "$3" ]; then echo "ok $n - $1"; else
        echo "not ok $n - $1"; echo "# got $got"; fi
}
expect 'a plain program that ends well passes' 'exit 0' 'PASS;PASS'
expect 'a plain program that exits 3 fails' 'echo oh; exit 3' \
    'FAIL exit status 3: oh;FAIL'
expect 'exit status 77 skips with its reason' 'echo no root; exit 77' \
    'SKIP # no root;SKIP'
expect 'each TAP test counts' 'printf "1..2\nok 1 - a\nok 2 - b\n"' \
    'PASS a;PASS b;PASS'
expect 'a failed TAP test fails the program' \
    'printf "1..2\nok 1 - a\nnot ok 2 - b\n"; exit 1' 'PASS a;FAIL b;FAIL'
expect 'a TAP skip carries its reason' 'printf "1..1\nok 1 a # skip no pods\n"' \
    'SKIP a # no pods;SKIP'
expect 'tests that did not run are an error' 'printf "1..2\nok 1 - a\n"' \
    'PASS a;ERROR 1 of 2 tests ran (exit status 0);ERROR'
expect 'a crash after the last test is an error' \
    'printf "1..1\nok 1 - a\n"; exit 134' \
    'PASS a;ERROR exit status 134 after its last test;ERROR'

# The one that looks at the clock is stopped; how often the program ran is in a
# file.
stands_still() { # RESULT: of its second run
    rm -f ran
    # shellcheck disable=SC2016  # expanded in the program
    printf '%s\n' '
        [ ! -e ran ] || { echo oh; exit '"$1"'; }
        touch ran
        driver=$(awk "/^PPid:/ { print \$2 }" "/proc/$PPID/status")
        for child in $(cat "/proc/$driver/task/$driver/children"); do
            [ "$child" != "$PPID" ] || continue
            kill -STOP "$child"; sleep 4; kill -CONT "$child"
        done
        sleep 1.5
        exit 3'
}
export HB_TEST_STILL=1
expect 'what fails while the machine stands still is run once more' \
    "$(stands_still 0)" 'PASS;PASS'
n=$((n + 1))
grep -q '^AGAIN: t failed while the machine stood still for [0-9]* s' out ||
    echo -n 'not '
echo "ok $n - ... which is told of"
expect '... and fails where it fails again' "$(stands_still 5)" \
    'FAIL exit status 5: oh;FAIL'
