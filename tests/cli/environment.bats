#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What a rank finds: arguments, environment, directory, mask, limits.

load ../common
setup() { common_setup; }

@test "arguments reach the rank byte for byte" {
    local odd=$'a b\tc\n"\\$(x)\x01\xff;*' bytes
    bytes=$(fake bytes)
    run hb -n 1 "$bytes" "$odd" '' '--np' '-n' '%h'
    ended_with 0
    "$bytes" "$odd" '' '--np' '-n' '%h' > expected
    [ "$output" = "$(cat expected)" ]
}

@test "the environment reaches the rank byte for byte" {
    local bytes
    bytes=$(fake bytes)
    export ODD=$'a b\n"\\$(x)\x01\xff=;*' EMPTY='' BYTES_SHOW=ODD,EMPTY,NOT
    run hb -n 1 "$bytes"
    ended_with 0
    [ "$output" = "$("$bytes")" ]
}

@test "a big environment and long arguments arrive whole" {
    local bytes long
    bytes=$(fake bytes)
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    export BIG=$long BYTES_SHOW=BIG
    "$bytes" "$long" > expected
    hb -n 1 "$bytes" "$long" > got
    cmp got expected
}

@test "-x sets, names, and takes patterns" {
    export PRE_ONE=1 PRE_TWO=2
    run hb -n 1 -x COLOUR=green -x 'PRE*' \
        sh -c 'echo $COLOUR $PRE_ONE $PRE_TWO'
    ended_with 0
    says '^green 1 2$'
}

@test "-genvnone and -envnone leave what is set, wherever they stand" {
    # shellcheck disable=SC2016  # expanded in the ranks
    local show='echo "$A.$B.$IN."'
    export IN=herited
    run hb -genv A 1 -genvnone -genv B 2 -n 1 /bin/sh -c "$show"
    ended_with 0
    says '^1\.2\.\.$'
    run hb -genv A 1 -n 1 -env B 2 -envnone /bin/sh -c "$show" : \
        -n 1 /bin/sh -c "$show"
    ended_with 0
    says '^1\.2\.\.$'
    says '^1\.\.herited\.$'
}

@test "-genvlist adds up, is overridden by -envlist, and leaves what is set" {
    # shellcheck disable=SC2016  # expanded in the ranks
    local show='echo "$A.$D.$E.$IN."'
    export IN=herited D=4 E=5
    run hb -genv A 1 -genvlist D -genvlist E -n 1 /bin/sh -c "$show"
    ended_with 0
    says '^1\.4\.5\.\.$'
    run hb -genvlist D -genv A 1 -n 1 -envlist E /bin/sh -c "$show"
    ended_with 0
    says '^1\.\.5\.\.$'
}

@test "--env-file adds variables" {
    printf '# colours\nCOLOUR=dark green\n' > colours
    run hb -n 1 --env-file colours sh -c 'echo "$COLOUR"'
    ended_with 0
    says '^dark green$'
}

@test "a foreign launcher's variables do not reach the ranks" {
    export PMI_RANK=7 SLURM_PROCID=7 OMPI_COMM_WORLD_RANK=7 PMIX_RANK=7
    run hb -n 1 --pmi none sh -c \
        'echo "$PMI_RANK$SLURM_PROCID$PMIX_RANK."'
    ended_with 0
    says '^\.$'
}

# Images for MPI have them: a rank may start Open MPI's own launcher, as root.
@test "that Open MPI may be started by root reaches the ranks" {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=2
    export PRTE_ALLOW_RUN_AS_ROOT=3 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=4
    run hb -n 1 sh -c 'echo "$OMPI_ALLOW_RUN_AS_ROOT" \
        "$OMPI_ALLOW_RUN_AS_ROOT_CONFIRM" "$PRTE_ALLOW_RUN_AS_ROOT" \
        "$PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"'
    ended_with 0
    says '^1 2 3 4$'
}

@test "each rank knows its place" {
    run hb -n 3 sh -c 'echo $HPCBOOT_RANK/$HPCBOOT_SIZE \
        $HPCBOOT_LOCAL_RANK/$HPCBOOT_LOCAL_SIZE \
        $HPCBOOT_NODE/$HPCBOOT_NODES'
    ended_with 0
    output=$(grep -v hbrun <<< "$output") # the notice on more ranks than cores
    [ "$(sort <<< "$output")" = $'0/3 0/3 0/1\n1/3 1/3 0/1\n2/3 2/3 0/1' ]
}

@test "what Open MPI needs for PSM: a key that a job's ranks share, and no others" {
    need_module pmix libpmix
    local key=OMPI_MCA_orte_precondition_transports own first
    own='hb --launch-with fork -H a,b --pmi pmix'
    export $key=0123456789abcdef-0123456789abcdef # of the launcher around
    $own sh -c "printenv $key" > one
    $own sh -c "printenv $key" > two
    [ "$(wc -l < one)" -eq 2 ]
    [ "$(sort -u one | wc -l)" -eq 1 ]
    first=$(head -n 1 one)
    [[ $first =~ ^[0-9a-f]{16}-[0-9a-f]{16}$ ]]
    [ "$first" != "${!key}" ]
    [ "$first" != "$(head -n 1 two)" ]
    run -0 hb -n 1 --pmi pmix -x $key=mine sh -c "printenv $key"
    [ "$output" = mine ]
}

@test "ranks start in the launcher's directory, or in --wdir" {
    run hb -n 1 pwd
    says "^$BATS_TEST_TMPDIR$"
    mkdir there
    run hb -n 1 --wdir "$PWD/there" pwd
    ended_with 0
    says "^$BATS_TEST_TMPDIR/there$"
}

