# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += %D%/messages.def %D%/wire.c %D%/wire.h

check_PROGRAMS += tests/fuzz/fuzz_wire
TESTS += tests/fuzz/fuzz_wire
tests_fuzz_fuzz_wire_SOURCES = tests/fuzz/fuzz_wire.c tests/fuzz/replay.c
tests_fuzz_fuzz_wire_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/wire

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_wire tests/unit/test_wire_bytes
TESTS += tests/unit/test_wire tests/unit/test_wire_bytes
tests_unit_test_wire_bytes_SOURCES = tests/unit/test_wire_bytes.c \
    tests/unit/seed.h
tests_unit_test_wire_bytes_LDADD = $(UNIT_LDADD)
tests_unit_test_wire_bytes_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_wire_SOURCES = tests/unit/test_wire.c
tests_unit_test_wire_LDADD = $(UNIT_LDADD)
tests_unit_test_wire_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
endif
