#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Every script and bats file passes shellcheck.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

command -v shellcheck > /dev/null || {
    echo 'shellcheck is not installed'
    exit 77
}
# bats: status and output are set by `run`, which runs in a subshell; programs
# in single quotes are meant for the shells of ranks.
check_script() {
    case $1 in
        *.bats) shellcheck -x -f gcc -s bats \
            -e SC2016,SC2154,SC2030,SC2031,SC2314,SC1091,SC2317 "$1" ;;
        *) shellcheck -x -P . -f gcc -e SC2317 "$1" ;;
    esac
}
mapfile -t files < <(scripts)
check_each 'passes shellcheck' check_script "${files[@]}"
