#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What the pages of the library say: their programs are compiled and run, and
# HPCBOOT_CHECK finds calls that differ.

load ../common
setup() { common_setup; }

# Writes each program of a page, a literal block with a main(), to its own
# file: mdoc's escapes are what they stand for.
programs() { # PAGE
    awk -v page="$(basename "$1")" '
        /^\.Bd -literal/ { inside = 1; text = ""; next }
        /^\.Ed/ { if (text ~ /[ \n]main\(/) {
                printf "%s", text > (page "." ++n ".c") }
            inside = 0 }
        inside { gsub(/\\e/, "\\"); gsub(/\\&/, ""); gsub(/\\-/, "-")
            gsub(/\\\(dq/, "\""); text = text $0 "\n" }' "$1"
}

@test "every program of a manual page is compiled and runs" {
    ! is_sanitized ||
        skip 'a sanitized library wants a sanitized program'
    for page in "$HB_SRCDIR"/man/*.[1-9]; do programs "$page"; done
    [ -e hpcboot_intro.7.1.c ]
    for source in *.c; do
        echo "$source"
        "${cc[@]}" -std=c11 -Wall -Wextra -Werror -I"$HB_SRCDIR/include" \
            -I"$HB_BUILDDIR/include" "$source" -o program \
            -L"$HB_BUILDDIR/.libs" -lhpcboot -Wl,-rpath,"$HB_BUILDDIR/.libs"
        for n in 1 3; do
            run hb -n $n ./program
            ended_with 0
        done
    done
}

@test "HPCBOOT_CHECK names both sides of calls that differ" {
    probe=$HB_BUILDDIR/tests/cli/mismatch
    differ() { # WAY WORDS OTHER_WORDS
        run hb -x HPCBOOT_CHECK=1 -n 3 "$probe" "$1"
        says "^rank 0: the ranks of a team have made different calls: .*rank 0 $2"
        says "^rank 0: .*rank 1 $3"
        says "^rank 1: .*rank 1 $3"
    }
    differ collective 'allreduce of 32 bytes' 'bcast of 32 bytes'
    differ root 'reduce .*root 0' 'reduce .*root 1'
    differ count 'bcast of 32 bytes' 'bcast of 40 bytes'
    differ type 'allreduce .*type double' 'allreduce .*type int64'
    differ op 'allreduce .*op sum' 'allreduce .*op max'
    differ setting 'scan .*op sum.,' 'scan .*op sum, deterministic'
    differ team-split 'team_split, ' 'bcast of 32 bytes'
    differ team-create 'team_create, ' 'team_split'
    run hb -x HPCBOOT_CHECK=1 -n 3 "$probe" allgatherv
    says '^rank [01]: allgatherv: .*rank 0 sends 32 bytes to rank 1, which expects 40'
    says_not checksum
    run hb -x HPCBOOT_CHECK=1 -n 3 "$probe" none
    ended_with 0
    [ "$(grep -c ': good$' <<< "$output")" -eq 3 ]
}

# Rank 1 has other counts. Who finds it says so, the others hear it from there:
# also in a call that they make afterwards, and nobody hangs.
@test "counts of the v-kinds that differ are found, and all ranks hear of it" {
    probe=$HB_BUILDDIR/tests/cli/mismatch
    told='rank [01] takes no more part in the team: '
    while read -r way words; do
        for form in 0:again 1:again 0:any 1:any 0:test 1:test; do
            run hb -x "HPCBOOT_CHECK=${form%:*}" -n 3 "$probe" "$way" \
                "${form#*:}"
            ended_with 0
            [ "$(grep -cE "^rank [0-2]: ($told)?$words" <<< "$output")" -eq 3 ]
        done
    done << 'END'
gatherv gatherv: the counts differ: rank 1 sends 40 bytes to rank 0, which expects 32
scatterv scatterv: the counts differ: rank 0 sends 32 bytes to rank 1, which expects 40
alltoallv alltoallv: the counts differ: rank 1 sends 40 bytes to rank 0, which expects 32
END
    run hb -n 3 "$probe" row
    [ "$(grep -c 'different calls: .*counts with checksum' <<< "$output")" -eq 3 ]
    run hb -n 17 "$probe" alltoallv
    says '^rank 0: alltoallv: .*rank 1 sends 40 bytes to rank 0, which expects 32'
    run hb -n 3 "$probe" count again
    ended_with 0
    [ "$(grep -c 'rank 1 bcast of 40' <<< "$output")" -eq 3 ]
}

@test "HPCBOOT_CHECK finds a barrier against a fence, a shrink, a receive" {
    probe=$HB_BUILDDIR/tests/cli/mismatch
    against() { # WAY WORDS
        run hb -x HPCBOOT_CHECK=1 -n 2 "$probe" "$1"
        ended_with 0
        for i in 0 1; do
            says "^rank $i: deadlock, calls that do not fit together: "
            says "^rank $i: .*rank 0 waits in barrier of the world .* for rank 1"
            says "^rank $i: .*rank 1 waits in $2 for rank 0"
        done
    }
    against fence fence
    against shrink team_shrink
    against recv 'recv of the world \(tag 5\)'
    against tag 'recv of the world \(tag 5\)'
    run hb -x HPCBOOT_CHECK=1 -n 2 "$probe" team-recv
    ended_with 0
    for i in 0 1; do
        says "^rank $i: deadlock, .*rank 0 waits in team_split of the world .* for rank 1"
    done
    for way in fence recv; do
        run hb -x HPCBOOT_CHECK=1 -n 4 "$probe" "$way"
        ended_with 0
        says '^rank 1: deadlock, .*in barrier of the world .* for rank 1'
        says_not '^rank .: good'
    done
    for n in 2 4; do
        run hb -x HPCBOOT_CHECK=1 -n $n "$probe" slow
        ended_with 0
        [ "$(grep -c '^rank [0-3]: good$' <<< "$output")" -eq $n ]
    done
}

# The barrier of four ranks waits for rank 1 in part through each other.
@test "HPCBOOT_CHECK finds waits that any of several ranks could end" {
    probe=$HB_BUILDDIR/tests/cli/mismatch
    for n in 3 4; do
        run hb -x HPCBOOT_CHECK=1 -n $n "$probe" for-any
        ended_with 0
        says '^rank 1: deadlock, calls that do not fit together: rank 1 waits in recv of the world \(tag 5\) for any rank'
        says '^rank 1: .*rank 0 waits in barrier of the world .* for rank [1-3]'
        says_not '^rank .: good'
        run hb -x HPCBOOT_CHECK=1 -n $n "$probe" for-either
        ended_with 0
        says '^rank 1: deadlock, .*rank 1 waits for any of its requests, rank '
        says_not '^rank .: good'
        run hb -x HPCBOOT_CHECK=1 -n $n "$probe" for-each-other
        ended_with 0
        [ "$(grep -c '^rank [0-3]: deadlock, .*tag 5) for any rank, ' <<< "$output")" -eq $n ]
        run hb -x HPCBOOT_CHECK=1 -n $n "$probe" for-the-ended
        ended_with 0
        says '^rank 1: deadlock, .*tag 5\) for any rank, .*rank [02] waits in hpcboot_finalize'
        [ "$(grep -c '^rank [0-3]: good$' <<< "$output")" -eq $((n - 1)) ]
        run hb -x HPCBOOT_CHECK=1 -n $n "$probe" slow-any
        ended_with 0
        [ "$(grep -c '^rank [0-3]: good$' <<< "$output")" -eq $n ]
    done
}

@test "HPCBOOT_CHECK finds a receive from one that has ended" {
    run hb -x HPCBOOT_CHECK=1 -n 2 "$HB_BUILDDIR/tests/cli/mismatch" end
    ended_with 0
    says '^rank 0: rank 0 waits in recv of the world \(tag 5\) for rank 1, which has sent no such message and is in hpcboot_finalize'
    says '^rank 1: good'
}

@test "calls that make a team are told by their names without HPCBOOT_CHECK, too" {
    run hb -n 3 "$HB_BUILDDIR/tests/cli/mismatch" team-split
    ended_with 0
    says '^rank 0: .*different calls: rank 0 team_split, rank 1 bcast of 32 bytes'
    run hb -n 3 "$HB_BUILDDIR/tests/cli/mismatch" team-create
    ended_with 0
    says '^rank 0: .*different calls: rank 0 team_create, rank 1 team_split'
    says_not allgather
}

@test "HPCBOOT_CHECK finds another list at a rank that is in none" {
    run hb -x HPCBOOT_CHECK=1 -n 3 "$HB_BUILDDIR/tests/cli/mismatch" list
    ended_with 0
    for i in 0 2; do
        says "^rank $i: .*different calls: rank $i team_create of 2 0, rank 1 team_create of 2\$"
    done
    says '^rank 1: .*different calls: rank 1 team_create of 2, rank 0 team_create of 2 0$'
}

@test "HPCBOOT_CHECK finds teams that are entered in different orders" {
    probe=$HB_BUILDDIR/tests/cli/mismatch
    for n in 2 4; do
        run hb -x HPCBOOT_CHECK=1 -n $n "$probe" order
        ended_with 0
        for i in 0 1; do
            says "^rank $i: deadlock, .*rank 0 waits in allreduce of team .* for rank 1"
            says "^rank $i: deadlock, .*rank 1 waits in allreduce of team .* for rank 0"
        done
        says_not ': good$'
    done
}
