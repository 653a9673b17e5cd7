#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# A wrapper of a rank that closes what the rank would inherit.
for fd in /proc/self/fd/*; do
    fd=${fd##*/}
    [ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
done
exec "$@"
