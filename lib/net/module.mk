# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += \
    %D%/addr.c %D%/addr.h

check_PROGRAMS += tests/fuzz/fuzz_addr
TESTS += tests/fuzz/fuzz_addr
tests_fuzz_fuzz_addr_SOURCES = tests/fuzz/fuzz_addr.c tests/fuzz/replay.c
tests_fuzz_fuzz_addr_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/addr

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_net
TESTS += tests/unit/test_net
tests_unit_test_net_SOURCES = tests/unit/test_net.c
tests_unit_test_net_LDADD = $(UNIT_LDADD)
tests_unit_test_net_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
endif
