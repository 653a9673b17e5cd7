# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += \
    %D%/address.c %D%/address.h \
    %D%/back.c \
    %D%/choose.c %D%/choose.h \
    %D%/ring.c %D%/impl.h \
    %D%/match.c \
    %D%/network.c \
    %D%/rails.c \
    %D%/tcp.c %D%/tcp_impl.h \
    %D%/tcp_conn.c %D%/tcp_taken.c %D%/tcp_tune.c \
    %D%/tcp_cut.c %D%/tcp_pair.h \
    %D%/tcp_io.c \
    %D%/tcp_meet.c \
    %D%/tcp_open.c \
    %D%/tcp_pace.c \
    %D%/tcp_pair.c \
    %D%/move.c %D%/move.h %D%/ucxmove.h \
    %D%/ucx.c %D%/ucxlib.h \
    %D%/ucxload.c %D%/ucxload.h \
    %D%/xport.c %D%/xport.h

if HAVE_UCX
pkglib_LTLIBRARIES += hb_ucx.la
hb_ucx_la_SOURCES = %D%/ucxlib.c %D%/ucxlib.h \
    %D%/ucxlog.c %D%/ucxlog.h \
    %D%/ucxmove.c %D%/ucxmove.h
# Headers of a newer UCX are GNU C, and warn unless they are a system's.
hb_ucx_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CFLAGS:-I%=-isystem %)
hb_ucx_la_CFLAGS = $(AM_CFLAGS) -std=gnu11
hb_ucx_la_LDFLAGS = $(MODULE_LDFLAGS) \
    -export-symbols-regex '^hb_ucx(lib|move)$$'
hb_ucx_la_LIBADD = $(UCX_LIBS)
endif

if HAVE_CMOCKA
# Tests with several ranks in one process.
xport_world = tests/unit/xport_world.c tests/unit/xport_world.h
XPORT_WORLD_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) -I$(srcdir)/tests/unit
xport_tests = tests/unit/test_xport tests/unit/test_xport_back \
    tests/unit/test_xport_meet tests/unit/test_xport_net \
    tests/unit/test_xport_pace tests/unit/test_xport_rails \
    tests/unit/test_xport_match tests/unit/test_xport_taken \
    tests/unit/test_xport_turns
if HAVE_UCX
xport_tests += tests/unit/test_xport_ucx
endif
check_PROGRAMS += $(xport_tests)
TESTS += $(xport_tests)
tests_unit_test_xport_SOURCES = tests/unit/test_xport.c $(xport_world)
tests_unit_test_xport_LDADD = $(UNIT_LDADD)
tests_unit_test_xport_CPPFLAGS = $(XPORT_WORLD_CPPFLAGS)
tests_unit_test_xport_back_SOURCES = tests/unit/test_xport_back.c \
    $(xport_world)
tests_unit_test_xport_back_LDADD = $(UNIT_LDADD)
tests_unit_test_xport_back_CPPFLAGS = $(XPORT_WORLD_CPPFLAGS)
tests_unit_test_xport_match_SOURCES = tests/unit/test_xport_match.c \
    $(xport_world)
tests_unit_test_xport_match_LDADD = $(UNIT_LDADD)
tests_unit_test_xport_match_CPPFLAGS = $(XPORT_WORLD_CPPFLAGS)
tests_unit_test_xport_meet_SOURCES = tests/unit/test_xport_meet.c \
    $(xport_world)
tests_unit_test_xport_meet_LDADD = $(UNIT_LDADD)
tests_unit_test_xport_meet_CPPFLAGS = $(XPORT_WORLD_CPPFLAGS)
tests_unit_test_xport_net_SOURCES = tests/unit/test_xport_net.c \
    tests/unit/fabric_tree.h tests/unit/tree.h
tests_unit_test_xport_net_LDADD = $(UNIT_LDADD)
tests_unit_test_xport_net_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_xport_pace_SOURCES = tests/unit/test_xport_pace.c
tests_unit_test_xport_pace_LDADD = $(UNIT_LDADD)
tests_unit_test_xport_pace_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_xport_rails_SOURCES = tests/unit/test_xport_rails.c \
    $(xport_world)
tests_unit_test_xport_rails_LDADD = $(UNIT_LDADD)
tests_unit_test_xport_rails_CPPFLAGS = $(XPORT_WORLD_CPPFLAGS)
tests_unit_test_xport_taken_SOURCES = tests/unit/test_xport_taken.c \
    $(xport_world)
tests_unit_test_xport_taken_LDADD = $(UNIT_LDADD)
tests_unit_test_xport_taken_CPPFLAGS = $(XPORT_WORLD_CPPFLAGS)
tests_unit_test_xport_turns_SOURCES = tests/unit/test_xport_turns.c \
    $(xport_world)
tests_unit_test_xport_turns_LDADD = $(UNIT_LDADD)
tests_unit_test_xport_turns_CPPFLAGS = $(XPORT_WORLD_CPPFLAGS)
tests_unit_test_xport_ucx_SOURCES = tests/unit/test_xport_ucx.c $(xport_world)
tests_unit_test_xport_ucx_LDADD = $(UNIT_LDADD)
tests_unit_test_xport_ucx_CPPFLAGS = $(XPORT_WORLD_CPPFLAGS)
endif

check_PROGRAMS += tests/fuzz/fuzz_xport
TESTS += tests/fuzz/fuzz_xport
tests_fuzz_fuzz_xport_SOURCES = tests/fuzz/fuzz_xport.c tests/fuzz/replay.c
tests_fuzz_fuzz_xport_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/xport

check_PROGRAMS += tests/fuzz/fuzz_card
TESTS += tests/fuzz/fuzz_card
tests_fuzz_fuzz_card_SOURCES = tests/fuzz/fuzz_card.c tests/fuzz/replay.c
tests_fuzz_fuzz_card_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/card
