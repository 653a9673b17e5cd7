#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Every option of bin/cli/opts.def stands in --help, in the man page and in
# the completions; the man page names no other; the same for the commands of
# hpcboot; the man page names every event; the completions are good shell; the
# man pages are good mdoc.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

dump=$HB_BUILDDIR/bin/cli/optdump
if [ ! -x "$dump" ]; then
    echo "1..0 # SKIP $dump is not built"
    exit 77
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

"$dump" names > "$work/names"
cut -d ' ' -f 1 "$work/names" | sort -u > "$work/all"
# A name may be refused in one dialect and known in another.
grep -v ' refused$' "$work/names" | cut -d ' ' -f 1 | sort -u > "$work/offered"
"$dump" completion bash > "$work/bash"
"$dump" completion zsh > "$work/zsh"
"$dump" completion fish > "$work/fish"

words() { grep -oE -- '--?[A-Za-z0-9][A-Za-z0-9_-]*' | sort -u; }
in_help() { "$dump" help all | words; }
in_bash() { sed -n "/^_hbrun_options='/,/^'/p" "$work/bash" | words; }
dashed() { sed 's/ -l / --/g; s/ -s / -/g' "$work/fish"; }
in_fish() { dashed | sed -n "s/^complete [^']*'[^']*' \\(-[^ ]*\\) .*/\\1/p" | words; }
in_zsh() { grep -oE "^    '\*[^[]+" "$work/zsh" | words; }
# In mdoc an option is "Fl n" or "Fl Fl name".
in_man() {
    sed -n '/^\.Sh OPTIONS/,/^\.Sh ENVIRONMENT OF/p' man/hbrun.1 |
        sed 's/Fl Fl /--/g; s/Fl /-/g' | words
}

n=0 failed=0
verdict() { # WHAT WORDS: ok when there are no words
    n=$((n + 1))
    if [ -z "$2" ]; then
        echo "ok $n - $1"
    else
        failed=1
        echo "not ok $n - $1"
        printf "%s\n" "$2" | while read -r line; do echo "# $line"; done
    fi
}
missing() { comm -23 "$1" <("$2"); }

# Its own item, for what has an effect: prose that mentions it is not enough.
items() { # FILE of mdoc
    awk '/^\.It Xo/ { xo = 1 } xo || /^\.It/; /^\.Xc/ { xo = 0 }' "$1" |
        sed 's/Fl Fl /--/g; s/Fl /-/g' | words
}
in_items() { items man/hbrun.1; }
grep -E ' (option|alias)$' "$work/names" | cut -d ' ' -f 1 | sort -u \
    > "$work/effective"

verdict '--help has every option' "$(missing "$work/all" in_help)"
verdict 'hbrun(1) has every option' "$(missing "$work/all" in_man)"
verdict 'hbrun(1) has an item for every option that has an effect' \
    "$(missing "$work/effective" in_items)"
verdict 'bash completes every option' "$(missing "$work/offered" in_bash)"
verdict 'zsh completes every option' "$(missing "$work/offered" in_zsh)"
verdict 'fish completes every option' "$(missing "$work/offered" in_fish)"
verdict 'hbrun(1) describes no other option' "$(
    grep -oE '^\.It .*' man/hbrun.1 | grep -oE 'Fl (Fl )?[A-Za-z0-9][^ ]*' |
        sed 's/Fl Fl /--/; s/Fl /-/' | sort -u | comm -13 "$work/all" -)"
# Names of events stand in the calls that write them, also on a next line.
events() {
    cat bin/job/*.c | tr -d '\n' |
        grep -oE '[( ]job_event(_[a-z_]+)?\([^";{]*"[a-z_]+"' |
        sed 's/.*"\(.*\)"/\1/' | sort -u
}
events > "$work/events"
in_events() {
    sed -n '/^\.Sh EVENTS/,/^\.Sh METRICS/p' man/hbrun.1 |
        sed -n 's/^\.It //p' | tr -d ' ' | tr ',' '\n' | sort -u
}
verdict 'hbrun(1) has every event' "$(missing "$work/events" in_events)"
good_shell() { # PROGRAM, with completions in $work/bash, $work/zsh, $work/fish
    verdict "$1's completion is good bash" "$(bash -n "$work/bash" 2>&1)"
    if command -v zsh > /dev/null; then
        verdict "$1's completion is good zsh" "$(zsh -n "$work/zsh" 2>&1)"
    fi
    if command -v fish > /dev/null; then
        verdict "$1's completion is good fish" "$(fish -n "$work/fish" 2>&1)"
    fi
}
good_shell hbrun

# hpcboot prints help and completions from one table per command.
hpcboot=$HB_BUILDDIR/hpcboot
"$hpcboot" --completion bash > "$work/bash"
"$hpcboot" --completion zsh > "$work/zsh"
"$hpcboot" --completion fish > "$work/fish"
good_shell hpcboot
commands() { sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }
"$hpcboot" --help | commands > "$work/commands"
section() { # COMMAND: of the man page
    sed -n "/^\.Ss hpcboot $1\$/,/^\.S[sh] /p" man/hpcboot.1
}
in_section() {
    section "$1" | grep -E '^\.It Fl' | sed 's/Fl Fl /--/g; s/Fl /-/g' | words
}
in_command_help() {
    "$hpcboot" "$1" --help | sed -n '/^Options:/,/^$/p' |
        sed -nE 's/^  (-.*)/\1/p' | cut -c 1-26 | words
}
verdict 'hpcboot(1) has every command, and no other' "$(
    comm -3 <(sort "$work/commands") \
        <(sed -n 's/^\.Ss hpcboot //p' man/hpcboot.1 | sort))"
while read -r command; do
    in_command_help "$command" > "$work/all"
    verdict "hpcboot(1) has every option of $command, and no other" \
        "$(comm -3 "$work/all" <(in_section "$command"))"
    for shell in bash zsh; do
        verdict "$shell completes every option of $command" \
            "$(words < "$work/$shell" | comm -23 "$work/all" -)"
    done
    verdict "fish completes every option of $command" \
        "$(dashed | grep "_of $command'" | words | comm -23 "$work/all" -)"
done < "$work/commands"

# The server of pods has options of its own.
"$HB_BUILDDIR/hpcbootd" serve --help | sed -nE 's/^  (-.*)/\1/p' |
    cut -c 1-22 | words > "$work/all"
verdict 'hpcbootd(8) has every option of serve, and no other' "$(
    sed -n '/^\.Ss hpcbootd serve$/,/^\.Ss /p' man/hpcbootd.8 |
        items /dev/stdin | comm -3 "$work/all" -)"

if command -v groff > /dev/null; then
    for page in man/*.[1-9]; do
        verdict "$page is good mdoc" "$(groff -mandoc -Tutf8 -ww -z "$page" 2>&1)"
    done
fi
if command -v mandoc > /dev/null; then
    for page in man/*.[1-9]; do
        verdict "$page is clean to mandoc" \
            "$(mandoc -Tlint -Wwarning "$page" 2>&1)"
    done
fi
echo "1..$n"
exit $failed
