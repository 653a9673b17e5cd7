#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Programs and files that travel with the job. Two agents on this machine
# stand for two hosts.

load ../common
setup() {
    common_setup
    export HPCBOOT_TMPDIR=$BATS_TEST_TMPDIR/s
    mkdir s
    printf '#!/bin/sh\necho "I am $0 in $PWD"\n' > say
    chmod 755 say
}
teardown() {
    local pid
    for pid in $(marked); do
        kill -KILL "$pid" 2> /dev/null || true
    done
}

two() { hb --launch-with fork -H localhost,127.0.0.1 -n 2 "$@"; }
no_session() { [ -z "$(ls -A "$HPCBOOT_TMPDIR")" ]; }

@test "--preload-binary starts a copy, each host its own" {
    run two --preload-binary ./say
    ended_with 0
    [ "$(grep -c "^I am $HPCBOOT_TMPDIR/.*/files/say in $PWD$" \
        <<< "$output")" -eq 2 ]
    [ "$(sort -u <<< "$output" | wc -l)" -eq 2 ]
    no_session
}

@test "-s finds a bare name in PATH and keeps argv[0]" {
    run hb -s -n 1 sh -c 'echo "$0:$(readlink /proc/$$/exe)"'
    ended_with 0
    says "^sh:$HPCBOOT_TMPDIR/.*/files/sh$"
}

@test "-s finds a bare name in --path" {
    mkdir bin
    mv say bin/say-it
    run hb -s --path "$PWD/bin" -n 1 say-it
    ended_with 0
    says '/files/say-it in'
}

@test "--preload-files are in HPCBOOT_SESSION_DIR, with their modes" {
    echo one > a
    echo two > b
    chmod 640 b
    run two --preload-files ./a,b sh -c 'cd "$HPCBOOT_SESSION_DIR" &&
        cat a b && stat -c "%n %a" b'
    ended_with 0
    [ "$(grep -c '^one$' <<< "$output")" -eq 2 ]
    [ "$(grep -c '^two$' <<< "$output")" -eq 2 ]
    [ "$(grep -c '^b 640$' <<< "$output")" -eq 2 ]
    no_session
}

@test "a large file arrives whole, an empty one too" {
    head -c 20000000 /dev/urandom > large
    : > empty
    run two --preload-files large,empty sh -c \
        'cmp large "$HPCBOOT_SESSION_DIR/large" &&
         cmp empty "$HPCBOOT_SESSION_DIR/empty" && echo same'
    ended_with 0
    [ "$(grep -c '^same$' <<< "$output")" -eq 2 ]
}

@test "standard input waits for ranks that wait for their files" {
    local reader
    head -c 20000000 /dev/zero > large
    for reader in 0 1; do
        run two --preload-files large --stdin $reader cat <<< data
        ended_with 0
        [ "$output" = data ]
    done
    run two --preload-files large --stdin all cat <<< data
    ended_with 0
    [ "$output" = "$(printf 'data\ndata')" ]
}

@test "--set-cwd-to-session-dir makes relative names those of the copies" {
    echo one > a
    run two --preload-files a --set-cwd-to-session-dir sh -c \
        'cat a; [ "$PWD" = "$HPCBOOT_SESSION_DIR" ] && echo there'
    ended_with 0
    [ "$(grep -c '^there$' <<< "$output")" -eq 2 ]
    run hb --set-cwd-to-session-dir --wdir / -n 1 pwd
    says '^/$'
}

@test "segments have their own programs, and share one that is the same" {
    printf '#!/bin/sh\necho other\n' > other
    chmod 755 other
    run hb -s -n 1 ./say : -n 1 -s ./other : -n 1 -s "$PWD/say" : -n 1 ./say
    ended_with 0
    [ "$(grep -c '/files/say in' <<< "$output")" -eq 2 ]
    says '^other$'
    says '^I am ./say in'
}

@test "what cannot be copied is told before anything starts" {
    mkdir d
    cp say d/say
    chmod 644 d/say
    touch -d 2001-01-01 unreadable
    local words
    for words in '--preload-files nosuch' '--preload-files d' \
        '--preload-files ,' '--preload-files say,d/say'; do
        # shellcheck disable=SC2086
        run hb $words -n 1 touch started
        ended_with 2
    done
    says 'one name'
    run hb -s -n 1 ./nosuch
    ended_with 2
    says 'nosuch'
    run hb -s -n 1 d/say
    ended_with 2
    [ ! -e started ]
}

