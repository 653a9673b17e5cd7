#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Placement in pods that were given less than the machine: affinity masks,
# quotas, a CPU set where the machine has that controller.

load ../common

teardown() { lab_down; }
setup() {
    [ -e "$HB_BUILDDIR/.libs/hb_hwloc.so" ] || skip 'built without hwloc'
    [ "$(nproc)" -ge 2 ] || skip 'one CPU'
}
allowed='grep Cpus_allowed_list: /proc/self/status'

@test "bindings stay inside the mask of a pod, and are read back there" {
    lab_up mask 2
    pod 1 taskset -pc 1 1 # sshd, and all that it starts
    # shellcheck disable=SC2086
    run pod_hb -H pod-1:2 -n 1 --bind-to core --report-bindings $allowed
    ended_with 0
    says '^Cpus_allowed_list:[[:space:]]*1$'
    says 'rank 0 bound to .*\(CPU 1\)'
    run pod_hb -H pod-1:2 -n 2 --bind-to core true
    ended_with 2
    says '2 ranks of 1 core each on 1 core:'
    run pod_hb -H pod-1:2 -n 1 --map-by pe-list=1 true
    ended_with 2
    says 'there is no core 1 among those that the job may use here'
}

@test "a quota below the ranks' number: nobody is bound, all are told to yield" {
    lab_up quota 2
    "$podlab" limit 1 1 || skip 'no CPU quota here'
    run pod_hb -H pod-1:8 -n 2 --pmi pmix --report-bindings \
        sh -c 'echo yield $OMPI_MCA_mpi_oversubscribe; '"$allowed"
    ended_with 0
    says 'ranks are not bound: 2 ranks share .*quota 1 CPU'
    says 'ranks share room for 1 on pod-1'
    says '^yield 1$'
    says '^Cpus_allowed_list:[[:space:]]*0-'
}

@test "a quota of as many threads as there are ranks: none is told to yield" {
    lab_up threads 2
    "$podlab" limit 1 2 || skip 'no CPU quota here'
    # shellcheck disable=SC2016  # expanded in the pod
    pod 1 sh -c 'echo 0-1 > siblings
        for cpu in 0 1; do
            at=/sys/devices/system/cpu/cpu$cpu/topology/core_cpus_list
            mount --bind siblings $at || exit
        done' || skip 'no other threads of a core can be made up here'
    # shellcheck disable=SC2016
    run pod_hb -H pod-1:8 -n 2 --pmi pmix --use-hwthread-cpus \
        sh -c 'echo yield $OMPI_MCA_mpi_oversubscribe'
    ended_with 0
    says '^yield$'
    # shellcheck disable=SC2016
    run pod_hb -H pod-1:8 -n 2 --pmi pmix \
        sh -c 'echo yield $OMPI_MCA_mpi_oversubscribe'
    ended_with 0
    says '^yield 1$'
}

@test "ranks that have a hardware thread each are not told to yield" {
    lab_up siblings 2
    pod 1 sh -c 'echo 0-1 > siblings
        for cpu in 0 1; do
            at=/sys/devices/system/cpu/cpu$cpu/topology/core_cpus_list
            mount --bind siblings $at || exit
        done' || skip 'no other threads of a core can be made up here'
    pod 1 taskset -pc 0-1 1
    local how
    for how in '--map-by hwthread' '--map-by :HWTCPUS' '--bind-to hwthread'; do
        # shellcheck disable=SC2016,SC2086  # expanded in the pod
        run pod_hb -H pod-1:2 -n 2 --pmi pmix $how \
            sh -c 'echo yield $OMPI_MCA_mpi_oversubscribe'
        ended_with 0
        says '^yield$'
        says_not 'yield 1|share room'
    done
    # shellcheck disable=SC2016
    run pod_hb -H pod-1:2 -n 1 --pmi pmix --map-by hwthread:PE=2 \
        sh -c 'echo $OMP_NUM_THREADS $OMP_PLACES'
    ended_with 0
    says '^2 threads$'
    # shellcheck disable=SC2016
    run pod_hb -H pod-1:3 -n 3 --pmi pmix --map-by hwthread \
        sh -c 'echo yield $OMPI_MCA_mpi_oversubscribe'
    ended_with 0
    says '^yield 1$'
    says '3 ranks share room for 2 on pod-1'
}

@test "by objects: pods that are not alike are told of" {
    lab_up unlike 2
    pod 1 taskset -pc 1 1
    run pod_hb -H pod-0:2,pod-1:2 --map-by ppr:1:core hostname
    ended_with 0
    # pod-0's agent is this launcher's own child, which has all CPUs.
    [ "$(grep -c '^pod-1$' <<< "$output")" -eq 1 ]
    says 'hosts differ inside: '
}

@test "a CPU set of the pod: slots are counted in it, ranks stay in it" {
    lab_up cpuset 2
    "$podlab" cpuset 1 1 || skip 'no cpuset controller here'
    # shellcheck disable=SC2086
    run pod_hb -H pod-1 --bind-to core --report-bindings $allowed
    ended_with 0
    says '^Cpus_allowed_list:[[:space:]]*1$'
    says 'rank 0 bound to .*\(CPU 1\)'
    [ "$(grep -c '^Cpus_allowed' <<< "$output")" -eq 1 ]
    run pod_hb -H pod-1:2 -n 2 --bind-to core true
    ended_with 2
    says '2 ranks of 1 core each on 1 core:'
    run pod_hb -H pod-1 -n 1 --rankfile /dev/stdin true <<< 'rank 0=pod-1 slot=1'
    ended_with 2
    says 'there is no core 1 among those that the job may use here'
}