@test "ranks start in the launcher's directory by the name that its shell has for it" {
    mkdir there
    ln -s there link
    cd link
    run hb -n 1 printenv PWD
    ended_with 0
    says "^$BATS_TEST_TMPDIR/link$"
    PWD=/ run hb -n 1 printenv PWD
    says "^$BATS_TEST_TMPDIR/there$"
}

@test "a --wdir that is no whole path counts from the launcher's directory everywhere" {
    mkdir there
    run hb --launch-with 'env -C / sh -c %a' -H a --wdir there printenv PWD
    ended_with 0
    says "^$BATS_TEST_TMPDIR/there$"
}

@test "MPMD: programs of one world, each with its own ranks" {
    run hb -n 1 sh -c 'echo one $HPCBOOT_RANK/$HPCBOOT_SIZE' : \
        -n 2 -x COLOUR=green sh -c \
        'echo two $HPCBOOT_RANK/$HPCBOOT_SIZE $COLOUR'
    ended_with 0
    output=$(grep -v hbrun <<< "$output")
    [ "$(sort <<< "$output")" = $'one 0/3\ntwo 1/3 green\ntwo 2/3 green' ]
}

@test "MPMD from --app FILE" {
    printf -- '-n 1 echo one\n-n 1 echo two\n' > apps
    run hb --app apps
    ended_with 0
    output=$(grep -v hbrun <<< "$output")
    [ "$(sort <<< "$output")" = $'one\ntwo' ]
}

@test "a byte order mark before a file is its editor's" {
    printf '\xef\xbb\xbfCOLOUR=green\n' > colours
    run hb -n 1 --env-file colours sh -c 'echo "$COLOUR"'
    ended_with 0
    says '^green$'
    printf '\xef\xbb\xbf-n 1 echo one\n' > apps
    run hb --app apps
    ended_with 0
    says '^one$'
    printf '\xef\xbb\xbfcolour = green\n' > parameters
    run hb -n 1 --tune parameters sh -c 'echo "$OMPI_MCA_colour"'
    ended_with 0
    says '^green$'
    printf '\xef\xbb\xbfrank 0=localhost\n' > ranks
    run hb -H localhost --rankfile ranks echo two
    ended_with 0
    says '^two$'
    printf '\xef\xbb\xbflocalhost\n' > turns
    run hb -H localhost --map-by seq:FILE=turns echo three
    ended_with 0
    says '^three$'
    printf '\xef\xbb\xbfenv COLOUR green\n' > own.conf
    run hb -n 1 --recipe ./own.conf sh -c 'echo "$COLOUR"'
    ended_with 0
    says '^green$'
}

@test "the umask is carried" {
    umask 027
    run hb -n 1 sh -c umask
    says '^0?027$'
}

@test "soft limits are raised to the hard ones" {
    ulimit -S -n 256
    ulimit -H -n 512
    run hb -n 1 sh -c 'ulimit -n'
    says '^512$'
}

@test "who wants no core files gets none, and who wants them does" {
    [ "$(ulimit -H -c)" != 0 ] || skip 'core files are forbidden here'
    ulimit -S -c 0
    run hb -n 1 sh -c 'ulimit -S -c; ulimit -H -c'
    says '^0$'
    says "^$(ulimit -H -c)$"
    ulimit -S -c "$(ulimit -H -c)"
    # Sanitizers forbid them to the programs they are built into.
    export ASAN_OPTIONS=${ASAN_OPTIONS:-}:disable_coredump=0
    export TSAN_OPTIONS=${TSAN_OPTIONS:-}:disable_coredump=0
    run hb -n 1 sh -c 'ulimit -S -c'
    says "^$(ulimit -H -c)$"
}

@test "a rank inherits no descriptor but the three, and its servers'" {
    exec 9< /dev/null
    run hb -n 1 --pmi none sh -c 'ls /proc/self/fd | tr "\n" " "'
    exec 9<&-
    ended_with 0
    # ls itself has 3 open while it reads; 43 is for programs of libhpcboot.
    says '^0 1 2 3 43 *$'
}

# nobody COMMAND...: as a user who has neither a passwd entry nor a HOME.
nobody() {
    env -u HOME -u USER setpriv --reuid 54321 --clear-groups "$@"
}
need_nobody() {
    need_root
    need setpriv
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" || true
    # Another user must be able to reach the program.
    nobody test -x "$hbrun" || skip 'the build cannot be read by another user'
}

@test "without HOME and without a passwd entry it runs" {
    need_nobody
    run nobody timeout -s KILL "$HB_LIMIT" "$hbrun" --wdir / -n 2 id -u
    ended_with 0
    [ "$(grep -c '^54321$' <<< "$output")" -eq 2 ]
}

@test "without HOME and without a passwd entry libpmix has a HOME" {
    need_nobody
    need_module pmix libpmix
    # What may be an MPI program has a PMIx server, and is its client.
    run nobody timeout -s KILL "$HB_LIMIT" "$hbrun" --wdir / -n 2 \
        sh -c 'echo "at $HOME"'
    ended_with 0
    [ "$(grep -c '^at /$' <<< "$output")" -eq 2 ]
}

@test "with no place to write but /dev it runs" {
    need_root
    unshare --mount true || skip 'no mount namespace can be made'
    run unshare --mount bash -c 'mount -o remount,bind,ro / &&
        mount -t tmpfs -o ro tmpfs /tmp && mount -t tmpfs -o ro tmpfs /run || {
            echo "cannot remount"; exit 77; }
        cd / && exec timeout -s KILL "$0" "$@"' "$HB_LIMIT" "$hbrun" -n 2 pwd
    [ "$status" -ne 77 ] || skip 'nothing can be remounted here'
    case $HB_BUILDDIR in /tmp/* | /run/*) skip 'the build is in /tmp' ;; esac
    ended_with 0
}
