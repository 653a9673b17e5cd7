#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Bytes in and out of ranks: whole, in order, bounded, to where they belong.

load ../common
setup() { common_setup; }

@test "stdin goes to rank 0, the others are at its end" {
    printf 'line 1\nline 2' > in
    hb -n 2 sh -c 'cat > got.$HPCBOOT_RANK' < in
    cmp in got.0
    [ ! -s got.1 ]
}

@test "--stdin all, none, and a rank" {
    printf 'words\n' > in
    hb -n 2 --stdin all sh -c 'cat > all.$HPCBOOT_RANK' < in
    cmp in all.0
    cmp in all.1
    hb -n 2 --stdin none sh -c 'cat > none.$HPCBOOT_RANK' < in
    [ ! -s none.0 ]
    [ ! -s none.1 ]
    hb -n 2 --stdin 1 sh -c 'cat > one.$HPCBOOT_RANK' < in
    [ ! -s one.0 ] && cmp in one.1
}

# The launcher looks into scripts of a command line, to see which MPI they are for.
@test "a script that is standard input is the rank's to read" {
    run -0 hb -n 1 sh /dev/stdin < <(echo 'echo by a shell')
    says '^by a shell$'
    run -0 hb -n 1 sh -c 'sh /proc/self/fd/0' < <(echo 'echo by another')
    says '^by another$'
    need python3
    run -0 hb -n 1 python3 /dev/stdin < <(echo 'print("by Python")')
    says '^by Python$'
}

@test "stdin that is at its end at once is no trouble" {
    run hb -n 2 cat < /dev/null
    ended_with 0
}

@test "a stdin that cannot be read, as nohup leaves it, is none" {
    run bash -c '"$@" 0> /dev/null' - timeout -s KILL "$HB_LIMIT" \
        "$hbrun" -n 2 cat
    ended_with 0
    says_not 'standard input'
}

@test "a closed stdin is no trouble" {
    run bash -c '"$@" <&-' - timeout -s KILL "$HB_LIMIT" "$hbrun" -n 2 cat
    ended_with 0
}

@test "20 MB of stdin arrive whole" {
    "$(fake flood)" raw 20000000 > in
    hb -n 1 sh -c 'cat > got' < in
    cmp in got
}

# While one host takes nothing no more is read; then it is lost.
@test "a host that is lost does not keep standard input from the others" {
    "$(fake flood)" raw 20000000 > in
    # shellcheck disable=SC2016  # expanded in the ranks
    run hb --launch-with fork -H a,b --stdin all --on-failure continue sh -c \
        'if [ $HPCBOOT_RANK = 0 ]; then
             : >> got
             until [ -s got ] && [ "$(wc -c < got)" = "$size" ]; do
                 size=$(wc -c < got); sleep 0.1
             done
             kill -KILL $PPID; sleep 1000
         fi
         cat > got; cmp in got && echo whole' < in
    ended_with 75
    says '^whole$'
}

# What it was sent is in a pipe that its child keeps open.
@test "a rank that has ended does not keep standard input from the others" {
    "$(fake flood)" raw 20000000 > in
    # shellcheck disable=SC2016  # expanded in the ranks
    hb -n 2 --stdin all bash -c 'if [ $HPCBOOT_RANK = 0 ]; then
            exec cat > got
        fi
        exec 7<&0
        sleep 1000 <&7 7<&- > sleeps 2>&1 &
        until [ -s got ] && [ "$(wc -c < got)" = "$size" ]; do
            size=$(wc -c < got); sleep 0.1
        done' < in
    cmp in got
}

@test "a rank that reads no stdin does not hold the job" {
    run bash -c 'yes | timeout -s KILL "$0" "$@"' "$HB_LIMIT" "$hbrun" \
        -n 2 echo here
    ended_with 0
}