@test "a host without room: its name, the file, the reason; status 75" {
    need_root
    need unshare
    unshare --mount true || skip 'no mount namespace can be made'
    head -c 4000000 /dev/zero > large
    run unshare --mount bash -c 'mount -t tmpfs -o size=1m tmpfs "$0" &&
        timeout -s KILL "$@"; echo "status $?"; ls -A "$HPCBOOT_TMPDIR"' \
        "$HPCBOOT_TMPDIR" "$HB_LIMIT" "$hbrun" --launch-with fork \
        -H localhost,127.0.0.1 -n 2 --preload-files large touch started
    says '^hbrun: error: host (localhost|127.0.0.1): .*large.*No space left'
    says '^status 75$'
    [ "$(tail -n 1 <<< "$output")" = 'status 75' ]
    [ ! -e started ]
}

@test "a copy is put where it can be started, unless another place is named" {
    need_root
    need unshare
    unshare --mount true || skip 'no mount namespace can be made'
    # A noexec /tmp, and what the test needs of the one that was there.
    noexec() {
        # shellcheck disable=SC2016  # expanded in there
        run unshare --mount bash -c 'mount -t tmpfs tmpfs /mnt &&
            mkdir /mnt/0 /mnt/1 && mount --bind "$0" /mnt/0 &&
            mount --bind "$PWD" /mnt/1 &&
            mount -t tmpfs -o noexec,mode=1777 tmpfs /tmp &&
            mount -t tmpfs -o mode=1777 tmpfs /dev/shm &&
            mkdir -p "$0" && mount --bind /mnt/0 "$0" &&
            cd /mnt/1 && exec "$@"' "$HB_BUILDDIR" "$@"
    }
    cp "$(type -P true)" copied
    noexec env -u HPCBOOT_TMPDIR timeout -s KILL "$HB_LIMIT" "$hbrun" -n 1 \
        --preload-binary ./copied
    ended_with 0
    noexec env HPCBOOT_TMPDIR=/tmp timeout -s KILL "$HB_LIMIT" "$hbrun" -n 1 \
        --preload-binary ./copied
    ended_with 126
    says '/tmp/hpcboot-.*mounted noexec'
}

@test "nothing of it stays when launcher or agent are killed" {
    echo one > a
    local pid how
    for how in launcher agent; do
        "$hbrun" --launch-with fork -H localhost,127.0.0.1 -n 2 \
            --preload-files a sh -c 'echo $PPID >> agents; exec sleep 1000' &
        pid=$!
        wait_until lines_in agents 2
        if [ $how = launcher ]; then
            kill -KILL $pid
        else
            kill -KILL "$(head -n 1 agents)"
        fi
        wait $pid || true
        wait_until no_session
        rm agents
    done
    nothing_left
}

begun() { [ -n "$(find "$HPCBOOT_TMPDIR" -name large)" ]; }

@test "a signal, or the end of the link, amid a copy: nothing stays" {
    head -c 20000000 /dev/zero > large
    # What carries the link takes no more, as long as the launcher lives.
    printf '#!/bin/sh\n{ head -c 300000; %s; } | "$@"\n' \
        'until [ -e ended ]; do sleep 0.1; done' > stall
    printf '#!/bin/sh\nhead -c 300000 | "$@"\n' > short
    chmod 755 stall short
    run hb --launch-with ./short -H a -n 1 --preload-files large touch started
    ended_with 75
    says 'host a: '
    wait_until no_session
    "$hbrun" --launch-with ./stall -H a -n 1 --preload-files large \
        touch started &
    local pid=$! status=0
    wait_until begun
    kill -TERM $pid
    wait $pid || status=$?
    touch ended
    [ $status -eq 143 ]
    wait_until no_session
    nothing_left
    [ ! -e started ]
}

@test "an Open MPI program is recognised where it is copied from" {
    need_module pmix libpmix
    need mpicc.openmpi
    mkdir there
    mpicc.openmpi -o there/hello "$HB_SRCDIR/examples/hello_mpi.c"
    run two -s --wdir / "$PWD/there/hello"
    ended_with 0
    says '^rank 0 of 2'
    says '^rank 1 of 2'
    says 'right'
}
