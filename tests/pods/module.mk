# SPDX-License-Identifier: BSD-3-Clause
# The longest first: they run side by side.
POD_BATS = %D%/liveness.bats %D%/live.bats %D%/faults.bats %D%/wait.bats \
    %D%/chaos.bats %D%/tree.bats %D%/net.bats %D%/inner.bats \
    %D%/restart.bats %D%/orphan.bats %D%/rails.bats %D%/collectives.bats \
    %D%/survive.bats %D%/replace.bats %D%/policies.bats %D%/lab.bats %D%/gang.bats \
    %D%/ways.bats %D%/operator.bats %D%/serve.bats %D%/manifest.bats \
    %D%/slurm.bats %D%/trouble.bats %D%/preload.bats %D%/place.bats \
    %D%/fabric.bats %D%/doctor.bats %D%/attack.bats %D%/api.bats \
    %D%/meet.bats %D%/cut.bats %D%/former.bats
TESTS += $(POD_BATS)
EXTRA_DIST += $(POD_BATS) %D%/podlab %D%/operator-pod %D%/chaos tests/fakes/fake_agent.py tests/fakes/held_link.py tests/fakes/lumps.py tests/fakes/ssh_opens.c tests/fakes/pmix_events.c tests/fakes/pmix_long.c tests/fakes/pmix_lost.c tests/fakes/pmix_pair.c

check_PROGRAMS += tests/pods/netcheck
tests_pods_netcheck_SOURCES = tests/pods/netcheck.c \
    tests/unit/coll_ref.c tests/unit/coll_ref.h tests/unit/coll_ref_fold.c \
    tests/unit/coll_world.h
tests_pods_netcheck_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests/unit
tests_pods_netcheck_LDADD = libhpcboot.la libhb.a -lm
tests_pods_netcheck_LDFLAGS = $(AM_LDFLAGS) -no-install
