#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# cppcheck over the product's sources: errors and warnings. Portability is left
# out: what it says of calls that are not reentrant is no matter in one thread.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

command -v cppcheck > /dev/null || {
    echo 'cppcheck is not installed'
    exit 77
}
cppcheck -q --enable=warning --std=c11 --library=posix \
    --inline-suppr --suppress=missingIncludeSystem --error-exitcode=1 \
    -DHAVE_CONFIG_H -D__linux__ -I. -Iinclude -I"$HB_BUILDDIR" \
    -j "$(nproc)" lib bin hostfile
