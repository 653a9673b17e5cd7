# SPDX-License-Identifier: BSD-3-Clause
# hash.c and derive.c need libcrypto and so belong to the modules that have it.
libhb_a_SOURCES += \
    %D%/base64.c %D%/base64.h \
    %D%/gangkey.c %D%/gangkey.h \
    %D%/keyfile.c %D%/keyfile.h \
    %D%/knownhosts.c %D%/knownhosts.h \
    %D%/pattern.c %D%/pattern.h \
    %D%/secret.c %D%/secret.h \
    %D%/sshconfig.c %D%/sshconfig.h %D%/sshconfig_impl.h \
    %D%/sshexpand.c %D%/sshmatch.c

pkglib_LTLIBRARIES += hb_trust.la
hb_trust_la_SOURCES = %D%/trust_module.c %D%/derive.c %D%/derive.h
hb_trust_la_CPPFLAGS = $(AM_CPPFLAGS) $(CRYPTO_CFLAGS)
hb_trust_la_LDFLAGS = $(MODULE_LDFLAGS)
hb_trust_la_LIBADD = $(CRYPTO_LIBS)

trust_fuzz = \
    tests/fuzz/fuzz_gangkey \
    tests/fuzz/fuzz_keyfile \
    tests/fuzz/fuzz_knownhosts \
    tests/fuzz/fuzz_sshconfig
check_PROGRAMS += $(trust_fuzz)
TESTS += $(trust_fuzz)
tests_fuzz_fuzz_gangkey_SOURCES = tests/fuzz/fuzz_gangkey.c tests/fuzz/replay.c
tests_fuzz_fuzz_gangkey_LDADD = libhb.a
tests_fuzz_fuzz_keyfile_SOURCES = tests/fuzz/fuzz_keyfile.c tests/fuzz/replay.c
tests_fuzz_fuzz_keyfile_LDADD = libhb.a
tests_fuzz_fuzz_knownhosts_SOURCES = tests/fuzz/fuzz_knownhosts.c \
    tests/fuzz/replay.c
tests_fuzz_fuzz_knownhosts_LDADD = libhb.a
tests_fuzz_fuzz_sshconfig_SOURCES = tests/fuzz/fuzz_sshconfig.c \
    tests/fuzz/replay.c
tests_fuzz_fuzz_sshconfig_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/gangkey tests/fuzz/corpus/keyfile \
    tests/fuzz/corpus/knownhosts tests/fuzz/corpus/sshconfig tests/data/trust

if HAVE_CMOCKA
trust_tests = \
    tests/unit/test_trust_derive \
    tests/unit/test_trust_keyfile \
    tests/unit/test_trust_knownhosts \
    tests/unit/test_trust_sshconfig
check_PROGRAMS += $(trust_tests)
TESTS += $(trust_tests)
tests_unit_test_trust_derive_SOURCES = tests/unit/test_trust_derive.c \
    %D%/derive.c
tests_unit_test_trust_derive_LDADD = $(UNIT_LDADD) $(CRYPTO_LIBS)
tests_unit_test_trust_derive_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    $(CRYPTO_CFLAGS)
tests_unit_test_trust_keyfile_SOURCES = tests/unit/test_trust_keyfile.c
tests_unit_test_trust_keyfile_LDADD = $(UNIT_LDADD)
tests_unit_test_trust_keyfile_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_trust_knownhosts_SOURCES = tests/unit/test_trust_knownhosts.c \
    %D%/hash.c
tests_unit_test_trust_knownhosts_LDADD = $(UNIT_LDADD) $(CRYPTO_LIBS)
tests_unit_test_trust_knownhosts_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    $(CRYPTO_CFLAGS)
tests_unit_test_trust_sshconfig_SOURCES = tests/unit/test_trust_sshconfig.c
tests_unit_test_trust_sshconfig_LDADD = $(UNIT_LDADD)
tests_unit_test_trust_sshconfig_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
endif
