# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += %D%/cpus.c %D%/cpus.h %D%/quota.c %D%/quota.h \
    %D%/allowed.c %D%/allowed.h %D%/map.c %D%/map.h %D%/map_policy.c \
    %D%/slots.c %D%/slots.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_allowed tests/unit/test_map
tests_unit_test_allowed_SOURCES = tests/unit/test_allowed.c tests/unit/tree.h
tests_unit_test_allowed_LDADD = $(UNIT_LDADD)
tests_unit_test_allowed_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_map_SOURCES = tests/unit/test_map.c
tests_unit_test_map_LDADD = $(UNIT_LDADD)
tests_unit_test_map_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_allowed tests/unit/test_map
endif

check_PROGRAMS += tests/fuzz/fuzz_topo
TESTS += tests/fuzz/fuzz_topo
tests_fuzz_fuzz_topo_SOURCES = tests/fuzz/fuzz_topo.c tests/fuzz/replay.c
tests_fuzz_fuzz_topo_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/topo
