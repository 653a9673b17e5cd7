# SPDX-License-Identifier: BSD-3-Clause
POD_BATS = %D%/lab.bats %D%/gang.bats %D%/faults.bats %D%/ways.bats \
    %D%/wait.bats %D%/operator.bats %D%/serve.bats %D%/manifest.bats %D%/slurm.bats %D%/trouble.bats %D%/tree.bats %D%/liveness.bats %D%/inner.bats %D%/orphan.bats %D%/policies.bats \
    %D%/preload.bats \
    %D%/place.bats %D%/fabric.bats %D%/doctor.bats \
    %D%/attack.bats %D%/restart.bats %D%/live.bats %D%/survive.bats %D%/chaos.bats %D%/api.bats \
    %D%/collectives.bats %D%/net.bats %D%/rails.bats
TESTS += $(POD_BATS)
EXTRA_DIST += $(POD_BATS) %D%/podlab %D%/operator-pod %D%/chaos tests/fakes/fake_agent.py tests/fakes/pmix_lost.c

check_PROGRAMS += tests/pods/netcheck
tests_pods_netcheck_SOURCES = tests/pods/netcheck.c \
    tests/unit/coll_ref.c tests/unit/coll_ref.h tests/unit/coll_ref_fold.c \
    tests/unit/coll_world.h
tests_pods_netcheck_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests/unit
tests_pods_netcheck_LDADD = libhpcboot.la libhb.a -lm
tests_pods_netcheck_LDFLAGS = $(AM_LDFLAGS) -no-install
