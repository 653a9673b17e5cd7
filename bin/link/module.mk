# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += %D%/link.c %D%/link.h
libhbbin_a_SOURCES += %D%/kept.c %D%/kept.h %D%/offset.c %D%/offset.h
libhbbin_a_SOURCES += %D%/preamble.c %D%/preamble.h %D%/pulse.c %D%/pulse.h
libhbbin_a_SOURCES += %D%/pong.c %D%/pong.h
libhbbin_a_SOURCES += %D%/words.c %D%/words.h

check_PROGRAMS += tests/fuzz/fuzz_preamble
TESTS += tests/fuzz/fuzz_preamble
tests_fuzz_fuzz_preamble_SOURCES = \
    tests/fuzz/fuzz_preamble.c tests/fuzz/replay.c
tests_fuzz_fuzz_preamble_LDADD = libhbbin.a libhb.a $(EVENT_LIBS)
EXTRA_DIST += tests/fuzz/corpus/preamble

if HAVE_CMOCKA
link_tests = tests/unit/test_link tests/unit/test_link_life \
    tests/unit/test_link_offset tests/unit/test_link_pulse \
    tests/unit/test_link_kept
check_PROGRAMS += $(link_tests)
TESTS += $(link_tests)
link_fixture = tests/fakes/link_fixture.c tests/fakes/link_fixture.h
tests_unit_test_link_SOURCES = tests/unit/test_link.c $(link_fixture)
tests_unit_test_link_LDADD = $(UNIT_LDADD)
tests_unit_test_link_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_link_kept_SOURCES = tests/unit/test_link_kept.c
tests_unit_test_link_kept_LDADD = $(UNIT_LDADD)
tests_unit_test_link_kept_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_link_offset_SOURCES = tests/unit/test_link_offset.c
tests_unit_test_link_offset_LDADD = $(UNIT_LDADD)
tests_unit_test_link_offset_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_link_pulse_SOURCES = tests/unit/test_link_pulse.c
tests_unit_test_link_pulse_LDADD = $(UNIT_LDADD)
tests_unit_test_link_pulse_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_link_life_SOURCES = tests/unit/test_link_life.c $(link_fixture)
tests_unit_test_link_life_LDADD = $(UNIT_LDADD)
tests_unit_test_link_life_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
endif
