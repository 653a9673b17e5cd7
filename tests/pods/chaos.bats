#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# A sample of random jobs with random faults; with --long 200 of them.

load ../common

setup() { common_setup; }

@test "random schedules of faults end right and leave nothing" {
    local count=20
    [ "${HB_LONG:-no}" = no ] || count=200
    need_root
    need ip sshd
    run "$HB_SRCDIR/tests/pods/chaos" --count "$count" --seed 1
    [[ "$output" != *"# SKIP"* ]] || skip "${output#*# SKIP }"
    echo "$output"
    [ "$status" -eq 0 ]
}