# Files are read as fast as they can be, and these far longer than a test may
# take.
@test "a standard input without an end does not hold the job" {
    run -0 hb -n 1 true < /dev/zero
    run -0 hb --timeout "$HB_LIMIT" -n 2 --stdin all true < /dev/zero
    truncate -s 8E in || truncate -s 15T in || skip 'no large file can be made'
    run -0 hb -n 1 true < in
}

@test "bytes that are not text and a last line without an end are unharmed" {
    head -c 300000 /dev/urandom > in
    printf 'no end' >> in
    hb -n 1 cat in > got
    cmp in got
}

@test "stdout and stderr are kept apart" {
    hb -n 1 --pmi none sh -c 'echo out; echo err >&2' > out 2> err
    [ "$(cat out)" = out ]
    [ "$(cat err)" = err ]
}

@test "--merge-stderr-to-stdout puts both into stdout" {
    hb -n 1 --pmi none --merge-stderr-to-stdout \
        sh -c 'echo out; echo err >&2' > out 2> err
    [ "$(sort out)" = $'err\nout' ]
    [ ! -s err ]
}

# Its line stays in the program as long as it writes to a pipe, and is lost.
@test "--unbuffered: each line is seen when it is written, and none is lost" {
    local job options
    cat > waits.c << 'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    printf("terminals: %d %d %d\n", isatty(0), isatty(1), isatty(2));
    while (access("seen", F_OK) < 0) {
        usleep(10000);
    }
    printf("\tthe end\n");
    _exit(0);
}
END
    "${cc[@]}" -o waits waits.c
    for options in '--unbuffered' '--dialect srun -u'; do
        rm -f seen out
        # shellcheck disable=SC2086  # several options
        hb -n 2 $options ./waits > out 2> err < /dev/null &
        job=$!
        wait_until lines_in out 2
        touch seen
        ends $job
        ended_with 0
        [ "$(sort out)" = $'\tthe end\n\tthe end\nterminals: 0 1 0\nterminals: 0 1 0' ]
    done
    nothing_left
}

@test "--unbuffered: bytes arrive whole and unchanged, and so does their end" {
    head -c 3000000 /dev/urandom > bytes
    hb -n 1 --unbuffered cat bytes > out
    cmp bytes out
    hb -n 2 --pmi none --unbuffered --merge-stderr-to-stdout sh -c '
        echo out; echo err >&2' > out 2> err
    [ "$(sort out | uniq -c | tr -s ' \n' ' ')" = ' 2 err 2 out ' ]
    [ ! -s err ]
    run hb -n 1 --unbuffered sh -c 'exec > /dev/null; exit 4'
    ended_with 4
}

@test "--tag-output says rank and stream" {
    hb -n 2 --tag-output sh -c 'echo out; echo err >&2' > out 2> err
    grep -Eq '^\[1,0\]<stdout>: ?out$' out
    grep -Eq '^\[1,1\]<stdout>: ?out$' out
    grep -Eq '^\[1,1\]<stderr>: ?err$' err
}

@test "--timestamp-output puts a time before each line" {
    run hb -n 1 --timestamp-output echo here
    ended_with 0
    says '[0-9]:[0-9][0-9].*here$'
}

@test "--output-filename writes a file per rank and stream" {
    hb -n 2 --output-filename out sh -c 'echo $HPCBOOT_RANK; echo err >&2' \
        > /dev/null 2>&1
    [ "$(cat out/1/rank.0/stdout)" = 0 ]
    [ "$(cat out/1/rank.1/stdout)" = 1 ]
    [ "$(cat out/1/rank.1/stderr)" = err ]
}

@test "files of output are empty when the ranks begin, also of silent ones" {
    mkdir -p d/1/rank.0
    echo old | tee err.0 > d/1/rank.0/stdout
    run hb -n 1 --errfile err.%r true
    ended_with 0
    [ -e err.0 ]
    [ ! -s err.0 ]
    run hb -n 2 --output-filename d true
    ended_with 0
    [ ! -s d/1/rank.0/stdout ] && [ -e d/1/rank.1/stderr ]
}

