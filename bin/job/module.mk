# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += %D%/job.c %D%/job.h %D%/job_impl.h %D%/bringup.h %D%/carry.h %D%/change.h \
    %D%/plan.c %D%/placement.c %D%/policy.c \
    %D%/framework.c %D%/framework.h %D%/launchers.c %D%/wrapped.c %D%/processes.c %D%/meeting.c %D%/met.c %D%/roles.c \
    %D%/survey.c %D%/traffic.c %D%/traffic.h %D%/wiring.c %D%/wiring.h %D%/order.c %D%/network.c %D%/network.h \
    %D%/adopt.c %D%/answers.c %D%/grow.c %D%/grow.h %D%/tree.c %D%/way.c %D%/wdir.c %D%/connect.c %D%/lost.c %D%/host.c %D%/host.h \
    %D%/wait.c %D%/waitview.c %D%/missing.c %D%/missing.h \
    %D%/prove.c %D%/same.c %D%/files.c %D%/start.c %D%/watch.c %D%/notes.c %D%/route.c %D%/modex.c %D%/names.c %D%/kept_names.c %D%/kept_names.h %D%/spawn.c %D%/spawn_begin.c %D%/spawned.h %D%/ancestry.c %D%/ancestry.h %D%/carry.c \
    %D%/ending.c %D%/signals.c %D%/signals.h %D%/again.c %D%/respawn.c %D%/elastic.c %D%/lookout.c %D%/lookout.h %D%/latecomers.c %D%/live.c %D%/cut.c %D%/apart.c %D%/apart.h %D%/seats.c %D%/seats.h %D%/lives.c %D%/lives.h \
    %D%/events.c %D%/report.c %D%/preview.c \
    %D%/timing.c %D%/timing.h %D%/metrics.c %D%/probe.c %D%/verdict.c %D%/verdict.h
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_job_verdict
tests_unit_test_job_verdict_SOURCES = tests/unit/test_job_verdict.c
tests_unit_test_job_verdict_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_job_verdict_LDADD = $(UNIT_LDADD)
TESTS += tests/unit/test_job_verdict
check_PROGRAMS += tests/unit/test_job_grow
tests_unit_test_job_grow_SOURCES = tests/unit/test_job_grow.c
tests_unit_test_job_grow_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_job_grow_LDADD = $(UNIT_LDADD)
TESTS += tests/unit/test_job_grow
check_PROGRAMS += tests/unit/test_job_seats
tests_unit_test_job_seats_SOURCES = tests/unit/test_job_seats.c
tests_unit_test_job_seats_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_job_seats_LDADD = $(UNIT_LDADD)
TESTS += tests/unit/test_job_seats
check_PROGRAMS += tests/unit/test_job_apart
tests_unit_test_job_apart_SOURCES = tests/unit/test_job_apart.c
tests_unit_test_job_apart_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_job_apart_LDADD = $(UNIT_LDADD)
TESTS += tests/unit/test_job_apart
check_PROGRAMS += tests/unit/test_job_lives
tests_unit_test_job_lives_SOURCES = tests/unit/test_job_lives.c
tests_unit_test_job_lives_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_job_lives_LDADD = $(UNIT_LDADD)
TESTS += tests/unit/test_job_lives
check_PROGRAMS += tests/unit/test_job_missing
tests_unit_test_job_missing_SOURCES = tests/unit/test_job_missing.c
tests_unit_test_job_missing_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_job_missing_LDADD = $(UNIT_LDADD)
TESTS += tests/unit/test_job_missing
check_PROGRAMS += tests/unit/test_job_names
tests_unit_test_job_names_SOURCES = tests/unit/test_job_names.c
tests_unit_test_job_names_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_job_names_LDADD = $(UNIT_LDADD)
TESTS += tests/unit/test_job_names
check_PROGRAMS += tests/unit/test_job_roles
tests_unit_test_job_roles_SOURCES = tests/unit/test_job_roles.c
tests_unit_test_job_roles_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -DHB_TESTS_TOP='"$(abs_top_srcdir)"'
tests_unit_test_job_roles_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_job_roles_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_job_roles_DEPENDENCIES = libhb.a libhbbin.a
TESTS += tests/unit/test_job_roles
check_PROGRAMS += tests/unit/test_network
tests_unit_test_network_SOURCES = tests/unit/test_network.c
tests_unit_test_network_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_network_LDADD = $(UNIT_LDADD)
TESTS += tests/unit/test_network
endif

check_PROGRAMS += tests/fuzz/fuzz_network
TESTS += tests/fuzz/fuzz_network
tests_fuzz_fuzz_network_SOURCES = tests/fuzz/fuzz_network.c tests/fuzz/replay.c
tests_fuzz_fuzz_network_LDADD = libhbbin.a libhb.a
EXTRA_DIST += tests/fuzz/corpus/network
