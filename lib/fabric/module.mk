# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += %D%/fabric.c %D%/fabric.h %D%/sysread.c %D%/sysread.h \
    %D%/rdma.c %D%/netdevs.c %D%/gpus.c %D%/fields.c %D%/words.c %D%/choose.h \
    %D%/gid.c %D%/agree.c %D%/agree_impl.h %D%/reasons.c %D%/join.c \
    %D%/assign.c %D%/env.c

if HAVE_VERBS
pkglib_LTLIBRARIES += hb_verbs.la
hb_verbs_la_SOURCES = %D%/verbs.c %D%/fabric.h %D%/ping.c %D%/ping.h
hb_verbs_la_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CFLAGS)
hb_verbs_la_LDFLAGS = $(MODULE_LDFLAGS)
hb_verbs_la_LIBADD = $(VERBS_LIBS)
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_fabric
tests_unit_test_fabric_SOURCES = tests/unit/test_fabric.c \
    tests/unit/fabric_hosts.h tests/unit/fabric_tree.h tests/unit/tree.h
tests_unit_test_fabric_LDADD = $(UNIT_LDADD)
tests_unit_test_fabric_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_fabric
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_fabric_bytes
tests_unit_test_fabric_bytes_SOURCES = tests/unit/test_fabric_bytes.c \
    tests/unit/fabric_tree.h tests/unit/tree.h tests/unit/seed.h
tests_unit_test_fabric_bytes_LDADD = $(UNIT_LDADD)
tests_unit_test_fabric_bytes_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_fabric_bytes
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_fabric_join
tests_unit_test_fabric_join_SOURCES = tests/unit/test_fabric_join.c \
    tests/unit/fabric_hosts.h tests/unit/fabric_tree.h tests/unit/tree.h
tests_unit_test_fabric_join_LDADD = $(UNIT_LDADD)
tests_unit_test_fabric_join_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_fabric_join
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_fabric_partition
tests_unit_test_fabric_partition_SOURCES = tests/unit/test_fabric_partition.c \
    tests/unit/fabric_hosts.h tests/unit/fabric_tree.h tests/unit/tree.h
tests_unit_test_fabric_partition_LDADD = $(UNIT_LDADD)
tests_unit_test_fabric_partition_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_fabric_partition
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_fabric_env
tests_unit_test_fabric_env_SOURCES = tests/unit/test_fabric_env.c
tests_unit_test_fabric_env_LDADD = $(UNIT_LDADD)
tests_unit_test_fabric_env_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_fabric_env
endif

check_PROGRAMS += tests/fuzz/fuzz_fabric
TESTS += tests/fuzz/fuzz_fabric
tests_fuzz_fuzz_fabric_SOURCES = tests/fuzz/fuzz_fabric.c tests/fuzz/replay.c
tests_fuzz_fuzz_fabric_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/fabric tests/data/fabric
