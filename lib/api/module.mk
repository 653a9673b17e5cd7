# SPDX-License-Identifier: BSD-3-Clause
# libhpcboot.so: the public functions, and of libhb.a what they use.
lib_LTLIBRARIES += libhpcboot.la
libhpcboot_la_SOURCES = %D%/api.h \
    %D%/ask.c \
    %D%/check.c \
    %D%/coll.c \
    %D%/cuda.c %D%/cuda.h \
    %D%/device.c \
    %D%/event.c \
    %D%/heap.c \
    %D%/hop.c %D%/hop.h \
    %D%/job.c \
    %D%/kvs.c \
    %D%/leave.c \
    %D%/leaves.c \
    %D%/message.c \
    %D%/note.c \
    %D%/op.c \
    %D%/peers.c \
    %D%/request.c \
    %D%/shrink.c \
    %D%/split.c \
    %D%/stage.c \
    %D%/state.c \
    %D%/stuck.c \
    %D%/survey.c \
    %D%/team.c %D%/team.h \
    %D%/topo.c
libhpcboot_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
    -Wl,--version-script=$(top_srcdir)/lib/api/libhpcboot.map
# One word: libtool would put an archive in place of its members.
libhpcboot_la_LIBADD = @HB_ARCHIVE@ -ldl -lpthread -lm
EXTRA_libhpcboot_la_DEPENDENCIES = libhb.a lib/api/libhpcboot.map
EXTRA_DIST += lib/api/libhpcboot.map

# The same for a program of ours that is a rank: its own copy, so that it needs
# no library beside it.
noinst_LIBRARIES += libhbapi.a
libhbapi_a_SOURCES = $(libhpcboot_la_SOURCES)
libhbapi_a_CFLAGS = $(AM_CFLAGS)

check_PROGRAMS += tests/fuzz/fuzz_notes
TESTS += tests/fuzz/fuzz_notes
tests_fuzz_fuzz_notes_SOURCES = tests/fuzz/fuzz_notes.c tests/fuzz/replay.c
tests_fuzz_fuzz_notes_LDADD = libhbapi.a libhb.a -ldl -lpthread -lm
FUZZ_EXTRA_notes = libhbapi.a
EXTRA_DIST += tests/fuzz/corpus/notes

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = %D%/hpcboot.pc
cmakedir = $(libdir)/cmake/hpcboot
cmake_DATA = %D%/hpcbootConfig.cmake %D%/hpcbootConfigVersion.cmake

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_large_job
tests_unit_test_large_job_SOURCES = tests/unit/test_large_job.c \
    tests/unit/native_agent.c tests/unit/native_agent.h
tests_unit_test_large_job_LDADD = libhbapi.a $(UNIT_LDADD) -lpthread -lm
tests_unit_test_large_job_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(top_srcdir)/tests/unit
TESTS += tests/unit/test_large_job

check_PROGRAMS += tests/unit/test_team
tests_unit_test_team_SOURCES = tests/unit/test_team.c
tests_unit_test_team_LDADD = libhbapi.a $(UNIT_LDADD) -lpthread -lm
tests_unit_test_team_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_team
endif
