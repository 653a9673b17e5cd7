#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Every source says its licence; none promises later work, keeps dead code,
# calls what cannot be called safely, or names the machine it was written on.
# What a message quotes stands in double quotes.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

later='\b(TODO|FIXME|XXX|HACK)\b'
unsafe='\b(gets|strcpy|strcat|sprintf|vsprintf|strtok|popen|tmpnam|mktemp)\('
dead='^[ ]*(//|#[ ]*if 0)'
single="'%[-.*0-9]*s'"
shell='ssh-keygen|hb_str_putf\(&line' # command lines
places='/work/(main|wt|shared)|/tmp/b-[a-z]|/root/\.[^s]'

wrong_text() {
    local file=$1
    case $file in
        *.c | *.h | *.def | *.sh | *.py | *.bats | *.bash | *.mk)
            head -n 4 "$file" | grep -q 'SPDX-License-Identifier: BSD-3' ||
                echo 'no SPDX line' ;;
    esac
    case $file in
        tests/lint/texts.sh) return ;;
        tests/*.c | tests/*.h) grep -nE "$dead" "$file" ;;
        *.c | *.h)
            grep -nE "$unsafe|$dead" "$file"
            grep -nE "$single" "$file" | grep -vE "$shell" ;;
    esac
    grep -nE "$later" "$file"
    case $file in
        tests/pods/* | tests/common.bash) ;; # a pod's own /root
        *) grep -nE "$places" "$file" ;;
    esac
}
mapfile -t files < <(all_files '*.c' '*.h' '*.def' '*.sh' '*.py' '*.bats' \
    '*.bash' '*.mk' '*.[1-8]' '*.md'
    ls README.md ARCHITECTURE.md SECURITY.md check quickstart bootstrap \
        configure.ac Makefile.am)
check_each 'says what it should' wrong_text "${files[@]}"