@test "a file of output that cannot be is told before the ranks begin" {
    mkdir out.1
    run hb -n 2 --outfile out.%r touch started
    ended_with 74
    says 'the output file out.1 cannot be opened: Is a directory'
    [ ! -e started ]
}

# shellcheck disable=SC2016  # expanded in the ranks
@test "files of output are named after hosts, too, and shared by their ranks" {
    local at=(--launch-with fork -H 'a:2,b:2')
    run hb "${at[@]}" --outfile 'o.%h.%2r' --errfile 'e.%3p' \
        sh -c 'echo $HPCBOOT_RANK; echo $HPCBOOT_NODE >&2'
    ended_with 0
    [ "$(echo o.* e.*)" = 'o.a.00 o.a.01 o.b.02 o.b.03 e.000 e.001' ]
    [ "$(cat o.*)" = $'0\n1\n2\n3' ]
    [ "$(cat e.*)" = $'0\n0\n1\n1' ]
    run hb --dialect=srun "${at[@]}" -n 4 -o 'all.%N' sh -c 'echo o; echo e >&2'
    ended_with 0
    [ "$(sort all.b)" = $'e\ne\no\no' ]
    # What ranks write on a host that takes another's place.
    run hb --launch-with fork -H c,d --spares 1 --on-failure respawn \
        --restart-delay 10ms -n 1 --outfile 'of/%h/o' sh -c \
        'echo $HPCBOOT_RESTART; [ $HPCBOOT_RESTART = 1 ] || kill -KILL $PPID'
    ended_with 0
    [ "$(cat of/d/o)" = 1 ]
    run hb -n 1 --outfile '%x' true
    ended_with 2
    says 'only %r .* are known$'
}

# shellcheck disable=SC2016  # expanded in the ranks
@test "a question of the rank that reads standard input is seen before its answer" {
    local who
    mkfifo answers
    for who in 0 all; do
        "$hbrun" -n 2 --stdin $who sh -c 'if [ $HPCBOOT_RANK = 0 ]; then
            printf "Enter: "; read -r x; echo "got $x"; fi' < answers > out &
        exec 5> answers
        wait_until grep -q 'Enter: ' out
        echo 5 >&5
        exec 5>&-
        ends $!
        ended_with 0
        [ "$(cat out)" = 'Enter: got 5' ]
    done
}

@test "progress bars are seen as they grow" {
    # shellcheck disable=SC2016  # expanded in the ranks
    run bash -c '"$@" < /dev/null 2>&1 | { read -r -d 2 word; echo "first:$word"
        touch seen; cat; }' - timeout -s KILL "$HB_LIMIT" "$hbrun" -n 2 --label \
        --pmi none bash -c '
        [ $HPCBOOT_RANK = 1 ] || exit 0
        printf "\r 1"; sleep 0.02; printf "\r 2"
        until [ -e seen ]; do sleep 0.05; done; printf "\r 3\n"'
    ended_with 0
    says '^first:.* 1'
    says ' 3$'
}

@test "progress bars do not tear the lines of others in a file" {
    # shellcheck disable=SC2016  # expanded in the ranks
    hb -n 2 bash -c 'for i in 1 2 3; do
        if [ $HPCBOOT_RANK = 0 ]; then printf "\rprogress $i"
        else echo "result $i"; fi; sleep 0.15; done' > out < /dev/null
    [ "$(grep -c '^result [123]$' out)" = 3 ]
}

# More than is sent ahead of who does not read, so that no end of it is seen.
@test "where standard input is a file nobody answers: no line under way is torn" {
    truncate -s 10M in
    # shellcheck disable=SC2016  # expanded in the ranks
    hb -n 2 bash -c 'if [ $HPCBOOT_RANK = 0 ]; then
            printf "half "; touch half
            until [ -e over ]; do sleep 0.05; done; echo "whole"
        else
            until [ -e half ]; do sleep 0.05; done
            sleep 1; echo result; touch over
        fi' > out < in
    [ "$(sort out)" = $'half whole\nresult' ]
}

