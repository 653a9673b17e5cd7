#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Each header compiles alone; the public ones also as C++, there within
# extern "C" too, and without what configure found.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

# Debian keeps PMIx's headers in a folder of their own.
read -ra pmix < <(pkg-config --cflags pmix 2> /dev/null)

# What a bridge to MPI is compiled with, where there is one.
read -ra mpi < <(pkg-config --cflags ompi-c 2> /dev/null)

read -ra cc <<< "$CC" # "ccache gcc", say

compiles() { # LANGUAGE FLAG... ; the source on stdin
    local language=$1
    shift
    "${cc[@]}" -x "$language" -fsyntax-only -Wall -Wextra -Werror -I. -Iinclude \
        -I"$HB_BUILDDIR" -I"$HB_BUILDDIR/include" "${pmix[@]}" "$@" - 2>&1
}
alone() { # HEADER
    case $1 in
        include/hpcboot/mpi.h)
            [ ${#mpi[@]} -gt 0 ] || return 0
            echo '#include <hpcboot/mpi.h>' |
                compiles c -std=c11 "${mpi[@]}" ;;
        include/hpcboot/*)
            local name=${1#include/}
            echo "#include <$name>" | compiles c -std=c11
            echo "#include <$name>" | compiles c++ -std=c++11
            printf 'extern "C" {\n#include <%s>\n}\n' "$name" |
                compiles c++ -std=c++17 ;;
        *) echo "#include \"$1\"" |
            compiles c -std=c11 -D_GNU_SOURCE -include config.h ;;
    esac
}
mapfile -t headers < <(all_files '*.h')
check_each 'compiles alone' alone "${headers[@]}"
