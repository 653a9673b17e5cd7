# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += \
    %D%/client.c %D%/client.h \
    %D%/client_alone.c \
    %D%/client_native.c \
    %D%/client_pmi1.c \
    %D%/client_pmix.c %D%/pmixlib.h \
    %D%/client_with.c \
    %D%/fence.c %D%/fence_table.c %D%/fence_impl.h %D%/fence.h \
    %D%/foreign.c %D%/foreign.h \
    %D%/local.c \
    %D%/native.c %D%/native.h \
    %D%/native_conn.c %D%/native_impl.h \
    %D%/native_meet.c \
    %D%/native_server.c %D%/native_server.h \
    %D%/node_values.c \
    %D%/runs.c %D%/runs.h \
    %D%/native_store.c %D%/native_store.h \
    %D%/segment.c %D%/segment_heap.c %D%/segment_told.c \
    %D%/segment_impl.h %D%/segment_look.c %D%/segment.h

if HAVE_PMIX
pkglib_LTLIBRARIES += hb_pmixc.la
hb_pmixc_la_SOURCES = %D%/pmixlib.c %D%/pmixlib.h
hb_pmixc_la_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
hb_pmixc_la_LDFLAGS = $(MODULE_LDFLAGS) -export-symbols-regex '^hb_pmixlib$$'
hb_pmixc_la_LIBADD = $(PMIX_LIBS)
endif

check_PROGRAMS += tests/fuzz/fuzz_fence
TESTS += tests/fuzz/fuzz_fence
tests_fuzz_fuzz_fence_SOURCES = tests/fuzz/fuzz_fence.c tests/fuzz/replay.c
tests_fuzz_fuzz_fence_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/fence

check_PROGRAMS += tests/fuzz/fuzz_runs
TESTS += tests/fuzz/fuzz_runs
tests_fuzz_fuzz_runs_SOURCES = tests/fuzz/fuzz_runs.c tests/fuzz/replay.c
tests_fuzz_fuzz_runs_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/runs

check_PROGRAMS += tests/fuzz/fuzz_native
TESTS += tests/fuzz/fuzz_native
tests_fuzz_fuzz_native_SOURCES = tests/fuzz/fuzz_native.c tests/fuzz/replay.c
tests_fuzz_fuzz_native_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/native

check_PROGRAMS += tests/fuzz/fuzz_client
TESTS += tests/fuzz/fuzz_client
tests_fuzz_fuzz_client_SOURCES = tests/fuzz/fuzz_client.c tests/fuzz/replay.c \
    tests/fuzz/rdzv_use.h
tests_fuzz_fuzz_client_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/client

check_PROGRAMS += tests/fuzz/fuzz_with
TESTS += tests/fuzz/fuzz_with
tests_fuzz_fuzz_with_SOURCES = tests/fuzz/fuzz_with.c tests/fuzz/replay.c \
    tests/fuzz/rdzv_use.h
tests_fuzz_fuzz_with_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/with

check_PROGRAMS += tests/fuzz/fuzz_segment
TESTS += tests/fuzz/fuzz_segment
tests_fuzz_fuzz_segment_SOURCES = tests/fuzz/fuzz_segment.c tests/fuzz/replay.c
tests_fuzz_fuzz_segment_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/segment

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_native tests/unit/test_segment
tests_unit_test_native_SOURCES = tests/unit/test_native.c \
    tests/unit/native_world.c tests/unit/native_world.h
tests_unit_test_native_LDADD = $(UNIT_LDADD)
tests_unit_test_native_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_segment_SOURCES = tests/unit/test_segment.c
tests_unit_test_segment_LDADD = $(UNIT_LDADD)
tests_unit_test_segment_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_native tests/unit/test_segment
check_PROGRAMS += tests/unit/test_local
tests_unit_test_local_SOURCES = tests/unit/test_local.c
tests_unit_test_local_LDADD = $(UNIT_LDADD)
tests_unit_test_local_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_local

check_PROGRAMS += tests/unit/test_node_meet
tests_unit_test_node_meet_SOURCES = tests/unit/test_node_meet.c
tests_unit_test_node_meet_LDADD = $(UNIT_LDADD)
tests_unit_test_node_meet_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_node_meet
check_PROGRAMS += tests/unit/test_segment_shared
tests_unit_test_segment_shared_SOURCES = tests/unit/test_segment_shared.c
tests_unit_test_segment_shared_LDADD = $(UNIT_LDADD)
tests_unit_test_segment_shared_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_segment_shared
check_PROGRAMS += tests/unit/test_fence_anew
tests_unit_test_fence_anew_SOURCES = tests/unit/test_fence_anew.c
tests_unit_test_fence_anew_LDADD = $(UNIT_LDADD)
tests_unit_test_fence_anew_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_fence_anew
check_PROGRAMS += tests/unit/test_native_room
tests_unit_test_native_room_SOURCES = tests/unit/test_native_room.c \
    tests/unit/native_world.c tests/unit/native_world.h
tests_unit_test_native_room_LDADD = $(UNIT_LDADD)
tests_unit_test_native_room_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_native_room
check_PROGRAMS += tests/unit/test_native_told
tests_unit_test_native_told_SOURCES = tests/unit/test_native_told.c
tests_unit_test_native_told_LDADD = $(UNIT_LDADD)
tests_unit_test_native_told_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_native_told
check_PROGRAMS += tests/unit/test_native_client
tests_unit_test_native_client_SOURCES = tests/unit/test_native_client.c \
    tests/unit/native_agent.c tests/unit/native_agent.h
tests_unit_test_native_client_LDADD = $(UNIT_LDADD)
tests_unit_test_native_client_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(top_srcdir)/tests/unit
TESTS += tests/unit/test_native_client
check_PROGRAMS += tests/unit/test_fence
tests_unit_test_fence_SOURCES = tests/unit/test_fence.c \
    tests/unit/fence_sim.c tests/unit/fence_sim.h
tests_unit_test_fence_LDADD = $(UNIT_LDADD)
tests_unit_test_fence_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_fence
endif