@test "what filters write after their rank has ended is all there" {
    local count='{ n++ } END { while (i < 3e7) i++; print n }'
    hb -n 4 bash -c 'exec > >(cat | awk "$0"); seq 1000' "$count" > got
    [ "$(sort -u got)" = 1000 ]
    lines_in got 4
    # Nothing of the rank's is held by this one.
    hb -n 1 bash -c 'exec > >(awk "$0" > alone) 2> /dev/null; seq 1000' "$count"
    [ "$(cat alone)" = 1000 ]
    # shellcheck disable=SC2016  # expanded in the ranks
    run hb -n 2 sh -c '(while kill -0 $$ 2> /dev/null; do :; done
        sleep 0.1; echo late) & exit 0'
    ended_with 0
    says '^late$'
    says_not 'left behind'
}

@test "what a failed rank has written into a filter is seen" {
    # shellcheck disable=SC2016  # expanded in the ranks
    run hb -n 2 bash -c '[ $HPCBOOT_RANK = 1 ] || exec sleep 1000
        exec > >(while kill -0 $$ 2> /dev/null; do :; done
            sleep 0.2; sed "s/^/seen: /"); echo "no such file"; exit 3'
    ended_with 3
    says '^seen: no such file$'
}

# The pipe is its standard input only when the rank is gone, as where a shell
# that has forked it is the quicker one.
@test "a filter that begins after its rank's end is one as well" {
    run hb -n 2 "$(fake late_filter)"
    ended_with 3
    says '^seen: no such file$'
}

@test "signals of a rank do not reach the filter of its output" {
    local how
    for how in '--forward-signals USR1' '--checkpoint-signal USR1' ''; do
        local trap=USR1 send=TERM
        [ "$how" ] || trap=TERM
        case $how in *forward*) send=USR1 ;; esac
        # shellcheck disable=SC2016,SC2086  # expanded in the ranks
        "$hbrun" -n 2 $how bash -c 'exec > >(sed "s/^/seen: /" | cat) 2>&1
            trap "sleep 0.2; echo saved; exit 0" "$0"
            echo $$ >> started; while :; do sleep 0.05; done' $trap > out &
        wait_until lines_in started 2
        kill -$send $!
        ends $!
        [ "$(grep -c '^seen: saved$' out)" = 2 ]
        rm started
    done
}

# As where the shell that has forked it is that much quicker.
@test "a signal does not reach a filter that does not read yet" {
    "$hbrun" --forward-signals USR1 -n 2 "$(fake late_filter)" ready > out &
    wait_until [ -e ready ]
    wait_until [ -e ready.0 ]
    kill -USR1 $!
    ends $!
    grep -q '^seen: no such file$' out
}

@test "a filter that does not end is killed, and told of" {
    run hb -n 1 bash -c 'exec > >(exec sleep 1000); echo lost'
    ended_with 0
    says '1 process that ranks had left behind was killed'
}

@test "--output file= copies what ranks write, unless it says nocopy" {
    local words='echo $HPCBOOT_RANK; echo err >&2'
    run --separate-stderr hb -n 2 --output file=f sh -c "$words"
    ended_with 0
    [ "$(sort <<< "$output")" = $'0\n1' ]
    [ "$stderr" = $'err\nerr' ]
    [ "$(sort f.1)" = $'1\nerr' ]
    for word in ':nocopy' ',nocopy' ' --output-copy=no'; do
        # shellcheck disable=SC2086  # words
        run hb -n 1 --output file=g$word sh -c "$words"
        ended_with 0
        [ "$output" = '' ]
        [ "$(sort g.0)" = $'0\nerr' ]
        rm g.0
    done
}

