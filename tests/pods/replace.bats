#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# --on-failure respawn where ranks meet: a host is lost before its ranks have
# come to the first fence, others take its place, and all meet. Ranks say that
# they have begun, wait for a file of their number, and then call in.

load ../common

last=7
setup_file() { lab_up repl $((last + 1)); }
teardown_file() { lab_down; }
setup() {
    shared=$BATS_TEST_TMPDIR
    pod 0 rm -f /tmp/events
}
# Nothing of a test that failed is left.
teardown() { [ -z "${job:-}" ] || pod 0 pkill -KILL -x hbrun || true; }

# shellcheck disable=SC2016  # expanded in the ranks
waits='touch "$0/begun-$HPCBOOT_RANK-$HPCBOOT_RESTART-$(hostname)"
    until [ -e "$0/go-$HPCBOOT_RANK" ]; do sleep 0.05; done
    '
# Of the library: values, collectives, and who is where.
meets=$waits'exec "$1" who kvs coll'
# A client of PMI-1, which puts a value before the barrier and gets the others'.
# shellcheck disable=SC2016
meets_pmi=$waits'
    ask() { echo "$1" >&"$PMI_FD"; read -r answer <&"$PMI_FD"; }
    ask "cmd=init pmi_version=1 pmi_subversion=1"
    ask "cmd=get_my_kvsname"
    kvs=${answer#*kvsname=}; kvs=${kvs%% *}
    ask "cmd=put kvsname=$kvs key=at-$PMI_RANK value=$(hostname)"
    ask "cmd=barrier_in"
    echo "rank $PMI_RANK: $answer"
    for ((i = 0; i < PMI_SIZE; i++)); do
        ask "cmd=get kvsname=$kvs key=at-$i"
        echo "rank $PMI_RANK: $i is at ${answer##*value=}"
    done
    ask "cmd=finalize"'

# begin RANKS SCRIPT OPTION...: until all ranks wait.
begin() {
    local i n=$1 script=$2
    shift 2
    pod_job "$hbrun" --on-failure respawn \
        --heartbeat 2 --restart-delay 100ms --events /tmp/events "$@" \
        bash -c "$script" "$shared" "$HB_BUILDDIR/tests/cli/apiprobe"
    for ((i = 0; i < n; i++)); do have_begun $i 0; done
}
have_begun() { # RANK RESTART [POD]
    wait_until compgen -G "$shared/begun-$1-$2-pod-${3:-*}" > /dev/null
}
go() { local r; for r; do touch "$shared/go-$r"; done; }
event() { pod 0 grep -q "\"$1\".*$2" /tmp/events; } # NAME TEXT
calls_in() { wait_until event host_initialised "pod-$1"; }
# The first one there: those that bring a link are younger.
agent_in() {
    # shellcheck disable=SC2016  # expanded in the pod
    pod "$1" sh -c 'pgrep -o -x -P "$(pgrep -o -x hpcbootd)" hpcbootd'
}
lose() { pod "$1" kill -KILL "$(agent_in "$1")"; }
three=(-H 'pod-1,pod-2,pod-3,pod-4,pod-5' --spares 2)
six=(-H 'pod-1,pod-2,pod-3,pod-4,pod-5,pod-6,pod-7' --spares 1 --tree-width 2)

# shellcheck disable=SC2046  # numbers
all_clean() { pods_clean $(seq 0 $last); }
all_met() { # RANKS
    local r
    pod_job_ends
    ended_with 0
    for ((r = 0; r < $1; r++)); do says "^rank $r of $1, "; done
    all_clean
}
# A pod that others hang below, or one that hangs below another and has none.
inner() {
    pod 0 sed -n 's/.*"host_started_by".*"detail":"pod-\([0-9]*\)".*/\1/p' \
        /tmp/events | head -n 1
}
outer() {
    pod 0 sed -n 's/.*"host_started_by","host":"pod-\([0-9]*\)".*/\1/p' \
        /tmp/events | tail -n 1
}

@test "nobody has called in: a host is lost, and all meet" {
    begin 3 "$meets" "${three[@]}"
    lose 2
    have_begun 1 1 4
    go 0 1 2
    all_met 3
}

@test "some wait for the others: a host is lost, and all meet" {
    begin 3 "$meets" "${three[@]}"
    go 0
    calls_in 1
    lose 2
    have_begun 1 1 4
    go 1 2
    all_met 3
}

@test "all know on which host a rank has begun again" {
    # shellcheck disable=SC2016  # expanded in the ranks
    begin 3 "$waits"'exec "${1%probe}lost" where' "${three[@]}"
    go 0
    calls_in 1
    lose 2
    have_begun 1 1 4
    go 1 2
    pod_job_ends
    ended_with 0
    all_clean
    for r in 0 1 2; do
        says "^rank $r: 1 is on pod-4\$"
        says "^rank $r: 2 is on pod-3\$"
    done
}

@test "two hosts are lost, and a spare: all meet" {
    begin 3 "$meets" "${three[@]}"
    go 0
    calls_in 1
    lose 2
    have_begun 1 1 4
    lose 4
    have_begun 1 2 5
    lose 3
    have_begun 2 1 3
    go 1 2
    all_met 3
}

# shellcheck disable=SC2016  # expanded in the ranks
@test "a rank of a living host begins again meanwhile, and all meet" {
    begin 3 'if [ "$HPCBOOT_RANK$HPCBOOT_RESTART" = 20 ]; then
            touch "$0/begun-2-0-$(hostname)"
            until [ -e "$0/fail" ]; do sleep 0.05; done
            exit 7
        fi
        '"$meets" "${three[@]}"
    go 0
    calls_in 1
    touch "$shared/fail"
    lose 2
    have_begun 1 1 4
    have_begun 2 1 3
    go 1 2
    all_met 3
}

# shellcheck disable=SC2016  # expanded in the ranks
@test "the host of a rank that waits for its next start is lost: one start" {
    begin 3 'if [ "$HPCBOOT_RANK$HPCBOOT_RESTART" = 10 ]; then
            touch "$0/begun-1-0-$(hostname)"
            until [ -e "$0/fail" ]; do sleep 0.05; done
            exit 7
        fi
        '"$meets" "${three[@]}" --restart-delay 15s --max-restarts 1 --print-exit-codes
    touch "$shared/fail"
    wait_until pod 0 grep -q '"rank_exit".*"rank":1' /tmp/events
    lose 2
    have_begun 1 1 4
    sleep 15.5 # when it would have begun where it was
    go 0 1 2
    all_met 3
    says 'rank 1 on pod-4: status 0'
    if event rank_respawn '"rank":1'; then false; fi
}

@test "the rank of the lost host waited itself: its place is taken, and all meet" {
    begin 3 "$meets" "${three[@]}"
    go 0 1
    calls_in 1
    calls_in 2
    lose 2
    have_begun 1 1 4
    calls_in 4
    lose 4
    have_begun 1 2 5
    go 2
    all_met 3
}

@test "it comes back itself, with ranks that waited: all meet" {
    begin 3 "$meets" "${three[@]}" -n 5 --spares 0
    go 0 1 2 4
    for i in 1 2 3 5; do calls_in $i; done
    lose 2
    lose 5
    have_begun 1 1 2
    have_begun 4 1 5
    go 3
    all_met 5
}

@test "ranks have met: a host that is lost ends the job, in words" {
    begin 3 "${waits}exec \"\$1\" who await" "${three[@]}" --print-exit-codes
    go 0 1 2
    for i in 1 2 3; do calls_in $i; done
    wait_until pod 0 grep -q '^rank 2 of 3' /tmp/out
    lose 2
    pod_job_ends
    ended_with 75
    says 'error: host pod-2: .*its ranks had been wired to the others'
    says '^hbrun: rank 1 on pod-2: how it ended was not reported$'
    all_clean
}

@test "ranks have met: a host that is told to end is the cause, whatever lingers there" {
    begin 3 "(trap '' TERM; sleep 60) & ${waits}exec \"\$1\" who await" \
        "${three[@]}" --grace 2
    go 0 1 2
    for i in 1 2 3; do calls_in $i; done
    wait_until pod 0 grep -q '^rank 2 of 3' /tmp/out
    pod 2 kill -TERM "$(agent_in 2)"
    pod_job_ends
    ended_with 75
    says 'error: host pod-2: its agent was told to end .*its ranks had been wired'
    all_clean
}

# A framework's: ranks say what they were told of addresses.
# shellcheck disable=SC2016
tells=$waits'echo "rank $HPCBOOT_RANK: at $OWN, head at $HEAD"'
begin_framework() { # LINE of the recipe
    printf 'port m head 0\nenv OWN ${address}\nenv HEAD ${head_address}\n%s\n' \
        "${1:-}" > "$shared/my.conf"
    begin 3 "$tells" "${three[@]}" --recipe "$shared/my.conf"
}
address_of() { "$podlab" list | awk -v i="$1" '$1 == i { print $3 }'; }

@test "a framework's ranks on a spare are told that host's address" {
    begin_framework
    lose 2
    have_begun 1 1 4
    go 0 1 2
    pod_job_ends
    ended_with 0
    says "^rank 1: at $(address_of 4), head at $(address_of 1)\$"
    all_clean
}

@test "the host that a framework's ranks turn to is waited for, with spares too" {
    begin_framework
    lose 1
    have_begun 0 1 1
    go 0 1 2
    pod_job_ends
    ended_with 0
    says 'host pod-1: .*when it is back, at the address that the others know'
    all_clean
}

@test "a framework's host that is back answers by another of its addresses" {
    begin_framework
    pod 1 ip addr add 10.77.9.9/16 dev eth0
    pod 0 bash -c 'sed "s/^[^ ]*\( *pod-1\)$/10.77.9.9\1/" /etc/hosts \
        > /tmp/hosts; mount --bind /tmp/hosts /etc/hosts'
    lose 1
    have_begun 0 1 1
    pod 0 umount /etc/hosts
    pod 1 ip addr del 10.77.9.9/16 dev eth0
    go 0 1 2
    pod_job_ends
    ended_with 0
    for r in 1 2; do says "^rank $r: .*head at $(address_of 1)\$"; done
    says "^rank 0: at $(address_of 1), head at $(address_of 1)\$"
    all_clean
}

# Where a socket can be bound to any address, which is no sign of having it.
@test "a framework's host that is back without its address ends the job" {
    bind=/proc/sys/net/ipv4/ip_nonlocal_bind
    pod 1 sh -c "echo 1 > $bind" || skip 'ip_nonlocal_bind cannot be set here'
    pod 1 ip addr add 10.77.9.9/16 dev eth0
    pod 0 bash -c 'sed "s/^[^ ]*\( *pod-1\)$/10.77.9.9\1/" /etc/hosts \
        > /tmp/hosts; mount --bind /tmp/hosts /etc/hosts'
    begin_framework
    pod 0 umount /etc/hosts
    pod 1 ip addr del 10.77.9.9/16 dev eth0
    lose 1
    go 0 1 2
    pod_job_ends
    pod 1 sh -c "echo 0 > $bind"
    ended_with 75
    says "error: .*pod-1.*$(address_of 1).*10\.77\.9\.9"
    all_clean
}

@test "hosts whose addresses each rank has in a list are waited for, all of them" {
    begin_framework 'env ALL ${each host: ${address}}'
    lose 2
    have_begun 1 1 2
    go 0 1 2
    pod_job_ends
    ended_with 0
    says 'host pod-2: .*when it is back, at the address that the others know'
    all_clean
}

@test "no spare can be reached, and the host that was lost can: all meet" {
    "$podlab" link 4 down
    "$podlab" link 5 down
    begin 3 "$meets" "${three[@]}" --wait-hosts 15
    lose 2
    have_begun 1 1 2
    "$podlab" link 4 up
    "$podlab" link 5 up
    go 0 1 2
    all_met 3
    says 'host pod-5 did not come up: .*; its ranks. former host pod-2 is asked'
}

@test "a spare cannot be reached: the next one is asked, and all meet" {
    "$podlab" link 4 down
    begin 3 "$meets" "${three[@]}" --wait-hosts 15
    go 0
    calls_in 1
    lose 2
    have_begun 1 1 5
    "$podlab" link 4 up
    go 1 2
    all_met 3
    says 'host pod-2: .*its ranks are started again on the spare pod-4'
    says 'host pod-4 did not come up: .*the spare pod-5 is asked instead'
}

@test "neither a spare nor the lost host can be reached: the job ends, in words" {
    "$podlab" link 4 down
    "$podlab" link 5 down
    begin 3 "$meets" "${three[@]}" --wait-hosts 10
    go 0
    calls_in 1
    lose 2
    "$podlab" link 2 down
    pod_job_ends
    for i in 2 4 5; do "$podlab" link $i up; done
    ended_with 75
    says 'the spare pod-5 is asked instead'
    says 'its ranks. former host pod-2 is asked instead'
    says 'error: host pod-2 did not come back: '
    all_clean
}

# lose_of_tree POD [AWAITED]: all others wait for its rank, or for AWAITED's.
lose_of_tree() {
    local r awaited=$((${2:-$1} - 1))
    for ((r = 0; r < 6; r++)); do
        [ $r = $awaited ] || { go $r; calls_in $((r + 1)); }
    done
    lose "$1"
    have_begun $(($1 - 1)) 1
    go $awaited
    all_met 6
}
# Another pod than the one given, and with ranks.
other_than() { echo $(($1 % 6 + 1)); }
@test "all wait but one: a host below another is lost, and all meet" {
    begin 6 "$meets" "${six[@]}"
    lose_of_tree "$(outer)" "$(other_than "$(outer)")"
}

@test "all wait but one: a host that others hang below is lost, and all meet" {
    begin 6 "$meets" "${six[@]}"
    lose_of_tree "$(inner)" "$(other_than "$(inner)")"
}

@test "some wait: a host below another is lost, and all meet" {
    begin 6 "$meets" "${six[@]}"
    lose_of_tree "$(outer)"
}

@test "some wait: a host that others hang below is lost, and all meet" {
    begin 6 "$meets" "${six[@]}"
    lose_of_tree "$(inner)"
}

@test "nobody has called in: a host that others hang below is lost" {
    begin 6 "$meets" "${six[@]}"
    victim=$(inner)
    lose "$victim"
    have_begun $((victim - 1)) 1
    go 0 1 2 3 4 5
    all_met 6
}

@test "continue: a host below another is lost, and nobody waits for it" {
    begin 6 "$meets" "${six[@]}" --spares 0 -n 6 --on-failure continue
    victim=$(outer)
    for ((r = 0; r < 6; r++)); do
        [ $r = $((victim - 1)) ] || { go $r; calls_in $((r + 1)); }
    done
    lose "$victim"
    pod_job_ends
    ended_with 75
    [ "$(grep -c "hpcboot_init.*rank $((victim - 1)) on pod-$victim is lost" \
        <<< "$output")" = 5 ]
    all_clean
}

# meets_by_pmi RANK...: those of them that wait when the host of 1 is lost.
meets_by_pmi() {
    begin 3 "$meets_pmi" --pmi pmi1 "${three[@]}"
    go "$@"
    for r; do calls_in $((r + 1)); done
    lose 2
    have_begun 1 1 4
    go 1 2
    pod_job_ends
    ended_with 0
    for r in 0 1 2; do
        says "^rank $r: 0 is at pod-1\$"
        says "^rank $r: 1 is at pod-4\$"
        says "^rank $r: 2 is at pod-3\$"
    done
    all_clean
}
@test "some wait in PMI-1's first barrier: a host is lost, and all meet" {
    meets_by_pmi 0
}
@test "ranks wait in PMI-1's first barrier: their host is lost, and all meet" {
    meets_by_pmi 0 1
}

# "POD CHILD CHILD": one that has started two others, which have ranks; the
# first of these has started none.
family() {
    pod 0 sed -n 's/.*"host_started_by","host":"pod-\(.\)".*"detail":"pod-\(.\)".*/\1 \2/p' \
        /tmp/events | awk '{ up[$1] = $2; has[$2]++ }
        END { for (i = 1; i < 7; i++) for (j = 1; j < 7; j++)
            if (i != j && up[i] && up[i] == up[j] && !has[i]) {
                print up[i], i, j; exit } }'
}
# Their fence came to the agent of the host that both hung below then, and no
# farther.
@test "PMIx: two have met below a host that was lost since; one of the two ends the job" {
    pkg-config --exists pmix || skip 'no PMIx client library to build with'
    # shellcheck disable=SC2046  # several words
    "${cc[@]}" -o "$shared/pair" "$HB_SRCDIR/tests/fakes/pmix_pair.c" \
        $(pkg-config --cflags --libs pmix)
    # shellcheck disable=SC2016  # expanded in the ranks
    begin 6 "$waits"'exec "$0/pair" "$0" $(cat "$0/two")' "${six[@]}" --pmi pmix
    read -r up one two < <(family) ||
        skip 'the tree has another shape this time'
    echo $((one - 1)) $((two - 1)) > "$shared/two"
    go $((one - 1)) $((two - 1))
    for i in $one $two; do
        calls_in "$i"
        wait_until [ -e "$shared/met-$((i - 1))" ]
    done
    lose "$up"
    have_begun $((up - 1)) 1
    for i in $one $two; do wait_until event host_adopted "pod-$i"; done
    lose "$one"
    pod_job_ends
    ended_with 75
    says "error: host pod-$one: .*its ranks had been wired to the others"
    all_clean
}
