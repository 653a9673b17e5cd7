#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What a job tells about itself: events, the table of phases, metrics.

load ../common
setup() { common_setup; }

two=(--launch-with fork -H "one,two")

# Names of events, each once, in the order in which they came first.
event_names() {
    python3 -c '
import json, sys
seen = dict.fromkeys(json.loads(line)["event"] for line in open(sys.argv[1]))
print(*seen)' "$1"
}
# The metrics as the Prometheus project'"'"'s own library for Python reads them:
# NAME{LABEL=VALUE,...} VALUE.
metrics() {
    /usr/bin/python3 -c '
import sys
from prometheus_client.parser import text_string_to_metric_families as parse
for family in parse(open(sys.argv[1]).read()):
    assert family.documentation and family.type != "unknown", family
    for s in family.samples:
        labels = ",".join(f"{k}={v}" for k, v in sorted(s.labels.items()))
        print(f"{s.name}{{{labels}}} {s.value:g}")' "$1"
}
need_parser() {
    /usr/bin/python3 -c 'import prometheus_client' 2> /dev/null ||
        skip 'python3-prometheus-client is not installed'
}

@test "--events: each step of a job that works" {
    need python3
    run hb "${two[@]}" --events e true
    ended_with 0
    output=$(event_names e)
    for name in job_begin wait_begin host_stage host_ready wait_end job_run \
        rank_started rank_exit host_done job_end; do
        says "\b$name\b"
    done
}

@test "--events: the process of a rank that has ended at once is named" {
    need python3
    run hb --events e --oversubscribe -n 40 true
    ended_with 0
    run python3 -c 'import json, sys
pids = [e["pid"] for e in map(json.loads, open(sys.argv[1]))
        if e["event"] == "rank_started"]
print(len(pids), all(0 < p < 2**31 for p in pids))' e
    [ "$output" = '40 True' ]
}

@test "--events: a rank that cannot be started, and the end of the others" {
    need python3
    run -127 hb --events e -n 1 sleep 1000 : -n 1 ./nosuch
    ended_with 127
    output=$(event_names e)
    says '\brank_failed\b'
    says '\bjob_ending\b'
    output=$(grep '"rank_failed"' e)
    says '"rank":1,.*nosuch'
}

@test "--events fd:N: each line is an object with time, job and event" {
    need python3
    run hb --events fd:3 true 3> e
    ended_with 0
    python3 -c '
import json
for line in open("e"):
    event = json.loads(line)
    assert event["time"] > 1e9 and event["job"] and event["event"]'
}

@test "--events fd:N: one that is open for reading only is refused" {
    touch e
    run hb --events fd:3 true 3< e
    ended_with 2
    says 'error: --events fd:3: the descriptor is open for reading only'
}

@test "--events: a file that takes hbrun's output has both, one after the other" {
    local name
    for name in /dev/stdout /dev/fd/1 log; do
        run bash -c 'echo before > log
            "$1" --events "$2" -n 1 echo ran >> log; rc=$?; cat log; exit $rc' \
            - "$hbrun" "$name"
        ended_with 0
        says '^before$'
        says '^ran$'
        says '^\{.*"event":"job_begin"'
        says '^\{.*"event":"job_end"'
        run bash -c '"$1" --events "$2" -n 1 echo ran > log; cat log' - \
            "$hbrun" "$name"
        says '^ran$'
        says '^\{.*"event":"job_begin"'
    done
}

@test "--events: a reader that has gone before the job begins" {
    mkfifo events
    exec 8<> events
    exec 9> events 8<&-
    run hb --events fd:9 -n 1 echo ran
    exec 9>&-
    ended_with 0
    says '^ran$'
    says 'warning: --events fd:9: Broken pipe; no further events are written'
}

# late_reader: of the pipe ./events, with room for a part of what comes at once,
# as $reader. It reads when there is a file ./go, and shows ./got.
late_reader() {
    need python3
    mkfifo events
    cat > reader.py <<'END'
import fcntl, os, time
f = os.open("events", os.O_RDWR)
fcntl.fcntl(f, 1031, 4096)  # F_SETPIPE_SZ
open("ready", "w")
while not os.path.exists("go"): time.sleep(0.01)
got = b""
while b'"event":"job_end"' not in got:
    got += os.read(f, 65536)
    open("got", "wb").write(got)
END
    timeout -s KILL "$HB_LIMIT" python3 reader.py 3>&- &
    reader=$!
    wait_until test -e ready
}
got_events() { # NAME HOW-MANY
    [ "$(grep -cs "\"event\":\"$1\"" got)" = "$2" ]
}