@test "an output file that is a pipe is refused, whether it is read or not" {
    mkfifo pipe
    run hb -n 1 --outfile-pattern pipe echo x
    ended_with 2
    says 'the output file pipe is a pipe'
    run hb -n 1 --errfile-pattern /dev/fd/1 echo x
    ended_with 2
    says 'leave the name out'
    run hb -n 1 --outfile-pattern /dev/stdout echo here
    ended_with 0
    says '^here$'
    run hb -n 1 --outfile-pattern /dev/null echo x
    ended_with 0
    says_not x
}

@test "an output file that takes hbrun's own output is refused, not emptied" {
    own() { # NAME WORDS...
        run --separate-stderr bash -c 'echo before > log
            "${@:2}" "$1" -n 1 echo x >> log; rc=$?; cat log; exit $rc' - "$@"
    }
    local name
    for name in /dev/stdout /dev/fd/1 log; do
        own $name "$hbrun" --errfile-pattern
        ended_with 2
        [ "$output" = before ]
        output=$stderr
        says "the output file $name is where hbrun's own output goes"
    done
    own log "$hbrun" --outfile-pattern
    ended_with 2
    [ "$output" = before ]
}

@test "a file of events or metrics is refused as a file of output" {
    local words
    for words in '--events f --outfile f' '--metrics f --errfile ./f' \
        '--events f --metrics f' \
        '--events d/rank.0/stderr --output-filename d:nojobid'; do
        mkdir -p d/rank.0
        # shellcheck disable=SC2086  # a list of words
        run hb $words -n 1 true
        ended_with 2
        says '(--events or --metrics|of --events), too; give another name$'
    done
    run hb --events /dev/null --outfile /dev/null -n 1 true
    ended_with 0
}

@test "--events: a pipe that nobody reads holds up nothing" {
    mkfifo pipe
    run hb -n 2 --events pipe echo x
    ended_with 0
    says '^x$'
}

@test "a full disk under --output-filename is said, and ends the job" {
    need_root
    unshare --mount true || skip 'no mount namespace can be made'
    mkdir out
    run unshare --mount bash -c 'mount -t tmpfs -o size=64k tmpfs out &&
        exec timeout -s KILL "$@"' - "$HB_LIMIT" "$hbrun" -n 2 \
        --output-filename out "$(fake flood)" raw 1000000
    ended_with 74
    says 'No space left'
    nothing_left
}

@test "output that cannot be written is said, and ends the job" {
    [ -e /dev/full ] || skip 'no /dev/full here'
    run bash -c '"$@" > /dev/full' - timeout -s KILL "$HB_LIMIT" "$hbrun" \
        -n 2 sh -c 'while echo words; do :; done'
    ended_with 74
    says 'No space left'
    nothing_left
}

@test "output that cannot be written is said where a rank has failed before" {
    [ -e /dev/full ] || skip 'no /dev/full here'
    # shellcheck disable=SC2016  # for the ranks
    run bash -c '"$@" > /dev/full' - timeout -s KILL "$HB_LIMIT" "$hbrun" \
        --grace 10m -n 2 sh -c 'if [ $HPCBOOT_RANK = 0 ]; then
                until [ -e ready ]; do sleep 0.02; done; exit 3
            fi
            trap "echo late; exit 0" TERM
            touch ready; while :; do sleep 0.02; done'
    ended_with 3
    says 'warning: output of ranks is lost: .*No space left'
    says 'error: rank 0 on .* exited with status 3'
}

# Its own words come first, and are lost as well.
@test "output that cannot be written ends the job where hbrun has something to say" {
    [ -e /dev/full ] || skip 'no /dev/full here'
    local words
    for words in '-n 1 echo hi' '--report-bindings -n 1 echo hi'; do
        # shellcheck disable=SC2086  # a list of words
        run bash -c '"$@" > /dev/full 2>&1' - timeout -s KILL "$HB_LIMIT" \
            "$hbrun" $words
        ended_with 74
    done
    for words in '' -v; do
        # shellcheck disable=SC2086  # a word or none
        run bash -c '"$@" 2> /dev/full' - timeout -s KILL "$HB_LIMIT" \
            "$hbrun" $words -n 1 sh -c 'echo hi >&2'
        ended_with 74
    done
    run bash -c '"$@" 2> /dev/full' - timeout -s KILL "$HB_LIMIT" \
        "$hbrun" -v -n 1 echo hi
    ended_with 0
    says '^hi$'
}

