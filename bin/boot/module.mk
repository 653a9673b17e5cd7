# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += \
    %D%/boot.c %D%/boot.h %D%/boot_impl.h \
    %D%/child.c %D%/child.h \
    %D%/fds.c %D%/fds.h \
    %D%/fork.c \
    %D%/remote.c %D%/remote.h \
    %D%/template.c %D%/template.h

EXTRA_DIST += tests/pods/boot.bats tests/pods/srun.bats
if HAVE_LIBSSH
pkglib_LTLIBRARIES += hb_ssh.la
hb_ssh_la_SOURCES = \
    %D%/dial.c %D%/dial.h \
    %D%/resolve.c %D%/resolve.h \
    %D%/ssh_auth.c %D%/ssh_auth.h \
    %D%/ssh_channel.c %D%/ssh_channel.h \
    %D%/ssh_connect.c \
    %D%/ssh_known.c %D%/ssh_known.h \
    %D%/ssh_proxy.c %D%/ssh_proxy.h \
    %D%/ssh_settings.c %D%/ssh_settings.h \
    %D%/ssh_steps.c \
    %D%/ssh_trust.c %D%/ssh_trust.h \
    %D%/ssh_way.c %D%/ssh_way.h \
    lib/trust/hash.c lib/trust/hash.h
hb_ssh_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBSSH_CFLAGS) $(CRYPTO_CFLAGS)
hb_ssh_la_LDFLAGS = $(MODULE_LDFLAGS)
hb_ssh_la_LIBADD = $(LIBSSH_LIBS) $(CRYPTO_LIBS)

check_PROGRAMS += tests/pods/bootdrive
tests_pods_bootdrive_SOURCES = tests/pods/bootdrive.c
tests_pods_bootdrive_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS)
tests_pods_bootdrive_LDFLAGS = $(PROGRAM_LDFLAGS)
tests_pods_bootdrive_LDADD = $(PROGRAM_LDADD)
EXTRA_tests_pods_bootdrive_DEPENDENCIES = libhb.a libhbbin.a
TESTS += tests/pods/boot.bats tests/pods/srun.bats
endif

check_PROGRAMS += tests/fuzz/fuzz_template
TESTS += tests/fuzz/fuzz_template
tests_fuzz_fuzz_template_SOURCES = tests/fuzz/fuzz_template.c \
    tests/fuzz/replay.c
tests_fuzz_fuzz_template_LDADD = libhbbin.a libhb.a $(EVENT_LIBS)
EXTRA_DIST += tests/fuzz/corpus/template

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