@test "--events: a reader that comes back gets the rest while nothing happens" {
    local missed=0
    late_reader
    hb --events events --pmi none --oversubscribe -n 48 sh -c \
        'echo runs; until [ -e over ]; do sleep 0.1; done' > out 2> err &
    job=$!
    wait_until lines_in out 48
    : > go
    wait_until got_events rank_started 48 || missed=1
    : > over
    ends $job
    ended_with 0
    [ $missed = 0 ]
    wait $reader
}

@test "--events: a reader that comes back between two lives" {
    local missed=0
    late_reader
    timeout -s KILL "$HB_LIMIT" "$hbrun" --events events --pmi none \
        --oversubscribe --on-failure restart-job --restart-delay 1h -n 48 \
        false 2> err &
    job=$!
    wait_until grep -q 'started again' err
    : > go
    wait_until got_events job_restart 1 || missed=1
    kill -TERM "$(pgrep -P "$job")"
    ends $job
    ended_with 143
    [ $missed = 0 ]
    wait $reader
}

@test "--report-timing: a row for each phase, with the slowest hosts" {
    run hb "${two[@]}" --report-timing echo x
    ended_with 0
    says '^hbrun: phase.*hosts.*min.*median.*p99.*max.*slowest'
    says '^hbrun: gather +1 '
    says '^hbrun: authenticate +0 +- '
    says '^hbrun: agent +2 .*(one|two)'
    says '^hbrun: spawn +2 .*(one|two)'
    says '^hbrun: first fence +0 '
    says '^hbrun: first output +2 .*(one|two)'
}

@test "--report-timing: the first fence of ranks that meet" {
    fence=$(fake pmi_fence)
    run hb "${two[@]}" --report-timing --pmi pmi1 "$fence" 3 64
    ended_with 0
    says '^fence of 2: '
    says '^hbrun: first fence +2 '
}

# in_container COMMAND...: it runs where there is a termination log, whose text
# is printed behind its output.
in_container() {
    need unshare
    need_root
    unshare -m true 2> /dev/null || skip 'mount namespaces cannot be made'
    cat > pod.sh <<'END'
set -e
mkdir dev
mount -t tmpfs none dev
mkdir dev/shm
for node in null zero full random urandom tty; do
    : > "dev/$node"
    mount --bind "/dev/$node" "dev/$node"
done
: > dev/termination-log
mount --rbind dev /dev
"$@" || echo "status $?"
echo 'the log:'
cat /dev/termination-log
END
    run timeout -s KILL "$HB_LIMIT" unshare -m bash pod.sh "$@"
}

@test "a job that cannot begin says why to the kubelet, too" {
    # shellcheck disable=SC2016
    in_container sh -c '"$0" --hostfile nosuch true; status=$?
        "$0" --dry-run --hostfile other true; exit $status' "$hbrun"
    ended_with 0
    says '^status 2$'
    says '^--hostfile: cannot open nosuch: No such file or directory$'
}