@test "a plan, a help text or a drawing that cannot be written is status 74" {
    [ -e /dev/full ] || skip 'no /dev/full here'
    local words hpcboot=$HB_BUILDDIR/hpcboot hpcbootd=$HB_BUILDDIR/hpcbootd
    for words in "$hbrun --help" "$hbrun --dry-run true" "$hpcboot topo" \
        "$hpcboot --help" "$hpcboot perf barrier -n 1 --time 1ms" \
        "$hpcboot keys --check --key nosuch" "$hpcbootd --help" \
        "$hpcbootd serve --help" "$hpcbootd health --help"; do
        # shellcheck disable=SC2086  # a list of words
        run bash -c '"$@" > /dev/full' - timeout -s KILL "$HB_LIMIT" $words
        ended_with 74
        says 'stdout'
    done
}

@test "a reader that goes away ends the job" {
    run bash -c 'set -o pipefail
        timeout -s KILL "$0" "$@" | head -n 1 > first' "$HB_LIMIT" \
        "$hbrun" -n 2 yes
    ended_with 141
    [ "$(cat first)" = y ]
    nothing_left
}

@test "a reader that is gone before hbrun's own words ends the job" {
    mkfifo pipe
    exec 9<> pipe
    exec 8> pipe 9>&-
    run bash -c '"$@" >&8 2>&8' - timeout -s KILL "$HB_LIMIT" "$hbrun" \
        --report-bindings -n 1 sh -c 'while echo hi; do :; done'
    ended_with 141
    nothing_left
}

@test "a closed stdout of hbrun: no hang, nothing left" {
    run bash -c '"$@" >&-' - timeout -s KILL "$HB_LIMIT" "$hbrun" \
        -n 2 echo words
    [ "$status" -ne 137 ]
    nothing_left
}

@test "a rank that closes its stdout goes on" {
    run hb -n 2 sh -c 'exec >&-; exec 2>&-; exit 0'
    ended_with 0
}

@test "100 MB without a line end arrive whole" {
    local flood
    flood=$(fake flood)
    hb -n 1 "$flood" raw 100000000 | cmp - <("$flood" raw 100000000)
}

@test "lines of 60000 bytes written in pieces by 4 ranks are not torn" {
    hb -n 4 "$(fake flood)" long 50 60000 > got
    run -0 whole_lines 60000 got
    [ "$output" = '200 0' ]
}

@test "lines longer than can be kept whole come in labelled pieces" {
    hb -n 2 --label "$(fake flood)" long 3 200000 > got
    run grep -cvE '^\[[01]\]' got
    [ "$output" -eq 0 ]
    run tr -cd ab < got
    [ "${#output}" -eq 1200000 ]
}

# A signal is for it: timeout(1) passes one on to its whole group, with a SIGCONT.
launcher_of() { # of the shell that runs hb
    launcher=$(pgrep -P "$(pgrep -P "$1")" -x hbrun)
}

@test "a reader that sleeps for ever does not keep a job that is told to end" {
    mkfifo pipe
    exec {never_read}<> pipe
    # More than the pipes between take, before it is told to end.
    hb --grace 100ms -n 2 sh -c 'yes | head -c 300000; touch on; exec yes' \
        > pipe 2> err &
    job=$!
    wait_until test -e on
    launcher_of $job
    kill -TERM "$launcher"
    ends $job
    exec {never_read}>&-
    ended_with 143
    says 'nobody reads the output: [0-9]+ bytes of it are dropped'
    nothing_left
}

