#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# ./quickstart and ./check say what is wrong with their command line, or with
# where they are.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

echo 1..7
n=0
# says WHAT TEXT FOLDER COMMAND...: COMMAND fails there, with TEXT in its words.
says() {
    local got=0 text
    n=$((n + 1))
    text=$(cd "$3" && "${@:4}" 2>&1) && got=1
    if [ $got = 0 ] && grep -qF -- "$2" <<< "$text"; then
        echo "ok $n - $1"
    else
        printf 'not ok %d - %s\n' "$n" "$1"
        printf '%s\n' "$text" | sed 's/^/# /'
    fi
}
# A tree whose build ends at its first step.
tree() { # FOLDER
    mkdir -p "$1/tests"
    cp "$HB_SRCDIR/quickstart" "$HB_SRCDIR/check" "$1"
    cp "$HB_SRCDIR/tests/packages.sh" "$1/tests"
    printf '#!/bin/sh\nexit 1\n' > "$1/bootstrap"
    chmod +x "$1/bootstrap"
}
tree "$dir/tree"
tree "$dir/my tree"

says 'quickstart: an option without its value' \
    'quickstart: --build needs a value' "$dir/tree" \
    ./quickstart --no-install --build
for option in --build --jobs --frameworks; do
    says "check: $option without its value" "check: $option needs a value" \
        "$dir/tree" ./check --no-install $option
done
for command in quickstart check; do
    says "$command: a build folder below others that are not there yet" \
        "$dir/new-$command/deep/build.log" "$dir" \
        "tree/$command" --no-install --build "new-$command/deep"
done
says 'a tree whose path has a blank' 'has a blank' "$dir/my tree" \
    ./quickstart --no-install
