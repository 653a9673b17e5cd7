# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += \
    %D%/boot.c %D%/boot.h %D%/boot_impl.h \
    %D%/child.c %D%/child.h \
    %D%/fds.c %D%/fds.h \
    %D%/fork.c \
    %D%/remote.c %D%/remote.h \
    %D%/template.c %D%/template.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_boot_template tests/unit/test_boot_child
tests_unit_test_boot_template_SOURCES = tests/unit/test_boot_template.c
tests_unit_test_boot_template_LDADD = $(UNIT_LDADD)
tests_unit_test_boot_template_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_boot_child_SOURCES = tests/unit/test_boot_child.c
tests_unit_test_boot_child_LDADD = $(UNIT_LDADD)
tests_unit_test_boot_child_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_boot_template tests/unit/test_boot_child
endif