# sleeping_reader OPTION...: a job whose output, 2 MB, nobody takes, as $job; it
# ends by itself with status 3.
sleeping_reader() {
    mkfifo pipe
    exec {never_read}<> pipe
    hb --grace 100ms "$@" sh -c 'head -c 2000000 /dev/zero; touch ended; exit 3' \
        > pipe 2> err &
    job=$!
}
has_no_child() { ! pgrep -P "$1" > /dev/null; }

@test "a reader that sleeps for ever does not keep a failed job told to end" {
    local launcher
    sleeping_reader -n 1
    wait_until test -e ended
    launcher_of $job
    wait_until has_no_child "$launcher"
    sleep 3 # until nothing but the reader is waited for
    kill -TERM "$launcher"
    ends $job
    exec {never_read}>&-
    ended_with 3
    says 'nobody reads the output: [0-9]+ bytes of it are dropped'
    nothing_left
}

@test "a reader that sleeps for ever: --timeout ends a job one of whose ranks failed" {
    for limit in 5 15 60; do
        sleeping_reader --on-failure continue --timeout $limit -n 1
        ends $job
        exec {never_read}>&-
        [ "$status" -eq 124 ] || break
        rm -f pipe ended
    done
    ended_with 3
    says 'nobody reads the output: [0-9]+ bytes of it are dropped'
    nothing_left
}

@test "a million short lines from 8 ranks while the reader sleeps" {
    # The sleep is the reader's, the thing under test.
    hb -n 8 "$(fake flood)" lines 125000 | {
        sleep 2
        awk '$2 != next_of[$1] + 0 { bad++ } { next_of[$1] = $2 + 1; n++ }
            END { print n, bad + 0 }' > sums
    }
    [ "$(cat sums)" = '1000000 0' ]
}

# More than a window of output, so that the end of it is in the rank's pipe.
@test "a rank is started again while the reader sleeps: its last words come" {
    # shellcheck disable=SC2016  # for the rank
    hb -n 1 --on-failure respawn --restart-delay 10ms bash -c '
        [ "$HPCBOOT_RESTART" = 0 ] || { echo again; touch again; exit; }
        printf begun; yes 1234567 | head -c 4300000; printf "last words"
        exit 3' 2> err | {
        wait_until test -e again
        cat > out
    }
    [ "$(grep -c '^1234567$' out)" -eq 537499 ]
    [ "$(tail -n 1 out)" = 'last wordsagain' ] # no end of line is made up
}

# The rank ends when nobody has taken anything from its terminal for a while.
@test "--unbuffered: a rank is started again while the reader sleeps: all comes" {
    need python3
    cat > fills << 'EOF'
import os, select, sys
if os.environ["HPCBOOT_RESTART"] != "0":
    open("again", "w").close()
    sys.exit()
os.set_blocking(1, False)
n, room = 0, select.poll()
room.register(1, select.POLLOUT)
while room.poll(500):
    try:
        n += os.write(1, b"1234567\n" * 64)
    except BlockingIOError:
        pass
print(n, file=open("written", "w"))
sys.exit(3)
EOF
    hb -n 1 --unbuffered --on-failure respawn --restart-delay 10ms \
        python3 fills 2> err | {
        wait_until test -e again
        cat > out
    }
    echo "written $(cat written), come $(wc -c < out)"
    [ "$(wc -c < out)" -eq "$(cat written)" ]
}

