# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += \
    include/hpcboot/status.h \
    %D%/buf.c %D%/buf.h \
    %D%/cache.h \
    %D%/channel.h \
    %D%/clock.c %D%/clock.h \
    %D%/collected.c %D%/collected.h \
    %D%/error.c %D%/error.h \
    %D%/fd.c %D%/fd.h \
    %D%/file_lasting.c \
    %D%/jobmap.c %D%/jobmap.h \
    %D%/json.c %D%/json.h \
    %D%/kvs.c %D%/kvs.h \
    %D%/log.c %D%/log.h \
    %D%/module_load.c %D%/module_load.h \
    %D%/str.c %D%/str.h \
    %D%/strv.c %D%/strv.h

check_PROGRAMS += tests/fuzz/fuzz_jobmap
TESTS += tests/fuzz/fuzz_jobmap
tests_fuzz_fuzz_jobmap_SOURCES = tests/fuzz/fuzz_jobmap.c tests/fuzz/replay.c
tests_fuzz_fuzz_jobmap_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/jobmap

if HAVE_CMOCKA
base_tests = \
    tests/unit/test_base_buf \
    tests/unit/test_base_jobmap \
    tests/unit/test_base_str \
    tests/unit/test_base_system \
    tests/unit/test_kvs
check_PROGRAMS += $(base_tests)
TESTS += $(base_tests)
tests_unit_test_base_buf_SOURCES = tests/unit/test_base_buf.c
tests_unit_test_base_buf_LDADD = $(UNIT_LDADD)
tests_unit_test_base_buf_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_base_jobmap_SOURCES = tests/unit/test_base_jobmap.c
tests_unit_test_base_jobmap_LDADD = $(UNIT_LDADD)
tests_unit_test_base_jobmap_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_base_str_SOURCES = tests/unit/test_base_str.c
tests_unit_test_base_str_LDADD = $(UNIT_LDADD)
tests_unit_test_base_str_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_base_system_SOURCES = tests/unit/test_base_system.c
tests_unit_test_base_system_LDADD = $(UNIT_LDADD)
tests_unit_test_base_system_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_kvs_SOURCES = tests/unit/test_kvs.c
tests_unit_test_kvs_LDADD = $(UNIT_LDADD)
tests_unit_test_kvs_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
endif
