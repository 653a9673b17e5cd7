#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Every #include is one that ARCHITECTURE.md's table allows.
command -v python3 > /dev/null || {
    echo 'python3 is not installed'
    exit 77
}
exec python3 "$(dirname "$0")/layers.py"
