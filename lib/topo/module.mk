# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += %D%/cpus.c %D%/cpus.h %D%/quota.c %D%/quota.h \
    %D%/allowed.c %D%/allowed.h %D%/gpus.c %D%/gpus.h %D%/map.c %D%/map.h %D%/map_policy.c %D%/map_place.c %D%/map_impl.h %D%/rankfile.c %D%/rankfile.h \
    %D%/slots.c %D%/slots.h %D%/topo.c %D%/topo.h %D%/bind.c %D%/bind.h %D%/bind_impl.h %D%/bind_seats.c %D%/bind_list.c %D%/bind_here.c %D%/here.c %D%/here.h %D%/memory.c \
    %D%/locality.c \
    %D%/bind_policy.c %D%/picture.c %D%/describe.c %D%/gpu_share.c %D%/gpu_share.h

if HAVE_HWLOC
pkglib_LTLIBRARIES += hb_hwloc.la
hb_hwloc_la_SOURCES = %D%/hwloc.c %D%/topo.h
hb_hwloc_la_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
hb_hwloc_la_LDFLAGS = $(MODULE_LDFLAGS)
hb_hwloc_la_LIBADD = $(HWLOC_LIBS)
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_allowed tests/unit/test_gpus \
    tests/unit/test_map
tests_unit_test_gpus_SOURCES = tests/unit/test_gpus.c tests/unit/tree.h
tests_unit_test_gpus_LDADD = $(UNIT_LDADD)
tests_unit_test_gpus_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_allowed_SOURCES = tests/unit/test_allowed.c tests/unit/tree.h
tests_unit_test_allowed_LDADD = $(UNIT_LDADD)
tests_unit_test_allowed_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_map_SOURCES = tests/unit/test_map.c
tests_unit_test_map_LDADD = $(UNIT_LDADD)
tests_unit_test_map_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_allowed tests/unit/test_gpus tests/unit/test_map

check_PROGRAMS += tests/unit/test_bind
tests_unit_test_bind_SOURCES = tests/unit/test_bind.c
tests_unit_test_bind_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_bind_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_bind_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_bind_DEPENDENCIES = libhb.a libhbbin.a
TESTS += tests/unit/test_bind

check_PROGRAMS += tests/unit/test_map_golden
tests_unit_test_map_golden_SOURCES = tests/unit/test_map_golden.c
tests_unit_test_map_golden_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_map_golden_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_map_golden_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_map_golden_DEPENDENCIES = libhb.a libhbbin.a
TESTS += tests/unit/test_map_golden

check_PROGRAMS += tests/unit/test_place
tests_unit_test_place_SOURCES = tests/unit/test_place.c
tests_unit_test_place_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_place_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_place_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_place_DEPENDENCIES = libhb.a libhbbin.a
TESTS += tests/unit/test_place
endif

check_PROGRAMS += tests/fuzz/fuzz_topo
TESTS += tests/fuzz/fuzz_topo
tests_fuzz_fuzz_topo_SOURCES = tests/fuzz/fuzz_topo.c tests/fuzz/replay.c
tests_fuzz_fuzz_topo_LDADD = libhb.a
check_PROGRAMS += tests/fuzz/fuzz_quota
TESTS += tests/fuzz/fuzz_quota
tests_fuzz_fuzz_quota_SOURCES = tests/fuzz/fuzz_quota.c tests/fuzz/replay.c \
    tests/unit/tree.h
tests_fuzz_fuzz_quota_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/topo tests/fuzz/corpus/quota tests/data/topo
