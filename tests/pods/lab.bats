#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# The lab of pods itself: what a test may rely on, and that nothing stays.

load ../common

setup_file() { lab_up lab 2; }
teardown_file() { lab_down; }

@test "a pod has a name, a /tmp and processes of its own" {
    run -0 pod 1 hostname
    [ "$output" = pod-1 ]
    pod 0 touch /tmp/mine
    run ! pod 1 test -e /tmp/mine
    run -0 pod 1 cat /proc/1/cmdline
    says 'sshd'
}

@test "pods reach each other over ssh by name, with known keys" {
    run -0 pod 0 ssh -o BatchMode=yes pod-1 hostname
    says '^pod-1$'
}

@test "source and build are in view at their paths" {
    run -0 pod 1 test -e "$HB_SRCDIR/configure.ac" -a -d "$HB_BUILDDIR"
}

@test "a cut link is cut, and heals" {
    "$podlab" link 1 down
    run ! pod 0 timeout 2 ssh -o BatchMode=yes pod-1 true
    "$podlab" link 1 up
    wait_until pod 0 timeout 5 ssh -o BatchMode=yes pod-1 true
}

@test "a frozen pod stands still until it is thawed" {
    "$podlab" freeze 1
    run ! pod 0 timeout 2 ssh -o BatchMode=yes pod-1 true
    "$podlab" thaw 1
    wait_until pod 0 timeout 5 ssh -o BatchMode=yes pod-1 true
}

@test "pods vary: host key, noise, login shell, forced command" {
    export PODLAB_NAME=vary-$$
    "$podlab" up 2 --owner $$
    "$podlab" vary 1 noise 'welcome to pod-1'
    run -0 pod 0 ssh -o BatchMode=yes pod-1 echo asked
    [ "$output" = $'welcome to pod-1\nasked' ]
    "$podlab" vary 1 forced 'echo forced'
    run -0 pod 0 ssh -o BatchMode=yes pod-1 echo asked
    says '^forced$'
    "$podlab" vary 1 shell /usr/sbin/nologin
    run ! pod 0 ssh -o BatchMode=yes pod-1 true
    "$podlab" vary 1 hostkey
    run ! pod 0 ssh -o BatchMode=yes pod-1 true
    says 'HAS CHANGED'
    "$podlab" down
}

@test "another PID 1 has the environment it was given" {
    export PODLAB_NAME=init-$$
    "$podlab" up 1 --owner $$ --init 'sleep infinity' --env COLOUR=green
    run -0 pod 0 grep -z COLOUR /proc/1/environ
    "$podlab" down
}

@test "pods come up on a machine without hosts and hostname in /etc" {
    export podlab PODLAB_NAME=bare-$$
    # shellcheck disable=SC2016  # expanded in the other namespace
    run -0 unshare --mount bash -ec 'mount -t tmpfs tmpfs /mnt
        cp -a /etc /mnt && rm -f /mnt/etc/hosts /mnt/etc/hostname
        mount --bind /mnt/etc /etc && umount -l /mnt
        trap "\"$podlab\" down" EXIT
        "$podlab" up 2 --owner $$
        "$podlab" exec 0 ssh -o BatchMode=yes pod-1 cat /etc/hostname'
    [ "$output" = pod-1 ]
}

@test "pods of a lab in a chroot have its root" {
    export podlab PODLAB_NAME=chroot-$$ root=$BATS_TEST_TMPDIR/root
    mkdir "$root"
    # shellcheck disable=SC2016  # expanded in the other namespace
    run -0 unshare --mount bash -ec 'mount --rbind / "$root"
        mount -t tmpfs tmpfs "$root/opt" && touch "$root/opt/mine"
        trap "\"$podlab\" down" EXIT
        chroot "$root" "$podlab" up 1 --owner $$
        chroot "$root" "$podlab" exec 0 ls /opt'
    [ "$output" = mine ]
}

# Those of other labs may come and go meanwhile.
no_cgroups() { # ROOT
    [ -z "$(find "$1" -name "podlab-$PODLAB_NAME" 2> /dev/null)" ]
}

# Whatever kind of cgroups there are, pods come up, freeze and go.
for_cgroups() {
    export PODLAB_NAME=$1-$$ PODLAB_CGROUP_ROOT=$2
    "$podlab" up 1 --owner $$
    "$podlab" freeze 0
    "$podlab" thaw 0
    run -0 pod 0 hostname
    "$podlab" down
    no_cgroups "$2"
}
@test "pods come up without any cgroup" { for_cgroups none /nonexistent; }
@test "pods come up with cgroup v2" {
    local root=/sys/fs/cgroup
    [ "$(stat -f -c %T $root)" = cgroup2fs ] || root=$root/unified
    [ -w $root/cgroup.procs ] || skip 'no writable cgroup v2 here'
    for_cgroups two $root
}

@test "a lab ends with its owner, and leaves nothing" {
    export PODLAB_NAME=owned-$$
    sleep infinity &
    "$podlab" up 1 --owner $!
    kill $!
    wait_until test ! -e "/run/podlab/$PODLAB_NAME"
}

@test "after SIGKILL of its keeper a lab's pods are gone, and gc the rest" {
    local first
    export PODLAB_NAME=killed-$$
    "$podlab" up 1 --owner $$
    first=$("$podlab" list | cut -d' ' -f4)
    kill -KILL "$(cut -d' ' -f1 "/run/podlab/$PODLAB_NAME/keeper")"
    wait_until test ! -e "/proc/$first/root/run"
    "$podlab" gc
    [ ! -e "/run/podlab/$PODLAB_NAME" ]
    no_cgroups /sys/fs/cgroup
}

@test "a lab that is taken down while a pod is frozen leaves nothing" {
    local first
    export PODLAB_NAME=frozen-$$
    "$podlab" up 1 --owner $$
    first=$("$podlab" list | cut -d' ' -f4)
    "$podlab" freeze 0
    "$podlab" down
    [ ! -e "/proc/$first/root/run" ]
    no_cgroups /sys/fs/cgroup
}
