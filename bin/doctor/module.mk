# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += %D%/doctor.h %D%/impl.h %D%/findings.c %D%/host.c \
    %D%/limits.c %D%/devices.c %D%/sshd.c %D%/probes.c %D%/across.c \
    %D%/traffic.h %D%/traffic.c %D%/traffic_judge.c %D%/traffic_view.c

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_doctor
tests_unit_test_doctor_SOURCES = tests/unit/test_doctor.c \
    tests/unit/fabric_tree.h tests/unit/tree.h
tests_unit_test_doctor_LDADD = $(UNIT_LDADD)
tests_unit_test_doctor_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_doctor
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_traffic
tests_unit_test_traffic_SOURCES = tests/unit/test_traffic.c
tests_unit_test_traffic_LDADD = $(UNIT_LDADD)
tests_unit_test_traffic_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_traffic
endif

check_PROGRAMS += tests/fuzz/fuzz_traffic
TESTS += tests/fuzz/fuzz_traffic
tests_fuzz_fuzz_traffic_SOURCES = tests/fuzz/fuzz_traffic.c tests/fuzz/replay.c
tests_fuzz_fuzz_traffic_LDADD = libhbbin.a libhb.a
EXTRA_DIST += tests/fuzz/corpus/traffic
