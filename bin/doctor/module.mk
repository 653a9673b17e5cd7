# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += %D%/doctor.h %D%/impl.h %D%/findings.c %D%/host.c \
    %D%/devices.c %D%/probes.c %D%/across.c

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_doctor
tests_unit_test_doctor_SOURCES = tests/unit/test_doctor.c \
    tests/unit/fabric_tree.h tests/unit/tree.h
tests_unit_test_doctor_LDADD = $(UNIT_LDADD)
tests_unit_test_doctor_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_doctor
endif