# What the lost agent has said is written while its successor is on its way,
# which has been told nothing yet and must not hear of credit.
@test "a host is started again while the reader sleeps: no credit is given twice" {
    local daemons
    cat > way << 'END'
#!/bin/sh
[ ! -e begun ] || { touch waits; until [ -e taken ]; do sleep 0.05; done; }
exec "$@"
END
    chmod 755 way
    # shellcheck disable=SC2016  # for the rank
    hb -H other:1 --launch-with ./way --on-failure respawn \
        --restart-delay 10ms --max-restarts 1 -n 1 bash -c '
        [ "$HPCBOOT_RESTART" = 0 ] || { echo again; exit; }
        head -c 3900000 /dev/zero; touch begun; exec sleep 1000' 2> err | {
        wait_until test -e waits
        head -c 2000000 > /dev/null # the rank's pipe holds the end
        touch taken
        cat > out
    } &
    wait_until test -e begun
    daemons=$(marked | xargs -r ps -o pid=,comm= -p | sed -n 's/ hpcbootd$//p')
    # shellcheck disable=SC2086  # pids
    kill -KILL $daemons
    wait_until test -e out
    nothing_left
    run cat err
    says_not 'CREDIT|again in'
    [ "$(tail -c 6 out)" = again ]
}

# Ranks end, and the end of what they wrote is in their pipes. The sleep is
# more than processes that they leave behind are waited for.
@test "the reader sleeps for long when the ranks have ended: all of it comes" {
    [ "${HB_LONG:-no}" = yes ] || skip 'with --long'
    HB_LIMIT=300 hb -n 1 sh -c 'yes 1234567 | head -c 4450000' | {
        sleep 110
        wc -c > out
    }
    [ "$(cat out)" -eq 4450000 ]
}

@test "while the reader sleeps, memory is bounded" {
    local launcher reader peak=0 kb
    mkfifo pipe
    exec 8<> pipe
    "$hbrun" -n 4 "$(fake flood)" raw 100000000 > pipe &
    launcher=$!
    # As long as ranks would need to fill memory, were they not slowed down.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        sleep 0.2
        for reader in $launcher $(marked); do
            kb=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' \
                "/proc/$reader/status" 2> /dev/null) || continue
            [ "${kb:-0}" -le "$peak" ] || peak=$kb
        done
    done
    kill -KILL $launcher
    wait $launcher || true
    exec 8>&-
    # The sanitizers keep memory that was given back.
    echo "peak $peak KiB"
    [ "$peak" -gt 0 ]
    [ "$peak" -lt 200000 ]
    nothing_left
}

# Its queue at the agent is never empty, and must not keep what it has taken.
@test "a rank that is always behind its standard input: memory is bounded" {
    local peak
    # shellcheck disable=SC2016  # for the rank
    run bash -c 'head -c 100000000 /dev/zero | "$@"' - timeout -s KILL \
        "$HB_LIMIT" "$hbrun" --stdin all -n 1 sh -c '"$0" 65536 500
        sed -n "s/^VmHWM:[^0-9]*\([0-9]*\).*/peak \1/p" /proc/$PPID/status' \
        "$(fake late_reader)"
    ended_with 0
    says '^100000000 bytes$'
    peak=$(sed -n 's/^peak //p' <<< "$output")
    echo "peak $peak KiB"
    [ "$peak" -gt 0 ]
    is_sanitized || [ "$peak" -lt 60000 ]
}

# Of hbrun and of all below it: as much as a short job takes, and not what two
# seconds of looking again and again do.
@test "a line that waits at the terminal does not keep a launcher in the background busy" {
    need python3
    run timeout -s KILL "$HB_LIMIT" setsid -w python3 "$fakes/background.py" \
        "$hbrun" -n 1 sleep 2
    ended_with 0
    says '^cpu ms: [0-9]+$'
    ms=${output##*: }
    is_sanitized || [ "$ms" -lt 150 ]
}

@test "a launcher in the background does not touch the terminal" {
    need script
    run script -qec "$hbrun -n 1 echo here" /dev/null
    ended_with 0
    says 'here'
}

# As with su -c, setsid, and consoles of containers.
@test "a terminal on stdin that is not that of hbrun's session is read" {
    need python3
    run timeout -s KILL "$HB_LIMIT" python3 "$fakes/terminal.py" \
        --not-its-own 'typed\n\x04' \
        "$hbrun" -n 1 sh -c 'echo here; cat'
    ended_with 0
    says '^typed$'
}