@test "a line that is wrong says why to the kubelet, too" {
    in_container "$hbrun" --timeout x true
    says '^status 2$'
    [[ ${output##*the log:} == *'--timeout: needs a time'*'not "x"' ]]
    rmdir dev
    in_container "$HB_BUILDDIR/hpcbootd" serve --prot 22
    says '^status 2$'
    [[ ${output##*the log:} == *'unknown option --prot; did you mean --port?' ]]
    rmdir dev
    need_module ssh libssh
    in_container "$HB_BUILDDIR/hpcbootd" serve --key nosuch
    says '^status 2$'
    [[ ${output##*the log:} == *'--key: cannot read the key nosuch: '* ]]
}

@test "that a spawned job cannot begin is for who has asked, not for the kubelet" {
    need python3
    in_container "$hbrun" -H localhost:1 -n 1 --pmi pmi1 python3 -c '
import os, socket
s = socket.socket(fileno=int(os.environ["PMI_FD"]))
s.sendall(b"mcmd=spawn\nnprocs=3\nexecname=true\nendcmd\n")
print(s.recv(1000).decode())'
    ended_with 0
    says 'cmd=spawn_result rc=-1'
    says 'error: no slot is free for the ranks'
    says_not '^status'
    [ -z "${output##*the log:}" ]
}

@test "--metrics: read by Prometheus' parser, the figures of the job" {
    need_parser
    run hb "${two[@]}" --metrics m.prom --pmi none sh -c 'echo four; exit 3'
    ended_with 3
    output=$(metrics m.prom)
    says '^hpcboot_job_info\{id=hpcboot-[^ ]*,pmi=none,.*\} 1$'
    says '^hpcboot_job_exit_status\{\} 3$'
    says '^hpcboot_job_phase\{phase=over\} 1$'
    says '^hpcboot_ranks\{state=ended\} 2$'
    says '^hpcboot_host_start_attempts_total\{\} 2$'
    says '^hpcboot_host_phase_seconds_count\{phase=agent\} 2$'
    says '^hpcboot_host_phase_seconds\{phase=spawn,quantile=0\.5\} '
    [ "$(ls)" = 'home
m.prom' ]
}

@test "--metrics: counters go on from one life to the next" {
    need_parser
    # shellcheck disable=SC2016  # for the ranks
    run hb "${two[@]}" --metrics m.prom --pmi none --on-failure restart-job \
        --max-restarts 1 --restart-delay 10ms --grace 0 \
        sh -c '[ $HPCBOOT_RANK = 0 ] || exec sleep 1000; echo four; exit 3'
    ended_with 3
    output=$(metrics m.prom)
    says '^hpcboot_host_start_attempts_total\{\} 4$'
    says '^hpcboot_output_bytes_total\{stream=stdout\} 10$'
}

@test "--metrics: a reader never sees a part of the file" {
    need_parser
    mkfifo go
    hb -n 1 --metrics m.prom sh -c 'cat go; echo done' > out &
    job=$!
    wait_until test -s m.prom
    output=$(metrics m.prom)
    says '^hpcboot_job_phase\{phase=(connecting|running)\} 1$'
    first=$(stat -c %i m.prom)
    echo > go
    ends $job
    ended_with 0
    [ "$(stat -c %i m.prom)" != "$first" ]
}

@test "--metrics: a file that takes hbrun's output is not replaced" {
    run --separate-stderr bash -c '
        echo before > log; "$1" --metrics /dev/stdout -n 1 true >> log
        rc=$?; cat log; exit $rc' - "$hbrun"
    ended_with 2
    [ "$output" = before ]
    output=$stderr
    says "where hbrun's own output goes, .*; give another name\$"
}

@test "--metrics: a place that cannot be written is a mistake, told at once" {
    run hb --metrics /proc/nosuch/m touch started
    ended_with 2
    says '--metrics /proc/nosuch/m'
    [ "${#lines[@]}" -eq 1 ]
    [ ! -e started ]
}

@test "--metrics: a link stays one, and a pipe or a device is not replaced" {
    mkdir to
    ln -s to/real.prom m.prom
    run hb -n 1 --metrics m.prom true
    ended_with 0
    [ -L m.prom ]
    grep -q '^hpcboot_job_info' to/real.prom
    mkfifo pipe
    run hb -n 1 --metrics pipe touch started
    ended_with 2
    says '--metrics pipe: this is no regular file'
    [ -p pipe ]
    [ ! -e started ]
}

@test "--metrics: a full disk is told once, and the job runs" {
    need_root
    mkdir full
    # shellcheck disable=SC2016  # expanded inside
    run unshare --mount bash -c 'mount -t tmpfs -o size=4k full full &&
        echo > full/other && exec timeout -s KILL "$@"' - "$HB_LIMIT" \
        "$hbrun" -n 1 --metrics full/m.prom echo ran
    [[ $output != *denied* ]] || skip 'nothing can be mounted here'
    ended_with 0
    says '^ran$'
    says '^hbrun: warning: --metrics full/m.prom: No space left on device;'
    [ "$(grep -c warning <<< "$output")" = 1 ]
}
