#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Elastic jobs whose hosts come and go by a real Kubernetes API server: it runs
# in pod-0 of a lab, and its objects are the other pods of the lab, under their
# addresses. Ranks say where they are, and end when /tmp/go is there.

load apiserver

begin() {
    local program
    program=$(api_program) || { echo "$program"; return; }
    lab_up kube 4 --see "${program%/*}" || return
    # The server's files are in a folder that pod-0 sees.
    pod 0 "$HB_SRCDIR/tests/peers/apiserver.sh" up "$cluster" \
        "$program"
    echo "$program" > "$cluster/program"
    admin ready
    admin account reader reads > "$cluster/reader"
    # shellcheck disable=SC2016  # expanded in the pod
    pod 0 sh -c 'account=/run/secrets/kubernetes.io/serviceaccount
        mkdir -p $account && cp "$0/ca.crt" $account/ca.crt &&
        cp "$0/reader" $account/token && printf hpc > $account/namespace' \
        "$cluster"
}
setup_file() {
    export cluster=$BATS_FILE_TMPDIR/cluster
    begin > "$BATS_FILE_TMPDIR/why-not"
}
setup() {
    [ ! -s "$BATS_FILE_TMPDIR/why-not" ] ||
        skip "$(cat "$BATS_FILE_TMPDIR/why-not")"
    cd "$BATS_TEST_TMPDIR" || return
    for i in 0 1 2 3; do
        pod $i rm -f /tmp/go /tmp/events /tmp/started
    done
}
teardown_file() { lab_down; }

admin() {
    pod 0 python3 "$HB_SRCDIR/tests/peers/kubeadmin.py" "$cluster" "$@"
}
# comes NAME I: the object of pod I, among those of app=NAME.
created() { admin pods "$1-$2" 1 "app=$1"; } # its name is $1-$2-0
runs() {
    admin status "$1-$2-0" '{"phase": "Running", "podIP": "10.77.0.'$(($2 + 1))'",
        "podIPs": [{"ip": "10.77.0.'$(($2 + 1))'"}]}'
}
comes() { created "$@" && runs "$@"; }

# shellcheck disable=SC2016  # expanded in the ranks
ranks='trap "echo saved \$HPCBOOT_RANK; exit 0" USR1
    echo "rank $HPCBOOT_RANK of $HPCBOOT_SIZE on $(hostname)"
    echo $$ > /tmp/started
    until [ -e /tmp/go ]; do sleep 0.05; done'
elastic() { # NAME MIN:MAX POLICY
    pod_job env KUBERNETES_SERVICE_HOST=127.0.0.1 \
        KUBERNETES_SERVICE_PORT="$(cat "$cluster/port")" \
        "$hbrun" -v --pod-selector "app=$1" \
        --np "$2" --npernode 1 --on-failure "$3" --checkpoint-signal USR1 \
        --grace 20 --events /tmp/events bash -c "$ranks"
}
on() { wait_until pod "$1" test -s /tmp/started; }
go() { local i; for i; do pod "$i" touch /tmp/go; done; }
watched() { [ "$(admin watches)" -gt 0 ]; }
event() { pod 0 grep -q "\"$1\".*$2" /tmp/events; } # NAME TEXT

@test "a pod that gets its address gets ranks, the others run on" {
    comes grow 1
    elastic grow 1:3 continue
    on 1
    wait_until watched
    lists=$(admin lists)
    created grow 2
    runs grow 2
    on 2
    comes grow 3
    on 3
    [ "$(admin lists)" = "$lists" ] # all of it came by the watch
    go 1 2 3
    pod_job_ends
    ended_with 0
    says '^rank 0 of 1 on pod-1$'
    says '^rank 1 of 2 on pod-2$'
    says '^rank 2 of 3 on pod-3$'
    says 'host 10\.77\.0\.3 has come into the gang .--pod-selector.: rank 1 begins'
    event host_joins '10\.77\.0\.4'
    pods_clean 1 2 3
}

@test "a pod that is deleted is let go, one that ends already as well" {
    comes shrink 1
    comes shrink 2
    comes shrink 3
    elastic shrink 1:3 continue
    on 1
    on 2
    on 3
    admin delete shrink-2-0
    wait_until event host_left '10\.77\.0\.3'
    admin leave shrink-3-0
    wait_until event host_left '10\.77\.0\.4'
    go 1
    pod_job_ends
    ended_with 0
    says '^saved 1$'
    says '^saved 2$'
    says 'host 10\.77\.0\.3 is no longer in the gang .--pod-selector.: rank 1'
    pods_clean 1 2 3
}

@test "restart-job: all begin anew in the size that the API tells" {
    comes again 1
    elastic again 1:2 restart-job
    on 1
    comes again 2
    on 2
    go 1 2
    pod_job_ends
    ended_with 0
    says '^rank 0 of 1 on pod-1$'
    says '^saved 0$'
    says '^rank 0 of 2 on pod-1$'
    says '^rank 1 of 2 on pod-2$'
    pods_clean 1 2
}

@test "a server that is away for a while: the job runs on, and grows after" {
    comes away 1
    elastic away 1:2 continue
    on 1
    wait_until watched
    pod 0 "$HB_SRCDIR/tests/peers/apiserver.sh" away "$cluster"
    admin compact # what was watched is too old when it is back
    pod 0 "$HB_SRCDIR/tests/peers/apiserver.sh" back "$cluster" \
        "$(cat "$cluster/program")"
    admin ready
    comes away 2
    on 2
    go 1 2
    pod_job_ends
    ended_with 0
    says '^rank 1 of 2 on pod-2$'
    pods_clean 1 2
}

@test "pods without an address: the job begins with MIN, and they join later" {
    comes begin 1
    created begin 2
    created begin 3
    elastic begin 1:3 continue
    on 1
    runs begin 2
    on 2
    go 1 2
    pod_job_ends
    ended_with 0
    says 'begin-2-0: .*; only those that are there are used'
    says '^rank 0 of 1 on pod-1$'
    says '^rank 1 of 2 on pod-2$'
    pods_clean 1 2
}
