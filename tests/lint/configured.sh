#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# A build folder is configured anew when packages have come since: ./check after
# ./quickstart leaves no test out because of what was missing then.
set -u
top=$HB_SRCDIR self=configured
# shellcheck source=tests/packages.sh
. "$top/tests/packages.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
DPKG_STATUS=$dir/status

echo 1..6
n=0
expect() { # WHAT STATUS ARGUMENTS...
    local got=0
    n=$((n + 1))
    needs_configure "$dir/build" "${@:3}" || got=1
    if [ $got = "$2" ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}
mkdir "$dir/build"
touch -d '2020-01-01' "$DPKG_STATUS"
expect 'an empty folder is configured' 0
touch "$dir/build/Makefile"
expect 'a folder whose configure has failed is configured' 0
printf "#!/bin/sh\necho \"'-q' '--enable-werror'\"\n" > \
    "$dir/build/config.status"
chmod +x "$dir/build/config.status"
expect 'one that is up to date is left alone' 1
expect 'and so where it has been given the argument' 1 --enable-werror
expect 'an argument that is new is given' 0 --enable-asan
touch -d '2020-01-02' "$dir/build/config.status"
touch "$DPKG_STATUS"
expect 'packages that came since are looked for' 0 --enable-werror
